"""Captions to trees, dependencies and graphs, as the official SPICE pipeline has them."""
