"""The engine in plain Python and NumPy: what the C++ engine must compute, written to be read.

Captions are runs of integers: caption c is `tokens[offsets[c]:offsets[c + 1]]`. A row is one candidate caption
(`candidate`, an index of a caption) judged by one reference set (`group`, an index of a set); set g is
`group_captions[group_offsets[g]:group_offsets[g + 1]]`, again indices of captions. `capeval.types.Rows` holds the four.

Each function stands in the file that has the name of its C++ twin's. `threads` is there for the twin.
"""

from capeval.engine.chart import parse_captions
from capeval.engine.meteor import meteor_stats
from capeval.engine.network import parse_network
from capeval.engine.ngrams import document_frequency, ngrams
from capeval.engine.phrases import find_phrases
from capeval.engine.ranking import rank_stats
from capeval.engine.rules import dependency_tuples
from capeval.engine.scan import scan
from capeval.engine.scene import scene_stats
from capeval.engine.scores import bleu_stats, cider_stats, rouge_stats
from capeval.engine.squeeze import squeeze
from capeval.engine.transport import transport, wmd_stats

__all__ = [
    "bleu_stats",
    "cider_stats",
    "dependency_tuples",
    "document_frequency",
    "find_phrases",
    "meteor_stats",
    "ngrams",
    "parse_captions",
    "parse_network",
    "rank_stats",
    "rouge_stats",
    "scan",
    "scene_stats",
    "simd",
    "squeeze",
    "transport",
    "wmd_stats",
]


def simd() -> str:
    """Which vector instructions the loops are compiled for: `avx2` in the C++ engine, where the machine has them."""
    return "none"
