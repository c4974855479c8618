"""GPT-2 and models of its shape: learned positions, layer norms, and weights that lie as (inputs, outputs)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from tensorframe.dtypes import FLOAT, DTypeLike, float32
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.operands import permuted, reshaped
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.cache import BLOCK, KVCache, Stored
from tensorframe.nn.generation import CausalModel
from tensorframe.nn.layers.containers import ModuleList
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.layers.normalization import LayerNorm
from tensorframe.nn.models.decoding import Seen, after, checked, look
from tensorframe.nn.models.files import positive_sizes, read_folder
from tensorframe.nn.module import Module
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.quick_tuples import NamedTuple

__all__ = ["GPT", "GPTConfig"]

_ACTIVATIONS: dict[str, Callable[[Any], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
}
# how weights begin, as those of GPT-2 did
_DEVIATION = 0.02


class GPTConfig(NamedTuple):
    """The sizes of a model, as its `config.json` says them.

    Names are those of the Transformers library, so that files made for it can be read.
    """

    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    n_head: int
    n_inner: int
    layer_norm_epsilon: float = 1e-5
    activation_function: str = "gelu_new"
    tie_word_embeddings: bool = True

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> GPTConfig:
        """Return the sizes that a `config.json` has; ArgumentError for another architecture or missing sizes."""
        kind = config.get("model_type", "gpt2")
        if kind != "gpt2":
            raise ArgumentError(
                f"GPT: the architecture is {kind!r}", suggestions=("one of gpt2", "nn.models.Llama")
            )
        missing = [name for name in cls._fields[:5] if name not in config]
        if missing:
            raise ArgumentError(f"GPT: the configuration lacks {', '.join(missing)}")
        known = {name: config[name] for name in cls._fields if config.get(name) is not None}
        known.setdefault("n_inner", 4 * known["n_embd"])
        return cls(**known)

    def check(self) -> None:
        """Raise ArgumentError for sizes that no model has."""
        positive_sizes("GPT", self._asdict(), self._fields[:6])
        if self.n_embd % self.n_head:
            raise ArgumentError(
                f"GPT: {self.n_embd} features are not made of {self.n_head} heads of one size"
            )
        if self.activation_function not in _ACTIVATIONS:
            raise ArgumentError(
                f"GPT: the activation is {self.activation_function!r}",
                suggestions=(f"one of {', '.join(_ACTIVATIONS)}",),
            )


class TransposedLinear(Linear):
    """`input @ weight + bias`: a linear layer whose weight lies as (in_features, out_features), as in GPT-2's files."""

    weight_is_transposed = True

    def __init__(
        self, in_features: int, out_features: int, device: OnDevice, dtype: Any, key: Source
    ) -> None:
        self.in_features, self.out_features = in_features, out_features
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = init.normal((in_features, out_features), 0.0, _DEVIATION, key=key, **made)
        self.bias = init.constant(out_features, 0.0, **made)

    def forward(self, input: Any) -> Tensor:
        """Return the sums for `input` of shape (..., in_features): (..., out_features)."""
        weight = self.weight
        if not isinstance(weight, QuantizedTensor):
            weight = permuted(weight, (1, 0))
        return functional.linear(input, weight, self.bias)


