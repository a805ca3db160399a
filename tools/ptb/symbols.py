"""Named character sets of the tokenizer rules, each written in a rule as one private-use character.

The tool we agree with was built on Unicode 6.1, so letters that came later are not letters to it.
"""

from __future__ import annotations

import unicodedata

LETTER, DIGIT, UPPER, MARK, SYMBOL = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"

# Letters of the basic plane assigned after Unicode 6.1.
_YOUNGER_LETTERS = """
037F 0528-052F 0560 0588 05EF 0860-086A 0870-0887 0889-088E 08A1 08AD-08C9 0978 0980 09FC 0AF9 0C34 0C5A 0C5D 0C80
0CDD 0D04 0D54-0D56 0D5F 0E86 0E89 0E8C 0E8E-0E93 0E98 0EA0 0EA8-0EA9 0EAC 13F5 13F8-13FD 16F1-16F8 170D 171F 1878
191D-191E 19B0-19C0 19C8-19C9 1B4C 1C80-1C88 1C90-1CBA 1CBD-1CBF 1CF2-1CF3 1CFA 2C2F 2C5F 312E-312F 31BB-31BF
4DB6-4DBF 9FCD-9FFF A698-A69D A78F A794-A79F A7AB-A7CA A7D0-A7D1 A7D3 A7D5-A7D9 A7F2-A7F7 A8FD-A8FE A9E0-A9E4
A9E6-A9EF A9FA-A9FE AA7E-AA7F AB30-AB5A AB5C-AB69 AB70-ABBF"""
_YOUNGER_DIGITS = "0DE6-0DEF A9F0-A9F9"
# Letters then, marks since.
_FORMER_LETTERS = "1885-1886"

# Accents, vowel signs and other marks that may stand inside a word.
_MARKS = """
00AD 0237-024F 02C2-02C5 02D2-02DF 02E5-02EB 02ED 02EF-036F 0375 0378-0379 0384-0385 03F6 0483-0487 055A-055F
0591-05BD 05BF 05C1-05C2 05C4-05C5 05C7 0615-061A 064B-065E 0670 06D6-06E4 06E7-06ED 06FD-06FE 070F 0711 0730-074C
07A6-07B0 07EB-07F3 0900-0903 093C 093E-094E 0951-0955 0962-0963 0981-0983 09BC 09BE-09C4 09C7-09C8 09CB-09CD 09D7
09E2-09E3 0A01-0A03 0A3C 0A3E-0A4F 0A81-0A83 0ABC 0ABE-0ACF 0B82 0BBE-0BC2 0BC6-0BC8 0BCA-0BCD 0C01-0C03 0C3E-0C56
0D3E-0D44 0D46-0D48 0E31 0E34-0E3A 0E47-0E4E 0EB1 0EB4-0EBC 0EC8-0ECD"""

# Signs that are tokens by themselves.
_SYMBOLS = """
0025 0026 002B 005C 005E 007C 007E 00A6-00A9 00AC 00AE-00B4 00B6-00BA 00D7 00F7 0387 05BE 05C0 05C3 05C6 05F3-05F4
0600-0603 0606-060A 060C 0614 061B 061E 066A 066D 0703-070D 07F6-07F8 0964-0965 0E4F 1FBD 2016-2017 2020-2023 2030-2038
203B 203E-2042 2044 207A-207E 207F 208A-208E 2100-214F 2190-2BFF 3012 30FB FF01-FF0F FF1A-FF20 FF3B-FF40 FF5B-FF65"""


def _ranges(text: str) -> frozenset[int]:
    units: set[int] = set()
    for item in text.split():
        low, _, high = item.partition("-")
        units.update(range(int(low, 16), int(high or low, 16) + 1))
    return frozenset(units)


def _category(*names: str) -> frozenset[int]:
    return frozenset(u for u in range(0x10000) if unicodedata.category(chr(u)) in names)


def symbol_sets() -> dict[int, frozenset[int]]:
    letters = _category("Lu", "Ll", "Lt", "Lm", "Lo") - _ranges(_YOUNGER_LETTERS) | _ranges(_FORMER_LETTERS)
    # Upper case includes Roman numerals and circled capitals; Cherokee had no case yet.
    upper = (_category("Lu") & letters - _ranges("13A0-13F4")) | _ranges("2160-216F 24B6-24CF")
    return {
        ord(LETTER): letters,
        ord(DIGIT): _category("Nd") - _ranges(_YOUNGER_DIGITS),
        ord(UPPER): upper,
        ord(MARK): _ranges(_MARKS),
        ord(SYMBOL): _ranges(_SYMBOLS),
    }
