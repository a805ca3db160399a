"""`capeval train fluency`."""

CONFIG, TASK = "config:Config", "task:FluencyTask"
