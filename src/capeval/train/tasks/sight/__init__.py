"""`capeval train sight`."""

CONFIG, TASK = "config:Config", "task:SightTask"
