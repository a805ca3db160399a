"""UICE's integration: one score of the semantic and the syntactic one, fitted to what people said."""

CONFIG, TASK = "config:Config", "task:UiceTask"
