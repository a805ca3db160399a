"""The captioner: pictures' vectors and their captions, word by word."""

CONFIG, TASK = "config:Config", "task:CaptionerTask"
