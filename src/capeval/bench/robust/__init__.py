"""Robustness: what metrics do with captions that were changed on purpose.

`curves` makes captions worse step by step (Cui et al. 2018), `distractors` pairs them with wrong ones (Hodosh and
Hockenmaier 2016), `components` changes one word (Jiang et al. 2019), `probe` changes the wording but not the meaning
(Kilickaya et al. 2017), `attacks` tries to fool a metric. Each takes expressions, metric objects or functions
`Dataset -> scores`, and gives a `RobustnessResult`. The captions are made in `capeval.perturb`; `of_benchmark` gives
those of a benchmark's images to make them of.
"""

from capeval.bench.robust.attacks import attacks
from capeval.bench.robust.components import components
from capeval.bench.robust.curves import curves
from capeval.bench.robust.distractors import distractors
from capeval.bench.robust.material import Material, of_benchmark
from capeval.bench.robust.probe import probe
from capeval.bench.robust.result import RobustnessResult

__all__ = [
    "Material",
    "RobustnessResult",
    "attacks",
    "components",
    "curves",
    "distractors",
    "of_benchmark",
    "probe",
]
