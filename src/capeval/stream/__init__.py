"""Captions by the million: shards or batches of rows in, the same rows with their scores out."""

from capeval.stream.batches import BatchScorer, score_stream

__all__ = ["BatchScorer", "score_stream"]
