"""Weights of the metrics meaning, sight and unified: each folder here is an asset. There is no code."""
