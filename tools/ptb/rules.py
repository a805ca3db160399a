"""What the Penn Treebank tokenizer of the COCO evaluation takes for a token.

`RULES` is a table of (kind, what is the token, what must follow it). At each place the rule that reaches farthest
wins (what must follow counts), and among equals the first. `{name}` refers to `PARTS`. Plain letters match both
cases; classes and `(?-i:..)` match exactly (see `automaton.py`).

The kind says what becomes of the matched text; `capeval.text.ptb` lists them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from symbols import DIGIT, LETTER, MARK, SYMBOL, UPPER


class Rule(NamedTuple):
    kind: str
    token: str
    follow: str = ""


PARTS: dict[str, str] = {
    "L": LETTER,
    "D": DIGIT,
    "U": UPPER,
    # -- white space
    "gap": r"[ \t\u00a0\u2000-\u200a\u3000]",
    "break": r"(?:\r|\r?\n|[\u2028\u2029\x0b\x0c\x85])",
    "space": r"(?:{gap}|{break})",
    # -- words
    "entity_letter": r"&[aeiouAEIOU](?:acute|grave|uml);",
    "letter": rf"(?:[{{L}}{MARK}]|{{entity_letter}})",
    "digit": r"[{D}\u07c0-\u07c9]",
    "tail": r"(?:{letter}|{digit})*",
    "word": r"{letter}{tail}(?:[.!?]{letter}{tail})*",
    "apostrophe": r"(?:['\x92\u2019]|&apos;)",
    "any_apostrophe": r"(?:{apostrophe}|[`\x91\u2018\u201b])",
    "short_verb": r"{apostrophe}(?:[msdMSD]|re|ve|ll)",
    "not": r"n{any_apostrophe}t",
    "before_not": r"[A-Za-z\u00ad]*[A-MO-Za-mo-z]\u00ad*",
    "with_apostrophe": (
        r"(?:{apostrophe}n{apostrophe}?|[lLdDjJ]{apostrophe}|(?:Dunkin|somethin|ol){apostrophe}"
        r"|{apostrophe}(?:em|cause|till?|[2-9]0s)|[A-HJ-XZn]{any_apostrophe}[{L}]{{2}}[{L}]*"
        r"|[{L}]+[aeiouyAEIOUY]{any_apostrophe}[aeiouA-Z][{L}]*"
        r"|cont'd\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l|O{any_apostrophe}o)"
    ),
    # -- numbers
    "number": r"(?:{digit}+|{digit}*(?:[.:,\u00ad\u066b\u066c]{digit}+)+)",
    "signed": r"[-+]?{number}",
    "date": r"{digit}{{1,2}}[-/]{digit}{{1,2}}[-/]{digit}{{2,4}}",
    "fraction": r"(?:{digit}{{1,4}}[- \u00a0])?{digit}{{1,4}}(?:\\?/|\u2044){digit}{{1,4}}",
    "script_number": r"[\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+)",
    "phone": (
        r"(?:(?:\([0-9]{{2,3}}\)[ \u00a0]?|(?:\+\+?)?(?:[0-9]{{2,4}}[- \u00a0])?[0-9]{{2,4}}[- \u00a0])"
        r"[0-9]{{3,4}}[- \u00a0]?[0-9]{{3,5}}"
        r"|(?:(?:\+\+?)?[0-9]{{2,4}}\.)?[0-9]{{2,4}}\.[0-9]{{3,4}}\.[0-9]{{3,5}})"
    ),
    # -- compounds
    "hyphen": r"[-_\u058a\u2010\u2011]",
    "alnum": r"[{L}{D}]",
    "elided": r"(?:[dDoOlL]{any_apostrophe}{alnum})?",
    "compound": r"{elided}{alnum}+(?:{hyphen}{elided}{alnum}+)*",
    "dotted": r"[A-Za-z](?:\.[A-Za-z])+|(?:Canada|Sino|Korean|EU|Japan|non)-U\.S|U\.S\.-(?:U\.K|U\.S\.S\.R)",
    "hyphenated": r"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*(?:-(?:[A-Za-z0-9\u00ad]+|(?:{dotted})\.))+",
    "joined_capitals": r"[A-Z]+(?:(?:[+&]|&amp;)[A-Z]+)+",
    "slashed": r"[A-Za-z0-9]+(?:-[A-Za-z]+){{0,2}}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){{0,2}}){{1,2}}",
    # -- names on the net
    "full_url": r'https?://[^ \t\n\f\r"<>|(){{}}]+[^ \t\n\f\r"<>|.!?(){{}},-]',
    "likely_url": (
        r'(?:www\.(?:[^ \t\n\f\r"<>|.!?(){{}},]+\.)+[a-zA-Z]{{2,4}}'
        r"""|(?:[^ \t\n\f\r"`'<>|.!?(){{}},-_$]+\.)+(?:com|net|org|edu))"""
        r'(?:/[^ \t\n\f\r"<>|()]+[^ \t\n\f\r"<>|.!?(){{}},-])?'
    ),
    "email": (
        r'(?:&lt;|<)?[a-zA-Z0-9][^ \t\n\f\r"<>|()\u00a0{{}}]*@(?:[^ \t\n\f\r"<>|(){{}}.\u00a0]+\.)*'
        r'[^ \t\n\f\r"<>|(){{}}.\u00a0]+(?:&gt;|>)?'
    ),
    "handle": r"(?:@[a-zA-Z_][a-zA-Z_0-9]*|\#{letter}+)",
    "tag": (
        r"<(?:[!?][A-Za-z-][^>\r\n]*|[A-Za-z][A-Za-z0-9_:.-]*(?:[ ]+(?:[A-Za-z][A-Za-z0-9_:.-]*"
        r"|[A-Za-z][A-Za-z0-9_:.-]*[ ]*=[ ]*(?:'[^']*'|\"[^\"]*\")))*[ ]*/?"
        r"|/[A-Za-z][A-Za-z0-9_:.-]*)[ ]*>"
    ),
    "file_name": (
        r"(?:{letter}|{digit})+(?:\.(?:{letter}|{digit})+)*\.(?:bat|bmp|c|class|cgi|cpp|dll|doc|docx|exe|gif|gz|h|htm|html|jar|java|jpeg"
        r"|jpg|mov|mp3|pdf|php|pl|png|ppt|ps|py|sql|tar|txt|wav|x|xml|zip)"
    ),
    # -- abbreviations
    "month_day": r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Mon|Tue|Tues|Wed|Thu|Thurs|Fri",
    "state": (
        r"Ala|Ariz|(?-i:A)z|(?-i:A)rk|Calif|Colo|Conn|Ct|Dak|(?-i:D)el|Fla|Ga|(?-i:I)ll|Ind|Kans?|Ky|(?-i:L)a"
        r"|(?-i:M)ass|Md|Mich|Minn|(?-i:M)iss|Mo|Mont|Neb|Nev|Okla|(?-i:O)re|(?-i:P)a|Penn|Tenn|(?-i:T)ex|Va|Vt"
        r"|(?-i:W)ash|Wisc?|Wyo"
    ),
    "company": r"Inc|Cos?|Corp|Pp?t[ye]s?|Ltd|Plc|Bancorp|Bhd|Assn|Univ|Intl|Sys|Rt",
    "closing": (
        r"(?:{month_day}|{state}|{company}|tel|est|ext|sq|Jr|Sr|Bros|(?:Ed|Ph)\.D|Esq|Rd|Blvd|etc|al|seq|Bldg)\."
    ),
    "title": (
        r"Mr|Mrs|Ms|(?-i:M)iss|Drs?|Profs?|Sens?|Reps?|Attys?|Lt|Col|Gen|Messrs|Govs?|Adm|Rev|Maj|Sgt|Cpl|Pvt|Capt"
        r"|Ste?|Ave|Pres|Lieut|Hon|Brig|Co?mdr|Pfc|Spc|Supts?|Det|Mt|Ft|Adj|Adv|Asst|Assoc|Ens|Insp|Mlle|Mme|Msgr|Sfc"
    ),
    "acronym": r"(?:[A-Za-z](?:\.[A-Za-z])*|(?:Canada|Sino|Korean|EU|Japan|non)-U\.S|U\.S\.-(?:U\.K|U\.S\.S\.R))",
    "leading": (r"(?:{title}|vs|Alex|Wm|Jos|Cie|a\.k\.a|cf|TREAS|Ph|{acronym}|Invt|Elec|Natl|M[ft]g|Dept)"),
    "before_number": r"(?:ca|figs?|prop|nos?|art|bldg|pp|op)\.",
    "opener": (
        r"(?:(?-i:A)(?:bout|ccording|dditionally|fter|n|s|t)?|(?-i:B)ut|(?-i:E)arlier|(?-i:H)e(?:re?)?|(?-i:H)owever"
        r"|(?-i:I)f|(?-i:I)n|(?-i:I)t|(?-i:L)ast|(?-i:M)any|(?-i:M)ore|(?-i:M)r\.|(?-i:M)s\.|(?-i:N)ow|(?-i:O)nce|(?-i:O)ne|(?-i:O)ther"
        r"|(?-i:O)ur|(?-i:S)he|(?-i:S)ince|(?-i:S)o(?:me)?|(?-i:S)uch|(?-i:T)hat|(?-i:T)he(?:n|re|se|y|ir)?|(?-i:T)his"
        r"|(?-i:W)e|(?-i:W)hen|(?-i:W)hile|(?-i:W)hat|(?-i:Y)et|(?-i:Y)ou|{tag})"
    ),
    # -- marks
    "pause": r"[,;:\u3001]",
    "quote": r"(?:{apostrophe}|''|[`\u2018-\u201f\x91-\x94\u2039\u203a\u00ab\u00bb]{{1,2}})",
    "double_quote": r'(?:"|&quot;)',
    "dots": r"(?:\.{{3,5}}|(?:\.[ \u00a0]){{2,4}}\.|[\x85\u2026])",
    "smiley": r"[<>]?[:;=][-o*']?[()DPdpO\\{{@|\[\]]",
    "asian_smiley": (
        r"(?:[\^x=~<>]\.\[\^x=[^<]*<>\]|[-\^x=~<>']_[-\^x=~<>']|\([-\^x=~<>'][_.]?[-\^x=~<>']\)"
        r"|\([\^x=~<>']-[\^x=~<>'`]\))"
    ),
    "bracket_name": r"-(?:RRB|LRB|RCB|LCB|RSB|LSB)-",
}

