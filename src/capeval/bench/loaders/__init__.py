"""One file for each benchmark.

To add one, add a file here with a `Benchmark` in it. Its `load` reads the published files and gives `Ratings`, `Pairs`
or `Systems`; the command line, the checks of files and the statistics find it by itself.
"""
