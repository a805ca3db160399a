import numpy as np
import numpy.typing as npt

from capeval.types import Array, Ints

Longs = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float32]

def simd() -> str: ...
def scan(
    texts: list[str],
    unit_class: npt.NDArray[np.uint8],
    transitions: npt.NDArray[np.uint16],
    accepts: npt.NDArray[np.int16],
    start: int,
    kinds: npt.NDArray[np.uint8],
    heads: npt.NDArray[np.uint16],
    tails: npt.NDArray[np.uint16],
    cut: npt.NDArray[np.uint8],
    reread: npt.NDArray[np.uint8],
    threads: int,
) -> tuple[Ints, Longs, list[int], list[str]]: ...
def ngrams(tokens: Ints, offsets: Longs, n: int, threads: int) -> tuple[Ints, Ints, Longs, Ints]: ...
def document_frequency(
    ids: Ints, gram_offsets: Longs, n: int, group_offsets: Longs, group_captions: Ints, size: int, threads: int
) -> Ints: ...
def match_grams(grams: Ints, table: Ints, threads: int) -> Ints: ...
def bleu_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    n: int,
    offsets: Longs,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array: ...
def rouge_stats(
    tokens: Ints,
    offsets: Longs,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array: ...
def cider_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    n: int,
    idf: Array,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    clip: bool,
    sigma: float,
    threads: int,
) -> Array: ...
def transport(cost: Array, supply: Longs, demand: Longs) -> Longs: ...
def wmd_stats(
    ids: Ints,
    counts: Ints,
    gram_offsets: Longs,
    vectors: npt.NDArray[np.float32],
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    best: bool,
    threads: int,
) -> Array: ...
def find_phrases(
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
    tokens: Ints,
    offsets: Longs,
    keys: Ints,
    stems: Ints,
    is_function: npt.NDArray[np.uint8],
    synsets: Ints,
    synset_offsets: Longs,
    starts: Ints,
    lengths: Ints,
    phrases: Ints,
    phrase_offsets: Longs,
    links: Ints,
    link_offsets: Longs,
    parameters: Array,
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array: ...
def parse_network(
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
    words: list[str],
    tags: list[str],
    lemmas: list[str],
    stems: list[str],
    tokens: Ints,
    offsets: Longs,
    heads: Ints,
    relations: Ints,
    names: list[str],
) -> list[list[tuple[str, ...]]]: ...
def rank_stats(x: Ints, y: Ints, group: Ints, weights: Ints, threads: int) -> Array: ...
def resample(pixels: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]: ...
def scene_stats(
    tuples: Ints,
    tuple_offsets: Longs,
    synsets: Ints,
    synset_offsets: Longs,
    sorts: npt.NDArray[np.uint8],
    candidate: Ints,
    group: Ints,
    group_offsets: Longs,
    group_captions: Ints,
    threads: int,
) -> Array: ...
def parse_captions(
    tokens: Ints,
    offsets: Longs,
    words: list[str],
    tag_offsets: Longs,
    tags: Ints,
    tag_scores: npt.NDArray[np.float32],
    labels: list[str],
    is_tag: npt.NDArray[np.uint8],
    binary: Ints,
    binary_scores: npt.NDArray[np.float32],
    unary: Ints,
    unary_scores: npt.NDArray[np.float32],
    root: int,
    end: int,
    max_tokens: int,
    threads: int,
) -> list[str]: ...
