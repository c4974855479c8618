"""Quantised models: quantised matrices in the places of weights that layers multiply with, or look up."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tensorframe.dtypes import FLOAT
from tensorframe.errors import ArgumentError
from tensorframe.frontend.operands import permuted
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.layers.embedding import Embedding
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.module import Module
from tensorframe.nn.quantization import QuantizedTensor
from tensorframe.nn.quantization import quantize as quantize_matrix
from tensorframe.nn.structure import entries
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import evaluate

__all__ = ["Quantization", "quantize"]


class Quantization(NamedTuple):
    """What `nn.quantize` did: the names of weights that are quantised now, those left out with why, bytes of all."""

    quantized: list[str]
    left_out: dict[str, str]
    bytes_before: int
    bytes_after: int

    def __repr__(self) -> str:
        before, after = (count / 2**20 for count in (self.bytes_before, self.bytes_after))
        first = f"{len(self.quantized)} weights quantised: {before:.3g} MiB are {after:.3g} MiB"
        left = [f"  {name} is left out: {why}" for name, why in self.left_out.items()]
        return "\n".join([first, *left])


def quantize(
    model: Module,
    bits: int = 4,
    group: int = 32,
    symmetric: bool = True,
    skip: Sequence[str] = (),
) -> Quantization:
    """Quantise the weights of all `Linear` and `Embedding` layers of a model, in place; return which, and what is left.

    `skip` names layers that stay as they are, by their names in the model, with all that is inside them; a name that is
    not there raises ArgumentError. Left out are weights whose rows are not made of groups, and parameters of other
    layers. Weights are converted one after the other, and those that layers share are quantised once. See
    `tfr.quantization.quantize` for `bits`, `group` and `symmetric`.

    >>> model = tfr.nn.Sequential(tfr.nn.Linear(64, 32), tfr.nn.ReLU(), tfr.nn.Linear(32, 5))
    >>> tfr.nn.quantize(model, bits=8, skip=["2"])
    1 weights quantised: 0.00856 MiB are 0.00283 MiB
      2.weight is left out: it is to be skipped
    >>> model(tfr.ones((3, 64))).shape
    (3, 5)
    """
    layers = dict(model.named_modules())
    for name in skip:
        if name not in layers:
            near = get_close_matches(name, layers, 3)
            raise ArgumentError(
                f"quantize: skip names {name!r}, and the model has no layer of that name",
                suggestions=tuple(map(repr, near)),
            )
    before = _nbytes(model)
    quantized: list[str] = []
    left: dict[str, str] = {}
    known: dict[int, QuantizedTensor] = {}
    held: list[Tensor] = []  # an id is a tensor's while that lives
    for name, layer in layers.items():
        weight = layer.__dict__.get("weight")
        if not isinstance(layer, Linear | Embedding) or not isinstance(weight, Tensor):
            continue
        full = f"{name}.weight" if name else "weight"
        is_transposed = isinstance(layer, Linear) and layer.weight_is_transposed
        rows = permuted(weight, (1, 0)) if is_transposed else weight
        why = _obstacle(name, rows, group, skip)
        if why is not None:
            left[full] = why
            continue
        if id(weight) not in known:
            matrix = quantize_matrix(rows, bits, group, symmetric)
            evaluate([part.node for part in matrix._parts()])
            known[id(weight)] = matrix
            held.append(weight)
        layer.weight = known[id(weight)]
        quantized.append(full)
    for name, tensor, role in entries(model):
        if role.is_parameter and tensor.ndim > 1 and name not in left:
            left[name] = "it is no weight of a Linear or an Embedding"
    return Quantization(quantized, left, before, _nbytes(model))


def _obstacle(name: str, weight: Tensor, group: int, skip: Sequence[str]) -> str | None:
    """Return why a weight stays as it is, if it does."""
    if any(name == other or name.startswith(f"{other}.") for other in skip):
        return "it is to be skipped"
    if weight.dtype not in FLOAT or weight.ndim != 2:
        return f"it is no matrix of real numbers: {weight.dtype}{[*weight.shape]}"
    if weight.shape[1] % group or not weight.shape[1]:
        return f"rows of {weight.shape[1]} elements are not made of groups of {group}"
    return None


def _nbytes(model: Module) -> int:
    return sum({id(entry.tensor): entry.tensor.node.nbytes for entry in entries(model)}.values())
