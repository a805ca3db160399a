"""Weights of meaning, fluency, sight, sight_words and unified: each folder here is an asset. There is no code."""
