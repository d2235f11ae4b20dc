"""Times of several contestants, taken in turns so that all see the same state of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

# Thread pools of other libraries spin when their work is done (OpenBLAS 0.3.31: some 100 ms) and
# take the cores away from whoever is next.
REST_SECONDS = 0.15
# After the rest caches are cold, and a woken thread may share its waker's core for a while.
WARM_SECONDS = 0.02
SAMPLE_SECONDS = 0.002


@dataclass
class Times:
    """Of one contestant, in microseconds per call."""

    samples: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        return min(self.samples)


def _sample(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def _warm(call: Callable[[], object]) -> None:
    end = time.perf_counter() + WARM_SECONDS
    call()
    while time.perf_counter() < end:
        call()


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Calls each contestant in each of the rounds, short ones several times; all have run before.

    Odd rounds go through them in the opposite order.
    """
    calls = {}
    for name, call in contestants.items():
        us = min(_sample(call, 1), _sample(call, 1))
        calls[name] = max(1, round(SAMPLE_SECONDS * 1e6 / us))
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for i in range(rounds):
        for name in sorted(contestants, reverse=i % 2 == 1):
            time.sleep(REST_SECONDS)
            _warm(contestants[name])
            samples[name].append(_sample(contestants[name], calls[name]))
    return {name: Times(each) for name, each in samples.items()}
