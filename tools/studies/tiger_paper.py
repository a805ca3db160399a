"""Figures of the TIGEr paper (Jiang et al. 2019), as printed, to stand beside ours."""

from __future__ import annotations

TABLE_1 = {
    "bleu_1": (".280", ".353", ".323", ".404"),
    "bleu_4": (".205", ".352", ".138", ".387"),
    "rouge_l": (".307", ".383", ".323", ".404"),
    "meteor": (".379", ".469", ".418", ".519"),
    "cider_d": (".378", ".472", ".439", ".542"),
    "spice": (".419", ".514", ".449", ".596"),
    "tiger_rrs": (".388", ".479", ".418", ".521"),
    "tiger_wds": (".433", ".526", ".464", ".572"),
    "tiger": (".454", ".553", ".493", ".606"),
}
"""Kendall's tau and Spearman's rho on Composite, then on Flickr8k."""

TABLE_2 = {
    "bleu_1": "51.2 95.7 91.2 58.2, 74.1",
    "bleu_4": "53.0 92.4 86.7 59.4, 72.9",
    "rouge_l": "51.5 94.5 92.5 57.7, 74.1",
    "meteor": "56.7 97.6 94.2 63.4, 78.0",
    "cider_d": "53.0 98.0 91.5 64.5, 76.8",
    "spice": "52.6 93.9 83.6 48.1, 69.6",
    "tiger": "56.0 99.8 92.8 74.2, 80.7",
}
"""Percent on PASCAL-50S: HC, HI, HM, MM and their mean."""

FIGURE_5 = (
    "The paper shows its curves without numbers: TIGEr's is nearly flat, and those of the other metrics rise with the "
    "number of references."
)
FIGURE_7 = (
    "The paper chose its words by hand, for a small set of images, and prints of its figures only those of TIGEr's "
    "properties: count 84.2, state 69.7, colour 69.2."
)


def paper_name(metric: str) -> str:
    """What the paper has under its own name for a metric of ours: its CIDEr is CIDEr-D."""
    return metric.split("(")[0]
