"""Logits whose experts don't depend on rounding (v2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..rand import randn
from ..torch.topk import sqrt_softplus_ref

_ROUNDS = 100
_GAP = 1e-6


def construct_logits(params: dict[str, int], kwargs: dict[str, Any]) -> Tensor:
    """Normal fp32 logits of all sequences' tokens; the last expert that is chosen and the first one
    that isn't differ by more than 1e-6 in what they are ranked by."""
    tokens = params["num_tokens"] + params["num_padded_tokens"]
    rows, experts = params.get("num_seqs", 1) * tokens, params["num_routed_experts"]
    logits = randn(rows, experts, dtype=torch.float32)
    bias = kwargs["bias"]
    bias = torch.zeros(experts, device=logits.device) if bias is None else bias
    bias = bias.expand(rows, experts)
    if kwargs["image_token_mask"] is not None:
        bias = torch.where(kwargs["image_token_mask"][:, None], kwargs["image_bias"], bias)
    k = params["num_topk"]
    for _ in range(_ROUNDS):
        keys = (sqrt_softplus_ref(logits) + bias).sort(dim=1, descending=True).values
        if k >= experts:
            return logits
        close = ~(keys[:, k - 1] - keys[:, k] > _GAP)
        count = int(close.sum())
        if count == 0:
            return logits
        logits[close] = randn(count, experts, dtype=torch.float32)
    raise RuntimeError(f"construct_logits: {count} rows are too close after {_ROUNDS} rounds")
