"""Settings of the process."""

import importlib.util
import math
from typing import Any

import pytest

from tile_kernels import config, utils


def test_defaults_and_reset() -> None:
    config.set_pdl(True)
    config.use_deterministic_algorithms(1)
    config.set_token_alignment(64)
    config.set_amax_clamp_for_quant("e2m1", True, 2.0)
    assert config.get_pdl() is True and config.get_deterministic_algorithms() is True
    assert config.get_token_alignment() == 64
    assert config.get_amax_clamp_for_quant("e2m1", True) == 2.0
    config.reset_runtime_config()
    assert config.get_pdl() is False and config.get_deterministic_algorithms() is False
    assert config.get_token_alignment() == 128
    clamps = [config.get_amax_clamp_for_quant(f, e) for f in ("e4m3", "e2m1") for e in (0, 1)]
    assert clamps == [1e-4, 0.875, 6 * 2.0**-126, 0.01171875]


@pytest.mark.parametrize("fmt", ["e5m6", "fp32", None])
def test_clamps_are_of_two_formats(fmt: str | None) -> None:
    with pytest.raises(ValueError, match="must be 'e4m3' or 'e2m1'"):
        config.get_amax_clamp_for_quant(fmt, False)
    with pytest.raises(ValueError, match="must be 'e4m3' or 'e2m1'"):
        config.set_amax_clamp_for_quant(fmt, False, 1.0)


@pytest.mark.parametrize("value", [0, -1.0, math.nan])
def test_a_clamp_is_above_zero(value: float) -> None:
    with pytest.raises(AssertionError, match="is not above 0"):
        config.set_amax_clamp_for_quant("e4m3", False, value)
    assert config.get_amax_clamp_for_quant("e4m3", False) == 1e-4


def test_the_token_alignment_is_an_integer_above_zero() -> None:
    class Index:
        def __index__(self) -> int:
            return 32

    config.set_token_alignment(Index())
    assert config.get_token_alignment() == 32 and type(config.get_token_alignment()) is int
    for value, error in [(0, ValueError), (-8, ValueError), (8.0, TypeError), ("8", TypeError)]:
        with pytest.raises(error):
            config.set_token_alignment(value)
        assert config.get_token_alignment() == 32


def test_the_number_of_cores_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "get_device_num_sms", lambda: 132)
    assert config.get_num_sms() == 132 and config.get_num_vec_cores() == 264
    config.set_num_sms(20)
    assert config.get_num_sms() == config.get_num_ai_cores() == config.get_num_cube_cores() == 20
    assert config.get_num_vec_cores() == 40
    for bad in (0, -1, 133):
        with pytest.raises(AssertionError, match="is not in 1 to 132"):
            config.set_num_sms(bad)
    assert config.get_num_sms() == 20
    config.reset_runtime_config()
    assert config.get_num_sms() == 132


def test_the_unified_buffer_is_that_of_an_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "is_ascend", lambda: False)
    with pytest.raises(AssertionError, match="no Ascend"):
        config.get_max_ub_per_vector_core()
    monkeypatch.setattr(config, "is_ascend", lambda: True)
    assert config.get_max_ub_per_vector_core() == 216 * 1024
    assert config.get_max_ub_per_vector_core(use_simt=False) == 248 * 1024


def test_the_device_is_the_backends_or_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TK_DEVICE", "cpu")
    assert config.get_device() == "cpu"
    monkeypatch.delenv("TK_DEVICE")
    monkeypatch.setattr(config, "is_ascend", lambda: False)
    assert config.get_device() == "cuda"
    monkeypatch.setattr(config, "is_ascend", lambda: True)
    assert config.get_device() == "npu"


@pytest.mark.parametrize("module", [config, utils])
def test_modules_load_by_path_alone(module: Any) -> None:
    spec = importlib.util.spec_from_file_location("loaded_alone", module.__file__)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert loaded.__name__ == "loaded_alone"
