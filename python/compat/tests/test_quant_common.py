"""How scale factors lie in tensors."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant.common import (
    BaseCastConfig,
    CastInputConfig,
    CastOutputConfig,
    QuantTensor,
    alloc_scaling_factors,
    cast_epilogue,
    get_best_vectorize_size,
    get_cast_input_and_config,
    get_cast_output_config,
    get_logical_hidden,
    get_packed_ue8m0_pack_factor,
    get_packed_ue8m0_torch_dtype,
    get_physical_hidden,
    get_sf_inv_dtype,
    get_sf_shape,
)
from tile_kernels.quant.types import QuantTensor as SameType

DEVICE = config.get_device()
E4M3 = torch.float8_e4m3fn


def test_configs_are_values() -> None:
    assert QuantTensor is SameType
    assert BaseCastConfig() == BaseCastConfig(E4M3, (1, 1), False, False, False)
    assert hash(CastOutputConfig(round_sf=True)) != hash(CastOutputConfig())
    with pytest.raises(AttributeError):
        CastInputConfig().sf_block = (1, 2)
    for dtype, with_sf in [(E4M3, True), (torch.int8, True), (torch.bfloat16, False)]:
        assert BaseCastConfig(dtype).with_sf is with_sf
    assert BaseCastConfig().sf_torch_dtype == torch.float32
    assert BaseCastConfig(use_e4m3_sf=True).sf_torch_dtype == E4M3
    packed = BaseCastConfig(use_packed_ue8m0=True)
    assert packed.sf_torch_dtype == torch.uint8 and packed.sf_col_pack
    assert not BaseCastConfig(sf_block=(1, 32), use_packed_ue8m0=True).sf_col_pack


@pytest.mark.parametrize(
    ("flags", "block", "internal", "dtype", "shape", "strides"),
    [
        ("", (1, 64), (5, 5), "float32", (5, 5), (5, 1)),
        ("E", (1, 64), (5, 5), "float8_e4m3fn", (5, 5), (5, 1)),
        ("C", (1, 64), (5, 5), "float32", (5, 5), (1, 8)),
        ("CE", (1, 64), (5, 5), "float8_e4m3fn", (5, 5), (1, 16)),
        ("U", (1, 64), (5, 8), "int32", (5, 2), (2, 1)),
        ("CU", (1, 64), (2, 20), "int32", (5, 2), (1, 8)),
        ("U", (2, 1), (1, 1280), "int32", (1, 320), (320, 1)),
        ("C", (32, 32), (10, 1), "float32", (1, 10), (1, 4)),
    ],
)
def test_layouts(
    flags: str, block: tuple, internal: tuple, dtype: str, shape: tuple, strides: tuple
) -> None:
    layout = CastOutputConfig(
        sf_block=block, use_tma_aligned_col_major_sf="C" in flags,
        use_packed_ue8m0="U" in flags, use_e4m3_sf="E" in flags,
    )  # fmt: skip
    assert get_sf_shape((5, 320), config=layout) == internal
    sf = alloc_scaling_factors((5, 320), config=layout, device=DEVICE)
    sf = cast_epilogue(sf, config=layout)
    assert sf.dtype == getattr(torch, dtype) and tuple(sf.shape) == shape
    assert sf.stride() == strides and sf.storage_offset() == 0


def test_layouts_of_inputs() -> None:
    codes, sf = torch.zeros(5, 320).to(E4M3), torch.zeros(5, 5)
    data, found, layout = get_cast_input_and_config((codes, sf), (1, 64))
    assert data is codes and found is sf
    assert layout == CastInputConfig(E4M3, (1, 64))
    columns = torch.zeros(2, 8, dtype=torch.int32)[:, :5].T
    _, found, layout = get_cast_input_and_config((codes, columns), (1, 64))
    assert layout.use_tma_aligned_col_major_sf and layout.use_packed_ue8m0
    assert found.dtype == torch.uint8 and found.shape == (2, 20) and found.stride(1) == 1
    one = torch.zeros(5, 1)
    assert not get_cast_input_and_config((codes, one), (1, 320))[2].use_tma_aligned_col_major_sf
    plain = torch.zeros(5, 320)
    assert get_cast_input_and_config(plain, None) == (plain, None, CastInputConfig(torch.float32))


def test_layouts_of_outputs() -> None:
    config.set_amax_clamp_for_quant("e2m1", True, 3.0)
    made = get_cast_output_config("e2m1", (1, 16), use_e4m3_sf=True)
    assert made == CastOutputConfig(torch.int8, (1, 16), use_e4m3_sf=True, clamp_min_value=3.0)
    assert get_cast_output_config("bf16", (1, 1)).torch_dtype == torch.bfloat16
    assert get_cast_output_config("e5m6", (1, 64)).clamp_min_value == 1e-4
    for bad in [("fp16", {}), ("e4m3", {"use_packed_ue8m0": True}),
                ("e4m3", {"round_sf": True, "use_e4m3_sf": True}),
                ("e5m6", {"use_e4m3_sf": True})]:  # fmt: skip
        with pytest.raises(AssertionError):
            get_cast_output_config(bad[0], (1, 32), **bad[1])


def test_small_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_logical_hidden(64, torch.int8) == 128 and get_logical_hidden(64, E4M3) == 64
    assert get_physical_hidden(7, torch.int8) == 3 and get_physical_hidden(7, E4M3) == 7
    assert get_packed_ue8m0_pack_factor() == 4 and get_packed_ue8m0_torch_dtype() == torch.int32
    rounded, plain = CastOutputConfig(round_sf=True), CastOutputConfig()
    assert get_sf_inv_dtype(torch.bfloat16, rounded) == torch.bfloat16
    assert get_sf_inv_dtype(torch.float32, rounded) == torch.float32
    assert get_sf_inv_dtype(torch.bfloat16, plain) == torch.float32
    assert get_best_vectorize_size(torch.bfloat16) in (8, 16)
    monkeypatch.setattr(config, "is_ascend", lambda: True)
    assert get_packed_ue8m0_pack_factor() == 2 and get_packed_ue8m0_torch_dtype() == torch.int16
