"""How scale factors lie in tensors, for operators, references and callers.

Factors of a grid of (rows, columns) blocks are made as an internal array of bytes or floats, whose
transposed or word view is what operators return (`cast_epilogue`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .. import config as settings
from .._native import require
from ..utils import align, ceil_div
from .types import QuantTensor

_CODE_DTYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e2m1": torch.int8,
    "e5m6": torch.uint8,
}


def get_packed_ue8m0_pack_factor() -> int:
    """Exponents in a word of packed scale factors."""
    return 2 if settings.is_ascend() else 4


def get_packed_ue8m0_torch_dtype() -> torch.dtype:
    """The dtype of such words."""
    return torch.int16 if settings.is_ascend() else torch.int32


@dataclass(frozen=True)
class BaseCastConfig:
    """The dtype of codes and the layout of their scale factors, one for each `sf_block`."""

    torch_dtype: torch.dtype = torch.float8_e4m3fn
    sf_block: tuple[int, int] = (1, 1)
    use_tma_aligned_col_major_sf: bool = False
    use_packed_ue8m0: bool = False
    use_e4m3_sf: bool = False

    @property
    def with_sf(self) -> bool:
        return self.torch_dtype in (torch.float8_e4m3fn, torch.int8, torch.uint8, torch.uint32)

    @property
    def sf_torch_dtype(self) -> torch.dtype:
        if self.use_packed_ue8m0:
            return torch.uint8
        return torch.float8_e4m3fn if self.use_e4m3_sf else torch.float32

    @property
    def sf_col_pack(self) -> bool:
        """Whether words hold factors of neighbours along tokens."""
        return self.use_packed_ue8m0 and self.sf_block[1] == 1

    @property
    def dtype(self) -> torch.dtype:
        return self.torch_dtype

    @property
    def sf_dtype(self) -> torch.dtype:
        return self.sf_torch_dtype


@dataclass(frozen=True)
class CastInputConfig(BaseCastConfig):
    """What a tensor holds that is read."""


@dataclass(frozen=True)
class CastOutputConfig(BaseCastConfig):
    """What a cast makes."""

    round_sf: bool = False
    clamp_min_value: float | None = None


def get_logical_hidden(hidden: int, dtype: torch.dtype) -> int:
    """Elements in a row of that many entries: int8 holds two."""
    return hidden * 2 if dtype == torch.int8 else hidden


def get_physical_hidden(hidden: int, dtype: torch.dtype) -> int:
    """Entries in a row of that many elements."""
    return hidden // 2 if dtype == torch.int8 else hidden


def least_amax(name: str, fmt: str, use_e4m3_sf: bool = False, has_e5m6: bool = False) -> float:
    """The least amax that is set now, for the operator `name`. That of e5m6, which few operators
    have, can't be set: 0 stands for it."""
    if has_e5m6 and fmt == "e5m6":
        return 0.0
    if fmt not in ("e4m3", "e2m1"):
        raise AssertionError(f"{name}: fmt is {fmt!r}, it must be 'e4m3' or 'e2m1'")
    return settings.get_amax_clamp_for_quant(fmt, use_e4m3_sf)


def check_hidden(name: str, x: Tensor | QuantTensor, multiple: int = 64) -> None:
    """Operators take rows of a multiple of so many elements."""
    data = x[0] if isinstance(x, tuple) else x
    shape = data.shape
    if len(shape) != 2:
        raise AssertionError(f"{name}: x is {[*shape]}, it must be [m, k]")
    if shape[1] % multiple == 0:
        return
    k = get_logical_hidden(shape[1], data.dtype)
    fits = k % multiple == 0
    require(fits, f"{name}: x has {k} columns, they must be a multiple of {multiple}")


def check_given_sf(name: str, sf: Tensor, use_e4m3_sf: bool = False) -> None:
    """Factors that a caller gives have the dtype that the flags say."""
    dtype = torch.float8_e4m3fn if use_e4m3_sf else torch.float32
    if sf.dtype != dtype:
        raise AssertionError(f"{name}: sf is {sf.dtype}, it must be {dtype}")


def get_cast_input_and_config(
    x: Tensor | QuantTensor, sf_block: tuple[int, int] | None
) -> tuple[Tensor, Tensor | None, CastInputConfig]:
    """Data, factors and layout. Column-major factors come back transposed, words as bytes."""
    if not isinstance(x, tuple):
        require(sf_block is None, f"cast: a block of {sf_block} is given for x without factors")
        plain = x.dtype in (torch.bfloat16, torch.float32)
        require(plain, f"cast: x is {x.dtype}, it must be bfloat16 or float32")
        return x, None, CastInputConfig(torch_dtype=x.dtype)
    data, sf = x
    require(sf_block is not None, "cast: x has scale factors, so its block size must be given")
    codes = (torch.float8_e4m3fn, torch.int8, torch.uint8)
    require(data.dtype in codes, f"cast: codes are {data.dtype}, they must be one of {codes}")
    word = get_packed_ue8m0_torch_dtype()
    factors = (torch.float32, torch.float8_e4m3fn, word)
    require(sf.dtype in factors, f"cast: sf is {sf.dtype}, it must be one of {factors}")
    require(sf.dim() == 2, f"cast: sf is {[*sf.shape]}, it must have two dimensions")
    col_major = sf.stride(0) == 1 and sf.stride(1) != 1
    if col_major:
        sf = sf.T
    strides = [*sf.stride()]
    require(sf.stride(1) == 1, f"cast: sf with strides {strides}, one of which must be 1")
    packed = sf.dtype == word
    return (
        data,
        sf.view(torch.uint8) if packed else sf,
        CastInputConfig(
            torch_dtype=data.dtype,
            sf_block=tuple(sf_block),
            use_tma_aligned_col_major_sf=col_major,
            use_packed_ue8m0=packed,
            use_e4m3_sf=sf.dtype == torch.float8_e4m3fn,
        ),
    )


