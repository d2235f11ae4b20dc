"""Layouts of experts, on numpy arrays and tensors of torch, beside numpy."""

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from moe_layouts import Mapping, expanded, fused_mapping, some_experts

from tilewright import moe

LAYOUTS = [(0, 1, 1), (1, 8, 4), (43, 2, 9), (43, 6, 32)]
EXAMPLE = np.array([[1, 0], [1, -1], [3, 1]])


def random_bits(*shape: int, dtype: type) -> np.ndarray:
    random = np.random.default_rng(1)
    size = np.dtype(dtype).itemsize
    return random.integers(0, 256, (*shape[:-1], shape[-1] * size), "uint8").view(dtype)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# ---- numbers and counts of experts ----
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize(("n", "ranks"), [(72, 8), (256, 64), (257, 6), (7, 7)])
def test_mask_indices_by_tp(dtype: type, n: int, ranks: int) -> None:
    for tp in (1, 2, 4, 8):
        for tokens in (0, 1, 301):
            indices = np.random.default_rng(tp).integers(-1, n, (tokens, 6), dtype)
            of_rank, tp_rank = n // ranks, tp - 1
            rank = indices // of_rank
            local = rank // tp * of_rank + indices % of_rank
            wanted = np.where((indices >= 0) & (rank % tp == tp_rank), local, -1).astype(dtype)
            assert same_bits(moe.mask_indices_by_tp(indices, n, ranks, tp_rank, tp), wanted)


def test_mask_the_example() -> None:
    indices = np.array([[0, 2, 7, -1], [15, 10, 4, 3]])
    out = moe.mask_indices_by_tp(indices, n=16, num_ep_ranks=8, tp_rank=1, num_tp_ranks=2)
    assert out.tolist() == [[-1, 0, 3, -1], [7, 4, -1, 1]]


@pytest.mark.parametrize("groups", [1, 8, 63, 64, 65, 72, 128])
@pytest.mark.parametrize("topk", [1, 6, 16, 32])
def test_inplace_unique_group_indices(groups: int, topk: int) -> None:
    for tokens in (0, 1, 301):
        given = np.random.default_rng(tokens).integers(-1, groups, (tokens, topk))
        wanted = given.copy()
        for row in wanted:
            for k in range(topk):
                if row[k] >= 0 and row[k] in row[:k]:
                    row[k] = -1
        assert moe.inplace_unique_group_indices(given, groups) is None
        np.testing.assert_array_equal(given, wanted)


