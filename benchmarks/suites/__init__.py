"""Suites of benchmarks: each module has run(context), which yields records."""
