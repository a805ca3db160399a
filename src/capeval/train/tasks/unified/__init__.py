"""`capeval train unified`."""

CONFIG, TASK = "config:Config", "task:UnifiedTask"
