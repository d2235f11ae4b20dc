"""Casts with scale factors on a GPU, bit for bit beside the same arithmetic of torch."""

import pytest
from cast_flags import FLAGS, LEAST

from tilewright import quant

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

FLT_MAX = torch.finfo(torch.float32).max


def wild(m: int, k: int, dtype: "torch.dtype") -> "torch.Tensor":
    x = torch.randn((m, k), generator=torch.Generator().manual_seed(k)).cuda()
    x[3], x[4, :40], x[5, 7], x[6] = 0, torch.inf, torch.nan, x[6] * 1e-38
    return x.to(dtype)


def wanted(
    x: "torch.Tensor", fmt: str, group: int, flags: dict
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Codes as bytes, NaN as 0x7F, and factors in f32."""
    m, k = x.shape
    groups = x.float().view(m, -1, group)
    e4m3_sf = "use_e4m3_sf" in flags
    least = torch.tensor(LEAST[fmt, e4m3_sf], device="cuda")
    a = torch.nan_to_num(groups.abs(), nan=0.0, posinf=FLT_MAX).amax(-1).maximum(least)
    largest = torch.full_like(a, 448 if fmt == "e4m3" else 6)
    sf, inverse = a / largest, largest / a
    if "round_sf" in flags:
        e = ((sf.view(torch.int32) - 1) >> 23) + 1
        sf, inverse = (e << 23).view(torch.float32), ((254 - e) << 23).view(torch.float32)
    elif e4m3_sf:
        sf = sf.clamp(max=448).to(torch.float8_e4m3fn).float()
        inverse = torch.ones_like(sf) / sf
    y = (groups * inverse[..., None]).view(m, k)
    if fmt == "e4m3":
        return no_sign_of_nan(y.clamp(-448, 448).to(torch.float8_e4m3fn)), sf
    magnitude = torch.where(y.isnan(), 6.0, y.abs().clamp(max=6))
    code = torch.zeros(m, k, dtype=torch.uint8, device="cuda")
    for at, goes_up in ((0.25, 0), (0.75, 1), (1.25, 0), (1.75, 1), (2.5, 0), (3.5, 1), (5.0, 0)):
        code += magnitude >= at if goes_up else magnitude > at
    code |= (y.signbit() & ~y.isnan()).to(torch.uint8) << 3
    return code[:, ::2] | code[:, 1::2] << 4, sf


def no_sign_of_nan(codes: "torch.Tensor") -> "torch.Tensor":
    codes = codes.view(torch.uint8)
    return torch.where(codes & 0x7F == 0x7F, 0x7F, codes)


def decoded(sf: "torch.Tensor", groups: int) -> "torch.Tensor":
    if sf.dtype != torch.int32:
        return sf.float()
    words = torch.empty(sf.shape, dtype=torch.int32, device="cuda").copy_(sf)
    exponents = words.view(torch.uint8).view(sf.shape[0], -1)
    assert not exponents[:, groups:].any()
    return (exponents[:, :groups].int() << 23).view(torch.float32)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("group", [16, 32, 64, 128, 640])
def test_per_token_cast_is_bitwise_torchs(
    flags: str, fmt: str, dtype: "torch.dtype", group: int
) -> None:
    x, options = wild(301, 640, dtype), FLAGS[flags]
    codes, factors = wanted(x, fmt, group, options)
    q, sf = quant.per_token_cast(x, fmt, group, **options)
    found = no_sign_of_nan(q) if fmt == "e4m3" else q.view(torch.uint8)
    assert torch.equal(found, codes)
    assert torch.equal(decoded(sf, factors.shape[1]), factors)
    assert q.is_contiguous()
    if "columns" in flags:
        assert sf.stride() == (1, 304)
    alone = quant.per_token_cast_with_sf_only(x, fmt, group, **options)
    assert torch.equal(decoded(alone, factors.shape[1]), factors)


def test_no_rows_and_one() -> None:
    for m in (0, 1):
        x = torch.ones((m, 128), device="cuda")
        q, sf = quant.per_token_cast(x, "e2m1", 32, None, True, True, True)
        assert (q.shape, sf.shape) == ((m, 64), (m, 1))
        assert m == 0 or sf.stride() == (1, 4)


def test_codes_are_cast_again() -> None:
    x = torch.randn((70, 256), generator=torch.Generator().manual_seed(1)).cuda()
    q, sf = quant.per_token_cast(x, "e4m3", 128, round_sf=True)
    again, sf_again = quant.per_token_cast((q, sf), "e2m1", 32, (1, 128), round_sf=True)
    values = q.float() * sf.repeat_interleave(128, 1)
    codes, factors = wanted(values, "e2m1", 32, {"round_sf": True})
    assert torch.equal(again.view(torch.uint8), codes)
    assert torch.equal(sf_again, factors)
