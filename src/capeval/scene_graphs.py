"""What a caption speaks of, as an object that draws itself.

>>> import capeval
>>> capeval.scene_graph("A black dog runs on the beach.").tuples                      # doctest: +SKIP
[('dog',), ('dog', 'black'), ('beach',), ('dog', 'beach', 'run on')]
"""

from __future__ import annotations

from capeval.parse import tuples_of
from capeval.spice.scene import SceneGraph
from capeval.text.tokenize import tokenize


def scene_graph(caption: str, tokenizer: str = "ptb") -> SceneGraph:
    """Objects, attributes and relations of a caption; in a notebook it shows as a picture."""
    text = " ".join(tokenize([caption], tokenizer)[0])
    return SceneGraph(tuples_of([text])[0])
