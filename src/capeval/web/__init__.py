"""Pages and REST over the same engine: `capeval serve`.

What is shown comes from `explain`, results and reports; here are only the ways to it: requests, jobs, limits, pages.
"""