def test_unique_the_examples() -> None:
    given = np.array([[3, 3, 5, -1], [0, 1, 0, 0], [-1, 2, -1, 2], [-5, -5, 1, 2]])
    moe.inplace_unique_group_indices(given, num_groups=6)
    assert given.tolist() == [[3, -1, 5, -1], [0, 1, -1, -1], [-1, 2, -1, -1], [-5, -5, 1, 2]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("groups", [0, 1, 1000, 4096])
def test_group_count_and_aux_fi(layout: tuple[int, int, int], groups: int) -> None:
    chosen = some_experts(*layout)
    groups = max(groups, layout[2])
    counts = np.bincount(chosen[chosen >= 0], minlength=groups).astype("int32")
    assert same_bits(moe.group_count(chosen, groups), counts)
    chosen[chosen < 0] = -7  # any number below 0 is none
    assert same_bits(moe.group_count(chosen, groups), counts)
    for top in (1, layout[1], 2**31 - 1):
        total = np.float32(max(layout[0], 1) * top)
        wanted = (counts.astype("int64") * groups).astype("float32") / total
        assert same_bits(moe.aux_fi(chosen, groups, top), wanted)


def test_count_the_example() -> None:
    chosen = np.array([[0, 2], [2, -1], [1, 2]])
    assert moe.group_count(group_idx=chosen, num_groups=4).tolist() == [1, 1, 3, 0]
    third = np.float32(2) / np.float32(3)
    assert moe.aux_fi(chosen, 4, 2).tolist() == [third, third, 2, 0]
    assert moe.aux_fi(topk_idx=chosen, num_experts=4, num_aux_topk=1)[2] == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: moe.mask_indices_by_tp(x, 16, 0, 0, 1), ValueError, "num_ep_ranks is 0"),
        (lambda x: moe.mask_indices_by_tp(x, 16, 8, 0, 0), ValueError, "num_tp_ranks is 0"),
        (lambda x: moe.mask_indices_by_tp(x, 16, 8, 2, 2), ValueError, "tp_rank is 2"),
        (lambda x: moe.mask_indices_by_tp(x, 7, 8, 0, 2), ValueError, "7 experts on 8 ranks"),
        (lambda x: moe.mask_indices_by_tp(x * 1.0, 16, 8, 0, 2), TypeError, "i64 or i32"),
        (lambda x: moe.inplace_unique_group_indices(x, 129), ValueError, "num_groups is 129"),
        (lambda x: moe.inplace_unique_group_indices(x * 1.0, 8), TypeError, "it must be i64"),
        (lambda x: moe.group_count(x, -1), ValueError, "num_groups is -1"),
        (lambda x: moe.group_count(x[0], 4), ValueError, "it must have 2 dimensions"),
        (lambda x: moe.group_count(x[:, ::2], 4), ValueError, "it must be compact"),
        (lambda x: moe.group_count(x.astype("int32"), 4), TypeError, "it must be i64"),
        (lambda x: moe.group_count(x, 3), RuntimeError, "group_count: group 3 of 3"),
        (lambda x: moe.aux_fi(x, -1, 1), ValueError, "num_experts is -1"),
        (lambda x: moe.aux_fi(x, 4, 0), ValueError, "num_aux_topk is 0"),
        (lambda x: moe.aux_fi(x, 3, 1), RuntimeError, "aux_fi: expert 3 of 3"),
        (
            lambda x: moe.get_fused_mapping(x, 1 << 62, 0, 4),
            ValueError,
            "num_experts is 4611686018427387904, it must be from 1 to 1024",
        ),
        (
            lambda x: moe.inplace_unique_group_indices(x * 64, 65),
            RuntimeError,
            "inplace_unique_group_indices: group 192 of 128",
        ),
    ],
)
def test_what_does_not_fit_numbers_of_experts(call: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call(EXAMPLE)


def test_read_only_indices_are_not_changed_in_place() -> None:
    given = np.array([[1, 1]])
    given.flags.writeable = False
    with pytest.raises(ValueError, match="group_indices is read-only"):
        moe.inplace_unique_group_indices(given, 8)


# ---- get_fused_mapping ----
def agrees(found: tuple, wanted: Mapping) -> None:
    for name, a, b in zip(Mapping._fields, found, wanted, strict=False):
        np.testing.assert_array_equal(np.asarray(a), b, err_msg=name)
        assert str(a.dtype).endswith("int32"), name


@pytest.mark.parametrize("layout", [*LAYOUTS, (300, 2, 257), (20000, 1, 1024), (600, 9, 36)])
@pytest.mark.parametrize("alignment", [1, 64, 128])
def test_get_fused_mapping(layout: tuple[int, int, int], alignment: int) -> None:
    experts, chosen = layout[2], some_experts(*layout)
    wanted = fused_mapping(chosen, experts, alignment)
    found = moe.get_fused_mapping(chosen, experts, 0, alignment)
    agrees(found, wanted)
    assert found[7] == wanted.num_tokens_per_expert.tolist()
    rows = wanted.pos_to_expert.size
    for size in (rows, rows + 40):
        if size > 0:
            found = moe.get_fused_mapping(chosen, experts, size, alignment)
            agrees(found, fused_mapping(chosen, experts, alignment, size))
            assert found[7] == []
    found = moe.get_fused_mapping(chosen, experts, 0, alignment, force_no_sync=True)
    empty = np.zeros(0, "int32")
    agrees(found, Mapping(empty, empty, empty, *wanted[3:]))
    assert found[7] == []


def test_the_mapping_of_the_example() -> None:
    found = moe.get_fused_mapping(EXAMPLE, num_experts=4, num_expanded_tokens=0, alignment=4)
    assert [np.asarray(v).tolist() for v in found] == [
        [0, -1, -1, -1, 1, 1, 1, -1, 3, -1, -1, -1],
        [0, -1, -1, -1, 0, 1, 2, -1, 2, -1, -1, -1],
        [1, -1, -1, -1, 0, 2, 5, -1, 4, -1, -1, -1],
        [[4, 0], [5, -1], [8, 6]],
        [0, 4, 8, 8],
        [4, 8, 8, 12],
        [4, 4, 0, 4],
        [4, 4, 0, 4],
    ]
    ends = moe.get_fused_mapping(EXAMPLE, 4, 0, 1)[4:6]
    assert [v.tolist() for v in ends] == [[0, 1, 4, 4], [1, 4, 4, 5]]


def test_the_mapping_of_no_tokens() -> None:
    none = np.zeros((0, 6), "int64")
    found = moe.get_fused_mapping(none, 3, 0, 16)
    assert [v.shape for v in found[:7]] == [(0,), (0,), (0,), (0, 6), (3,), (3,), (3,)]
    assert found[7] == [0, 0, 0] and not np.concatenate(found[4:7]).any()
    found = moe.get_fused_mapping(none, 3, 5, 16)
    assert found[7] == [] and (np.stack(found[:3]) == -1).all()


def test_the_mapping_of_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    chosen = some_experts(43, 6, 32)
    found = moe.get_fused_mapping(torch.from_numpy(chosen), 32, 0, 128)
    agrees(tuple(v.numpy() for v in found[:7]), fused_mapping(chosen, 32, 128))
    assert found[7] == found[6].tolist() and all(v.dtype == torch.int32 for v in found[:7])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"topk_idx": EXAMPLE.astype("int32")}, TypeError, "it must be i64"),
        ({"topk_idx": EXAMPLE[0]}, ValueError, "it must have 2 dimensions"),
        ({"topk_idx": EXAMPLE[:, ::2]}, ValueError, "strides [2, 2], it must be compact"),
        ({"num_experts": 0}, ValueError, "num_experts is 0, it must be from 1 to 1024"),
        ({"num_experts": 1025}, ValueError, "num_experts is 1025, it must be from 1 to 1024"),
        ({"alignment": 0}, ValueError, "alignment is 0, it must be from 1 to 2147483647"),
        ({"num_expanded_tokens": -1}, ValueError, "num_expanded_tokens is -1"),
    ],
)
def test_what_does_not_fit_get_fused_mapping(change: dict, error: type, message: str) -> None:
    arguments = {
        "topk_idx": EXAMPLE,
        "num_experts": 4,
        "num_expanded_tokens": 0,
        "alignment": 4,
        **change,
    }
    with pytest.raises(error, match=re.escape(message)):
        moe.get_fused_mapping(**arguments)


