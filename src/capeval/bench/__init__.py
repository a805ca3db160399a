"""Meta-evaluation: how well do metrics agree with people?

`run("flickr8k-expert", ["cider_d", my_function])` measures; `load` gives the judgements themselves.
"""

from capeval.bench.registry import benchmarks, load
from capeval.bench.runner import Outcome, Settings, run
from capeval.bench.types import Benchmark, Pairs, Ratings, Source, Systems

__all__ = ["Benchmark", "Outcome", "Pairs", "Ratings", "Settings", "Source", "Systems", "benchmarks", "load", "run"]
