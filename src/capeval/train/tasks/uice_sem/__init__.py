"""UICE's semantic module: whether a caption and a picture match."""

CONFIG, TASK = "config:Config", "task:UiceSemTask"