class Attention(Module):
    """Attention whose queries, keys and values are one product."""

    def __init__(self, config: GPTConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        self._heads = config.n_head
        keys = keys_for(key, 2)
        size = config.n_embd
        self.c_attn = TransposedLinear(size, 3 * size, device, dtype, next(keys))
        self.c_proj = TransposedLinear(size, size, device, dtype, next(keys))

    def forward(self, x: Tensor, seen: Seen, layer: int) -> Tensor:
        """Return the averages of values for `x` (batch, length, n_embd)."""
        batch, length, size = x.shape
        heads = self._heads
        features = reshaped(self.c_attn(x), (batch, length, 3 * heads, size // heads))
        mixed = seen.attended(layer, features[:, :, :heads], features[:, :, heads:])
        result: Tensor = self.c_proj(mixed)
        return result


class MLP(Module):
    """Two products, and what is done to each number between them."""

    def __init__(self, config: GPTConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        self._activation = config.activation_function
        keys = keys_for(key, 2)
        self.c_fc = TransposedLinear(config.n_embd, config.n_inner, device, dtype, next(keys))
        self.c_proj = TransposedLinear(config.n_inner, config.n_embd, device, dtype, next(keys))

    def forward(self, x: Tensor) -> Tensor:
        """Return features of the shape of `x`."""
        features: Tensor = self.c_proj(_ACTIVATIONS[self._activation](self.c_fc(x)))
        return features


class Layer(Module):
    """Attention and a network, each on what has been normalised, and added to it."""

    def __init__(self, config: GPTConfig, device: OnDevice, dtype: Any, key: Source) -> None:
        keys = keys_for(key, 2)
        norm = partial(LayerNorm, config.n_embd, config.layer_norm_epsilon)
        self.ln_1 = norm(device=device, dtype=dtype)
        self.attn = Attention(config, device, dtype, next(keys))
        self.ln_2 = norm(device=device, dtype=dtype)
        self.mlp = MLP(config, device, dtype, next(keys))

    def forward(self, x: Tensor, seen: Seen, number: int) -> Tensor:
        """Return `x` with what attention and network add to it."""
        x = x + self.attn(self.ln_1(x), seen, number)
        result: Tensor = x + self.mlp(self.ln_2(x))
        return result


class GPT(CausalModel):
    """A causal language model as GPT-2 is: see `Llama` for later ones.

    `config` is a mapping as in the model's `config.json`. Parameters have the names and shapes that they have in its
    safetensors files: weights of layers lie as (inputs, outputs). The last product's weight is that of the embedding,
    unless the configuration says otherwise. ArgumentError for another architecture, and for sizes that do not fit.

    >>> config = {"vocab_size": 32, "n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2}
    >>> model = tfr.nn.models.GPT(config, key=tfr.random.key(0))
    >>> model(tfr.asarray([[1, 2, 3]])).shape
    (1, 3, 32)
    >>> len(list(model.generate([1, 2, 3], max_tokens=4)))
    4
    """

    def __init__(
        self,
        config: Mapping[str, Any] | GPTConfig,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self._config = config if isinstance(config, GPTConfig) else GPTConfig.of(config)
        self._config.check()
        sizes = self._config
        keys = keys_for(key, sizes.n_layer + 3)
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.wte = Embedding(sizes.vocab_size, sizes.n_embd, key=next(keys), **made)
        self.wpe = Embedding(sizes.n_positions, sizes.n_embd, key=next(keys), **made)
        self.h = ModuleList([Layer(sizes, device, dtype, next(keys)) for _ in range(sizes.n_layer)])
        self.ln_f = LayerNorm(sizes.n_embd, sizes.layer_norm_epsilon, **made)
        self.lm_head = Linear(sizes.n_embd, sizes.vocab_size, False, key=next(keys), **made)
        for table in (self.wte, self.wpe):
            table.weight = table.weight * _DEVIATION
        if sizes.tie_word_embeddings:
            self.lm_head.weight = self.wte.weight

    @property
    def config(self) -> GPTConfig:
        """The sizes."""
        return self._config

    @property
    def context(self) -> int:
        """The most positions that a sequence may have."""
        return self._config.n_positions

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self._config.vocab_size

    def new_cache(self, batch: int, capacity: int, block: int = BLOCK) -> KVCache:
        """Return an empty cache for so many sequences, where the weights are; a step adds up to `block` positions."""
        config, norm = self._config, self.ln_f.weight
        assert norm is not None
        size = config.n_embd // config.n_head
        sizes = (config.n_layer, batch, config.n_head, size, capacity)
        dtype = norm.dtype if norm.dtype in FLOAT else float32
        return KVCache(*sizes, device=norm.device, dtype=dtype, block=block)

    def forward(
        self,
        ids: ArrayLike,
        cache: KVCache | Stored | None = None,
        offsets: ArrayLike | None = None,
        reach: int = 0,
        last: ArrayLike | None = None,
    ) -> Tensor:
        """Return logits (batch, length, vocab_size) of token numbers (batch, length).

        With a `cache` keys and values are written from `offsets` (batch,) on, and the first `reach` positions are seen.
        With `last` (batch,) the result has the logits after these tokens alone: (batch, 1, vocab_size).
        """
        tokens = checked("GPT", ids)
        seen = look(tokens, cache, offsets, reach, None)
        x = self.wte(tokens) + self.wpe(seen.positions)
        for number, layer in enumerate(self.h):
            x = layer(x, seen, number)
        logits: Tensor = self.lm_head(after(self.ln_f(x), last))
        return logits

    @classmethod
    def from_folder(cls, folder: str | Path, device: OnDevice = None) -> Self:
        """Return the model of a folder with `config.json` and safetensors files; weights are read when needed."""
        config, state = read_folder("GPT", folder, device)
        named = {name.removeprefix("transformer."): tensor for name, tensor in state.items()}
        # older files have the masks of causal attention
        kept = {
            name: tensor
            for name, tensor in named.items()
            if not name.endswith((".attn.bias", ".attn.masked_bias"))
        }
        sizes = GPTConfig.of(config)
        if sizes.tie_word_embeddings:
            kept.pop("lm_head.weight", None)
        model = cls(sizes, device)
        model.load_state_dict(kept)
        return model
