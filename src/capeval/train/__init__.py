"""Training of the learned models: what they share. Only this package and `capeval.models` need torch.

A model that can be trained is a module in `capeval.train.tasks` with a `CONFIG` and a `TASK`.
"""