def test_an_expert_that_there_is_not_stops_the_mapping() -> None:
    with pytest.raises(RuntimeError, match="get_fused_mapping: expert 3 of 3"):
        moe.get_fused_mapping(EXAMPLE, 3, 0, 4)


# ---- expand_to_fused ----
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("h", [8, 100, 576])
def test_expand_to_fused(layout: tuple[int, int, int], h: int) -> None:
    maps = fused_mapping(some_experts(*layout), layout[2], 16)
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float32, np.int8):
        x = random_bits(layout[0], h, dtype=dtype)
        out = moe.expand_to_fused(x, maps.token_topk_to_pos, maps.pos_to_expert)
        assert same_bits(out, expanded(x, maps.pos_to_token))
        assert out.flags.c_contiguous


@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("sf_dtype", [np.float32, np.int32])
@pytest.mark.parametrize("columns", [False, True])
def test_expand_to_fused_with_sf(group: int, sf_dtype: type, columns: bool) -> None:
    h, tokens = 576, 43
    maps = fused_mapping(some_experts(tokens, 6, 9), 9, 1)  # 1: the positions are no multiple of 4
    factors = -(-h // group)
    n = factors if sf_dtype == np.float32 else -(-factors // 4)
    x = random_bits(tokens, h, dtype=ml_dtypes.float8_e4m3fn)
    sf = random_bits(tokens, n, dtype=sf_dtype)
    arguments = ((x, sf), group, maps.token_topk_to_pos, maps.pos_to_expert, columns)
    if sf_dtype == np.int32 and not columns:
        with pytest.raises(ValueError, match="which needs use_tma_aligned_col_major_sf"):
            moe.expand_to_fused_with_sf(*arguments)
        return
    out, out_sf = moe.expand_to_fused_with_sf(*arguments)
    assert same_bits(out, expanded(x, maps.pos_to_token))
    assert same_bits(np.ascontiguousarray(out_sf), expanded(sf, maps.pos_to_token))
    if columns:
        assert out_sf.strides == (4, 4 * (-(-out.shape[0] // 4) * 4))
    else:
        assert out_sf.flags.c_contiguous


def test_expand_the_example() -> None:
    maps = fused_mapping(EXAMPLE, 4, 4)
    x = np.arange(1, 4, dtype="float32").repeat(3).reshape(3, 3)
    out = moe.expand_to_fused(x, maps.token_topk_to_pos, maps.pos_to_expert)
    assert out[:, 2].tolist() == [1, 0, 0, 0, 1, 2, 3, 0, 3, 0, 0, 0]


def test_columns_of_factors_begin_at_multiples_of_16_bytes() -> None:
    x = np.zeros((6, 576), ml_dtypes.float8_e4m3fn), np.ones((6, 2), "int32")
    map_ = np.arange(6, dtype="int32").reshape(6, 1)
    out, sf = moe.expand_to_fused_with_sf(x, 128, map_, np.zeros(6, "int32"), True)
    assert out.shape == (6, 576) and sf.shape == (6, 2) and sf.strides == (4, 32)
    assert (sf == 1).all()


def test_tensors_of_torch_are_expanded() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    maps = fused_mapping(some_experts(43, 2, 9), 9, 16)
    x = torch.randn(43, 576).to(torch.float8_e4m3fn)
    sf = torch.randn(43, 18)
    tensors = torch.from_numpy(maps.token_topk_to_pos), torch.from_numpy(maps.pos_to_expert)
    out, out_sf = moe.expand_to_fused_with_sf((x, sf), 32, *tensors, True)
    assert out.dtype == x.dtype and out.is_contiguous()
    assert out_sf.stride() == (1, -(-out.shape[0] // 4) * 4)
    wanted = expanded(x.view(torch.uint8).numpy(), maps.pos_to_token)
    np.testing.assert_array_equal(out.view(torch.uint8).numpy(), wanted)
    np.testing.assert_array_equal(out_sf.numpy(), expanded(sf.numpy(), maps.pos_to_token))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({0: np.zeros(3, "int32")}, ValueError, "x is i32 [3], it must have 2 dimensions"),
        ({0: np.zeros((3, 8), "int64")}, ValueError, "its elements must have 8, 16 or 32 bits"),
        ({0: np.zeros((3, 16), "int32")[:, ::2]}, ValueError, "x.stride[1] expected 1 (compact)"),
        ({1: np.zeros((3, 2), "int64")}, TypeError, "token_topk_to_pos is i64 [3, 2]"),
        ({1: np.zeros((2, 2), "int32")}, ValueError, "it must be [3, 2] [t, topk]"),
        ({2: np.zeros(4, "int64")}, TypeError, "pos_to_expert is i64 [4], it must be i32"),
        ({2: np.zeros((4, 1), "int32")}, ValueError, "it must have 1 dimension"),
    ],
)
def test_what_does_not_fit_expand_to_fused(change: dict, error: type, message: str) -> None:
    arguments = [np.zeros((3, 8), "int32"), np.zeros((3, 2), "int32"), np.zeros(4, "int32")]
    for i, value in change.items():
        arguments[i] = value
    with pytest.raises(error, match=re.escape(message)):
        moe.expand_to_fused(*arguments)


@pytest.mark.parametrize(
    ("x", "group", "error", "message"),
    [
        (np.zeros((3, 128)), 128, TypeError, "incompatible function arguments"),
        ((np.zeros((3, 128), "int8"),), 128, TypeError, "incompatible function arguments"),
        ((np.zeros((3, 128), "int8"), np.zeros((3, 1), "float32")), 64, ValueError, "for 64"),
        ((np.zeros((3, 128), "int8"), np.zeros((3, 2), "float32")), 128, ValueError, "[3, 1]"),
        ((np.zeros((3, 128), "int8"), np.zeros((3, 1))), 128, TypeError, "it must be f32 or i32"),
    ],
)
def test_what_does_not_fit_expand_to_fused_with_sf(
    x: object, group: int, error: type, message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        moe.expand_to_fused_with_sf(x, group, np.zeros((3, 2), "int32"), np.zeros(4, "int32"))


# ---- reduce_fused ----
def fma(a: np.ndarray, b: np.float32, c: np.ndarray) -> np.ndarray:
    """Rounded once: the product is exact in f64; the sum is made odd where it is inexact."""
    p, c = a.astype("float64") * np.float64(b), c.astype("float64")
    total = p + c
    error = (p - (total - (total - p))) + (c - (total - p))  # two-sum
    bits = total.view("int64")
    inexact = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    toward = np.where(np.signbit(error) == np.signbit(total), 1, -1)
    return np.where(inexact, (bits + toward).view("float64"), total).astype("float32")


def reduced(
    x: np.ndarray,
    weights: np.ndarray | None,
    pos: np.ndarray,
    x_sf: np.ndarray | None = None,
    sf: float = 1,
) -> np.ndarray:
    out = np.zeros((pos.shape[0], x.shape[1]), "float32")
    for t, k in np.argwhere(pos >= 0):
        m = np.float32(1) if weights is None else weights[t, k]
        if x_sf is not None:
            m = m * x_sf[pos[t, k]]
        out[t] = fma(x[pos[t, k]].astype("float32"), m, out[t])
    return out * np.float32(sf)


def to_e4m3(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("h", [256, 2560])
def test_reduce_fused(layout: tuple[int, int, int], dtype: type, h: int) -> None:
    pos = fused_mapping(some_experts(*layout), layout[2], 1).token_topk_to_pos
    random = np.random.default_rng(1)
    rows = max(pos.size, 1)
    x = random.standard_normal((rows, h)).astype(dtype)
    weights = random.random(pos.shape, dtype="float32")
    x_sf = random.standard_normal(rows).astype("float32")
    sf = np.array([300], "float32")
    same = moe.reduce_fused(x, weights, pos)
    wanted = reduced(x, weights, pos)
    wanted = to_e4m3(wanted) if dtype == ml_dtypes.float8_e4m3fn else wanted.astype(dtype)
    assert same_bits(same, wanted)
    codes = moe.reduce_fused((x, x_sf), None, pos, "e4m3", sf)
    assert same_bits(codes, to_e4m3(reduced(x, None, pos, x_sf, 300)))


def test_reduce_the_examples() -> None:
    x = np.array([1, 3], "float32").repeat(256).reshape(2, 256)
    weights = np.array([[-1, 1 / 3], [1, 1]], "float32")
    out = moe.reduce_fused(x, weights, np.array([[0, 1], [-1, -1]], "int32"))
    assert (out[0].view("uint32") == 0x33000000).all() and not out[1].any()
    one = np.array([[0]], "int32")
    for sf, code in ((1, 448), (0.25, 256)):
        out = moe.reduce_fused(x[:1] * 1000, None, one, "e4m3", np.array([sf], "float32"))
        assert (out.astype("float32") == code).all()


def test_reduce_writes_where_the_caller_says() -> None:
    x, out = np.ones((2, 256), "float32"), np.empty((1, 256), "float32")
    pos = np.array([[1, 0]], "int32")
    assert moe.reduce_fused(x, None, pos, out=out) is out
    assert (out == 2).all()
    codes = np.empty((1, 256), ml_dtypes.float8_e4m3fn)
    assert moe.reduce_fused(x, None, pos, "e4m3", None, codes) is codes
    assert (codes.astype("float32") == 2).all()


def test_reduce_reads_unsigned_integers_as_bf16() -> None:
    x = np.full((1, 256), 1.5, ml_dtypes.bfloat16)
    out = moe.reduce_fused(x.view("uint16"), None, np.array([[0]], "int32"), dtype="bf16")
    assert out.dtype == np.uint16 and (out.view(ml_dtypes.bfloat16) == x).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.zeros((2, 100), "float32")}, ValueError, "its rows must be a multiple of 256"),
        ({"x": np.zeros((2, 256))}, TypeError, "it must be f32, bf16 or e4m3"),
        ({"x": (np.zeros((2, 256), "float32"),)}, TypeError, "or a tuple of data and factors"),
        ({"x": (np.zeros((2, 256), "float32"), np.ones(3, "float32"))}, ValueError, "[2] [np]"),
        ({"topk_weights": np.ones((1, 3), "float32")}, ValueError, "it must be [1, 2]"),
        ({"token_topk_to_pos": np.zeros((1, 2), "int64")}, TypeError, "it must be i32"),
        ({"fp8_format": "e5m2"}, ValueError, "fp8_format is 'e5m2', it must be '' or 'e4m3'"),
        ({"sf": np.ones(1, "float32")}, ValueError, "sf is given, which needs fp8_format 'e4m3'"),
        ({"fp8_format": "e4m3", "sf": np.ones(2, "float32")}, ValueError, "it must be [1]"),
        ({"out": np.ones((1, 256), ml_dtypes.float8_e4m3fn)}, ValueError, "it must be f32"),
        ({"out": np.ones((2, 256), "float32")}, ValueError, "it must be [1, 256] [t, h]"),
    ],
)
def test_what_does_not_fit_reduce_fused(change: dict, error: type, message: str) -> None:
    arguments = {
        "x": np.zeros((2, 256), "float32"),
        "topk_weights": None,
        "token_topk_to_pos": np.zeros((1, 2), "int32"),
        **change,
    }
    with pytest.raises(error, match=re.escape(message)):
        moe.reduce_fused(**arguments)
