"""What the machine can do at best: fused multiply-adds in registers, and copies of memory.

A ceiling is a function that does a known amount of work; the suites call it in turns with what
they measure, and its best time counts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from measure import Times

import tilewright as tw

CHAIN = 8
WIDTH = 384


def _fma_text(threads: int) -> str:
    """A block per thread. Each element has a chain of its own; a core has several in flight, so
    that the latency of one hides behind the others, and loads and stores are few beside them."""
    chain = "t[j]"
    for _ in range(CHAIN):
        chain = f"fma({chain}, a[0], a[1])"
    return f"""tilewright ir 1
program "fma_peak" {{
  scalar n: i64
  input a: f32[2]
  output y: f32[{threads}, {WIDTH}]
  launch b in {threads} {{
    alloc t: f32[{WIDTH}] fragment
    fill t = 1.0
    for i in 0:n {{
      parallel j in {WIDTH} {{
        t[j] = {chain}
      }}
    }}
    copy t -> y[b, 0 :+ {WIDTH}]
  }}
}}
"""


@dataclass
class Ceiling:
    """`call` does `amount` operations or moves `amount` bytes."""

    call: Callable[[], object]
    amount: int

    def us(self, times: Times, amount: int) -> float:
        """What `amount` takes at the best rate that was seen."""
        return times.best / self.amount * amount


def fma_peak(threads: int, rounds: int = 100_000) -> Ceiling:
    """f32 operations; the target's widest vectors, on each thread."""
    kernel = tw.compile_text(_fma_text(threads))
    a, y = np.array([0.5, 0.5], "float32"), np.empty((threads, WIDTH), "float32")
    return Ceiling(lambda: kernel(rounds, a, y), 2 * CHAIN * WIDTH * threads * rounds)


def memory_copy(threads: int, size: int) -> Ceiling:
    """The C library's memcpy of `size` bytes, a part on each thread; reads and writes count."""
    memcpy = ctypes.CDLL(None).memcpy  # ctypes calls it without the GIL
    memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    memcpy.restype = ctypes.c_void_p
    src, dst = np.ones(size, "uint8"), np.zeros(size, "uint8")
    bounds = [size * i // threads // 64 * 64 for i in range(threads)] + [size]
    parts = [
        (dst.ctypes.data + begin, src.ctypes.data + begin, end - begin)
        for begin, end in pairwise(bounds)
    ]
    pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def call(dst: np.ndarray = dst, src: np.ndarray = src) -> None:  # keeps the arrays alive
        others = [pool.submit(memcpy, *part) for part in parts[1:]]
        memcpy(*parts[0])
        for other in others:
            other.result()

    return Ceiling(call, 2 * size)
