"""LECE: the learned critique of Cui et al. 2018, which tells human captions from others."""

CONFIG, TASK = "config:Config", "task:LeceTask"
