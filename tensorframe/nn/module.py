"""Module: a plain class whose attributes that are tensors are its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from typing import Any, Self

from tensorframe.backends.registry import named_device
from tensorframe.dtypes import COMPLEX, FLOATING, DTypeLike, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, TensorFrameError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import holds
from tensorframe.graph.mapping import mapping
from tensorframe.graph.op import Kind
from tensorframe.graph.tracing import current
from tensorframe.nn import state, text
from tensorframe.nn.calls import watcher
from tensorframe.nn.state import IncompatibleKeys
from tensorframe.nn.structure import Role, Structured, entries, own_modules, unique
from tensorframe.runtime.evaluate import evaluate

__all__ = ["Buffer", "Module"]


class Buffer:
    """Marks a tensor that a module keeps, and that is no parameter: a running mean, a table of angles.

    Assigned to an attribute, it is a Tensor from then on. It is in `state_dict()` unless `persistent` is False, has no
    gradient, and what is assigned to the attribute later moves this tensor: a module that a differentiated function
    changes is changed outside as well.

    >>> class Counter(tfr.nn.Module):
    ...     def __init__(self):
    ...         self.calls = tfr.nn.Buffer(tfr.asarray(0))
    ...
    ...     def forward(self, x):
    ...         self.calls = self.calls + 1
    ...         return x
    >>> counter = Counter()
    >>> _ = counter(1.0)
    >>> counter.calls.item(), counter.parameters()
    (1, {})
    """

    __slots__ = ("persistent", "tensor")

    def __init__(self, data: ArrayLike, persistent: bool = True) -> None:
        self.tensor = operand(data)
        self.persistent = persistent


class Module(Structured, Page):
    """A part of a network: subclass it, assign tensors and other modules to attributes, and write `forward`.

    Attributes that are floating-point tensors are parameters, also those in lists, tuples, dicts and modules, at any
    depth. Those whose names begin with an underscore are not, nor are integers, nor what `nn.Buffer` marks. There is
    nothing to register and no constructor to call. A tensor that is an attribute in two places is one parameter
    (`head.weight = embedding.weight` ties them), and stays one, whatever is loaded or trained.

    A module is an argument of `tfr.grad`, `tfr.jit` and the others like any tree. Gradients are for its parameters that
    are not frozen, and come as a module of the same kind: `gradients.layers[0].weight`, or
    `gradients.named_parameters()`. Whatever else it has, such as numbers, strings and NumPy arrays, is configuration:
    `jit` records again when it changes.

    >>> class Line(tfr.nn.Module):
    ...     def __init__(self):
    ...         self.slope, self.offset = tfr.asarray(2.0), tfr.asarray(1.0)
    ...
    ...     def forward(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> line(3.0).item()
    7.0
    >>> tfr.grad(lambda line, x: line(x))(line, 3.0).slope.item()
    3.0
    >>> sorted(line.state_dict())
    ['offset', 'slope']
    """

    training: bool = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "forward" in vars(cls) and getattr(cls.__call__, "is_forward", False):
            # a call has the arguments of `forward` for whoever asks: help, editors, the static arguments of `jit`
            setattr(cls, "__call__", _with_signature_of(cls.forward))  # noqa: B010 - methods are not assigned

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what `forward` gives; errors say in which module, as well as on which line."""
        watching = watcher.get()
        try:
            if watching is not None:
                return watching(self, partial(self.forward, *args, **kwargs))
            return self.forward(*args, **kwargs)
        except TensorFrameError as error:
            self._locate(error)
            raise

    def _locate(self, error: TensorFrameError) -> None:
        """Note with an error which module it comes from, by its name in the outermost one that is called."""
        inner = error.__dict__.setdefault("_module", self)
        if error.step is None or "_in_module" in error.__dict__:
            name = next((name for name, module in self.named_modules() if module is inner), "")
            error.__dict__["_in_module"] = True
            error.step = f"{name}: {text.title(inner)}" if name else text.title(inner)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the module computes: written by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no method forward")

    def __setattr__(self, name: str, value: Any) -> None:
        if type(value) is Buffer:
            self.__dict__["_buffers"] = self._buffers | {name}
            if not value.persistent:
                self.__dict__["_unsaved"] = self._unsaved | {name}
            self.__dict__.pop(name, None)
            value = value.tensor
        elif name in self._buffers and isinstance(value, Tensor):
            held = self.__dict__.get(name)
            if isinstance(held, Tensor):
                settle((held,))
                held._rebind(value.node)
                return
        super().__setattr__(name, value)

    def parameters(self, *, trainable: bool = False) -> dict[str, Any]:
        """Return the parameters as a tree: dicts and lists that nest as the module does, each parameter once.

        With `trainable`, without those that are frozen. The tensors are the module's own.

        >>> tfr.nn.Linear(2, 3).parameters()["bias"].shape
        (3,)
        """
        kept = {id(tensor) for _, tensor in self.named_parameters(trainable=trainable)}
        tree: dict[str, Any] = state.tree_of(self, kept)
        return tree

    def named_parameters(self, *, trainable: bool = False) -> list[tuple[str, Tensor]]:
        """Return the parameters with their names in `state_dict()`, each once; with `trainable`, without frozen ones.

        >>> [name for name, _ in tfr.nn.Linear(2, 3).named_parameters()]
        ['weight', 'bias']
        """
        return [
            (entry.name, entry.tensor)
            for entry in unique(entries(self))
            if entry.role is Role.PARAMETER or (entry.role is Role.FROZEN and not trainable)
        ]

    def named_buffers(self) -> list[tuple[str, Tensor]]:
        """Return what `nn.Buffer` marked, and integers, with their names."""
        return [
            (entry.name, entry.tensor)
            for entry in unique(entries(self))
            if entry.role in (Role.BUFFER, Role.UNSAVED)
        ]

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Yield this module, by the name `""`, and those inside it, each once, owners first."""
        for name, module in own_modules(self):
            if isinstance(module, Module):
                yield name, module

    def modules(self) -> Iterator[Module]:
        """Yield this module and those inside it, each once."""
        for _, module in self.named_modules():
            yield module

    def state_dict(self) -> dict[str, Tensor]:
        """Return parameters and statistics by name, with the names and shapes that PyTorch gives them.

        A weight that is tied has all its names. The tensors are handles of their own, so the dict is a snapshot that
        costs nothing: training goes on without changing it. `tfr.save(path, model.state_dict())` writes a file that
        PyTorch reads.

        >>> {name: tensor.shape for name, tensor in tfr.nn.Linear(2, 3).state_dict().items()}
        {'weight': (3, 2), 'bias': (3,)}
        """
        return state.state_dict(self)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Take over tensors by name, in the dtypes and on the devices of this module's own; say which did not fit.

        What `tfr.load` gives for a `.safetensors` file, made here or by PyTorch, is mapped and read when it is used.
        Tied weights stay tied, and may be given by any of their names. Initial values that were never needed are never
        computed.

        ArgumentError if names are missing or unexpected (with the nearest ones) unless `strict` is False, and
        ShapeError if a shape differs. Nothing has changed then.

        >>> model, other = tfr.nn.Linear(2, 3), tfr.nn.Linear(2, 3)
        >>> other.load_state_dict(model.state_dict())
        IncompatibleKeys(missing_keys=[], unexpected_keys=[])
        >>> bool((model.weight == other.weight).all())
        True
        """
        return state.load_state_dict(self, state_dict, strict)

    def train(self, mode: bool = True) -> Self:
        """Let all modules behave as in training, which is the default: dropout drops, batch norm takes the batch's."""
        for module in self.modules():
            # an attribute of the class means True: a module that was never asked equals one that was
            module.__dict__.pop("training", None)
            if not mode:
                module.training = False
        return self

    def eval(self) -> Self:
        """Let all modules behave as after training: `train(False)`."""
        return self.train(False)

    def freeze(self, *names: str) -> Self:
        """Have no gradients for the parameters of this module and those inside it, or only for those of some names.

        `names` are of attributes: `model.freeze("bias")` freezes all biases. ArgumentError if there are none such.

        >>> model = tfr.nn.Sequential(tfr.nn.Linear(2, 3), tfr.nn.Linear(3, 1))
        >>> _ = model[0].freeze()
        >>> [name for name, _ in model.named_parameters(trainable=True)]
        ['1.weight', '1.bias']
        """
        return self._set_frozen(names, frozen=True)

    def unfreeze(self, *names: str) -> Self:
        """Have gradients again for all parameters, or only for those of some names."""
        return self._set_frozen(names, frozen=False)

    def _set_frozen(self, names: tuple[str, ...], *, frozen: bool) -> Self:
        chosen = [(module, _named(module, names)) for module in self.modules()]
        if unknown := set(names).difference(*[known for _, known in chosen]):
            raise ArgumentError(
                f"{'freeze' if frozen else 'unfreeze'}: {type(self).__name__} has no parameter "
                f"{', '.join(map(repr, sorted(unknown)))}",
                suggestions=("names of attributes, such as 'bias'", "model.layers[0].freeze()"),
            )
        for module, known in chosen:
            left = module._frozen | known if frozen else module._frozen - known
            module.__dict__.pop("_frozen", None)
            if left:  # a module that never was frozen equals one that is not any more
                module.__dict__["_frozen"] = left
        return self

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Call a function with each module inside this one, innermost first, then with this one.

        >>> def small(module):
        ...     if isinstance(module, tfr.nn.Linear):
        ...         tfr.nn.init.normal_(module.weight, std=0.02)
        >>> _ = tfr.nn.Sequential(tfr.nn.Linear(2, 2)).apply(small)
        """
        for module in reversed(list(self.modules())):
            function(module)
        return self

    def to_device(self, device: str | Device) -> Self:
        """Move all tensors to a device; integers that it cannot hold stay. DeviceError if there is none."""
        target = named_device("to_device", device)
        return self._convert(lambda tensor: _moved(tensor, target))

    def to_backend(self, name: str | Device) -> Self:
        """Move all tensors to the first device of a backend."""
        target = named_device("to_backend", name)
        return self._convert(lambda tensor: _moved(tensor, target))

    def astype(self, dtype: DTypeLike) -> Self:
        """Convert all floating-point tensors to a floating dtype; others stay as they are."""
        target = as_dtype(dtype)
        if target not in FLOATING:
            raise DTypeError(f"astype: a module's parameters are floating-point, not {target.name}")
        return self._convert(
            lambda tensor: (
                tensor.astype(target)
                if tensor.dtype in FLOATING and (tensor.dtype in COMPLEX) == (target in COMPLEX)
                else tensor
            )
        )

    def _convert(self, convert: Callable[[Tensor], Tensor]) -> Self:
        tensors = [entry.tensor for entry in unique(entries(self))]
        # all or none: one that cannot be converted raises before any has moved
        converted = [convert(tensor).node for tensor in tensors]
        for tensor, node in zip(tensors, converted, strict=True):
            tensor._rebind(node)
        return self

    def extra_repr(self) -> str:
        """Return what `repr` shows in parentheses after the name of the class; for subclasses."""
        return ""

    def __repr__(self) -> str:
        return text.tree(self)


def _with_signature_of(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return `Module.__call__` with the signature of a method `forward`."""

    @wraps(forward)
    def call(self: Module, *args: Any, **kwargs: Any) -> Any:
        return _CALL(self, *args, **kwargs)

    setattr(call, "is_forward", True)  # noqa: B010 - functions have no such attribute for readers
    return call


_CALL = Module.__call__
setattr(_CALL, "is_forward", True)  # noqa: B010 - as above


def settle(statistics: Iterable[Tensor | None]) -> None:
    """Compute what statistics were assigned before, unless they are part of a recording: else graphs would add up."""
    if current.get() is None and mapping.get() is None:
        nodes = [tensor.node for tensor in statistics if tensor is not None]
        evaluate(
            [node for node in nodes if node.storage is None and node.op.kind is not Kind.SOURCE]
        )


def _moved(tensor: Tensor, device: Device) -> Tensor:
    stays = tensor.dtype not in FLOATING and not holds(device, tensor.dtype)
    return tensor if stays else tensor.to_device(device)


def _named(module: Module, names: tuple[str, ...]) -> frozenset[str]:
    """Return the attributes of a module that are, or hold, parameters, and have one of some names, if there are any."""
    return frozenset(
        name
        for name, value in vars(module).items()
        if module._role(name).is_parameter
        and state.holds_tensors(value)
        and (name in names or not names)
    )
