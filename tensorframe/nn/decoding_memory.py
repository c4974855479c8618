"""What generating with a model takes, in bytes, before anything of it is loaded."""

from __future__ import annotations

from tensorframe.errors import ArgumentError
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.generation import CausalModel
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.module import Module
from tensorframe.nn.structure import entries
from tensorframe.quick_tuples import NamedTuple

# elements that share a scale, and the bytes of a scale
_GROUP, _SCALE = 32, 2


class DecodingMemory(NamedTuple):
    """What generating takes, in bytes: the weights, and keys and values of as many positions as requested."""

    weights: int
    cache: int

    @property
    def total(self) -> int:
        """Weights and cache."""
        return self.weights + self.cache


def decoding_memory(model: Module, context: int, batch: int, bits: int | None) -> DecodingMemory:
    """Return what generating takes: nothing is computed. With `bits`, as `nn.quantize` would store weights."""
    if not isinstance(model, CausalModel):
        name = type(model).__name__
        raise ArgumentError(
            f"estimate_memory: context is for models that generate, and {name} is none"
        )
    if bits not in (None, 4, 8):
        raise ArgumentError(f"estimate_memory: bits is 4, 8 or None, got {bits!r}")
    quantized: dict[int, int] = {}
    if bits is not None:
        for _, layer in model.named_modules():
            weight = layer.__dict__.get("weight")
            if isinstance(layer, Linear | Embedding) and isinstance(weight, Tensor):
                size = weight.node.size
                is_transposed = isinstance(layer, Linear) and layer.weight_is_transposed
                columns = 0 if is_transposed else -1
                if weight.shape[columns] % _GROUP == 0:
                    quantized[id(weight)] = size * bits // 8 + size // _GROUP * _SCALE
    tensors = {id(entry.tensor): entry.tensor for entry in entries(model)}
    sizes = [quantized.get(name, tensor.node.nbytes) for name, tensor in tensors.items()]
    return DecodingMemory(sum(sizes), model.new_cache(batch, context).nbytes)
