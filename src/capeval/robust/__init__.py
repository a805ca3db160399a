"""Robustness: what metrics do with captions that were changed on purpose.

`curves` makes captions worse step by step (Cui et al. 2018), `distractors` pairs them with wrong ones (Hodosh and
Hockenmaier 2016), `components` changes one word (Jiang et al. 2019), `probe` changes the wording but not the meaning
(Kilickaya et al. 2017), `attacks` tries to fool a metric. Each takes expressions, metric objects or functions
`Dataset -> scores`, and gives an `Outcome`.
"""

from capeval.robust.attacks import attacks
from capeval.robust.components import components
from capeval.robust.curves import curves
from capeval.robust.distractors import distractors
from capeval.robust.outcome import Outcome
from capeval.robust.probe import probe

__all__ = ["Outcome", "attacks", "components", "curves", "distractors", "probe"]
