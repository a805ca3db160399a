"""Writes tests/golden/ptb_hard.jsonl.gz: hard captions with the tokens that the official tokenizer gives them.

    python tools/ptb/make_golden.py path/to/stanford-corenlp-3.4.1.jar

Java and the jar (it is inside the PyPI package pycocoevalcap 1.2) are needed to make the file, not to use it. The
captions are ours: sentences with slots, and short runs of awkward fragments. The draw is seeded, so the same captions
come out each time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "ptb_hard.jsonl.gz"
REMOVED = ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
# The official tool looks into the next line to decide about a last "K."; every caption is followed by this one.
NEXT_CAPTION, NEXT_TOKENS = "A dog", "a dog"

SLOTS = {
    "price": (
        "$5|$5.99|US$20|C$3|A$1,000|€20|€3,50|£3.50|¥100|5¢|99 ¢|$.50|$ 7|20 $|1.000 €|USD 5|₹500|₩1000|$1.5m|$10-$20"
    ),
    "time": (
        "3:45|12:30pm|12:30 PM|10:00 a.m.|5 p.m.|5p.m.|7 o'clock|7 o’clock|00:15:30|half past 9|9.30|6am|noon|"
        "11:59 P.M."
    ),
    "fraction": "1/2|3/4|1 1/2|2-1/2|½|¼|¾|⅓|⅔|⅛|1½|3/4ths|23 3/4|1/2-inch|½ cup|10/10",
    "number": (
        "1,000|1,000.50|.5|-3|+4|-3.5|1990s|90's|'90s|’80s|2nd|21st|10x|3rd|100%|50 %|1e6|4.5.6|007|1-2|5-10|"
        "2x4|#1|No. 5|no. 7"
    ),
    "date": "12/25/2014|1-2-03|2014-10-02|Jan. 5|Dec. 25th|Oct. 3, 2013|5/6|'14|the '60s|Sept. 11|Mon.|July 4th",
    "phone": "555-1234|(555) 123-4567|555 123 4567|1.800.555.1234|+44 20 7946 0958|1-800-FLOWERS|(02) 9876 5432",
    "link": (
        "http://example.com|https://a.b/c?d=e&f=g|www.example.com|example.com|foo.org/bar|x.net|me@example.com|"
        "<me@x.org>|file.txt|photo.jpg|index.html|http://t.co/aB3|ftp://x.y|bit.ly/1aB|news.co.uk|"
        "https://example.com/a_(b).|IMG_0042.JPG"
    ),
    "tag": "#hashtag|#Hash_tag|#nofilter|#1|##|@user|@User_name|@@|#tbt!|#été|@home|#2014goals|#a#b",
    "entity": (
        "&amp;|&lt;3|&gt;|&quot;hi&quot;|&apos;s|&nbsp;|&eacute;|caf&eacute;|&mdash;|&#39;|&#8217;s|AT&amp;T|"
        "R&amp;B|&AMP;|&"
    ),
    "short": (
        "don't|can't|won't|cannot|gonna|wanna|gotta|lemme|gimme|isn`t|isn’t|it’s|I'm|you're|we've|they'll|he'd|"
        "y'all|ain't|aren't|wouldn't've|who's|that's|let's|what're|DON'T|CAN’T|Cannot|dunno|'tis|'twas|’Tis|"
        "d'ye|whatcha|more'n|shan't"
    ),
    "elided": (
        "man's|dogs'|James's|kids’|boss’s|o'clock|O'Brien|d'Artagnan|l'eau|rock'n'roll|'n'|'em|ol'|somethin'|"
        "c'mon|ma'am|s'mores|nor'easter|y'know|n’ roll|singin’|fish 'n chips|'cause|qu'on|D'Angelo's|cap'n"
    ),
    "abbreviation": (
        "U.S.|U.S|U.K.|U.S.A.|e.g.|i.e.|etc.|Mr.|Mrs.|Dr.|St.|Ave.|Blvd.|Rd.|Inc.|Co.|Ltd.|Corp.|vs.|Ph.D.|Jr.|"
        "Sr.|a.k.a.|J. K.|T.V.|D.C.|N.Y.|Sgt.|Mt.|Ft.|oz.|lb.|ft.|in.|approx.|Fig.|p. 5|R.I.P.|B.C.|Ste.|Hon.|"
        "Gov.|No.|est.|misc.|Prof.|Pty. Ltd.|non-U.S."
    ),
    "initial": "A.|B.|I.|J.|K.|X.|J.J.|G.I.|a.|b.|V.",
    "hyphen": (
        "T-shirt|t-shirt|well-known|ice-cream|x-ray|state-of-the-art|and/or|black/white|red-and-white|"
        "3-year-old|two–way|mid—jump|e-mail|co-op|U.S.-made|pre-1990|brown--eyed|twenty-one|hot -dog|"
        "semi- circle|black‐tie|non‑stick|soft\u00adhyphen|1920s-style|A/C|w/|w/o"
    ),
    "dash": "-|--|---|----|-----|–|—|―| - |–-|\u2012|―",
    "dots": "...|....|.....|......|. . .|. . . .|…|……|..|.",
    "quoted": (
        "“stop”|\"stop\"|'stop'|‘stop’|''stop''|``stop''|`stop'|«arrêt»|‹stop›|„stop“|\"Stop!\"|'Oh, no'|"
        '“no parking.”|"|\'|”|‚x’|‛x’|""|\'"\''
    ),
    "bracket": (
        '(left)|[sic]|{x}|(two|three)|((x))|(1)|[1]|(a.k.a. Bob)|( o )|<b>|</b>|<br />|<a href="x y">|'
        "<!-- c -->|<3|>|<|<<|>>|-LRB-|-rrb-"
    ),
    "accent": (
        "café|naïve|jalapeño|Müller|Ångström|señor|crème brûlée|Zoë|façade|piñata|über|Škoda|Łódź|İstanbul|"
        "smörgåsbord|e\u0301té|ﬁne|Ñandú|São Paulo|Straße|ǅ|ΣΊΣΥΦΟΣ|ΟΔΟΣ|Привет|МОСКВА|œuvre|Æsir|Đà Nẵng"
    ),
    "cjk": (
        "日本語|中文字|한국어|東京タワー|犬が走る。|猫、犬|寿司！|「犬」|ラーメン・餃子|（笑）|狗和猫|"
        "北京，中国|사과 2개|ﾊﾝｶｸ|全角ＡＢＣ１２３|〜|ー"
    ),
    "script": "العربية|עברית|हिन्दी|ไทย|ქართული|Ελληνικά|русский|தமிழ்|հայերեն|বাংলা|١٢٣|٣٫٥",
    "emoji": (
        "😀|👍🏽|👨\u200d👩\u200d👧|🇺🇸|❤\ufe0f|☀|★|🐶🐱|🍕!|🎉🎉🎉|♥|☺\ufe0f|⚽|✈\ufe0f|1\ufe0f⃣|🤷\u200d♀\ufe0f|☕"
    ),
    "smiley": ":)|:-)|;)|:D|:P|=(|<3|>_<|(^_^)|x_x|^_^|:-(|=)|:o|:'(|8-)|;-P|D:|:]|xD|(:",
    "symbol": (
        "→|©|®|™|°|25°C|90 °|±|×|÷|²|x²|m²|№|†|•|·|¡|¿|§|¶|µ|∞|≈|½″|6'|6'2\"|5′ 10″|*|**|+|=|==|~|^|_|__|\\|/|"
        "//|%|‰|`|´|¨|¬|¦"
    ),
    "name": (
        'Yahoo!|E!|OK! magazine|C++|c#|F#|S&P-500|AT&T|R&B|H&M|M&M\'s|7-Eleven|iPhone5|mp3|MP3s|Toys"R"Us|'
        "Dunkin' Donuts|McDonald's|Wal-Mart|Ben & Jerry's|B-52's|4x4's|Boeing 747-400|F/A-18|A380|ps3|WiFi|"
        "Guns N' Roses|P!nk|Ke$ha|Micro$oft|a_b|foo_bar|x.y|A4.|B&B"
    ),
    "british": (
        "colour|colours|grey|centre|theatre|neighbour|favourite|harbour|catalogue|cheque|jewellery|tyre|"
        "pyjamas|moustache|organise|travelling|metre|litres|Colour|COLOUR|honour|flavoured|analyse|programme|"
        "plough|odour|armour|rumour|labour|behaviour|neighbourhood|licence"
    ),
    "space": "\u00a0|\u2003|\u3000|\t|  |\u2009|\u200b|\ufeff|\u00ad|\u202f|\u200d|\u2060",
    "end": ".|!|?|!!|?!|...|…|;|:|,|.)|.\"|.'|”|. .|!!!|??|.”|'.|\".||||||.|.|.",
    "glued": (
        "word.Word|end.Start|what?no|yes!No|1.a|dog,cat|dog;cat|red/blue|and&or|dog.The|no...yes|a,b,c|"
        '(dog)cat|dog(s)|he/she|it.He|end."So'
    ),
}

TEMPLATES = """\
a man sells hot dogs for {price} at {time}{end}
A sign reads {quoted} next to a {british} building{end}
The {elided} bike is parked near {abbreviation} Smith's house{end}
Two dogs {dash} one black, one white {dash} run on {date}{end}
A woman with {fraction} of a pizza{end}
she {short} see the {hyphen} bus{end}
Photo by {tag} {link}
A {name} truck on {abbreviation} Main St.{end}
the clock says {time} {emoji}
{cjk} is written on the wall{end}
A {accent} in the city centre{end}
A bowl of {accent} and {accent}{end}
{entity} a cat {entity}
A kite {bracket} over the beach{end}
The man {bracket} {bracket} sits{end}
They {short} want to {short} go{end}
{number} people on a {number} bus{end}
Call {phone} for a {name} pizza{end}
a tv {dots} and a couch {dots}
A dog{dots}a cat{dots}
A {hyphen} rides {dash} a horse{end}
the {british} umbrella is {british}{end}
{quoted} says the {accent} sign{end}
A boy, {number}, plays with {elided} ball{end}
He said, {quoted}{end}
a train at {abbreviation} station at {time}{end}
The flight to {abbreviation} leaves at {time}{end}
A close-up of {fraction} an apple {smiley}
{smiley} {emoji} {smiley}
Sale! {price} {dash} {price}{end}
bananas {symbol} {price} per {abbreviation}
A street sign for {initial} Street and {initial} Ave.
Plan {initial}
Vitamin {initial} is good{end}
{initial} {initial} Smith plays tennis{end}
The {number} {name} jet{end}
a {number}-foot giraffe{end}
He is {symbol} tall{end}
A menu: eggs {price}, toast {price}; coffee {price}{end}
I think it {short} a bear{end}
What {short} the dog doing?
Who {short} it {dash} him?
{script} text on a {british} sign{end}
A stop sign in {script} and {cjk}{end}
A plate with {fraction} sandwich, {fraction} cup of soup{end}
#1 {tag} {tag} {emoji}
{tag}{tag} at {link}
See {link}, {link} and {link}.
{link}
a website ({link}) on a laptop{end}
The {abbreviation} flag{end}
The {abbreviation}
A cat, a dog, {abbreviation}
cats, dogs, {abbreviation} on a rug{end}
{abbreviation} {abbreviation} {abbreviation}
A bus ({number}) on route {number}{end}
A man{space}on{space}a horse
A{space} dog {space}
{space}a cat{space}
the{space}{number}{space}cats
An old{dash}fashioned {name} car from {date}{end}
born on {date} in {abbreviation}{end}
{date} {time} {price}
{number}/{number} and {fraction}
temp. of {symbol} {symbol}
A {symbol} B {symbol} C
{glued} {glued}
A dog.A cat.
a man {glued} a woman{end}
{quoted}{quoted}
({quoted}){end}
[{quoted}]{end}
{{{number}}}
{bracket}{bracket}{end}
{bracket} {quoted} {bracket}
{entity}{entity} {entity}
Tom {entity} Jerry{end}
{emoji}{emoji}a dog{emoji}
a pizza {emoji}{end}
I {emoji} {abbreviation}
{cjk}{cjk} {cjk}
{cjk} {number} {cjk}
{accent}{dash}{accent}
{accent}'s {accent}
{elided} {elided}{end}
The {elided} {elided} hat{end}
rock {elided} roll{end}
It's {time} {dash} {short} be late!
a girl {short}{end}
{short} {short} {short}{end}
{short}, {short}; {short}{end}
A surfer in the {date} {number}{end}
The player, no. {number}, swings{end}
Giants {abbreviation} Dodgers, {number}{dash}{number}
score: {number}-{number}{end}
{time}{dash}{time}
open {time} - {time} daily{end}
half{dash}eaten {hyphen} cake{end}
A {hyphen} and {hyphen} dress{end}
{hyphen}{end}
{hyphen} {dash}{hyphen}
a {british}, {british} and {british} scarf{end}
{british}'s {british}
the {british}-{british} room
{name} and {name} signs{end}
a bottle of {name} ({number} {abbreviation}){end}
a box of {name}{end}
{name}'s{end}
At {name}, {quoted} is {price}{end}
{phone}
tel. {phone} or {phone}{end}
Call me @ {phone}!
{price}
{price}{end}
only {price}!!!
{price}/{price}
{price} {symbol} {number}
{fraction}{end}
{fraction} {fraction}
{fraction} of {fraction}{end}
{number} {fraction} miles
mix {fraction} of the {abbreviation} in
The sign says '{number}{end}
The sign says "{number}{end}
'{elided}
"{short}"
'{short}'{end}
‘{accent}’ and “{cjk}”
``{name}''{end}
`{name}`{end}
{dots}{quoted}{dots}
so{dots} {short}{dots}
wait {dots} what{end}
{dash}{dash} {quoted}
{dash} a list item {dash}
* {name} * {price} *
{symbol}{symbol}
{symbol} {number}{symbol}
~{number} {symbol} {number}~
{smiley}{end}
happy dog {smiley}{smiley}
{smiley}a cat{smiley}
cats &{entity} dogs
A MAN {short} RIDE A {name} IN THE {abbreviation}
A MAN IN {british} AND {elided} HAT{end}
{initial}{initial}{initial}
{initial}{end}
{initial}-{number} {initial}/{initial}
mr. {initial} met mrs. {initial}
I.{space}{initial}
e.g.{space}{fraction}
{link}{end}
({link}){end}
"{link}"{end}
{link}/{number}
{tag}:{link}
RT {tag}: {quoted} {link} {emoji}
{tag}'s photo{end}
{script} {script}{end}
{script}{dash}{cjk}
{script} ({accent}) {emoji}
it cost {price} in {date} ({fraction} off){end}
{abbreviation} {initial} {accent} vs. {abbreviation} {name}{end}
{number}{number}
{number},{number}.{number}
{number}{symbol}
A person {dash} {elided} {british} {hyphen} {quoted} {end}
""".splitlines()

LETTERS = "abcdeilnorstuxyzABCDEIST0123456789.,'-/&;:!?()\"$#@_~^=+*\\%é ’"
SENTENCES, RUNS = 2500, 1200


def sentence(draw: random.Random, slots: dict[str, list[str]]) -> str:
    template = draw.choice(TEMPLATES)
    filled = re.sub(r"\{(\w+)\}", lambda slot: draw.choice(slots[slot[1]]), template)
    return filled.replace("{{", "{").replace("}}", "}")


def run(draw: random.Random, fragments: list[str]) -> str:
    """A few fragments with or without spaces between, now and then letters and marks at random."""
    text = ""
    for _ in range(draw.choice([1, 2, 2, 3, 4])):
        at_random = "".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 7)))
        text += draw.choice(fragments) if draw.random() < 0.8 else at_random
        text += draw.choice(["", " ", " ", " ", ".", ",", "'s"])
    return text


def captions(seed: int) -> list[str]:
    draw = random.Random(seed)
    slots = {name: parts.split("|") for name, parts in SLOTS.items()}
    fragments = [part for parts in slots.values() for part in parts if part]
    found: dict[str, None] = {}
    for make, choices, count in ((sentence, slots, SENTENCES), (run, fragments, RUNS)):
        wanted = len(found) + count
        while len(found) < wanted:
            found.setdefault(make(draw, choices))  # type: ignore[operator]
    return list(found)


def official_tokens(texts: list[str], jar: Path) -> list[str]:
    """What the COCO evaluation makes of each caption."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n") as file:
        file.write("".join(f"{text}\n{NEXT_CAPTION}\n" for text in texts))
        file.flush()
        command = ["java", "-Dfile.encoding=UTF-8", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer"]
        command += ["-preserveLines", "-lowerCase", file.name]
        done = subprocess.run(command, capture_output=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8"})
    lines = done.stdout.decode("utf-8").split("\n")[: 2 * len(texts)]
    if lines[1::2] != [NEXT_TOKENS] * len(texts):
        raise SystemExit("a caption broke the lines of the official tool: its tokens cannot be told apart")
    return [" ".join(word for word in line.rstrip().split(" ") if word not in REMOVED) for line in lines[0::2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jar", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    texts = captions(arguments.seed)
    lines = [
        json.dumps({"caption": text, "tokens": tokens}, ensure_ascii=False) + "\n"
        for text, tokens in zip(texts, official_tokens(texts, arguments.jar), strict=True)
    ]
    TARGET.write_bytes(gzip.compress("".join(lines).encode("utf-8"), 9, mtime=0))
    print(f"{TARGET}: {len(lines):,} captions, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
