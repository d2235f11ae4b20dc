"""Lists of sizes, exactly, and random inputs."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.testing import generator
from tile_kernels.testing.generator import (
    generate_cast_config,
    generate_e5m6_inputs,
    generate_hidden_sizes,
    generate_moe_params,
    generate_num_sms,
    generate_num_tokens,
    generate_psum_layout,
    generate_rand_float,
    generate_samples,
    generate_topk_idx,
    get_test_level,
    is_precompile,
)
from tile_kernels.testing.moe import construct_logits
from tile_kernels.torch.topk import sqrt_softplus_ref

V1_HIDDEN = [576, 2048, 2560, 3072, 4096, 6144, 7168]
V2_HIDDEN = [128, 192, 384, 768, 2048, 2560, 3072, 4096, 6144, 7168]


def test_switches_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_test_level() == 1 and not is_precompile()
    for level in (0, 1, 2):
        monkeypatch.setenv("TK_TEST_LEVEL", str(level))
        assert get_test_level() == level
    for bad in ("3", "", "full"):
        monkeypatch.setenv("TK_TEST_LEVEL", bad)
        with pytest.raises(ValueError, match="must be 0, 1 or 2"):
            get_test_level()
    monkeypatch.setenv("TK_PRECOMPILE", "1")
    assert is_precompile()
    monkeypatch.setenv("TK_API_LEVEL", "A")
    with pytest.raises(ValueError, match="must be 'v1' or 'v2'"):
        generate_hidden_sizes()


def test_samples() -> None:
    dims = {"a": [1, 2], "b": "xyz"}
    few = [(1, "x"), (2, "y"), (1, "z")]
    for level in (0, 1):
        found = list(generate_samples(level, **dims))
        assert [tuple(d.values()) for d in found] == few
    every = [tuple(d.values()) for d in generate_samples(2, **dims)]
    assert every == [(1, "x"), (1, "y"), (1, "z"), (2, "x"), (2, "y"), (2, "z")]
    assert list(found[0]) == ["a", "b"]


def test_numbers_of_tokens_of_v2(monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate_num_tokens(0) == generate_num_tokens(level=1) == [512, 8001]
    assert generate_num_tokens(2) == [0, 1, 512, 8001]
    assert generate_num_tokens(2, 128) == [0, 128, 512, 8064]
    assert generate_num_tokens(0, backward_only=True) == [8001]
    assert generate_num_tokens(1, backward_only=True) == [512, 8001]
    monkeypatch.setenv("TK_PRECOMPILE", "1")
    assert generate_num_tokens(2, 96) == [192] and generate_num_tokens(1) == [128]


def test_numbers_of_tokens_of_v1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate_num_tokens() == generate_num_tokens(is_benchmark=False) == [4001, 8001]
    assert generate_num_tokens(128, is_benchmark=True) == [4096, 8064]
    assert generate_num_tokens(64) == generate_num_tokens(alignment=64) == [4032, 8064]
    for full in ("1", "true", "True"):
        monkeypatch.setenv("TK_FULL_TEST", full)
        assert generate_num_tokens() == [0, 4001, 8001]
    assert generate_num_tokens(is_benchmark=True) == [4001, 8001]
    monkeypatch.setenv("TK_FULL_TEST", "yes")
    monkeypatch.setenv("TK_API_LEVEL", "v1")
    assert generate_num_tokens(2) == [4002, 8002]
    assert generate_num_tokens(level=2) == [0, 1, 512, 8001]


def test_hidden_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate_hidden_sizes() == V2_HIDDEN
    assert generate_hidden_sizes(128) == [h for h in V2_HIDDEN if h != 192]
    assert generate_hidden_sizes(align=256)[:2] == [768, 2048]
    monkeypatch.setenv("TK_API_LEVEL", "v1")
    assert generate_hidden_sizes() == V1_HIDDEN
    assert generate_hidden_sizes(128) == V1_HIDDEN[1:]


def test_numbers_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "get_device_num_sms", lambda: 132)
    assert [generate_num_sms(level) for level in (0, 1, 2)] == [[132], [113, 132], [1, 113, 132]]
    assert generate_num_sms() == [112, 132]
    monkeypatch.setenv("TK_FULL_TEST", "1")
    assert generate_num_sms() == [1, 112, 132]
    assert generate_num_sms(level=0) == [132]


def test_flags_of_casts() -> None:
    rows, plain, packed = (False, True, False), (False, False, False), (True, True, True)
    assert generate_cast_config(0, "e4m3") == [packed]
    for level, fmt in ((1, "e2m1"), (2, "e4m3")):
        assert generate_cast_config(level, fmt) == [rows, plain, packed]
    assert generate_cast_config(2, "fp32") == generate_cast_config(0, "bf16") == [plain]


def moe_lists(*args: object, **kwargs: object) -> list[tuple[int, ...]]:
    found = list(generate_moe_params(*args, **kwargs))
    names = ["num_send_tokens", "num_topk", "num_experts", "num_ep_ranks"]
    assert all([*sizes] == names for sizes in found)
    return [tuple(d.values()) for d in found]


def test_sizes_of_mixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moe_lists(0) == [(4001, 6, 32, 8), (4001, 8, 4, 64)]
    base = [(4001, k, *sizes) for k in (2, 6, 8, 9) for sizes in [(9, 8), (32, 8), (4, 64)]]
    assert moe_lists(1) == moe_lists(level=1) == base
    full = moe_lists(2)
    assert len(full) == 80 and full[:2] == [(0, 1, 1, 1), (1, 8, 256, 8)]
    grid = [
        (4001, k, total // ranks, ranks)
        for k in (2, 6, 8, 9, 1, 7)
        for total in (72, 256, 288, 384)
        for ranks in (8, 64, 1, 72, 256)
        if total % ranks == 0
    ]
    assert full[2:] == grid
    assert moe_lists() == moe_lists(True) == moe_lists(is_benchmark=False) == base
    monkeypatch.setenv("TK_FULL_TEST", "1")
    assert moe_lists() == [(0, 1, 1, 1), *grid]
    assert moe_lists(is_benchmark=True) == grid
    assert moe_lists(1) == base


def test_experts_of_tokens_that_reach_a_rank() -> None:
    params = {"num_send_tokens": 200, "num_topk": 6, "num_experts": 9, "num_ep_ranks": 8}
    idx = generate_topk_idx(params)
    assert idx.dtype == torch.int64 and idx.is_contiguous() and idx.shape[1] == 6
    assert idx.min() == -1 and idx.max() == 8
    assert (idx >= 0).any(dim=1).all()
    chosen = idx.sort(dim=1).values
    assert not ((chosen[:, 1:] == chosen[:, :-1]) & (chosen[:, 1:] >= 0)).any()  # all different
    share = (idx >= 0).sum() / (200 * 8 * 6)
    assert abs(float(share) - 1 / 8) < 0.03
    assert generate_topk_idx({**params, "num_send_tokens": 0}).shape == (0, 6)


def test_layouts_of_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"num_send_tokens": 50, "num_topk": 2, "num_experts": 5, "num_ep_ranks": 8}
    params["alignment"] = 16
    mask, psum = generate_psum_layout(params)
    assert mask.dtype == torch.bool and psum.dtype == torch.int32 and psum.shape == (5,)
    start, wanted = 0, torch.zeros_like(mask)
    for end in psum.tolist():
        wanted[start:end] = True
        start = -(-end // 16) * 16
    assert mask.shape == (start,) and torch.equal(mask, wanted)
    mask, psum = generate_psum_layout({**params, "num_send_tokens": 0})
    assert mask.shape == (0,) and psum.tolist() == [0] * 5
    monkeypatch.setenv("TK_PRECOMPILE", "1")
    mask, psum = generate_psum_layout(params)
    assert mask.tolist() == [True] + [False] * 15 and psum.tolist() == [1] + [16] * 4


def test_numbers_of_any_size() -> None:
    for seed in range(30):
        torch.manual_seed(seed)
        x = generate_rand_float((64, 3))
        assert x.shape == (64, 3) and x.dtype == torch.float32 and x.isfinite().all()
        assert x.abs().max() <= torch.finfo(torch.float32).max / 8
    assert generator.generate_rand_float(torch.Size([0, 4])).shape == (0, 4)


def test_inputs_of_twelve_bits() -> None:
    found = list(generate_e5m6_inputs(3, 64, torch.bfloat16))
    assert [special for _, special in found] == [False, True, True, True]
    for (x, _), value in zip(found[1:], (2**-20, 2**-14 * 63 / 64, 2**-14), strict=True):
        assert x.shape == (3, 64) and x.dtype == torch.bfloat16
        assert (x[:, :-1] == value).all() and (x[:, -1] == 65024).all()


@pytest.mark.parametrize("image", [False, True])
def test_logits_do_not_depend_on_rounding(image: bool) -> None:
    params = {"num_seqs": 2, "num_tokens": 40, "num_padded_tokens": 10, "num_topk": 6}
    params["num_routed_experts"] = 32
    bias = torch.randn(32, device=config.get_device())
    mask = (torch.rand(100, device=config.get_device()) < 0.5) if image else None
    kwargs = {"bias": bias, "image_bias": -bias if image else None, "image_token_mask": mask}
    logits = construct_logits(params, kwargs)
    assert logits.shape == (100, 32) and logits.dtype == torch.float32
    row_bias = bias.expand(100, 32)
    if image:
        row_bias = torch.where(mask[:, None], -bias, bias)
    keys = (sqrt_softplus_ref(logits) + row_bias).sort(dim=1, descending=True).values
    assert (keys[:, 5] - keys[:, 6] > 1e-6).all()


def test_logits_that_cannot_differ() -> None:
    params = {"num_tokens": 3, "num_padded_tokens": 0, "num_topk": 1, "num_routed_experts": 2}
    kwargs = {"bias": torch.full((2,), torch.inf), "image_bias": None, "image_token_mask": None}
    with pytest.raises(RuntimeError, match="3 rows are too close after 100 rounds"):
        construct_logits(params, kwargs)
    kwargs["bias"] = None
    assert construct_logits({**params, "num_topk": 2}, kwargs).shape == (3, 2)
