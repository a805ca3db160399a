"""SPICE without Java: dependency graph -> tuples -> scene graph -> F1."""
