"""A package of somebody else, for tests/test_outside.py: what can be added to capeval from outside."""
