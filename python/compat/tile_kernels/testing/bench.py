"""Names of parameters in ids of tests and in reports, and output that isn't wanted."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import torch

from .._level import is_v1
from ..utils import dtype_to_str

_SHORT = {
    "num_ep_ranks": "ep",
    "num_experts": "experts",
    "use_tma_aligned_col_major_sf": "col",
    "use_packed_ue8m0": "ue8m0",
    "use_e4m3_sf": "e4m3sf",
    "round_sf": "round",
}
_WIDTHS = {
    "num_tokens": 5,
    "num_ep_ranks": 2,
    "num_experts": 3,
    "hidden": 4,
    "num_per_channels": 4,
    "numel": 9,
    "num_rows": 7,
    "head_dim": 3,
    "flags": 1,
    "nesterov": 5,
}
_WIDTHS |= {_SHORT[name]: width for name, width in _WIDTHS.items() if name in _SHORT}


def make_param_id(params: dict[str, Any], display: bool = False) -> str:
    """v2: 'name=value,' of each parameter that isn't None; with `display` in columns. v1:
    'name=value' joined by '-'."""
    if is_v1() and not display:
        named = (f"{name}={_value_v1(value)}" for name, value in params.items())
        return "-".join(named) or "default"
    fields = ((name, str(value)) for name, value in params.items() if value is not None)
    return "".join(_field(name, value, display) for name, value in fields)


def format_param_id(id: str, display: bool = False) -> str:
    """An id of v2 with short names, and in columns with `display`; what has no '=' is kept."""
    *fields, rest = id.split(",")
    text = "".join(
        _field(*field.split("=", 1), display) if "=" in field else field + "," for field in fields
    )
    return text + (_field(*rest.split("=", 1), display) if "=" in rest else rest)


def _field(name: str, value: str, display: bool) -> str:
    name = _SHORT.get(name, name)
    text = f"{name}={value},"
    width = 5 if value in ("True", "False") else _WIDTHS.get(name, 0)
    return text.ljust(len(name) + max(len(value), width) + 2) if display and width else text


def make_param_key(params: dict[str, Any]) -> str:
    """'name=value' with values to the right in columns, joined by ',' (v1)."""
    named = ((name, _value_v1(value)) for name, value in params.items())
    return ",".join(f"{name}={value:>{_WIDTHS.get(name, 0)}}" for name, value in named)


def _value_v1(value: Any) -> str:
    if isinstance(value, torch.dtype):
        return dtype_to_str(value)
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def get_cast_params(params: dict[str, Any]) -> dict[str, Any]:
    """Those that say how scale factors are made."""
    names = ("round_sf", "use_packed_ue8m0", "use_tma_aligned_col_major_sf")
    return {name: params[name] for name in names if name in params}


def print_average_perf(
    latencies: Sequence[float], bandwidths: Sequence[float], speedups: Sequence[float]
) -> None:
    """Prints geometric means (v1)."""
    latency, bandwidth, speedup = (
        math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan
        for values in (latencies, bandwidths, speedups)
    )
    print(f"geomean: {latency:.1f} us, {bandwidth:.1f} GB/s, {speedup:.2f}x")


@contextmanager
def empty_suppress() -> Iterator[None]:
    """Suppresses nothing."""
    yield


@contextmanager
def suppress_stdout_stderr() -> Iterator[None]:
    """Output of the process, also of its native code, goes nowhere."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, nowhere):
            os.close(descriptor)
