"""Files in the format safetensors, and bf16, which numpy lacks.

Such a file is the length of its header (8 bytes), the header in JSON, which has the dtype, the
shape and the place of each tensor, and their data.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

# What holds a dtype here.
_HOLDERS = {"F32": "<f4", "BF16": "<u2", "I64": "<i8"}


def to_bf16(x: np.ndarray) -> np.ndarray:
    """The bits of bf16, rounded to nearest even, in uint16."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def read(path: Path) -> dict[str, np.ndarray]:
    """All tensors of the file, those in bf16 as f32."""
    content = np.fromfile(path, np.uint8)
    data = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:data].tobytes())
    header.pop("__metadata__", None)

    def tensor(dtype: str, shape: list[int], data_offsets: list[int]) -> np.ndarray:
        begin, end = data_offsets
        held = content[data + begin : data + end].view(_HOLDERS[dtype]).reshape(shape)
        return from_bf16(held) if dtype == "BF16" else held

    return {name: tensor(**entry) for name, entry in header.items()}


def write_bf16(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes the tensors rounded to bf16."""
    header, place = {}, 0
    for name, x in tensors.items():
        end = place + 2 * x.size
        header[name] = {"dtype": "BF16", "shape": x.shape, "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data is aligned
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for x in tensors.values():
            file.write(to_bf16(x).astype("<u2").tobytes())
