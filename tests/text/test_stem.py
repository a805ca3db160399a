"""The stemmer, by the rules' own examples and words where releases of Snowball differ."""

from __future__ import annotations

import pytest

from capeval.text.stem import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # plurals
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("ties", "tie"),
        ("cats", "cat"),
        ("gas", "gas"),
        ("this", "this"),
        ("kiwis", "kiwi"),
        ("bus", "bus"),
        ("dress", "dress"),
        # possessives
        ("dog's", "dog"),
        ("dogs'", "dog"),
        ("'tis", "tis"),
        # tenses
        ("agreed", "agre"),
        ("feed", "feed"),
        ("riding", "ride"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("luxuriated", "luxuri"),
        ("sing", "sing"),
        ("bled", "bled"),
        # y
        ("happy", "happi"),
        ("cry", "cri"),
        ("by", "by"),
        ("say", "say"),
        ("youth", "youth"),
        ("yyy", "yyy"),
        # longer endings
        ("national", "nation"),
        ("rationalization", "ration"),
        ("generically", "generic"),
        ("generously", "generous"),
        ("communication", "communic"),
        ("arsenal", "arsenal"),
        ("apologies", "apolog"),
        ("formative", "format"),
        ("adoption", "adopt"),
        ("onion", "onion"),
        ("rate", "rate"),
        ("probate", "probat"),
        ("controlled", "control"),
        ("roll", "roll"),
        # exceptions
        ("skies", "sky"),
        ("dying", "die"),
        ("news", "news"),
        ("only", "onli"),
        ("innings", "inning"),
        ("earring", "earring"),
        ("exceeding", "exceed"),
        # not words of this alphabet
        ("", ""),
        ("a", "a"),
        ("'", "'"),
        ("'''", "'"),
        ("naïvely", "naïv"),
        ("日本語", "日本語"),
        # Newer releases of Snowball give "evening" another stem, "even" meaning something else.
        ("evening", "even"),
        ("paste", "past"),
        ("university", "univers"),
    ],
)
def test_stem(word: str, expected: str) -> None:
    assert stem(word) == expected
