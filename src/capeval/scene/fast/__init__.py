"""A parser of our own: a small network that gives, thousands of captions a second, what the official parser gives."""

from capeval.scene.fast.parser import FastParser, Parse, fast_parser

__all__ = ["FastParser", "Parse", "fast_parser"]
