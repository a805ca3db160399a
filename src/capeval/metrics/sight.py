"""Sight: whether a caption fits its picture, without any reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from capeval.corpus import Corpus
from capeval.errors import Unavailable
from capeval.run import Run
from capeval.types import Array, Floats, Info, Longs, Metric

if TYPE_CHECKING:
    from capeval.runtime.checkpoint import Checkpoint
    from capeval.runtime.sight import PictureNetwork, Readings
    from capeval.runtime.sight import Sight as Network

# Pictures whose regions are held at a time.
_BLOCK = 512


@dataclass(frozen=True)
class ByDualEncoder(Metric):
    """What the metrics of pictures and captions in one space share.

    `checkpoint`: the folder of a network of your own; `meaning`: that of the sentence encoder it goes with.
    """

    checkpoint: str = ""
    meaning: str = ""

    _kind: ClassVar[str] = "sight"
    """Which network it is; the one of that name comes with capeval."""

    def trained_on(self) -> tuple[str, ...]:
        from capeval.runtime.meaning import open_trained as open_encoder

        encoder = open_encoder(self.meaning or "meaning").facts.get("trained_on", ())
        return tuple(dict.fromkeys([*self._checkpoint().facts.get("trained_on", ()), *encoder]))

    def per_sample(self, stats: Array) -> Array:
        return stats

    def _checkpoint(self, run: Run | None = None) -> Checkpoint:
        from capeval.runtime.sight import open_trained

        return open_trained(self.checkpoint or self._kind, run, self._kind)


@dataclass(frozen=True)
class BesidePicture(ByDualEncoder):
    """What those share that look at the picture."""

    def encoders(self, run: Run) -> tuple[str, ...]:
        return tuple(filter(None, [self._checkpoint(run).encoder]))

    def hint_without_pictures(self) -> str:
        return "meaning compares with references instead"

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest, "encoder": self._checkpoint(run).encoder or "own"}


@dataclass(frozen=True)
class Sight(BesidePicture):
    """A caption beside its picture."""

    info: ClassVar[Info] = Info(
        name="sight",
        names=("sight",),
        summary="How well the caption fits the picture, by a dual encoder; needs no reference",
        citation="ours; a dual encoder on DINOv2 (Oquab et al. 2023) and MiniLM (Wang et al. 2020)",
        needs=("pictures",),
        revision=3,
    )

    def stats(self, corpus: Corpus) -> Array:
        """One column: the score; 0 for a caption without words."""
        network = network_of(self, corpus.run)
        looked = looks(self.info.name, network, corpus)
        captions, place = read_once(network, corpus, corpus.rows.candidate)
        seen = np.concatenate([np.zeros((0, network.width), np.float32), *(seen for _, seen in looked)])
        scores = network.fit(network.cosines(captions, place, seen, corpus.image_number))
        has_words = np.diff(corpus.pieces.offsets)[corpus.rows.candidate] > 0
        return np.where(has_words, scores, 0.0)[:, None]


def network_of(metric: ByDualEncoder, run: Run) -> Network:
    from capeval.runtime.sight import open_sight

    return open_sight(metric.checkpoint or "sight", metric.meaning, run)


def looks(name: str, network: PictureNetwork, corpus: Corpus) -> Iterator[tuple[slice, Floats]]:
    """What the network sees in the pictures of a corpus, some at a time: which ones, and that.

    That there are pictures it can look at is checked at once, before anything is computed.
    """
    if corpus.dataset.features is None:
        raise Unavailable(f"{name} looks at pictures, and there are none", remedy="pictures")
    wanted = network.checkpoint.encoder
    network.checkpoint.check_encoder(corpus.features(wanted).encoder)
    vectors = corpus.vectors(wanted)
    network.checkpoint.check_width("vectors", network.picture_width, vectors.shape[1])

    def some(start: int) -> tuple[slice, Floats]:
        stop = min(start + _BLOCK, len(vectors))
        regions = corpus.regions(start, stop, wanted)
        network.checkpoint.check_width("regions", network.region_width, regions.shape[-1])
        return slice(start, stop), network.look(vectors[start:stop], regions, corpus.threads)

    return map(some, range(0, len(vectors), _BLOCK))


def read_once(network: Network, corpus: Corpus, captions: npt.NDArray[Any]) -> tuple[Floats, Longs]:
    """The vectors of some captions of a corpus, each read once, and where each is among them."""
    return readings(network, corpus).of(captions, corpus.texts, corpus.threads)


def readings(network: Network, corpus: Corpus) -> Readings:
    """What the network has read of a corpus so far."""
    from capeval.runtime.sight import Readings

    return corpus.memo(("sight", network.checkpoint.digest), lambda: Readings(network, len(corpus.captions)))
