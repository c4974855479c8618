"""Gradients of functions: `grad`, `value_and_grad`, and `vjp`, which both are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from tensorframe.dtypes import COMPLEX, FLOATING
from tensorframe.errors import DTypeError, GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.arguments import Aliased, aliased, as_numbers, nodes_like
from tensorframe.frontend.trees import LEAF, Structure, build, flatten, is_container
from tensorframe.graph.history import recording_history
from tensorframe.graph.node import Node
from tensorframe.graph.record import constant
from tensorframe.ops.creation import FULL
from tensorframe.site import describe
from tensorframe.transform.backward import Tape, linearize, pull_back

__all__ = ["grad", "value_and_grad", "vjp"]


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `function`, whose result must be one real number.

    `argnums` selects the positional arguments to differentiate with respect to. The gradient has the structure of that
    argument (a tensor, a number or a tree of them); for a sequence of positions it is a tuple. An integer argument
    raises GradientError, and so does a result that is not a single real number. With `has_aux`, the function returns a
    pair: the first is differentiated, the second is returned beside the gradient. Inside the function, values may be
    printed, branched on and assigned to.

    >>> tfr.grad(lambda x: tfr.sum(x**2))(tfr.asarray([1.0, -2.0])).tolist()
    [2.0, -4.0]
    >>> tfr.grad(tfr.grad(tfr.sin))(0.5).item() == -tfr.sin(tfr.asarray(0.5)).item()
    True
    """
    both = value_and_grad(function, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return update_wrapper(gradient, function)


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the value of `function`, which must be one real number, and its gradient.

    Arguments are those of `grad`. With `has_aux`, the value is the pair that the function returns.

    >>> value, gradient = tfr.value_and_grad(lambda w: tfr.mean(w * w))(tfr.asarray([1.0, 3.0]))
    >>> value.item(), gradient.tolist()
    (5.0, [1.0, 3.0])
    """
    need_function("value_and_grad", function)
    places = as_numbers(argnums)
    title = title_of(function)

    def both(*args: Any, **kwargs: Any) -> Any:
        given = aliased(title, function, args, places)
        with recording_history() as history:
            result = function(*given.args, **kwargs)
            loss, aux = _with_aux(title, result) if has_aux else (result, None)
            value = checked_loss(title, loss)
            tape = linearize([value.node], given.targets, history, complete=True)
            gradients = _gradients(tape, [(value.node, one_like(value.node))], given)
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return ((value, aux) if has_aux else value), gradient

    return update_wrapper(both, function)


def _gradients(tape: Tape, seeds: Sequence[tuple[Node, Node]], given: Aliased) -> list[Any]:
    """Return the cotangents of the arguments as trees like theirs: zeros where the result does not depend on one."""
    cotangents = pull_back(tape, seeds, given.targets)
    return given.like(
        [
            Tensor(zeros_like(target) if ct is None else ct)
            for ct, target in zip(cotangents, given.targets, strict=True)
        ]
    )


def one_like(node: Node) -> Node:
    """Return the number 1 in the dtype of a node, where it is."""
    return constant(1, node.dtype, node.device, node.site)


def zeros_like(like: Node) -> Node:
    """Return zeros of the shape and dtype of a node, where it is."""
    return Node(FULL, (), (0,), like.shape, like.dtype, like.device, like.site)


def vjp(function: Callable[..., Any], *args: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the result of `function`, and a function from cotangents of the result to those of the arguments.

    The product of a cotangent with the Jacobian, for functions of any number of results; a cotangent is like the
    result, and the cotangents of the arguments are a tuple, one for each. It may be called any number of times.

    >>> y, pullback = tfr.vjp(lambda a, b: a * b, 3.0, 5.0)
    >>> y.item(), [ct.item() for ct in pullback(1.0)]
    (15.0, [5.0, 3.0])
    """
    need_function("vjp", function)
    title = title_of(function)
    given = aliased(title, function, args, range(len(args)))
    with recording_history() as history:
        result = function(*given.args)
        out, aux = _with_aux(title, result) if has_aux else (result, None)
        leaves: list[Any] = []
        structure = flatten(out, leaves)
        tensors = [operand(leaf) for leaf in leaves]
        roots = [tensor.node for tensor in tensors]
        tape = linearize(roots, given.targets, history, complete=True)

    def pullback(ct: Any) -> tuple[Any, ...]:
        seeds = list(zip(roots, _cotangents(title, ct, structure, roots), strict=True))
        return tuple(_gradients(tape, seeds, given))

    # handles of their own: what the caller assigns to the result changes nothing here
    value = build(structure, (Tensor(root) for root in roots))
    return (value, pullback, aux) if has_aux else (value, pullback)


def _cotangents(title: str, ct: Any, structure: Structure, roots: Sequence[Node]) -> list[Node]:
    """Return the cotangents of a result; GradientError where they are not like it."""
    leaves: list[Any] = []
    if flatten(ct, leaves) != structure:
        raise GradientError(
            f"{title}: the cotangents are not a tree like the result",
            suggestions=(
                "lists, tuples and dicts as in the result, with a tensor for each of its",
            ),
        )
    return nodes_like(title, leaves, roots, "cotangent", "result")


def _with_aux(title: str, result: Any) -> tuple[Any, Any]:
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise GradientError(
        f"{title}: with has_aux=True a function gives a pair, what is differentiated and anything else"
    )


def checked_loss(title: str, result: Any) -> Tensor:
    """Return what is differentiated: one real floating-point number."""
    leaves: list[Any] = []
    if flatten(result, leaves) is not LEAF:
        raise GradientError(
            f"{title}: gives {type(result).__name__}; a gradient is that of one number",
            suggestions=(
                "has_aux=True where it gives a pair of a loss and anything else",
                "tfr.vjp or tfr.jacobian for functions of several results",
            ),
        )
    loss = operand(leaves[0])
    if loss.shape != ():
        raise _no_number(title, loss, f"of shape {loss.shape}")
    if loss.dtype not in FLOATING or loss.dtype in COMPLEX:
        raise _no_number(title, loss, f"of dtype {loss.dtype.name}")
    return loss


def _no_number(title: str, loss: Tensor, what: str) -> GradientError:
    return GradientError(
        f"{title}: gives a tensor {what}; a gradient is that of one real number",
        suggestions=(
            "loss.sum() or loss.mean(); real(z), or abs(z), of a complex one",
            "tfr.jacobian, or tfr.vjp with a cotangent, for functions of several results",
        ),
        location=describe(loss.node.site),
    )


def need_function(name: str, function: Any) -> None:
    """Raise DTypeError unless what is to be differentiated is a function."""
    if not callable(function):
        raise DTypeError(f"{name}: takes a function, got {type(function).__name__}")


def title_of(function: Callable[..., Any]) -> str:
    """Return what messages call a function; of a module, which shows itself as a tree, the class."""
    if is_container(type(function)):
        return type(function).__qualname__
    title: str = getattr(function, "__qualname__", None) or repr(function)
    return title
