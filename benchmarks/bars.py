"""The speeds that the project promises: which records they concern, and whether they are met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from context import geometric_mean
from record import Record


@dataclass
class Bar:
    """`value` of each record that `applies`, or of all together, must be beyond `limit`."""

    text: str
    applies: Callable[[Record], bool]
    value: Callable[[Record], float | None]
    limit: float
    at_most: bool = False
    together: bool = False  # the geometric mean counts


def _cpu(*cases: str, dtype: str = "") -> Callable[[Record], bool]:
    return lambda r: r.suite == "cpu" and r.case in cases and (not dtype or r.dtype == dtype)


def _named(suite: str, *begins: str) -> Callable[[Record], bool]:
    return lambda r: r.suite == suite and r.case.startswith(begins)


def _moving(least: float, below: float) -> Callable[[Record], bool]:
    """GPU cases by the MiB that they move."""
    return lambda r: (
        r.suite == "h200"
        and r.case not in ("transpose", "top_k")
        and least <= r.bytes / 2**20 < below
    )


def _time(record: Record) -> float:
    return record.time_us


def _ratio(record: Record) -> float | None:
    return record.ratio


def _share(record: Record) -> float | None:
    return record.share


def _above_the_driver(record: Record) -> float:
    return record.time_us - record.peers["cuLaunchKernelEx"]


def _gemm_bf16(record: Record) -> bool:
    """Where the CPU has instructions for bf16."""
    return _cpu("gemm", dtype="bf16")(record) and "bf16" in record.target


def _gemm_2048(record: Record) -> bool:
    return _cpu("gemm", dtype="f32")(record) and record.shape == [2048] * 3


BARS = [
    Bar("MiniLM f32 beside onnxruntime", _named("minilm", "embed"), _ratio, 1.0),
    Bar("gemm f32, each, beside the best peer", _cpu("gemm", dtype="f32"), _ratio, 1.0),
    Bar(
        "gemm f32, geometric mean beside the best peer",
        _cpu("gemm", dtype="f32"),
        _ratio,
        1.05,
        together=True,
    ),
    Bar("gemm f32 2048, share of the FMA peak", _gemm_2048, _share, 0.85),
    Bar("gemm bf16 beside f32", _gemm_bf16, _ratio, 1.5),
    Bar(
        "norms and casts, share of the copy bandwidth",
        _cpu("softmax", "layer_norm", "rms_norm", "cast"),
        _share,
        0.9,
    ),
    Bar("cast to e4m3, share of the copy bandwidth", _cpu("per_token_cast"), _share, 0.6),
    Bar(
        "cold compile of elementwise and reductions, us",
        _named("compile", "cold compile elementwise", "cold compile reduction"),
        _time,
        30e3,
        at_most=True,
    ),
    Bar(
        "cold compile of gemm, us",
        _named("compile", "cold compile gemm"),
        _time,
        150e3,
        at_most=True,
    ),
    Bar(
        "cold compile of attention, us",
        _named("compile", "cold compile attention"),
        _time,
        300e3,
        at_most=True,
    ),
    Bar("disk hit, us", _named("compile", "disk hit"), _time, 1e3, at_most=True),
    Bar("call from C++, us", _named("calls", "call from C++"), _time, 1.0, at_most=True),
    Bar("call from Python, us", _named("calls", "call from Python"), _time, 3.0, at_most=True),
    Bar("import after numpy, us", _named("calls", "import"), _time, 50e3, at_most=True),
    Bar("GPU, from 128 MiB, share of the copy", _moving(128, 1 << 20), _share, 0.98),
    Bar("GPU, 32 MiB, share of the copy", _moving(30, 128), _share, 0.95),
    Bar("GPU, 8 MiB, share of the copy", _moving(7, 30), _share, 0.85),
    Bar("GPU, transpose, share of the copy", _named("h200", "transpose"), _share, 0.95),
    Bar("GPU, beside the best peer", _named("h200", ""), _ratio, 0.99),
    Bar("GPU, top-k, us", _named("h200", "top_k"), _time, 8.0, at_most=True),
    Bar(
        "C++ launch above the driver's, us",
        _named("launch", "three tensors"),
        _above_the_driver,
        0.3,
        at_most=True,
    ),
    Bar(
        "C++ launch with two descriptors above the driver's, us",
        _named("launch", "two tensor descriptors"),
        _above_the_driver,
        1.0,
        at_most=True,
    ),
]


def judge(records: list[Record]) -> Iterator[tuple[bool, str]]:
    """Of each bar that has records: whether it is met, and its text with the worst value."""
    for bar in BARS:
        values = [bar.value(record) for record in records if bar.applies(record)]
        if not values or None in values:
            continue
        if bar.together:
            values = [geometric_mean(values)]
        worst = max(values) if bar.at_most else min(values)
        met = worst <= bar.limit if bar.at_most else worst >= bar.limit
        relation = "<=" if bar.at_most else ">="
        verdict = "met" if met else "missed"
        yield met, f"{verdict:<7} {bar.text}: {worst:.3g}, wanted {relation} {bar.limit:g}"
