"""per_token_cast_and_cast_back beside the two casts that it stands for."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import per_token_cast_and_cast_back
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch import cast, cast_back

DEVICE = config.get_device()
MODES = {"plain": {}, "round": {"round_sf": True}, "e4m3": {"use_e4m3_sf": True}}
NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16"}


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("group", [16, 32, 64, 128])
@pytest.mark.parametrize("mode", MODES)
def test_it_is_a_cast_and_one_back(dtype: torch.dtype, fmt: str, group: int, mode: str) -> None:
    torch.manual_seed(0)
    for m in (0, 1, 37):
        wide = torch.randn(m, 400, device=DEVICE).to(dtype)
        x, before = wide[:, 8:392], wide.clone()
        pair = cast(x, fmt, (1, group), **MODES[mode])
        wanted = cast_back(pair, NAMES[dtype], (1, group))
        assert per_token_cast_and_cast_back(x, fmt, group, **MODES[mode]) is None
        assert_equal(x, wanted, check_stride=False)
        assert_equal(wide[:, :8], before[:, :8])
        assert_equal(wide[:, 392:], before[:, 392:])


@pytest.mark.parametrize(
    ("fmt", "mode", "wanted"),
    [
        ("e4m3", "plain", "3F7B BE95 3CA0 C020"), ("e4m3", "round", "3F80 BEA0 3CA0 C020"),
        ("e2m1", "plain", "3F55 BE55 0000 C020"), ("e2m1", "e4m3", "3F50 BE50 0000 C01C"),
    ],
)  # fmt: skip
def test_a_group_of_four(fmt: str, mode: str, wanted: str) -> None:
    x = torch.zeros(1, 64, dtype=torch.bfloat16, device=DEVICE)
    x[0, :4] = torch.tensor([1, -0.3008, 0.02, -2.5])
    per_token_cast_and_cast_back(x, fmt, 16, **MODES[mode])
    assert " ".join(f"{v & 0xFFFF:04X}" for v in x[0, :4].view(torch.int16).tolist()) == wanted


def test_the_clamp_is_the_one_of_the_call() -> None:
    x = torch.rand(4, 64, device=DEVICE) * 1e-3
    config.set_amax_clamp_for_quant("e4m3", False, 448.0 * 4)
    per_token_cast_and_cast_back(x, "e4m3", 64)
    assert set(x.unique().tolist()) <= {0.0, 2**-7}


X = torch.zeros(4, 128, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"fmt": "e5m6"}, {"num_per_channels": 8}, {"num_per_channels": 48}, {"x": X[:, :96]},
        {"x": torch.zeros(4, 192, device=DEVICE), "num_per_channels": 128}, {"x": X.half()},
        {"x": X[0]}, {"x": X.T.contiguous().T}, {"round_sf": True, "use_e4m3_sf": True},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    arguments = {"x": X, "fmt": "e4m3", "num_per_channels": 32, **change}
    with pytest.raises((AssertionError, RuntimeError), match="per_token_cast_and_cast_back"):
        per_token_cast_and_cast_back(**arguments)
