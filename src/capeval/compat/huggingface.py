"""Any metric as a module of Hugging Face `evaluate`, which must be installed.

from capeval.compat.huggingface import CaptionMetric
cider = CaptionMetric("cider_d")                 # or evaluate.load("PATH/OF/THIS/FILE.py", "cider_d")
cider.add_batch(predictions=["a dog"], references=[["a dog runs", "the dog"]])
cider.compute()                                  # {"cider_d": ...}
"""

from __future__ import annotations

from typing import Any

from capeval.api import score
from capeval.errors import Unavailable
from capeval.registry import parse

try:
    import datasets
    import evaluate
except ImportError:
    raise Unavailable("capeval.compat.huggingface needs evaluate. Install it with: pip install evaluate") from None

_INPUTS = """
Args:
    predictions: a list of captions.
    references: for each caption a list of references, or one as a text.
    per_caption: whether lists with the score of each caption are wanted too.
"""


class CaptionMetric(evaluate.Metric):  # type: ignore[misc]
    """`config_name`: a metric expression, such as `cider_d(df=coco-val2014)`; several are joined with `;`."""

    def __init__(self, config_name: str | None = None, **options: Any) -> None:
        self._expressions = [each.strip() for each in (config_name or "cider_d").split(";")]
        self._metrics = [parse(each) for each in self._expressions]  # report a bad name here
        super().__init__(config_name=config_name or "cider_d", **options)

    def _info(self) -> Any:
        infos = [selection.metric.info for selection in self._metrics]
        caption = datasets.Value("string")
        several = datasets.Features({"predictions": caption, "references": datasets.Sequence(caption)})
        return evaluate.MetricInfo(
            description="\n".join(f"{info.name}: {info.summary}" for info in infos),
            citation="\n".join(dict.fromkeys(info.citation for info in infos)),
            inputs_description=_INPUTS,
            features=[several, datasets.Features({"predictions": caption, "references": caption})],
        )

    def _compute(self, predictions: list[str], references: list[Any], per_caption: bool = False) -> dict[str, Any]:
        known = [[each] if isinstance(each, str) else list(each) for each in references]
        result = score(list(predictions), known, self._expressions)
        each = {f"{name}_per_caption": values.tolist() for name, values in result.per_caption.items()}
        return dict(result.scores) | (each if per_caption else {})
