"""The version, where every room can know it."""

__version__ = "0.1.0"
