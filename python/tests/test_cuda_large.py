"""Tensors of more than 2^31 elements on a GPU.

torch checks them part by part. Of kernels whose results are those of rows by themselves, some rows
are compared with a call that has these rows alone.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tilewright as tw
from tilewright import moe, quant, rand, transform

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

LIMIT = 1 << 31
PART = 1 << 28
bf16, f32 = torch.bfloat16, torch.float32


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    free, _ = torch.cuda.mem_get_info()
    if free < 60 << 30:
        pytest.skip(f"{free >> 30} GiB are free on the GPU, these tests take up to 60")
    yield
    torch.cuda.empty_cache()


def random(*shape: int, dtype: "torch.dtype") -> "torch.Tensor":
    x = torch.empty(shape, dtype=dtype, device="cuda")
    random = torch.Generator("cuda").manual_seed(1)
    for part in x.view(-1).split(PART):
        if dtype.is_floating_point:
            part.normal_(generator=random)
        else:
            part.random_(generator=random)
    return x


def expect_equal(found: "torch.Tensor", x: "torch.Tensor", f: Callable) -> None:
    """found is f(x), bit for bit."""
    parts = zip(found.view(-1).split(PART), x.view(-1).split(PART), strict=True)
    for i, (y, part) in enumerate(parts):
        wanted = f(part)
        assert y.dtype == wanted.dtype
        assert torch.equal(y.view(torch.uint8), wanted.view(torch.uint8)), f"part {i}"


def test_copy() -> None:
    for dtype in (torch.uint8, bf16):
        x = random(LIMIT + 4099, dtype=dtype)
        expect_equal(tw.copy(x), x, lambda part: part)


def test_copy_of_rows_with_gaps() -> None:
    x = random(65537, 32771, dtype=torch.uint8)
    found = tw.copy(x[:, :32768])
    assert found.numel() > LIMIT and found.is_contiguous()
    for y, part in zip(found.split(8192), x.split(8192), strict=True):
        assert torch.equal(y, part[:, :32768])


def test_relu() -> None:
    x = random(LIMIT + 4099, dtype=bf16)
    expect_equal(tw.relu(x), x, torch.relu)


def test_cast_to_bf16() -> None:
    x = random(LIMIT + 4099, dtype=f32)
    expect_equal(tw.cast(x, "bf16"), x, lambda part: part.to(bf16))


def test_cast_to_e4m3() -> None:
    x = random(LIMIT + 4099, dtype=bf16)
    expect_equal(tw.cast(x, "e4m3"), x, lambda part: part.to(torch.float8_e4m3fn))


def places(rows: int, columns: int) -> "torch.Tensor":
    """The first and the last rows, those around element 2^31, and others."""
    middle = LIMIT // columns
    around = torch.arange(middle - 40, min(middle + 40, rows))
    ends = torch.arange(40), torch.arange(rows - 40, rows)
    return torch.cat([*ends, around, torch.randint(0, rows, (1000,))]).cuda()


@pytest.mark.parametrize("rows, columns", [((1 << 26) + 1, 32), (32769, 65536), (2200001, 1003)])
def test_softmax(rows: int, columns: int) -> None:
    x = random(rows, columns, dtype=bf16)
    assert x.numel() > LIMIT
    found = tw.softmax(x)
    at = places(rows, columns)
    torch.testing.assert_close(
        found[at].double(), torch.softmax(x[at].double(), 1), rtol=2**-8, atol=1e-7
    )
    assert torch.isfinite(found.view(-1)[-1])


# ---- casts with scale factors ----
NARROW, WIDE = ((1 << 25) + 128, 64), (257 * 128, 65536)
PACKED = {"round_sf": True, "use_packed_ue8m0": True, "use_tma_aligned_col_major_sf": True}


def same_bits(x: "torch.Tensor", y: "torch.Tensor") -> bool:
    a, b = (t.reshape(-1).view(torch.uint8) for t in (x, y))
    return x.shape == y.shape and torch.equal(a, b)


def rows_of(x: Any, at: "torch.Tensor", rows: int) -> Any:
    """Rows of a tensor, or of each of a tuple, which may have a row for some of these together."""
    if isinstance(x, tuple):
        return tuple(rows_of(part, at, rows) for part in x)
    together = rows // x.shape[0]
    some = at[::together] // together
    return x.view(torch.uint8)[some].view(x.dtype) if x.element_size() == 1 else x[some]


def expect_rows(x: Any, f: Callable, together: int = 1, logical: int = 0) -> None:
    """f of all rows is, of some, f of these; `together` of them depend on each other."""
    data = x[0] if isinstance(x, tuple) else x
    rows, columns = data.shape[0], logical or data.shape[1]
    assert rows * columns > LIMIT
    at = places(rows, columns)
    if together > 1:
        first = torch.unique(at // together)[:, None] * together
        at = (first + torch.arange(together, device="cuda")).view(-1)
    found, wanted = f(x), f(rows_of(x, at, rows))
    pair = (found, wanted) if isinstance(found, tuple) else ((found,), (wanted,))
    for y, z in zip(*pair, strict=True):
        assert y.dtype == z.dtype and same_bits(rows_of(y, at, rows), z)


def codes(rows: int, columns: int, fmt: str) -> "torch.Tensor":
    if fmt == "e2m1":
        return random(rows, columns // 2, dtype=torch.uint8).view(torch.int8)
    return random(rows, columns, dtype=torch.uint8).bitwise_and_(0xBF).view(torch.float8_e4m3fn)


def powers(rows: int, columns: int) -> "torch.Tensor":
    return torch.randint(-5, 5, (rows, columns), device="cuda").float().exp2_()


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_per_token_cast(shape: tuple[int, int], fmt: str) -> None:
    x = random(*shape, dtype=bf16)
    expect_rows(x, lambda x: quant.per_token_cast(x, fmt, 32, **PACKED))
    expect_rows(x, lambda x: quant.per_token_cast(x, fmt, x.shape[1]))


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_per_token_cast_of_codes(fmt: str) -> None:
    rows, columns = WIDE
    x = (codes(rows, columns, fmt), powers(rows, columns // 128))
    expect_rows(x, lambda x: quant.per_token_cast(x, "e4m3", 32, (1, 128)), logical=columns)


def test_per_token_cast_at_random_and_by_given_factors() -> None:
    x = random(*NARROW, dtype=f32)
    expect_rows(x, lambda x: quant.per_token_cast(x, "e4m3", 64, stochastic_cast=True))
    sf = powers(NARROW[0], 1)
    expect_rows(
        (x, sf), lambda pair: quant.per_token_cast_with_precomputed_sf(pair[0], "e2m1", 64, pair[1])
    )


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_cast_back(shape: tuple[int, int], fmt: str) -> None:
    rows, columns = shape
    x = (codes(rows, columns, fmt), powers(rows, columns // 64))
    for to in ("bf16", "fp32"):
        expect_rows(x, lambda x, to=to: quant.cast_back(x, to, (1, 64)), logical=columns)
    blocks = (x[0], powers(rows // 128, columns // 32))
    expect_rows(blocks, lambda x: quant.cast_back(x, "bf16", (128, 32)), 128, columns)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_casts_to_e5m6_and_back(shape: tuple[int, int]) -> None:
    x = random(*shape, dtype=bf16)
    expect_rows(x, lambda x: quant.per_token_cast_to_e5m6(x, x.shape[1]))
    pair = quant.per_token_cast_to_e5m6(x, x.shape[1])
    expect_rows(pair, lambda p: quant.cast_back_e5m6(p, "bf16", (1, shape[1])))


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_per_token_cast_and_cast_back(shape: tuple[int, int]) -> None:
    x = random(*shape, dtype=bf16)
    at = places(*shape)
    some = x[at]
    for rows in (x, some):
        quant.per_token_cast_and_cast_back(rows, "e2m1", 64, round_sf=True)
    assert same_bits(x[at], some)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
def test_per_channel_cast(shape: tuple[int, int]) -> None:
    x = random(*shape, dtype=bf16)
    for group in (32, 128):
        expect_rows(x, lambda x, g=group: quant.per_channel_cast(x, "e4m3", g), 128)

    def transposed(x: "torch.Tensor") -> tuple["torch.Tensor", ...]:
        q, sf = quant.per_channel_cast_and_transpose(x, "e4m3", 32)
        return q.view(torch.uint8).T, sf

    expect_rows(x, transposed, 128)


def test_per_channel_cast_of_codes() -> None:
    rows, columns = WIDE
    x = (codes(rows, columns, "e4m3"), powers(rows, columns // 128))
    expect_rows(x, lambda x: quant.per_channel_cast(x, "e4m3", 128, num_per_channels=128), 128)


def test_per_channel_cast_of_gathered_rows() -> None:
    rows, columns = WIDE
    x = random(1000, columns, dtype=bf16)
    index = torch.randint(-9, 1000, (rows,), dtype=torch.int32, device="cuda")
    at = torch.unique(places(*WIDE) // 128)
    q, sf = quant.per_channel_cast_fused(x, "e4m3", 128, pos_to_token=index)
    some = index.view(-1, 128)[at].view(-1)
    q_of_some, sf_of_some = quant.per_channel_cast_fused(x, "e4m3", 128, pos_to_token=some)
    found = q.view(torch.uint8).view(-1, 128, columns)[at].view(-1, columns)
    assert same_bits(found, q_of_some) and same_bits(sf[at], sf_of_some)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_per_block_cast(shape: tuple[int, int], fmt: str) -> None:
    x = random(*shape, dtype=bf16)
    for block in ((128, 128), (32, 32)):
        expect_rows(x, lambda x, b=block: quant.per_block_cast(x, fmt, b), 128)


@pytest.mark.parametrize("shape", [NARROW, WIDE])
@pytest.mark.parametrize("block", [(1, 64), (32, 32), (128, 64), (128, 1024)])
def test_per_block_cast_lossless(shape: tuple[int, int], block: tuple[int, int]) -> None:
    rows, columns = shape
    x = (codes(rows, columns, "e2m1"), powers(rows, columns // 32))

    def cast(x: tuple) -> tuple:
        return quant.per_block_cast_lossless(x, "e4m3", (1, 32), block)

    expect_rows(x, cast, 128, columns)


def test_stochastic_cast() -> None:
    x = random(LIMIT + 4, dtype=f32)
    found = quant.stochastic_cast(x, "bf16")
    at = places(x.numel() // 4, 4)
    v = x.view(-1, 4)[at].view(torch.int32).long() & 0xFFFFFFFF
    factors = torch.tensor([0x5671D42B, 0x9995E499, 0xACE1B8A5, 0xE153538D], device="cuda")
    h = ((v * factors).sum(1) + at) & 0xFFFFFFFF
    h ^= h >> 23
    h = h * 0x7FEB352D & 0xFFFFFFFF
    h ^= h >> 16
    bits = []
    for factor in (0x846CA68B, 0xD35A2D97):
        r = h * factor & 0xFFFFFFFF
        r ^= r >> 11
        bits += [r & 0xFFFF, r >> 16]
    wanted = (v + torch.stack(bits, 1)) >> 16
    assert torch.equal(found.view(-1, 4)[at].view(torch.int16).long() & 0xFFFF, wanted)


# ---- random numbers, rotations, transposes ----
@pytest.mark.parametrize("dtype", [bf16, f32])
def test_randn(dtype: "torch.dtype") -> None:
    """A step of all streams is the one that a call makes whose offset is there."""
    groups, step = 1056, 1024 * 1056
    found = rand.randn(torch.empty(LIMIT + 4099, dtype=dtype, device="cuda"), 3, 8, groups)
    steps = -(-found.numel() // step)
    for at in (0, 1, LIMIT // step - 1, LIMIT // step, steps - 2, steps - 1):
        part = found[at * step : (at + 1) * step]
        wanted = rand.randn(torch.empty(step, dtype=dtype, device="cuda"), 3, 8 + 4 * at, groups)
        assert same_bits(part, wanted[: part.numel()])


@pytest.mark.parametrize("dtype", [bf16, f32])
def test_standard_normal(dtype: "torch.dtype") -> None:
    found = rand.standard_normal(torch.empty(LIMIT + 4099, dtype=dtype, device="cuda"), 3, 8)
    for first in (0, LIMIT - 4096, LIMIT, LIMIT + 3072):
        x = [first // 4 + torch.arange(1024), torch.zeros(1024), torch.full((1024,), 8)]
        x = [t.long() for t in (*x, torch.zeros(1024))]
        for n in range(10):  # Philox; of the products' 64 bits the sign doesn't matter
            a, b = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
            high = [(t >> 32) & 0xFFFFFFFF for t in (a, b)]
            keys = [(3 + n * 0x9E3779B9) & 0xFFFFFFFF, (n * 0xBB67AE85) & 0xFFFFFFFF]
            x = [high[1] ^ x[1] ^ keys[0], b & 0xFFFFFFFF, high[0] ^ x[3] ^ keys[1], a & 0xFFFFFFFF]
        wanted = []
        for u, v in ((x[0], x[1]), (x[2], x[3])):
            # The logarithm feels the rounding of its argument where that is nearly 1.
            radius = (-2 * torch.log((u.float() * 2**-32 + 2**-33).double())).sqrt()
            angle = (v.double() + 0.5) / 2**31 * torch.pi
            wanted += [radius * angle.sin(), radius * angle.cos()]
        part = found[first : first + 4096].cpu().double()
        wanted = torch.stack(wanted, 1).view(-1)[: part.numel()]
        torch.testing.assert_close(part, wanted, rtol=4e-3 if dtype == bf16 else 1e-6, atol=1e-7)


@pytest.mark.parametrize("heads, d", [(1, 64), (5, 128), (128, 64)])
@pytest.mark.parametrize("interleaved", [False, True])
def test_apply_rotary(heads: int, d: int, interleaved: bool) -> None:
    tokens = LIMIT // (heads * d) + 50
    x = random(tokens, heads, d, dtype=bf16)
    table = random(50000, d, dtype=f32)
    positions = torch.randint(0, 49000, (tokens,), dtype=torch.int32, device="cuda")
    at = places(tokens, heads * d)
    some = x[at]
    for query, where in ((x, positions), (some, positions[at])):
        transform.apply_rotary(
            query, table, positions=where, interleaved=interleaved, seqlen_offset=17
        )
    assert same_bits(x[at], some)


@pytest.mark.parametrize("dtype", [torch.uint8, bf16])
def test_transpose(dtype: "torch.dtype") -> None:
    for m, n in ((65536, 32832), (64, (1 << 25) + 64), ((1 << 25) + 64, 64)):
        x = random(m, n, dtype=dtype)
        found = tw.transpose(x)
        assert found.shape == (n, m) and x.numel() > LIMIT
        if n > m:
            at = places(n, m)
            assert torch.equal(found[at], x[:, at].T)
        else:
            at = places(m, n)
            assert torch.equal(found[:, at], x[at].T)
        del x, found


def test_transpose_of_a_batch() -> None:
    x = random(9, 8192, 32768, dtype=bf16)
    found = tw.transpose(x)
    assert found.shape == (9, 32768, 8192) and x.numel() > LIMIT
    for batch in (0, 7, 8):
        assert torch.equal(found[batch], x[batch].T)


# ---- experts ----
def test_expand_to_fused() -> None:
    tokens, topk, h, padding = 37500, 8, 7168, 40
    positions = tokens * topk
    order = torch.randperm(positions, device="cuda")
    to_expert = torch.zeros(positions + padding, dtype=torch.int32, device="cuda")
    to_expert[positions:] = -1
    to_pos = order.int().view(tokens, topk)
    x, sf = random(tokens, h, dtype=bf16), random(tokens, h // 32, dtype=f32)
    out, out_sf = moe.expand_to_fused_with_sf((x, sf), 32, to_pos, to_expert, True)
    assert out[:positions].numel() > LIMIT
    at = places(positions, h)
    token = torch.argsort(order)[at] // topk
    assert same_bits(out[at], x[token]) and same_bits(out_sf[at], sf[token])
    assert not out[positions:].any() and not out_sf[positions:].any()


def test_expand_to_fused_of_many_tokens() -> None:
    tokens, h = 300001, 7168
    x = random(tokens, h, dtype=bf16)
    order = torch.randperm(tokens, device="cuda")
    zeros = torch.zeros(tokens, dtype=torch.int32, device="cuda")
    out = moe.expand_to_fused(x, order.int()[:, None], zeros)
    at = places(tokens, h)
    assert same_bits(out[order[at]], x[at])


@pytest.mark.parametrize("topk", [1, 8])
@pytest.mark.parametrize("dtype", [bf16, f32])
def test_reduce_fused(topk: int, dtype: "torch.dtype") -> None:
    rows, h = 300008, 7168
    x = random(rows, h, dtype=dtype)
    to_pos = torch.randperm(rows, device="cuda").view(-1, topk)
    weights = torch.rand(to_pos.shape, device="cuda")
    found = moe.reduce_fused(x, weights, to_pos.int())
    at = places(rows // topk, h * topk)
    some = torch.arange(at.numel() * topk, dtype=torch.int32, device="cuda").view(-1, topk)
    wanted = moe.reduce_fused(x[to_pos[at].view(-1)], weights[at], some)
    assert same_bits(found[at], wanted)


def test_gates() -> None:
    tokens, experts, k = (1 << 25) + 77, 64, 2
    logits = random(tokens, experts, dtype=f32)
    expect_rows(logits, lambda x: moe.topk_gate(x, k))

    def gate(x: "torch.Tensor") -> tuple["torch.Tensor", ...]:
        scores = torch.empty_like(x)
        return *moe.moe_topk_gate_forward(x, k, False, 0, 1.5, 0, scores=scores), scores

    expect_rows(logits, gate)
    bias = torch.randn(experts, device="cuda")
    options = (k, 0, 0, False, 0, 1.0, 0, 1, 0, 1, "softmax")
    expect_rows(logits, lambda x: moe.top2_sum_gate(x, bias, *options))
    idx, weights, scores = gate(logits)
    given = (scores, idx, weights, torch.randn_like(weights))
    expect_rows(given, lambda t: moe.moe_topk_gate_backward(*t, 1.5))


def test_normalize_weight() -> None:
    x = torch.rand((1 << 27) + 5, 16, device="cuda")
    expect_rows(x, moe.normalize_weight)


def test_numbers_of_experts() -> None:
    tokens, topk = (1 << 28) + 3, 8
    idx = torch.empty((tokens, topk), dtype=torch.int64, device="cuda").random_(0, 72)
    expect_equal(
        moe.mask_indices_by_tp(idx, 72, 8, 1, 2),
        idx,
        lambda p: torch.where(p // 9 % 2 == 1, p // 18 * 9 + p % 9, -1),
    )
    counts = sum(torch.bincount(part, minlength=72) for part in idx.view(-1).split(PART))
    assert torch.equal(moe.group_count(idx, 72), counts.int())
    wanted = (counts * 72).float() / torch.full((72,), float(tokens * topk), device="cuda")
    assert torch.equal(moe.aux_fi(idx, 72, topk), wanted)
    at = places(tokens, topk)
    some = idx[at]
    for rows in (idx, some):
        moe.inplace_unique_group_indices(rows, 72)
    assert torch.equal(idx[at], some)
