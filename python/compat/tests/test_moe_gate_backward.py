"""The gradient of the gate beside its reference; and what is refused."""

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch.topk import sqrt_softplus_ref

DEVICE = config.get_device()


def inputs(tokens: int, experts: int, k: int, spread: float = 1.0) -> list[torch.Tensor]:
    """scores, topk_idx, topk_weights and their gradients of a forward pass."""
    torch.manual_seed(tokens + experts)
    logits = torch.randn(tokens, experts, device=DEVICE) * spread
    scores = torch.empty_like(logits)
    idx, weights = moe.moe_topk_gate_forward(
        logits, k, False, 0, 1.5, 0, scores=scores
    ) if experts % 4 == 0 else fallback(logits, scores, k)  # fmt: skip
    return [scores, idx, weights, torch.randn_like(weights)]


def fallback(logits: torch.Tensor, scores: torch.Tensor, k: int) -> tuple:
    """The forward pass takes multiples of four experts alone."""
    scores.copy_(sqrt_softplus_ref(logits))
    idx = reference.stable_topk(scores, k)
    return idx, moe.normalize_weight(scores.gather(1, idx))[1] * 1.5


def assert_near(found: torch.Tensor, wanted: torch.Tensor) -> None:
    most = float(wanted.abs().max()) if wanted.numel() else 0.0
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-5 * most)


@pytest.mark.parametrize(
    ("experts", "k"),
    [(72, 6), (32, 6), (16, 6), (36, 6), (108, 6), (144, 6), (256, 8), (5, 5), (36, 32), (1024, 2)],
)
@pytest.mark.parametrize("sequences", [0, 1, 2, 62])
def test_gradients(experts: int, k: int, sequences: int) -> None:
    tokens = 62
    given = inputs(tokens, experts, k)
    options = {}
    if sequences:
        mask = torch.arange(tokens, device=DEVICE) % 7 != 6
        given[0][~mask] = 0
        given[1][~mask] = -1
        given[2][~mask] = 0
        options = {"mask": mask}
        options["grad_scores_sum"] = torch.randn(sequences, experts, device=DEVICE)
    found = moe.moe_topk_gate_backward(*given, 1.5, **options)
    wanted = reference.moe_topk_gate_backward(*given, 1.5, "sqrtsoftplus", **options)
    assert_near(found, wanted)
    if sequences:
        assert_equal(found[~mask], torch.zeros_like(found[~mask]))  # no -0
    out = torch.full_like(found, torch.nan)
    assert moe.moe_topk_gate_backward(*given, 1.5, **options, out=out).data_ptr() == out.data_ptr()
    assert_equal(out, found)


def test_unusual_rows() -> None:
    scores, idx, weights, g = inputs(40, 64, 6, spread=40.0)
    idx[3] = idx[3, 0]  # repeated
    idx[4, 2:] = -1
    idx[5] = -1
    idx[6, ::2] = -7
    found = moe.moe_topk_gate_backward(scores, idx, weights, g, 1.5)
    wanted = reference.moe_topk_gate_backward(scores, idx, weights, g, 1.5, "sqrtsoftplus")
    assert_near(found, wanted)
    assert not found[5].any()


def test_without_tokens() -> None:
    given = [t[:0] for t in inputs(4, 16, 2)]
    assert moe.moe_topk_gate_backward(*given, 1.5).shape == (0, 16)


SCORES, IDX, WEIGHTS, G = inputs(6, 16, 2)
MASK, SUMS = torch.ones(6, device=DEVICE).bool(), torch.zeros(2, 16, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"scores": SCORES[0]}, {"scores": SCORES.double()}, {"scores": SCORES.T.contiguous().T},
        {"topk_idx": IDX.int()}, {"topk_idx": IDX[:, :1].contiguous()},
        {"topk_weights": WEIGHTS.double()}, {"grad_topk_weights": G[:5]},
        {"grad_topk_weights": G.repeat(1, 2)[:, ::2]}, {"scoring_func": "sigmoid"},
        {"mask": MASK}, {"grad_scores_sum": SUMS}, {"mask": MASK.int(), "grad_scores_sum": SUMS},
        {"mask": MASK, "grad_scores_sum": SUMS.repeat(2, 1)},
        {"mask": MASK, "grad_scores_sum": SUMS[:, :8].contiguous()},
        {"out": SCORES}, {"out": SCORES.clone()[:5]}, {"out": SCORES.double()},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    arguments = {
        "scores": SCORES, "topk_idx": IDX, "topk_weights": WEIGHTS, "grad_topk_weights": G,
        "routed_scaling_factor": 1.5, **change,
    }  # fmt: skip
    with pytest.raises((AssertionError, RuntimeError), match="moe_topk_gate_backward"):
        moe.moe_topk_gate_backward(**arguments)
