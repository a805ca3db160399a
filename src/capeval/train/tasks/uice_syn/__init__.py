"""UICE's syntactic module: whether a person, writing in a style, would have written a sentence."""

CONFIG, TASK = "config:Config", "task:UiceSynTask"
