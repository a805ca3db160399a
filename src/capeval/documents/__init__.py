"""Results as documents: what commands print and keep as JSON, and what reports and other programs read.

A document says what it is in its field `schema`, such as `capeval.score/1`. The number is raised when a reader of the
former one would go wrong; a field that is new and may be missing does not raise it.
"""

from capeval.documents.reading import as_dict, decode, decode_as
from capeval.documents.types import (
    BenchDocument,
    CompareDocument,
    Difference,
    Document,
    ExplanationDocument,
    LeaderboardDocument,
    Limits,
    RobustDocument,
    ScoreDocument,
    SystemScores,
)

__all__ = [
    "BenchDocument",
    "CompareDocument",
    "Difference",
    "Document",
    "ExplanationDocument",
    "LeaderboardDocument",
    "Limits",
    "RobustDocument",
    "ScoreDocument",
    "SystemScores",
    "as_dict",
    "decode",
    "decode_as",
]
