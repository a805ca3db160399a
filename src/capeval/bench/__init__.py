"""Meta-evaluation: how well do metrics agree with people, and what do they make of captions changed on purpose?

`run("flickr8k-expert", ["cider_d", my_function])` measures; `load` gives the judgements themselves. The
checks with changed captions are in `capeval.bench.robust`.
"""

from capeval.bench.benchmark import Benchmark, Source
from capeval.bench.forms import Form, Part, Settings
from capeval.bench.leaderboard import Leaderboard, leaderboard
from capeval.bench.pairs import Pairs
from capeval.bench.ratings import Ratings
from capeval.bench.registry import benchmarks, load
from capeval.bench.runner import BenchmarkResult, run
from capeval.bench.systems import Systems

__all__ = [
    "Benchmark",
    "BenchmarkResult",
    "Form",
    "Leaderboard",
    "Pairs",
    "Part",
    "Ratings",
    "Settings",
    "Source",
    "Systems",
    "benchmarks",
    "leaderboard",
    "load",
    "run",
]
