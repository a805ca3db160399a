"""Weights of metrics from meaning to unified: each folder here is an asset. There is no code."""
