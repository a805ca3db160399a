"""Encoders and trained checkpoints for capeval: each folder here is an asset. There is no code."""
