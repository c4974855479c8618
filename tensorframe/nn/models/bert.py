"""BERT's encoder, and vectors of sentences: what a text means, as MiniLM and its relatives tell it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tensorframe.dtypes import INTEGER, DTypeLike, bool_, int32
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, asarray
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.operands import permuted, reshaped
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.layers.containers import ModuleDict, ModuleList
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.layers.normalization import LayerNorm
from tensorframe.nn.models.decoding import checked
from tensorframe.nn.models.files import positive_sizes, read_folder
from tensorframe.nn.module import Module
from tensorframe.quick_tuples import NamedTuple

__all__ = ["BertConfig", "BertEncoder"]

_ACTIVATIONS = {"gelu": functional.gelu, "relu": functional.relu, "silu": functional.silu}
# what files have besides: numbers of positions, and what models for other tasks put on top
_UNUSED = ("embeddings.position_ids", "pooler.", "cls.")


class BertConfig(NamedTuple):
    """The sizes of an encoder, as its `config.json` says them.

    Names are those of the Transformers library, so that files made for it can be read.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> BertConfig:
        """Return the sizes that a `config.json` has; ArgumentError for another architecture or missing sizes."""
        kind = config.get("model_type", "bert")
        if kind != "bert":
            raise ArgumentError(
                f"BertEncoder: the architecture is {kind!r}", suggestions=("one of bert",)
            )
        missing = [name for name in cls._fields[:5] if name not in config]
        if missing:
            raise ArgumentError(f"BertEncoder: the configuration lacks {', '.join(missing)}")
        return cls(**{name: config[name] for name in cls._fields if config.get(name) is not None})

    def check(self) -> None:
        """Raise ArgumentError for sizes that no encoder has."""
        positive_sizes("BertEncoder", self._asdict(), self._fields[:7])
        size, heads = self.hidden_size, self.num_attention_heads
        if size % heads:
            raise ArgumentError(
                f"BertEncoder: {size} features are not made of {heads} heads of one size"
            )
        if self.hidden_act not in _ACTIVATIONS:
            raise ArgumentError(
                f"BertEncoder: the activation is {self.hidden_act!r}",
                suggestions=(f"one of {', '.join(_ACTIVATIONS)}",),
            )


class _Made(NamedTuple):
    """How all layers are made."""

    config: BertConfig
    options: dict[str, Any]

    def linear(self, inputs: int, outputs: int, key: Source) -> Linear:
        return Linear(inputs, outputs, key=key, **self.options)

    def norm(self) -> LayerNorm:
        return LayerNorm(self.config.hidden_size, self.config.layer_norm_eps, **self.options)

    def embedding(self, count: int, key: Source) -> Embedding:
        return Embedding(count, self.config.hidden_size, key=key, **self.options)


class Embeddings(Module):
    """What a text begins as: the sum of a vector for each word piece, for its position, and for its segment."""

    def __init__(self, made: _Made, key: Source) -> None:
        keys = keys_for(key, 3)
        config = made.config
        self.word_embeddings = made.embedding(config.vocab_size, next(keys))
        self.position_embeddings = made.embedding(config.max_position_embeddings, next(keys))
        self.token_type_embeddings = made.embedding(config.type_vocab_size, next(keys))
        self.LayerNorm = made.norm()

    def forward(self, ids: Tensor, segments: Any) -> Tensor:
        """Return vectors (batch, length, hidden_size)."""
        positions = counted(ids.shape[1], 0, 1, int32, ids.device)
        words = self.word_embeddings(ids) + self.position_embeddings(positions)
        parts = counted(1, 0, 1, int32, ids.device) if segments is None else asarray(segments)
        result: Tensor = self.LayerNorm(words + self.token_type_embeddings(parts))
        return result


class Heads(Module):
    """Attention of several heads; files call it `self`."""

    def __init__(self, made: _Made, key: Source) -> None:
        keys = keys_for(key, 3)
        size = made.config.hidden_size
        self._heads = made.config.num_attention_heads
        self.query = made.linear(size, size, next(keys))
        self.key = made.linear(size, size, next(keys))
        self.value = made.linear(size, size, next(keys))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each piece takes from all pieces of its text."""
        batch, length, size = x.shape
        shape = (batch, length, self._heads, size // self._heads)
        q, k, v = (
            permuted(reshaped(layer(x), shape), (0, 2, 1, 3))
            for layer in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return reshaped(permuted(attended, (0, 2, 1, 3)), x.shape)


class Added(Module):
    """A product, added to what was there before, and normalised."""

    def __init__(self, inputs: int, made: _Made, key: Source) -> None:
        self.dense = made.linear(inputs, made.config.hidden_size, key)
        self.LayerNorm = made.norm()

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        """Return the normalised sum."""
        result: Tensor = self.LayerNorm(self.dense(x) + before)
        return result


class Layer(Module):
    """Attention and a network, each added to what it was made of, and normalised."""

    def __init__(self, made: _Made, key: Source) -> None:
        keys = keys_for(key, 4)
        config = made.config
        size, wide = config.hidden_size, config.intermediate_size
        heads, output = Heads(made, next(keys)), Added(size, made, next(keys))
        self.attention = ModuleDict({"self": heads, "output": output})
        self.intermediate = ModuleDict({"dense": made.linear(size, wide, next(keys))})
        self.output = Added(wide, made, next(keys))
        self._activation = config.hidden_act

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return new vectors of all pieces."""
        x = self.attention["output"](self.attention["self"](x, mask), x)
        wide = _ACTIVATIONS[self._activation](self.intermediate["dense"](x))
        result: Tensor = self.output(wide, x)
        return result


