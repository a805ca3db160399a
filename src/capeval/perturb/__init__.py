"""Captions made worse, or only other, on purpose. What metrics make of them is measured in `capeval.bench.robust`."""
