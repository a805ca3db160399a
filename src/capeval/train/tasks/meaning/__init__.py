"""`capeval train meaning`."""

CONFIG, TASK = "config:Config", "task:MeaningTask"