class BertEncoder(Module):
    """BERT's encoder: word pieces of texts as vectors, and texts as vectors of length one.

    `config` is a mapping as in the model's `config.json`. Parameters have the names that they have in its safetensors
    files. ArgumentError for another architecture, and for sizes that do not fit.

    >>> config = {
    ...     "vocab_size": 32, "hidden_size": 8, "intermediate_size": 16,
    ...     "num_hidden_layers": 1, "num_attention_heads": 2,
    ... }
    >>> model = tfr.nn.models.BertEncoder(config, key=tfr.random.key(0))
    >>> model(tfr.asarray([[1, 2, 3]])).shape
    (1, 3, 8)
    >>> model.vectors(tfr.asarray([[1, 2, 0]]), tfr.asarray([[True, True, False]])).shape
    (1, 8)

    Source: J. Devlin et al., "BERT: pre-training of deep bidirectional transformers" (2018), arXiv 1810.04805.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | BertConfig,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self._config = config if isinstance(config, BertConfig) else BertConfig.of(config)
        self._config.check()
        made = _Made(self._config, {"device": device, "dtype": dtype})
        count = self._config.num_hidden_layers
        keys = keys_for(key, count + 1)
        self.embeddings = Embeddings(made, next(keys))
        layers = ModuleList([Layer(made, next(keys)) for _ in range(count)])
        self.encoder = ModuleDict({"layer": layers})

    @property
    def config(self) -> BertConfig:
        """The sizes."""
        return self._config

    def forward(
        self, ids: ArrayLike, mask: ArrayLike | None = None, segments: ArrayLike | None = None
    ) -> Tensor:
        """Return vectors (batch, length, hidden_size) of word pieces (batch, length).

        `mask` of the same shape is true on pieces, false on padding; `segments` are 0 or 1, the text of a pair that a
        piece is of: 0 if they are not given. OutOfRangeError for texts that are longer than the model's positions.
        """
        tokens = checked("BertEncoder", ids)
        if tokens.dtype not in INTEGER:
            raise DTypeError(f"BertEncoder: word pieces are integers, got {tokens.dtype}")
        most = self._config.max_position_embeddings
        if tokens.shape[1] > most:
            raise OutOfRangeError(
                f"BertEncoder: texts have up to {most} pieces, and one has {tokens.shape[1]}",
                suggestions=(f"ids[:, :{most}]",),
            )
        x = self.embeddings(tokens, segments)
        seen = None if mask is None else _mask_of(mask, tokens)[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, seen)
        vectors: Tensor = x
        return vectors

    def vectors(self, ids: ArrayLike, mask: ArrayLike | None = None) -> Tensor:
        """Return the mean vector of each text's pieces, scaled to length one: (batch, hidden_size).

        Source: N. Reimers and I. Gurevych, "Sentence-BERT" (2019), arXiv 1908.10084.
        """
        tokens = checked("BertEncoder", ids)
        x = self.forward(tokens, mask)
        if mask is None:
            return functional.normalize(x.mean(axis=1), dim=1)
        present = _mask_of(mask, tokens)[:, :, None].astype(x.dtype)
        return functional.normalize((x * present).sum(axis=1) / present.sum(axis=1), dim=1)

    @classmethod
    def from_folder(cls, folder: str | Path, device: OnDevice = None) -> Self:
        """Return the encoder of a folder with `config.json` and safetensors files; weights are read when needed."""
        config, state = read_folder("BertEncoder", folder, device)
        named = {name.removeprefix("bert."): tensor for name, tensor in state.items()}
        model = cls(config, device)
        model.load_state_dict(
            {name: tensor for name, tensor in named.items() if not name.startswith(_UNUSED)}
        )
        return model


def _mask_of(mask: Any, tokens: Tensor) -> Tensor:
    given = asarray(mask)
    if given.shape != tokens.shape:
        raise ShapeError(
            f"BertEncoder: a mask has the shape of the word pieces, {tokens.shape}, got {given.shape}"
        )
    return given if given.dtype == bool_ else given != 0
