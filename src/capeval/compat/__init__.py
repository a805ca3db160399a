"""The interfaces of other tools, over our own metrics: code written for them runs by changing its import lines."""

from capeval.compat.pycocoevalcap import Bleu, Cider, Meteor, PTBTokenizer, Rouge, compute_score

__all__ = ["Bleu", "Cider", "Meteor", "PTBTokenizer", "Rouge", "compute_score"]