def get_cast_output_config(
    fmt: str,
    sf_block: tuple[int, int],
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
) -> CastOutputConfig:
    """The layout that the flags ask for, and the clamp that is set now."""
    require(fmt in _CODE_DTYPES, f"cast: fmt is {fmt!r}, it must be one of {[*_CODE_DTYPES]}")
    require(round_sf or not use_packed_ue8m0, "cast: use_packed_ue8m0 needs round_sf")
    require(not (round_sf and use_e4m3_sf), "cast: round_sf and use_e4m3_sf exclude each other")
    require(fmt != "e5m6" or not use_e4m3_sf, "cast: e5m6 has no e4m3 scale factors")
    clamp = 1e-4 if fmt == "e5m6" else None
    if fmt in ("e4m3", "e2m1"):
        clamp = settings.get_amax_clamp_for_quant(fmt, use_e4m3_sf)
    made = CastOutputConfig(
        torch_dtype=_CODE_DTYPES[fmt],
        sf_block=tuple(sf_block),
        use_tma_aligned_col_major_sf=use_tma_aligned_col_major_sf,
        use_packed_ue8m0=use_packed_ue8m0,
        use_e4m3_sf=use_e4m3_sf,
        round_sf=round_sf,
        clamp_min_value=clamp,
    )
    require(
        not (made.sf_col_pack and use_tma_aligned_col_major_sf),
        "cast: factors that are packed along tokens can't be column-major",
    )
    return made


def get_sf_shape(shape: tuple[int, int], config: BaseCastConfig) -> tuple[int, int]:
    """Shape of the internal array for a matrix of that logical shape."""
    rows, columns = (ceil_div(*pair) for pair in zip(shape, config.sf_block, strict=True))
    word = get_packed_ue8m0_pack_factor()
    if config.sf_col_pack:
        return ceil_div(rows, word), word * columns
    if config.use_packed_ue8m0:
        if config.use_tma_aligned_col_major_sf:
            return ceil_div(columns, word), word * rows
        return rows, align(columns, word)
    return (columns, rows) if config.use_tma_aligned_col_major_sf else (rows, columns)


def alloc_scaling_factors(
    shape: tuple[int, int], config: BaseCastConfig, device: torch.device | str = "cuda"
) -> Tensor:
    """An internal array, not initialised. Columns begin at multiples of 16 bytes."""
    height, width = get_sf_shape(shape, config)
    dtype = config.sf_torch_dtype
    pitch = width
    if config.use_tma_aligned_col_major_sf and not settings.is_ascend():
        pitch = align(max(width, 1), 16 // dtype.itemsize)
    return torch.empty((height, pitch), dtype=dtype, device=device)[:, :width]


def cast_epilogue(sf: Tensor, config: BaseCastConfig) -> Tensor:
    """What operators return of an internal array."""
    if config.use_packed_ue8m0:
        sf = sf.view(get_packed_ue8m0_torch_dtype())
    return sf.T if config.use_tma_aligned_col_major_sf else sf


def get_sf_inv_dtype(value_dtype: torch.dtype, out_config: CastOutputConfig) -> torch.dtype:
    """The dtype that the inverse of a factor fits in without loss."""
    exact = value_dtype == torch.bfloat16 and out_config.round_sf
    return torch.bfloat16 if exact else torch.float32


def get_best_vectorize_size(dtype: torch.dtype) -> int:
    """Elements that one access of a thread moves."""
    wide = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 10
    return (32 if wide else 16) // dtype.itemsize


def unpack_from_e2m1fn_x2(x: Tensor, out_dtype: torch.dtype = torch.float32) -> Tensor:
    """Values of pairs of e2m1 codes: int8 or uint8 [..., n] as [..., 2 n], low nibble first."""
    if x.dim() == 0:
        raise ValueError("unpack_from_e2m1fn_x2: x has no dimension, it must have at least one")
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    values = torch.tensor([*magnitudes, *(-v for v in magnitudes)], device=x.device)
    pairs = x.view(torch.uint8)
    codes = torch.stack([pairs & 0xF, pairs >> 4], dim=-1).flatten(-2)
    return values[codes.int()].to(out_dtype)
