"""Whether a caption and its references call up the same picture: the caption side of `sight`, without any picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from capeval.corpus import Corpus
from capeval.metrics.beside import Beside
from capeval.metrics.meaning import readings as encoder_readings
from capeval.metrics.sight import ByDualEncoder, network_of, read_once, readings
from capeval.run import Run
from capeval.types import Array, Floats, Info, Longs

if TYPE_CHECKING:
    from capeval.runtime.accord import Readings

_USUAL = 0.7
"""So alike are two captions of one picture, on average (COCO .71, Flickr8k .70, Flickr30k .68; training pictures)."""
_USUAL_PAIRS = 4
"""Of what is unusual about two captions of a picture, two others have a fifth (.14, .23, .22): one pair tells as much
as if four were known to be usual."""


@dataclass(frozen=True)
class SightText(ByDualEncoder):
    """A caption beside each of its references."""

    info: ClassVar[Info] = Info(
        name="sight_text",
        names=("sight_text", "belongs"),
        summary="How alike the pictures are that the caption and its references call up, by the dual encoder of sight",
        citation="ours; as RefCLIPScore (Hessel et al. 2021) does with CLIP's captions",
        on_request=("belongs",),
        revision=2,
    )

    def signature_extras(self, run: Run) -> dict[str, Any]:
        return {"checkpoint": self._checkpoint(run).digest}

    def stats(self, corpus: Corpus) -> Array:
        """Two columns: how alike, and whether it belongs; 0 for a caption without words."""
        corpus.require_references()
        network, beside = network_of(self, corpus.run), Beside.of(corpus)
        captions, place = read_once(network, corpus, np.arange(len(corpus.captions)))
        cosines = network.cosines(captions, place[beside.one], captions, place[beside.other])
        alike = beside.means(np.clip(cosines, 0, 1))
        return np.column_stack([alike, _belongs(alike, _among_each_other(corpus, captions, place))])


def _belongs(alike: Array, among_each_other: Array) -> Array:
    """One half for what is as like its references as they are like each other: where they tell of different things, a
    good caption cannot be as like all of them. By cubes, so that what is like none of them stays near 0.
    """
    ours, theirs = alike**3, among_each_other**3
    return ours / (ours + theirs)


def _among_each_other(corpus: Corpus, vectors: Floats, place: Longs) -> Array:
    """How alike the references of each row are to each other, never 0.

    Two or three may be alike by chance. So a few pairs count that are as alike as usual; they are all there is where
    there is one reference.
    """
    offsets, captions = corpus.rows.group_offsets, corpus.rows.group_captions
    groups, its_group = np.unique(corpus.rows.group, return_inverse=True)
    found = np.empty(len(groups))
    for number, group in enumerate(groups.tolist()):
        its = vectors[place[np.unique(captions[offsets[group] : offsets[group + 1]])]].astype(np.float64)
        its = its[its.any(axis=1)]  # one without words is like nothing
        one, other = np.triu_indices(len(its), 1)
        # Sorted, since references are numbered by what else there is, and the last digit of a sum goes by its order.
        alike = np.sort(np.clip((its[one] * its[other]).sum(axis=1), 0, 1)).sum()
        found[number] = (alike + _USUAL_PAIRS * _USUAL) / (len(one) + _USUAL_PAIRS)
    return found[its_group]


def read_for_both(corpus: Corpus, *others: Readings) -> None:
    """Reads all captions for `meaning` and for `sight_text` at once, where both will ask for them, and for `others`."""
    network = network_of(SightText(), corpus.run)
    ours, theirs = readings(network, corpus), encoder_readings(network.meaning, corpus)
    every = np.arange(len(corpus.captions))
    new = np.intersect1d(ours.new(every), theirs.new(every))
    read, vectors = network.read_both(corpus.texts(new), corpus.threads, *(other.taking(new) for other in others))
    theirs.add(new, read)
    ours.add(new, vectors)
