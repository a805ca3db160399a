"""Kinds: the labels of a tree, refined by just as much as the dependencies of a sentence depend on.

A kind is a label with marks. What follows ":" always matters ("VP:VBG:pass"); what follows "~" is carried along and
matters in some surroundings only ("NN~day"), where `visible` turns it into a ":" mark. The marks follow one question:
on what, besides the labels, does the official analysis of a local tree (head, governors, relations) depend?
"""

from __future__ import annotations

from collections.abc import Iterable

_VERBS = {
    "be": "be is are was were been being am 's 're 'm m s",
    "have": "have has had having 've",
    "do": "do does did doing done",
    "get": "get gets got getting gotten",
    # Verbs whose complement is a predicate.
    "seem": "seem seems seemed seeming appear appears appeared appearing remain remains remained remaining",
    "become": "become becomes became becoming resemble resembles resembled resembling",
    # Verbs after which "to" opens a complement of the object, not a purpose.
    "tell": "tell tells told telling encourage encourages encouraged encouraging allow allows allowed allowing "
    "urge urges urged urging invite invites invited inviting advise advises advised advising permit permits permitted",
}
_VERB_CLASS = {word: name for name, words in _VERBS.items() for word in words.split()}
_TIME_WORDS = """
    day days night nights morning mornings evening evenings afternoon summer winter fall spring year years month
    week weeks weekend today tonight yesterday tomorrow march
"""
_TIME_NOUNS = frozenset(_TIME_WORDS.split())
_NEGATIONS = frozenset(["not", "n't", "never", "no", "nt"])
_PRECONJUNCTIONS = frozenset(["both", "either", "neither"])
# Two words that the official converter joins by `mwe`; the second may open or fill the next constituent.
_JOINED_TEXT = """
    such as, in between, instead of, as if, so that, rather than, as well, in order, kind of, at least, prior to,
    sort of, because of, according to, due to, in case, as to
"""
_JOINED = frozenset(pair.strip() for pair in _JOINED_TEXT.split(","))
_JOINABLE = frozenset(word for pair in _JOINED for word in pair.split())
_MARKED_CONJUNCTIONS = frozenset(["that", "as"])
_LEXICAL = frozenset(_VERB_CLASS) | _TIME_NOUNS | _NEGATIONS | _PRECONJUNCTIONS | _JOINABLE | _MARKED_CONJUNCTIONS
_LEXICAL |= {"all", "each"}

_FINITE = {"VBZ", "VBP", "VBD", "VB", "MD"}
_VERB_TAGS = _FINITE | {"VBG", "VBN"}
_PASSIVE_FORMS = ("VBN", "VBD")
_NO_PREPOSITION = frozenset(["VBG", "VBN", "VB", "VBZ", "VBP", "VBD", "RB", "NN", "NNS", "JJ", "RP", "ADVP"])
_CLAUSES = {"S", "SINV", "SQ", "SBAR", "SBARQ"}


def base(kind: str) -> str:
    """The label without marks."""
    return kind.partition("~")[0].partition(":")[0].partition("/")[0]


def _word_of(kind: str) -> str:
    return kind.partition("~")[2]


def token_kind(tag: str, word: str) -> str:
    """The kind of a leaf."""
    if word not in _LEXICAL:
        return tag
    if tag[0] == "V" and word in _VERB_CLASS:
        return f"{tag}:{_VERB_CLASS[word]}"
    if tag == "RB" and word in _NEGATIONS:
        return "RB:no" if word == "no" else "RB:not"
    if tag == "DT" and (word in _PRECONJUNCTIONS or word in ("no", "all", "each")):
        return f"DT:{word}"
    if tag in ("CC", "PDT"):
        return f"{tag}:{word}" if word in _PRECONJUNCTIONS else tag
    return f"{tag}~{word}"


def phrase_kind(label: str, kinds: tuple[str, ...]) -> str:
    """The kind of a constituent whose children have these kinds."""
    maker = _MAKERS.get(label)
    return label if maker is None else maker(label, kinds)


def _plain(kind: str) -> str:
    return kind.partition("~")[0]


