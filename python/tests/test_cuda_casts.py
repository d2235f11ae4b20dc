"""Casts with scale factors on a GPU, bit for bit beside the CPU."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tilewright import quant

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)


def wild(m: int, k: int, dtype: "torch.dtype") -> "torch.Tensor":
    x = torch.randn((m, k), generator=torch.Generator().manual_seed(k))
    x[3 % m], x[4 % m, : k // 2], x[5 % m] = 0, torch.inf, x[5 % m] * 1e-38
    return x.to(dtype)


def tensors(result: Any) -> Iterator["torch.Tensor"]:
    """All of a result, which may be a tuple or list of them."""
    if isinstance(result, torch.Tensor):
        yield result
    else:
        for part in result:
            yield from tensors(part)


def to_cuda(argument: Any) -> Any:
    """The same argument on the GPU, at the same strides."""
    if isinstance(argument, tuple | list):
        return type(argument)(to_cuda(part) for part in argument)
    if not isinstance(argument, torch.Tensor):
        return argument
    y = torch.empty_strided(argument.shape, argument.stride(), dtype=argument.dtype, device="cuda")
    return y.copy_(argument)


def check(function: Callable, *arguments: Any, **options: Any) -> None:
    on_cpu = list(tensors(function(*arguments, **options)))
    found = list(tensors(function(*(to_cuda(argument) for argument in arguments), **options)))
    assert len(found) == len(on_cpu)
    for got, wanted in zip(found, on_cpu, strict=True):
        assert got.is_cuda
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
        assert got.numel() == 0 or got.stride() == wanted.stride()
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[wanted.element_size()]
        assert torch.equal(got.cpu().contiguous().view(bits), wanted.contiguous().view(bits))


PACKED = {"round_sf": True, "use_packed_ue8m0": True}
COLUMNS = {"use_tma_aligned_col_major_sf": True}
SF_FLAGS = [{}, {"round_sf": True}, PACKED, COLUMNS, {**PACKED, **COLUMNS}]


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("to", ["fp32", "bf16"])
@pytest.mark.parametrize("flags", [*SF_FLAGS, {"use_e4m3_sf": True}], ids=str)
def test_per_token_cast_back(fmt: str, to: str, flags: dict) -> None:
    for m, k, group in ((1, 576, 16), (70, 9216, 128), (300, 1024, 32), (0, 64, 32)):
        x = torch.randn((m, k), generator=torch.Generator().manual_seed(1))
        check(quant.per_token_cast_back, quant.per_token_cast(x, fmt, group, **flags), to, group)


@pytest.mark.parametrize("flags", SF_FLAGS, ids=str)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_e5m6(flags: dict, dtype: "torch.dtype") -> None:
    for m, k in ((1, 576), (70, 200), (300, 7168), (3, 20000), (0, 64)):
        x = torch.randn((m, k), generator=torch.Generator().manual_seed(1)).to(dtype)
        if m > 1:
            x[0, 5], x[1, 7] = torch.inf, torch.nan
        check(quant.per_token_cast_to_e5m6, x, k, **flags)
        pair = quant.per_token_cast_to_e5m6(x.nan_to_num(1), k, **flags)
        for to in ("bf16", "fp32"):
            check(quant.cast_back_e5m6, pair, to, (1, k))


@pytest.mark.parametrize("block", [(128, 1), (32, 1), (128, 128), (32, 32), (1, 320)])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("k", [320, 1024, 9216])
def test_cast_back(block: tuple[int, int], packed: bool, k: int) -> None:
    generator = torch.Generator().manual_seed(1)
    q = torch.randn((300, k), generator=generator).to(torch.float8_e4m3fn)
    m, n = -(-300 // block[0]), -(-k // block[1])
    if packed:
        words = (-(-m // 4), n) if block[1] == 1 else (m, -(-n // 4))
        exponents = torch.randint(100, 150, (*words, 4), dtype=torch.uint8, generator=generator)
        sf = exponents.view(torch.int32)[..., 0]
    else:
        sf = torch.randn((m, n), generator=generator)
    check(quant.cast_back, (q, sf), "bf16", block)
    check(quant.cast_back, (q, sf), "fp32", block)


@pytest.mark.parametrize("flags", SF_FLAGS, ids=str)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("block", [(128, 128), (32, 32), (32, 128), (128, 32)])
def test_per_block_cast(
    flags: dict, fmt: str, dtype: "torch.dtype", block: tuple[int, int]
) -> None:
    for m, k in ((1, 576), (300, 1024), (0, 64)):
        x = wild(m, k, dtype) if m else torch.empty((m, k), dtype=dtype)
        check(quant.per_block_cast, x, fmt, block, **flags)
        check(quant.per_block_cast_with_sf_only, x, fmt, block, **flags)
        if not {"use_packed_ue8m0", "use_tma_aligned_col_major_sf"} & set(flags):
            sf = quant.per_block_cast_with_sf_only(x, fmt, block, **flags)
            check(quant.per_block_cast_with_precomputed_sf, x, fmt, block, sf, **flags)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("round_sf", [False, True])
def test_per_channel_cast(dtype: "torch.dtype", group: int, round_sf: bool) -> None:
    for m, k in ((0, 64), (128, 64), (384, 576), (1024, 2048)):
        x = wild(m, k, dtype) if m else torch.empty((m, k), dtype=dtype)
        check(quant.per_channel_cast, x, "e4m3", group, round_sf)
        if round_sf:
            check(quant.per_channel_cast, x, "e4m3", group, True, None, True)
        if dtype == torch.bfloat16:
            check(quant.per_channel_cast_and_transpose, x, "e4m3", group, round_sf)


@pytest.mark.parametrize("flags", SF_FLAGS, ids=str)
@pytest.mark.parametrize("columns", [32, 128])
def test_per_channel_cast_of_codes(flags: dict, columns: int) -> None:
    pair = quant.per_token_cast(wild(512, 384, torch.float32), "e4m3", columns, **flags)
    for group in (32, 128):
        check(quant.per_channel_cast, pair, "e4m3", group, True, columns, True)
        check(quant.per_channel_cast, pair, "e4m3", group, False, columns)


def test_per_channel_cast_fused() -> None:
    generator = torch.Generator().manual_seed(1)
    x = wild(300, 576, torch.bfloat16)
    for count in (0, 16, 400):
        index = torch.randint(-50, 300, (count,), dtype=torch.int32, generator=generator)
        for round_sf in (False, True):
            check(quant.per_channel_cast_fused, x, "e4m3", 128, round_sf, None, index)
    pair = quant.per_token_cast(wild(300, 384, torch.float32), "e4m3", 128)
    check(quant.per_channel_cast_fused, pair, "e4m3", 128, False, 128, index)


@pytest.mark.parametrize("flags", [{}, {"round_sf": True}, {"use_e4m3_sf": True}], ids=str)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_per_token_cast_and_cast_back(flags: dict, fmt: str, dtype: "torch.dtype") -> None:
    for group in (16, 32, 64, 128):
        memory = wild(301, 1024, dtype)
        on_cuda = memory.cuda()
        quant.per_token_cast_and_cast_back(memory[:, :640], fmt, group, **flags)
        quant.per_token_cast_and_cast_back(on_cuda[:, :640], fmt, group, **flags)
        assert torch.equal(on_cuda.cpu().view(torch.uint8), memory.view(torch.uint8))


@pytest.mark.parametrize("flags", [{}, PACKED, {**PACKED, **COLUMNS}], ids=str)
@pytest.mark.parametrize("into", [(1, 128), (32, 32), (128, 128)])
def test_per_block_cast_lossless(flags: dict, into: tuple[int, int]) -> None:
    for m, k in ((0, 128), (161, 576), (512, 1024)):
        x = torch.randn((m, k), generator=torch.Generator().manual_seed(1)) * 2**20
        if m:
            x = x.abs().clamp(min=x.abs().max() / 2**9).copysign(x)
        pair = quant.per_token_cast(x, "e2m1", 32, **{"round_sf": True, **flags})
        check(quant.per_block_cast_lossless, pair, "e4m3", (1, 32), into, **flags)


def test_batched_transpose_weight_sf() -> None:
    generator = torch.Generator().manual_seed(1)

    def factors(*shape: int) -> "torch.Tensor":
        return torch.randint(-60, 60, shape, generator=generator).float().exp2()

    for block, weights in ((32, [(4, 8), (3, 20, 12), (224, 64)]), (128, [(1, 3), (2, 5, 1)])):
        sf = [factors(*shape) for shape in weights]
        flags = [i % 2 == 1 for i in range(len(sf))]
        check(quant.batched_transpose_weight_sf, sf, block, flags, [None] * len(sf))
