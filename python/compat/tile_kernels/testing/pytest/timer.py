"""How long a function keeps the device busy."""

from __future__ import annotations

import functools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

_MODES = {"mean": statistics.fmean, "median": statistics.median, "min": min, "max": max}


def time_us(
    fn: Callable[[], Any],
    warmup: float = 0,
    rep: float = 30,
    backend: str = "cupti",
    cache_size: int = 256,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> float | list[float]:
    """Microseconds of a call with a cold cache.

    fn runs for about `warmup`, then `rep` milliseconds; before each call a buffer of `cache_size`
    MB is cleared. backend: 'cupti' adds up the times of all kernels of fn; 'event' takes the time
    between two events, 'cudagraph' that of a captured call, 'wall' that of the host, and these
    three know `quantiles` and `return_mode`. Without a GPU it is 'wall'.
    """
    import torch

    on_gpu = torch.cuda.is_available()
    clear = torch.empty(
        cache_size * 2**18, dtype=torch.int32, device="cuda" if on_gpu else "cpu"
    ).zero_
    fn()
    measure = _between_events if on_gpu else _by_the_clock
    estimate = max(1e-3, statistics.fmean(measure(fn, clear, 5, cleared=True)) / 1e3)
    for _ in range(max(1, math.floor(warmup / estimate))):
        fn()
    repeats = max(1, math.floor(rep / estimate))
    if backend == "cupti" and on_gpu:
        return _of_kernels(fn, clear, repeats)
    if backend == "cudagraph" and on_gpu:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            fn()
        fn = graph.replay
    elif backend == "wall":
        measure = _by_the_clock
    times = sorted(measure(fn, clear, repeats))
    if quantiles is not None:
        return [times[min(len(times) - 1, math.floor(q * len(times)))] for q in quantiles]
    return _MODES[return_mode](times)


def _by_the_clock(fn: Callable, clear: Callable, repeats: int, cleared: bool = False) -> list:
    """`cleared`: the time for the buffer counts, too."""
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    times = []
    for _ in range(repeats):
        if not cleared:
            clear()
        wait()
        start = time.perf_counter()
        if cleared:
            clear()
        fn()
        wait()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def _between_events(fn: Callable, clear: Callable, repeats: int, cleared: bool = False) -> list:
    import torch

    pairs = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if not cleared:
            clear()
        start.record()
        if cleared:
            clear()
        fn()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def _of_kernels(fn: Callable, clear: Callable, repeats: int) -> float:
    """The mean over a profiled pass, after one that isn't measured."""

    def run() -> None:
        for _ in range(repeats):
            clear()
            fn()

    seen = _profiled(run)
    clears = _names_of_a_clear()
    total = sum(us for name, us in seen if name not in clears)
    if total == 0:
        warnings.warn("the profiler saw no kernel; times are those between events", stacklevel=2)
        return statistics.fmean(_between_events(fn, clear, repeats))
    return total / repeats


@functools.cache
def _names_of_a_clear() -> frozenset[str]:
    import torch

    small = torch.empty(1 << 20, dtype=torch.int32, device="cuda")
    return frozenset(name for name, _ in _profiled(small.zero_))


def _profiled(run: Callable[[], Any]) -> list[tuple[str, float]]:
    """(name, microseconds) of what the device does in the second of two passes."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    with profile(
        activities=[ProfilerActivity.CUDA], schedule=schedule(wait=0, warmup=1, active=1)
    ) as profiler:
        for _ in range(2):
            run()
            torch.cuda.synchronize()
            profiler.step()
    on_device = torch.autograd.DeviceType.CUDA
    return [
        (event.name, event.time_range.elapsed_us())
        for event in profiler.events()
        if event.device_type == on_device and not event.is_user_annotation
    ]
