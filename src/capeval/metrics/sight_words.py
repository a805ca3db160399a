"""Words found in the picture: whether its regions bear out what a caption says, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from capeval.corpus import Corpus, of_one
from capeval.metrics.sight import BesidePicture, looks
from capeval.run import Run
from capeval.types import Array, Explanation, Floats, Info, Picture, Word

if TYPE_CHECKING:
    from capeval.runtime.sight_words import SightWords as Network
    from capeval.runtime.sight_words import Words

# Captions that are compared at a time.
_BLOCK = 512
# Cosines from which a word counts as seen, and as perhaps seen, where words are shown.
_SEEN, _PERHAPS = 0.5, 0.35


@dataclass(frozen=True)
class SightWords(BesidePicture):
    """The telling words of a caption beside the regions of its picture."""

    info: ClassVar[Info] = Info(
        name="sight_words",
        names=("sight_words",),
        summary="How well the picture bears out the caption's telling words, each by the region it is found in",
        citation="ours; late interaction as in Yao et al. 2022 (FILIP), on DINOv2 and MiniLM",
        needs=("pictures",),
    )

    _kind: ClassVar[str] = "sight-words"

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        network = self._network(corpus.run)
        looked = looks(self.info.name, network, corpus)
        used, place = np.unique(corpus.rows.candidate, return_inverse=True)
        words = network.read(corpus.texts(used), corpus.threads)
        borne_out = np.zeros((len(corpus), words.shares.shape[1]))
        image = corpus.image_number
        for some, seen in looked:
            there = np.flatnonzero((image >= some.start) & (image < some.stop))
            for start in range(0, len(there), _BLOCK):
                rows = there[start : start + _BLOCK]
                cosines = network.cosines(words.vectors[place[rows]], seen[image[rows] - some.start])
                borne_out[rows] = cosines.max(axis=2)
        return network.scores(borne_out, words.shares[place])[:, None]

    def explain(
        self, candidate: Sequence[str], references: Sequence[Sequence[str]], run: Run, picture: Picture | None = None
    ) -> list[Explanation]:
        """For each telling word: how much it counts, how well it is borne out, and by which region."""
        network = self._network(run)
        ((_, seen),) = looks(self.info.name, network, of_one(candidate, references, run, picture))
        # The words as they are given, which are those that are shown.
        words = network.read([candidate])
        cosines = network.cosines(words.vectors, seen)
        (score,) = network.scores(cosines.max(axis=2), words.shares).tolist()
        rows = _rows(network, candidate, words, cosines[0])
        marked = _marked(network, candidate, words, cosines[0])
        header = ("word", "share", "borne out", "by")
        return [Explanation("", {"sight_words": score}, header, rows, marked)]

    def _network(self, run: Run) -> Network:
        from capeval.runtime.sight_words import open_sight_words

        return open_sight_words(self.checkpoint or self._kind, self.meaning, run)


def _rows(network: Network, candidate: Sequence[str], words: Words, cosines: Floats) -> list[tuple[str | float, ...]]:
    """The telling words, those first that count most."""
    spelled = network.meaning.pieces.spelled(candidate)
    found: list[tuple[str | float, ...]] = []
    for place in np.flatnonzero(words.shares[0]).tolist():
        best = int(cosines[place].argmax())
        where = "the whole picture" if best == 0 else _where(best - 1, cosines.shape[1] - 1)
        borne_out = float(cosines[place, best])
        found.append((spelled[words.piece[0, place]], float(words.shares[0, place]), borne_out, where))
    return found


def _where(cell: int, count: int) -> str:
    """A cell of a square grid, as people would say it; a number where regions are no grid."""
    side = round(count**0.5)
    if side * side != count:
        return f"region {cell + 1}"
    return f"row {cell // side + 1}, column {cell % side + 1} of {side}"


def _marked(network: Network, candidate: Sequence[str], words: Words, cosines: Floats) -> tuple[Word, ...]:
    """Words by how well the worst of their telling pieces is borne out."""
    of_piece = {
        int(piece): float(cosines[place].max())
        for place, piece in enumerate(words.piece[0])
        if words.shares[0, place] > 0
    }
    found, first = [], 0
    for word in candidate:
        count = len(network.meaning.pieces.spelled([word]))
        seen = [of_piece[piece] for piece in range(first, first + count) if piece in of_piece]
        first += count
        if not seen:
            found.append(Word(word))
            continue
        fate = "match" if min(seen) >= _SEEN else "near" if min(seen) >= _PERHAPS else "miss"
        found.append(Word(word, fate, None, f"{min(seen):.2f}"))
    return tuple(found)
