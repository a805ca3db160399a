"""`capeval train accord`."""

CONFIG, TASK = "config:Config", "task:AccordTask"