def _verb_phrase(label: str, kinds: tuple[str, ...]) -> str:
    plain = [_plain(k) for k in kinds]
    verb = next((base(k) for k in plain if base(k) in _VERB_TAGS or base(k) == "TO"), "")
    inner = [k for k in plain if k.startswith("VP")]
    if not verb:
        # A coordination has no verb of its own; those of its parts decide on the passive of the whole.
        verb = "0" + _verb_of(inner[0]) if inner else "0"
        if any(_verb_of(k) in _PASSIVE_FORMS for k in inner[1:]):
            verb += "/n"
    elif base(plain[0]) != verb:
        verb = "+" + verb
    passive = ":pass" if _is_passive(plain, inner) else ""
    return f"VP:{verb}{passive}" + ("~object" if _has_object(kinds, verb) else "")


def _verb_of(verb_phrase: str) -> str:
    return verb_phrase.split(":")[1].lstrip("0+")


def _is_passive(kinds: list[str], inner: list[str]) -> bool:
    if inner and inner[0].endswith(":pass"):
        return True
    if not any(k.endswith((":be", ":get")) for k in kinds):
        return False
    if inner and (_verb_of(inner[0]).split("/")[0] in _PASSIVE_FORMS or inner[0].endswith("/n")):
        return True
    return "ADJP:VBN" in kinds or "UCP:ADJP:VBN" in kinds


def _has_object(kinds: tuple[str, ...], verb: str) -> bool:
    if any(k.startswith("NP") for k in kinds):
        return True
    return not verb.startswith("0") and any(k.startswith("VP") and k.endswith("~object") for k in kinds)


def _clause(label: str, kinds: tuple[str, ...]) -> str:
    verb_phrases = [i for i, k in enumerate(kinds) if k.startswith("VP")]
    subject = ""
    for kind in kinds[: verb_phrases[0] if verb_phrases else len(kinds)]:
        if kind.startswith("NP"):
            subject = "/n"
        elif kind[0] == "S":
            subject = "/s"
    predicate = kinds[verb_phrases[-1]][3:] if verb_phrases else base(kinds[-1])
    return f"{label}{subject}:{predicate}"


def _subordinate_clause(label: str, kinds: tuple[str, ...]) -> str:
    inner = _outer_layer(next((k for k in reversed(kinds) if k[0] == "S"), ""), "SBAR")
    if len(kinds) == 1:
        return f"SBAR:0/{inner}"
    opener = base(kinds[0])
    if opener == "IN":
        word = _word_of(kinds[0])
        opener = word if word in _MARKED_CONJUNCTIONS else "IN"
    return f"SBAR:{opener}/{inner}"


def _prepositional_phrase(label: str, kinds: tuple[str, ...]) -> str:
    labels = [base(k) for k in kinds]
    if any(x in ("NP", "WHNP", "NP-TMP") for x in labels):
        # "in order" stands for a clause.
        if len(kinds) == 2 and kinds[1] == "NP~order" and _word_of(kinds[0]) == "in":
            return f"{label}:order"
        return f"{label}~TO" if labels[0] == "TO" else label
    if any(x in _CLAUSES for x in labels):
        return f"{label}:S"
    if len(kinds) == 1:
        return f"{label}:{labels[0]}"
    if kinds[-1] == "PP~TO":
        return f"{label}:{labels[0]}+TO"
    last = _plain(kinds[-1]) if labels[-1] in ("PP", "UCP") else labels[-1]
    return f"{label}:{labels[0]}+{'PP+' if '+' in last else last}"


def _noun_phrase(label: str, kinds: tuple[str, ...]) -> str:
    if kinds[-1] == "POS":
        return f"{label}:POS"
    if kinds[0].startswith("EX"):
        return f"{label}:EX"
    word = _word_of(kinds[-1])
    if word in _TIME_NOUNS:
        return f"{label}~time"
    if len(kinds) == 1 and (word == "order" or kinds[0] == "NNP"):
        return f"{label}~{word or kinds[0]}"
    return f"{label}~PRP$" if kinds[0] == "PRP$" else label


