"""The namespace `tfr.nn.models`: models that people have, by their configuration and the names of their files."""

from __future__ import annotations

from tensorframe.nn.models.llama import Llama, LlamaConfig

__all__ = ["Llama", "LlamaConfig"]
