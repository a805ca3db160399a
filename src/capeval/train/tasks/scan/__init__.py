"""SCAN: regions of pictures and words of their captions, matched by cross attention."""

CONFIG, TASK = "config:Config", "task:ScanTask"
