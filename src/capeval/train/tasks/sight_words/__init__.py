"""`capeval train sight-words`."""

CONFIG, TASK = "config:Config", "task:SightWordsTask"
