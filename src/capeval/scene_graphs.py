"""What a caption speaks of, as an object that draws itself.

>>> import capeval
>>> capeval.scene_graph("A black dog runs on the beach.").tuples()                    # doctest: +SKIP
[('dog',), ('dog', 'black'), ('beach',), ('dog', 'beach', 'run on')]
"""

from __future__ import annotations

from capeval.errors import DataError
from capeval.parse import default_parser, tuples_of
from capeval.spice.scene import SceneGraph
from capeval.text.tokenize import tokenize


def scene_graph(caption: str, tokenizer: str = "ptb", parser: str | None = None) -> SceneGraph:
    """Objects, attributes and relations of a caption; in a notebook it shows as a picture.

    `parser` is "official" or "fast"; without it the official one is taken where its grammar is, else the fast one.
    """
    if not isinstance(caption, str):
        raise DataError(f"a caption is a text, not {caption!r}")
    text = " ".join(tokenize([caption], tokenizer)[0])
    return SceneGraph(tuples_of([text], parser=parser or default_parser())[0])
