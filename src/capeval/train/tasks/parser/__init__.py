"""The fast parser, which learns from official parses."""

CONFIG, TASK = "config:Config", "task:ParserTask"
