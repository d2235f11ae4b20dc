"""Where the model's arrays live: in numpy's memory, or on a GPU in tensors of torch."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class DeviceError(Exception):
    """A device that isn't there."""


class Arrays(Protocol):
    """Moves arrays between numpy and the memory that kernels of the target read."""

    target: str

    def put(self, x: np.ndarray) -> Any:
        """The array where kernels read it."""

    def get(self, x: Any) -> np.ndarray:
        """A result, once it is there."""


class OnCpu:
    target = "cpu"

    def put(self, x: np.ndarray) -> np.ndarray:
        return x

    def get(self, x: np.ndarray) -> np.ndarray:
        return x


class OnCuda:
    """On torch's current GPU. Bits of bf16 stay unsigned integers, as in numpy."""

    target = "cuda"

    def __init__(self) -> None:
        try:
            import torch
        except ImportError as error:
            raise DeviceError("torch, which holds arrays on a GPU, is not installed") from error
        if not torch.cuda.is_available():
            raise DeviceError("torch finds no GPU")
        self._from_numpy = torch.from_numpy

    def put(self, x: np.ndarray) -> Any:
        return self._from_numpy(x).cuda()

    def get(self, x: Any) -> np.ndarray:
        return x.cpu().numpy()


DEVICES = {"cpu": OnCpu, "cuda": OnCuda}
