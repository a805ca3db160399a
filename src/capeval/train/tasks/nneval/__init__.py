"""NNEval: the network of Sharif et al. 2018 over the scores of several metrics."""

CONFIG, TASK = "config:Config", "task:NnevalTask"
