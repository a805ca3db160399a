"""Networks as torch trains them. Scoring runs their exported form; see `capeval.runtime`."""
