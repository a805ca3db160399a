"""What an engine can do: the functions of `capeval.engine.python` and of the compiled module, under one type."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from capeval.engine.graph_types import SceneTuple, WordLists
from capeval.types import Array, Bytes, Floats, Ints, Longs, Rows, Shorts


class Engine(Protocol):
    """The functions are explained where they are written in Python, in the file of the same name."""

    def simd(self) -> str: ...
    def scan(
        self,
        texts: list[str],
        unit_class: Bytes,
        transitions: npt.NDArray[np.uint16],
        accepts: Shorts,
        start: int,
        kinds: Bytes,
        heads: npt.NDArray[np.uint16],
        tails: npt.NDArray[np.uint16],
        cut: Bytes,
        reread: Bytes,
        threads: int,
    ) -> tuple[Ints, Longs, list[int], list[str]]: ...
    def ngrams(self, tokens: Ints, offsets: Longs, n: int, threads: int) -> tuple[Ints, Ints, Longs, Ints]: ...
    def document_frequency(
        self,
        ids: Ints,
        gram_offsets: Longs,
        n: int,
        group_offsets: Longs,
        group_captions: Ints,
        size: int,
        threads: int,
    ) -> Ints: ...
    def bleu_stats(
        self,
        ids: Ints,
        counts: Ints,
        gram_offsets: Longs,
        n: int,
        offsets: Longs,
        rows: Rows,
        threads: int,
    ) -> Array: ...
    def rouge_stats(
        self,
        tokens: Ints,
        offsets: Longs,
        rows: Rows,
        threads: int,
    ) -> Array: ...
    def cider_stats(
        self,
        ids: Ints,
        counts: Ints,
        gram_offsets: Longs,
        n: int,
        idf: Array,
        rows: Rows,
        clip: bool,
        sigma: float,
        threads: int,
    ) -> Array: ...
    def transport(self, cost: Array, supply: Longs, demand: Longs) -> Longs: ...
    def wmd_stats(
        self,
        ids: Ints,
        counts: Ints,
        gram_offsets: Longs,
        vectors: Floats,
        rows: Rows,
        best: bool,
        threads: int,
    ) -> Array: ...
    def find_phrases(
        self,
        tokens: Ints,
        offsets: Longs,
        table_words: Ints,
        child_start: Ints,
        last_word: Ints,
        pair_start: Ints,
        paraphrases: Ints,
        threads: int,
    ) -> tuple[Ints, Ints, Ints, Longs, Ints, Longs]: ...
    def meteor_stats(
        self,
        tokens: Ints,
        offsets: Longs,
        keys: Ints,
        stems: Ints,
        is_function: Bytes,
        synsets: Ints,
        synset_offsets: Longs,
        starts: Ints,
        lengths: Ints,
        phrases: Ints,
        phrase_offsets: Longs,
        links: Ints,
        link_offsets: Longs,
        parameters: Array,
        rows: Rows,
        threads: int,
    ) -> Array: ...
    def parse_network(
        self,
        tokens: Ints,
        offsets: Longs,
        inputs: Floats,
        hidden1: Shorts,
        hidden1_scale: Floats,
        input2: Shorts,
        input2_scale: Floats,
        bias2: Floats,
        hidden2: Shorts,
        hidden2_scale: Floats,
        output: Shorts,
        output_scale: Floats,
        output_bias: Floats,
        arc: Floats,
        root: Floats,
        label: Floats,
        label_bias: Floats,
        tags: int,
        threads: int,
    ) -> Ints: ...
    def dependency_tuples(
        self,
        words: list[str],
        tags: list[str],
        lemmas: list[str],
        stems: list[str],
        tokens: Ints,
        offsets: Longs,
        heads: Ints,
        relations: Ints,
        names: list[str],
        lists: WordLists,
    ) -> list[list[SceneTuple]]: ...
    def rank_stats(self, x: Ints, y: Ints, group: Ints, weights: Ints, threads: int) -> Array: ...
    def squeeze(self, pixels: Bytes, side: int) -> Bytes: ...
    def scene_stats(
        self,
        tuples: Ints,
        tuple_offsets: Longs,
        synsets: Ints,
        synset_offsets: Longs,
        attribute_kinds: Bytes,
        rows: Rows,
        threads: int,
    ) -> Array: ...
    def parse_captions(
        self,
        tokens: Ints,
        offsets: Longs,
        words: list[str],
        tag_offsets: Longs,
        tags: Ints,
        tag_scores: Floats,
        labels: list[str],
        is_tag: Bytes,
        binary: Ints,
        binary_scores: Floats,
        unary: Ints,
        unary_scores: Floats,
        root: int,
        end: int,
        max_tokens: int,
        threads: int,
    ) -> list[str]: ...
