"""Weights of the metrics meaning, fluency, sight and unified: each folder here is an asset. There is no code."""
