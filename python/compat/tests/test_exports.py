"""What the package exports, and what importing it needs."""

import importlib
import subprocess
import sys

import pytest

import tile_kernels


def test_the_version_is_that_of_the_api() -> None:
    assert tile_kernels.__version__ == tile_kernels.version == "2.1.0"
    assert tile_kernels.__version_tuple__ == tile_kernels.version_tuple == (2, 1, 0)
    assert tile_kernels.__commit_id__ is tile_kernels.commit_id is None


def test_functions_of_config_are_exported() -> None:
    names = set(tile_kernels.__all__) - {"config", "utils", *tile_kernels._LAZY}
    names -= {name for name in names if "version" in name or "commit_id" in name}
    assert len(names) == 16
    for name in names:
        assert getattr(tile_kernels, name) is getattr(tile_kernels.config, name)
    for name in ("is_ascend", "get_device", "reset_runtime_config"):
        assert not hasattr(tile_kernels, name) and hasattr(tile_kernels.config, name)


def test_submodules_are_attributes() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    for name in tile_kernels._LAZY:
        assert getattr(tile_kernels, name) is importlib.import_module("tile_kernels." + name)
        assert name in dir(tile_kernels)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tile_kernels.nothing


def test_the_import_loads_neither_torch_nor_tilewright() -> None:
    code = """
import sys, time
start = time.perf_counter()
import tile_kernels
assert time.perf_counter() - start < 0.3
assert not {'torch', 'tilewright'} & set(sys.modules), sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_submodules_load_fast_and_without_a_device() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    code = f"""
import time, torch
start = time.perf_counter()
import tile_kernels
for name in {tile_kernels._LAZY}:
    getattr(tile_kernels, name)
assert not torch.cuda.is_initialized()
print(time.perf_counter() - start)
"""
    best = min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
        for _ in range(3)
    )
    assert best < 0.3