RULES: list[Rule] = [
    Rule("plain", r"c\+\+|c\#|f\#"),
    Rule("split_3", r"cannot|'twas"),
    Rule("split_2", r"gonna|gotta|lemme|gimme|wanna|'tis"),
    Rule("nbsp", r"{tag}"),
    Rule("dash", r"&(?:MD|mdash|ndash);|[\x96\x97\u2013-\u2015]"),
    Rule("ampersand", r"&amp;"),
    Rule("plain", r"&(?:HT|TL|UR|LR|QC|QL|QR|odq|cdq|\#[0-9]+);"),
    Rule("soft", r"{word}", r"{short_verb}"),
    Rule("soft", r"{before_not}", r"{not}"),
    Rule("soft", r"{word}"),
    Rule("plain", r"{with_apostrophe}"),
    Rule("plain", r"y{apostrophe}", r"[{L}]"),
    Rule("plain", r"{full_url}"),
    Rule("plain", r"{likely_url}"),
    Rule("plain", r"{email}"),
    Rule("plain", r"{handle}"),
    Rule("quote", r"{short_verb}", r"[^A-Za-z]"),
    Rule("quote", r"{not}", r"[^A-Za-z]"),
    Rule("plain", r"{date}"),
    Rule("soft", r"{signed}"),
    Rule("plain", r"{script_number}"),
    Rule("nbsp", r"{fraction}"),
    Rule("vulgar_fraction", r"[\u00bc-\u00be\u2153-\u215e]"),
    Rule(
        "ampersand",
        r"{bracket_name}|C\.D\.s|pro-|anti-|S(?:&|&amp;)P-500|S(?:&|&amp;)Ls|Cap{apostrophe}n|c{apostrophe}est",
    ),
    Rule("plain", r"{slashed}"),
    Rule("plain", r"[A-Z]*\$|\#"),
    Rule("currency", r"[\xa2-\xa5\x80\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6]"),
    Rule("acronym", r"{acronym}\.", r"{space}+{opener}{space}"),
    Rule("plain", r"{before_number}", r"{space}?[{D}]"),
    Rule("plain", r"(?:pt[eyEY]|co)\.", r"{gap}(?:ltd|lim)"),
    Rule("repeat_dot", r"{closing}", r"{space}(?:{space}|[{U}]|{tag})"),
    Rule("plain", r"{closing}", r".."),
    Rule("repeat_dot", r"{closing}"),
    Rule("plain", r"{leading}\."),
    Rule("plain", r"{leading}", r"{gap}"),
    Rule("plain", r"{acronym}", r"{space}"),
    Rule("plain", r"{apostrophe}[0-9][0-9]", r"{space}"),
    Rule("plain", r"{file_name}", r"{space}|[.?!,]"),
    Rule("soft", r"{word}\.", r"{pause}"),
    Rule("phone", r"{phone}"),
    Rule("left_quote", r"{double_quote}", r"[A-Za-z0-9$]"),
    Rule("quote", r"{double_quote}"),
    Rule("skip", r"\x7f"),
    Rule("less", r"<|&lt;"),
    Rule("greater", r">|&gt;"),
    Rule("brackets", r"{smiley}", r"[^A-Za-z0-9]"),
    Rule("brackets", r"{asian_smiley}"),
    Rule("bracket", r"[\[\](){{}}]"),
    Rule("dashes", r"-+"),
    Rule("ellipsis", r"{dots}"),
    Rule("plain", r"@+|\#+|_+"),
    Rule("plain", r"\*+|(?:\\\*){{1,3}}"),
    Rule("plain", r"{pause}"),
    Rule("plain", r"[?!]+"),
    Rule("plain", r"[.\xa1\xbf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002]"),
    Rule("plain", r"="),
    Rule("plain", r"/"),
    Rule("soft", r"{hyphenated}"),
    Rule("soft", r"{hyphenated}\.", r"{pause}"),
    Rule("plain", r"{compound}\.", r"{pause}"),
    Rule("plain", r"{compound}"),
    Rule("ampersand", r"{joined_capitals}\.", r"{pause}"),
    Rule("ampersand", r"{joined_capitals}"),
    Rule("left_quote", r"'", r"[A-Za-z][^ \t\n\r\u00a0]"),
    Rule("quote", r"{short_verb}"),
    Rule("quote", r"{not}"),
    Rule("quote", r"{quote}"),
    Rule("plain", r"<<|>>"),
    Rule("plain", SYMBOL),
    Rule("skip", r"[\x00\u200b\u200e\u200f\ufeff]"),
    Rule("skip", r"{gap}+"),
    Rule("line", r"{break}"),
    Rule("skip", r"&nbsp;"),
    Rule("delete", r"."),
]


def expand(pattern: str) -> str:
    """Replaces `{name}` by its part, however deep; `{{` and `}}` are literal braces."""
    while re.search(r"(?<!\{)\{[A-Za-z_]+\}", pattern):
        pattern = re.sub(r"(?<!\{)\{([A-Za-z_]+)\}", lambda m: _group(PARTS[m.group(1)]), pattern)
    return pattern.replace("{{", "{").replace("}}", "}")


def _group(part: str) -> str:
    return part if len(part) == 1 else f"(?:{part})"
