"""The namespace `tfr.nn.models`: models that people have, by their configuration and the names of their files."""

from __future__ import annotations

from tensorframe.nn.models.bert import BertConfig, BertEncoder
from tensorframe.nn.models.gpt import GPT, GPTConfig
from tensorframe.nn.models.llama import Llama
from tensorframe.nn.models.llama_config import LlamaConfig

__all__ = ["GPT", "BertConfig", "BertEncoder", "GPTConfig", "Llama", "LlamaConfig"]
