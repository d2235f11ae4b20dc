"""Plugins of pytest, each loaded by its name, such as tile_kernels.testing.pytest.benchmark.

benchmark, gpu_mem, random, precompile, tilelang_warning and xdist_failfast are plugins; the other
modules are what they share. Under pytest-xdist the controller reports, and workers hand it their
records through a file.
"""