def _adjective_phrase(label: str, kinds: tuple[str, ...]) -> str:
    if any(base(k) in ("VBN", "VBD") or k == "ADJP:VBN" for k in kinds):
        return "ADJP:VBN"
    return "ADJP:QP" if kinds == ("QP",) else "ADJP"


def _adverb_phrase(label: str, kinds: tuple[str, ...]) -> str:
    adverbs = [k for k in kinds if base(k) == "RB"]
    if adverbs and adverbs[-1] == "RB:not":
        return f"{label}:not"
    return f"{label}~RB" if len(kinds) == 1 and adverbs else label


def _mixed_coordination(label: str, kinds: tuple[str, ...]) -> str:
    return f"{label}:{_outer_layer(_plain(kinds[0]), 'UCP')}"


def _outer_layer(kind: str, label: str) -> str:
    """The kind, but of one with this label only the label: else kinds would grow with the depth of the tree."""
    return label if kind.startswith(label) else kind


_MAKERS = {
    "VP": _verb_phrase,
    "S": _clause,
    "SINV": _clause,
    "SQ": _clause,
    "SBAR": _subordinate_clause,
    "PP": _prepositional_phrase,
    "WHPP": _prepositional_phrase,
    "NP": _noun_phrase,
    "ADJP": _adjective_phrase,
    "ADVP": _adverb_phrase,
    "UCP": _mixed_coordination,
}


def visible(label: str, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds as this parent sees them: marks that matter here spelled out, the others dropped."""
    parent = base(label.rstrip("!^"))
    coordinated = any(k == "CC" or k.startswith("CONJP") for k in kinds)
    noun_phrases = sum(k.startswith("NP") for k in kinds)
    shown = []
    for place, kind in enumerate(kinds):
        plain, _, mark = kind.partition("~")
        if mark in _JOINABLE and _joined_here(kinds, place) and (parent != "CONJP" or "~if" not in kinds[-1]):
            plain += ":mwe"
        elif plain == "NP" and (
            (mark == "time" and parent == "VP")
            or (mark == "PRP$" and parent == "VP" and noun_phrases > 1)
            or (mark == "NNP" and parent == "NP" and place > 0)
            or (mark == "order" and parent == "PP")
        ):
            plain = f"NP:{mark}"
        elif plain == "ADVP" and mark and coordinated:
            plain = f"ADVP:{mark}"
        elif (plain == "ADJP:VBN" and parent != "VP") or (plain == "ADJP:QP" and parent != "NP"):
            plain = "ADJP"
        elif plain.startswith("SBAR:as/") and parent != "ADJP":
            plain = plain.replace(":as/", ":IN/", 1)
        if parent == "NP" and plain.startswith("SBAR:IN/S/n"):
            # Clauses with "while" and the like count as relative ones if their verb has no object.
            plain = f"SBAR:IN/{mark or 'free'}"
        shown.append(plain)
    return tuple(shown)


def _joined_here(kinds: tuple[str, ...], place: int) -> bool:
    word = _word_of(kinds[place])
    before = _word_of(kinds[place - 1]) if place else ""
    after = _word_of(kinds[place + 1]) if place + 1 < len(kinds) else ""
    return f"{before} {word}" in _JOINED or f"{word} {after}" in _JOINED


def coarse(kinds: Iterable[str]) -> tuple[str, ...]:
    """Kinds with the differences dropped that seldom matter: what is tried when the full kinds were never seen."""
    return tuple(_coarse(kind) for kind in kinds)


def _coarse(kind: str) -> str:
    if kind.startswith("SBAR:"):
        opener, _, clause = kind[5:].partition("/")
        return f"SBAR:{opener}/{clause.partition(':')[0]}" + (":TO" if ":TO" in clause else "")
    for tag in ("VBZ", "VBP", "VBD", "MD"):
        if tag in kind:
            kind = kind.replace(tag, "VF")
    if kind.startswith(("VF:seem", "VF:become", "VF:do", "VF:get", "VF:have", "VF:tell")):
        return "VF"
    if kind.startswith("PP:") and kind.split(":")[1].split("+")[0] in _NO_PREPOSITION:
        return "PP:other"
    return "NNP" if kind == "NNPS" else kind
