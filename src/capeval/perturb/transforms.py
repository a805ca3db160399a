"""Captions made worse on purpose: permuted words, random words, the caption of another image (Cui et al. 2018).

`gamma` from 0 to 1 tells how much worse; 0 leaves a caption as it is. The functions are pure: the same generator state
gives the same caption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from capeval.errors import CapevalError
from capeval.types import Floats

Places = npt.NDArray[np.intp]

# Similarities of images are computed for some images at a time: as many as give this many numbers.
_BLOCK = 1 << 22
# Words of the references that images are compared by; the rest weigh next to nothing and would cost memory.
_WORDS = 1024


def permuted(words: Sequence[str], gamma: float, rng: np.random.Generator) -> list[str]:
    """WP: a share gamma of the words, at least two, change places among themselves.

    Every chosen place gets another word than it had, where the words allow it.
    """
    result = list(words)
    count = _count(len(result), gamma)
    if count < 2 or len(set(result)) < 2:
        return result
    places = rng.permutation(len(result)).tolist()
    chosen, rest = places[:count], places[count:]
    if len({result[place] for place in chosen}) == 1:
        # Words that are all the same cannot move: one of them gives way to another word.
        chosen[-1] = next(place for place in rest if result[place] != result[chosen[0]])
    # Places with the same word side by side, then a shift by the size of the largest such group: no place can get its
    # own word again unless that word fills more than half of the places.
    order = list(dict.fromkeys(result[place] for place in chosen))
    chosen.sort(key=lambda place: order.index(result[place]))
    shift = max(Counter(result[place] for place in chosen).values())
    moved = [result[place] for place in chosen[shift:] + chosen[:shift]]
    for place, word in zip(chosen, moved):
        result[place] = word
    return result


def replaced(words: Sequence[str], gamma: float, vocabulary: Sequence[str], rng: np.random.Generator) -> list[str]:
    """RW: a share gamma of the words, at least two, give way to random words of the vocabulary.

    A word is never replaced by itself. A caption of one word has that word replaced.
    """
    result = list(words)
    for place in rng.permutation(len(result))[: _count(len(result), gamma)].tolist():
        result[place] = _another(result[place], vocabulary, rng)
    return result


def other_captions(
    captions: Sequence[str],
    image: Sequence[int] | Places,
    features: npt.ArrayLike,
    gamma: float,
    rng: np.random.Generator,
) -> list[str]:
    """RC: for each caption, a random caption of another image among the share gamma of the nearest images.

    Caption i belongs to image `image[i]`, whose vector is row `image[i]` of `features`; every image needs a caption.
    """
    owner = np.asarray(image, dtype=np.intp)
    if _checked(gamma) == 0 or not len(owner):
        return list(captions)
    members: dict[int, list[int]] = {}
    for place, number in enumerate(owner.tolist()):
        members.setdefault(number, []).append(place)
    vectors = np.asarray(features)
    if vectors.ndim != 2 or sorted(members) != list(range(len(vectors))):
        raise CapevalError(f"{len(members)} images have captions, but the features have the shape {vectors.shape}")
    chosen = other_images(vectors, gamma, rng, of=owner)
    picks = rng.random(len(owner))
    found = [members[number] for number in chosen.tolist()]
    return [captions[mine[int(pick * len(mine))]] for mine, pick in zip(found, picks.tolist())]


def other_images(
    features: npt.ArrayLike, gamma: float, rng: np.random.Generator, *, of: Sequence[int] | Places | None = None
) -> Places:
    """For each image (or each one in `of`) a random one among the share gamma of the nearest others, at least one.

    `features` are vectors [images, d]; the nearest have the largest cosine. With gamma 0 each image stays itself. The
    memory needed is a few rows of similarities, however many images there are.
    """
    vectors = _unit(np.asarray(features, dtype=np.float32))
    wanted = np.arange(len(vectors), dtype=np.intp) if of is None else np.asarray(of, dtype=np.intp)
    if _checked(gamma) == 0:
        return wanted.copy()
    others = len(vectors) - 1
    if others < 1:
        raise CapevalError("one image alone has no other to take a caption from: leave rc out, or give more images")
    near = max(1, min(others, round(gamma * others)))
    ranks = rng.integers(near, size=len(wanted))
    if near == others:  # any other image will do
        return np.where(ranks >= wanted, ranks + 1, ranks).astype(np.intp)
    chosen = np.empty(len(wanted), np.intp)
    step = max(1, _BLOCK // len(vectors))
    for begin in range(0, len(wanted), step):
        some = wanted[begin : begin + step]
        similarity = vectors[some] @ vectors.T
        similarity[np.arange(len(some)), some] = -np.inf
        # Sorted by number within the near ones, so that the choice does not depend on how they were partitioned.
        nearest = np.sort(np.argpartition(-similarity, near - 1, axis=1)[:, :near], axis=1)
        chosen[begin : begin + step] = nearest[np.arange(len(some)), ranks[begin : begin + step]]
    return chosen


def text_features(references: Sequence[Sequence[Sequence[str]]]) -> Floats:
    """A vector for each image from its tokenised references: tf-idf, of length 1 at most.

    Only the words that weigh most in the whole set have a column; the length counts all words.
    """
    bags = [Counter(chain.from_iterable(each)) for each in references]
    frequency = Counter(chain.from_iterable(bags))
    idf = {word: np.log(len(bags) / count) for word, count in frequency.items()}
    heaviest = sorted(frequency, key=lambda word: (-frequency[word] * idf[word] ** 2, word))[:_WORDS]
    column = {word: number for number, word in enumerate(heaviest)}
    features = np.zeros((len(bags), len(column)), np.float32)
    for row, bag in enumerate(bags):
        weights = {word: count * idf[word] for word, count in bag.items()}
        length = float(np.sqrt(sum(weight**2 for weight in weights.values()))) or 1.0
        for word, weight in weights.items():
            if word in column:
                features[row, column[word]] = weight / length
    return features


def _unit(vectors: Floats) -> Floats:
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise CapevalError(f"features are finite numbers, a row for each image, not of the shape {vectors.shape}")
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))[:, None]
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32, copy=False)


def _checked(gamma: float) -> float:
    if not 0 <= gamma <= 1:
        raise CapevalError(f"gamma must be from 0 to 1, not {gamma}")
    return gamma


def _count(words: int, gamma: float) -> int:
    """How many of the words change."""
    return 0 if _checked(gamma) == 0 else min(words, max(2, round(gamma * words)))


def _another(word: str, vocabulary: Sequence[str], rng: np.random.Generator) -> str:
    if not len(vocabulary):
        raise CapevalError("random words need a vocabulary, and it is empty")
    first = int(rng.integers(len(vocabulary)))
    # The word itself may be drawn: then the next one that is another.
    for step in range(len(vocabulary)):
        if (other := vocabulary[(first + step) % len(vocabulary)]) != word:
            return other
    raise CapevalError(f"the vocabulary has no other word than {word!r}")
