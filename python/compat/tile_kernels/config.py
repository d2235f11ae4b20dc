"""Settings of the process, which operators read when they are called. Imports no sibling."""

import functools
import operator
import os
from typing import Any

_DEFAULT_CLAMPS = {  # by format, and whether scale factors are e4m3
    ("e4m3", False): 1e-4,
    ("e4m3", True): 448 * 2.0**-9,
    ("e2m1", False): 6 * 2.0**-126,
    ("e2m1", True): 6 * 2.0**-9,
}

_num_sms: int | None = None
_pdl = False
_deterministic = False
_token_alignment = 128
_clamps = dict(_DEFAULT_CLAMPS)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


# ---- the device ----
@functools.cache
def is_ascend() -> bool:
    """Whether this machine has an Ascend NPU."""
    return os.path.exists("/dev/davinci_manager")


def get_device() -> str:
    """Where tensors of tests are made: 'npu', or 'cuda', or what TK_DEVICE says (such as 'cpu')."""
    return os.environ.get("TK_DEVICE") or ("npu" if is_ascend() else "cuda")


def _device_properties() -> Any:
    import torch

    if is_ascend():
        return torch.npu.get_device_properties(torch.npu.current_device())
    return torch.cuda.get_device_properties(torch.cuda.current_device())


@functools.cache
def get_device_num_sms() -> int:
    """Multiprocessors of the current GPU, cube cores of an NPU, cores if TK_DEVICE is 'cpu'."""
    if get_device() == "cpu":
        return os.cpu_count() or 1
    properties = _device_properties()
    return properties.cube_core_num if is_ascend() else properties.multi_processor_count


@functools.cache
def get_max_smem_per_sm() -> int:
    """Bytes of shared memory of a multiprocessor."""
    return _device_properties().shared_memory_per_multiprocessor


def get_max_ub_per_vector_core(use_simt: bool = True) -> int:
    """Bytes of the unified buffer of a vector core of an NPU."""
    _require(is_ascend(), "get_max_ub_per_vector_core: there is no Ascend NPU")
    return (216 if use_simt else 248) * 1024


# ---- how many cores kernels may use ----
def set_num_sms(num_sms: int) -> None:
    """Bounds the grids of persistent kernels."""
    global _num_sms
    most = get_device_num_sms()
    _require(0 < num_sms <= most, f"set_num_sms: {num_sms} is not in 1 to {most}")
    _num_sms = num_sms


def get_num_sms() -> int:
    """What was set, or all of the device."""
    return get_device_num_sms() if _num_sms is None else _num_sms


get_num_ai_cores = get_num_cube_cores = get_num_sms


def get_num_vec_cores() -> int:
    """Vector cores that belong to them."""
    return 2 * get_num_sms()


# ---- how kernels run ----
def set_pdl(enabled: bool) -> None:
    """Lets kernels start before the one in front has ended (programmatic dependent launch)."""
    global _pdl
    _pdl = bool(enabled)


def get_pdl() -> bool:
    return _pdl


def use_deterministic_algorithms(enabled: bool) -> None:
    """Is kept and has no effect: all operators of this package are deterministic."""
    global _deterministic
    _deterministic = bool(enabled)


def get_deterministic_algorithms() -> bool:
    return _deterministic


def set_token_alignment(alignment: int) -> None:
    """Multiple at which each expert begins in layouts that `psum` describes."""
    global _token_alignment
    alignment = operator.index(alignment)
    if alignment <= 0:
        raise ValueError(f"set_token_alignment: {alignment} is not above 0")
    _token_alignment = alignment


def get_token_alignment() -> int:
    return _token_alignment


# ---- the least amax of casts ----
def _clamp_key(fmt: str, use_e4m3_sf: bool) -> tuple[str, bool]:
    if fmt not in ("e4m3", "e2m1"):
        raise ValueError(f"clamp of amax: fmt is {fmt!r}, it must be 'e4m3' or 'e2m1'")
    return fmt, bool(use_e4m3_sf)


def get_amax_clamp_for_quant(fmt: str, use_e4m3_sf: bool) -> float:
    """The least amax that counts in scale factors of this format, whose dtype may be e4m3."""
    return _clamps[_clamp_key(fmt, use_e4m3_sf)]


def set_amax_clamp_for_quant(fmt: str, use_e4m3_sf: bool, clamp_min_value: float) -> None:
    """Sets it for later casts. Powers of two are exact from Q * 2^-126 on (Q: 448 or 6)."""
    key = _clamp_key(fmt, use_e4m3_sf)
    _require(clamp_min_value > 0, f"clamp of amax: {clamp_min_value} is not above 0")
    _clamps[key] = clamp_min_value


def reset_runtime_config() -> None:
    """Everything that can be set is what it was after the import."""
    global _num_sms, _pdl, _deterministic, _token_alignment
    _num_sms, _pdl, _deterministic, _token_alignment = None, False, False, 128
    _clamps.update(_DEFAULT_CLAMPS)
