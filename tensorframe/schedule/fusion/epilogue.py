"""Epilogue fusion: what is done to a matmul row by row joins its step, and runs on blocks that are in the cache.

A product's only consumer joins it where it is a permutation of axes, or a group of elementwise ops of its shape, with
reductions of its rows perhaps: softmax and layer norm are done with a row when they have seen it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.elementwise import ADD, CAST
from tensorframe.ops.movement import PERMUTE, RESHAPE
from tensorframe.ops.quantization import FEW, WHOLE_PRODUCTS
from tensorframe.ops.reduction import SUM
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group

# Ops of one step, where each op is a call of its own.
_MOST_OPS = 64


def merge_epilogues(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with those of contractions merged into what consumes them alone."""
    merging = _Merging(groups, roots, capabilities_of)
    products = [group for group in groups if is_product(group.sink)]
    # of two products that one group consumes, the one with more to do is in the cache afterwards
    for product in sorted(products, key=_size):
        kinds = capabilities_of(product.sink.device).epilogues
        if Kind.VIEW in kinds:
            merging.permute(product)
        if kinds:
            merging.transform(product)
    return merging.groups


def is_product(node: Node) -> bool:
    """Whether a node is a contraction, or a product that its device computes as it is: it may have an epilogue."""
    return node.op.kind is Kind.CONTRACT or node.op in WHOLE_PRODUCTS


def is_residual(node: Node) -> bool:
    """Whether a node adds a product of few rows to a tensor of its shape: the way past a layer of a step of decoding.

    Stored by the product's step, as is what follows in its rows, it takes no kernel; it is never recomputed.
    """
    if node.op is not ADD or prod(node.shape[:-1]) > FEW:
        return False
    sources = [
        part
        for source in node.inputs
        for part in ((source, *source.inputs) if source.op is ADD else (source,))
    ]  # a product may have a bias
    return any(map(_is_of_product, sources)) and all(
        source.shape == node.shape for source in node.inputs
    )


def _is_of_product(node: Node) -> bool:
    """Whether a node is a product, or a view or rounding of one, or the sum that a product with a vector is."""
    while node.op in (RESHAPE, CAST) and not is_leaf(node):
        node = node.inputs[0]
    return is_product(node) or (node.op is SUM and not is_leaf(node))


def along_rows(group: Group) -> bool:
    """Whether rows are all that the ops of a group have to see whole, besides views of its operands."""
    return all(node.op.kind is Kind.VIEW or _along_rows(node) for node in group.nodes)


def _size(group: Group) -> int:
    """Return a number that grows with the multiplications of a contraction, to sort by: the largest one first."""
    return -group.sink.size * max(source.size for source in group.sink.inputs)


class _Merging:
    """The groups, and which of them make and use each value."""

    def __init__(
        self, groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
    ) -> None:
        self._capabilities_of = capabilities_of
        self.groups = list(groups)
        self._roots = frozenset(roots)
        self._users: dict[Node, list[Group]] = {}
        self._makers: dict[Node, int] = {}
        for group in groups:
            for source in group.inputs:
                self._users.setdefault(source, []).append(group)
            for node in group.nodes:
                self._makers[node] = self._makers.get(node, 0) + 1

    def permute(self, product: Group) -> None:
        """Let a product be written in the order of axes in which alone it is used.

        By itself that pays if rows stay in one piece: other permutations are views, and no loss. On devices they too
        are part of the step where elementwise ops follow.
        """
        user = self._only_user(product.sink)
        if isinstance(user, str) or user.sink.op is not PERMUTE or len(user.nodes) > 1:
            return
        follower = self._only_user(user.sink)
        fits = (
            not self._hands_on_rows(product.sink)
            and not isinstance(follower, str)
            and self._unfit(user.sink, follower) is None
        )
        if fits or _keeps_rows(user.sink):
            self._merge(product, user)

    def _hands_on_rows(self, value: Node) -> bool:
        """Whether a product, permuted perhaps, is made block by block, and rows of blocks are what an epilogue takes.

        To have rows of the transposed product it would be one of transposed factors, which rounds otherwise. A
        convolution has no rows of that kind: elementwise ops see a block of it with its axes in any order.
        """
        able = self._capabilities_of(value.device)
        product = value.inputs[0] if value.op is PERMUTE else value
        return product.op is not CONVOLUTION and (able.host_memory or able.chunked)

    def transform(self, product: Group) -> None:
        """Let the elementwise ops that consume a product run in its step; where they do not, keep the reason."""
        value = product.sink
        user = self._only_user(value)
        if isinstance(user, str):
            for consumer in self._users.get(value, ()):
                consumer.refusals[value] = user
            return
        reason = self._unfit(value, user) or self._too_many(product, user)
        if reason is not None:
            user.refusals[value] = reason
            return
        self._take_in(product, user)
        # where there is no kernel for an op, it is a group by itself
        while user.space is None and self._fits(product.sink, product):
            user = self._users[product.sink][0]
            self._take_in(product, user)

    def _fits(self, value: Node, product: Group) -> bool:
        """Whether what consumes the last result of a product's step is another op without a kernel."""
        user = self._only_user(value)
        if isinstance(user, str) or user.space is not None or _as_seen(value, user) is not value:
            return False
        fits = len(product.nodes) < _MOST_OPS and self._too_many(product, user) is None
        return fits and self._unfit(value, user) is None

    def _too_many(self, product: Group, user: Group) -> str | None:
        """Return that a step would have too many operands, if it would."""
        most = self._capabilities_of(product.sink.device).max_inputs
        count = len({*product.inputs, *user.inputs} - {product.sink})
        return f"its step would have {count} operands" if count > most else None

    def _take_in(self, product: Group, user: Group) -> None:
        for view in _views_aside(product.sink, user):
            self._move_out(view, user)
        self._merge(product, user)

    def _only_user(self, value: Node) -> Group | str:
        """Return the only group that uses a value, or why there is none."""
        users = self._users.get(value, [])
        if value in self._roots:
            return "the product is needed besides"
        if len(users) != 1:
            return "the product has several consumers, in different kernels"
        return users[0]

    def _unfit(self, value: Node, group: Group) -> str | None:
        """Return why a group cannot work on a product block by block."""
        kinds = self._capabilities_of(value.device).epilogues - {Kind.VIEW}
        seen, aside = _as_seen(value, group), _views_aside(value, group)
        counted = _positions(value, group) if Kind.SOURCE in kinds else set()
        others = [
            node
            for node in group.nodes
            if node is not seen and node not in aside and node not in counted
        ]
        if not others:
            return "a view of it takes no time"
        for node in others:
            if is_product(node) and group.nodes[0] is node and len(others) > 1:
                return "its consumer's step has a product already"
            if node.op.kind not in kinds or not _along_rows(node):
                return f"{node.op.name} needs more than a block of it"
        along_rows = any(node.op.kind is Kind.REDUCE for node in others) or self._hands_on_rows(
            value
        )
        if along_rows and not _keeps_rows(value, seen):
            return "its rows are not those of the product"
        if not counted.issuperset(group.copies.values()) or seen.shape != group.sink.shape:
            return "it is read at other places than its consumer's"
        if self._makers.get(seen, 1) > 1 or not all(map(self._is_of_operands, aside)):
            return "a view in its consumer is part of another step too"
        kept = [node for node in others if node in self._roots or node in self._users]
        if any(node.shape != seen.shape for node in kept):
            return "its consumer gives results of several shapes"
        return None

    def _move_out(self, view: Node, group: Group) -> None:
        """Make a view of an operand a group of its own, so that blocks can be taken from it, and no part of others."""
        alone = Group(view, [view], dict.fromkeys(view.inputs))
        shared = self._makers.get(view, 1) > 1
        sharing = [other for other in self.groups if view in other.nodes] if shared else [group]
        self.groups.append(alone)
        for source in view.inputs:
            self._users[source].append(alone)
        for other in sharing:
            self._leave_out(view, other)
        self._users[view] = sharing
        self._makers[view] = 1

    def _is_of_operands(self, view: Node) -> bool:
        """Whether all groups that a view is part of read what it is a view of."""
        if self._makers.get(view, 1) == 1:
            return True
        sources = set(view.inputs)
        return all(sources <= group.inputs.keys() for group in self.groups if view in group.nodes)

    def _leave_out(self, view: Node, group: Group) -> None:
        """Let a group read a view of an operand that it looked at the operand through."""
        group.nodes.remove(view)
        inside = set(group.nodes)
        read = [
            source
            for node in group.nodes
            for source in group.operands(node)
            if source not in inside
        ]
        group.inputs = dict.fromkeys(read)
        for source in view.inputs:
            if source not in group.inputs:
                self._users[source].remove(group)

    def _merge(self, product: Group, user: Group) -> None:
        """Make the user of a product a part of its group, with the user's sink."""
        del user.inputs[product.sink], self._users[product.sink]
        user.refusals.pop(product.sink, None)
        seen = _as_seen(product.sink, user)
        # what is done to the product comes after it, and how it is looked at first
        product.nodes += sorted(user.nodes, key=lambda node: (node is not seen, node.serial))
        product.copies.update(user.copies)
        product.sink = user.sink
        product.refusals.update(user.refusals)
        for source in user.inputs:
            product.inputs.setdefault(source, None)
            users = [product if consumer is user else consumer for consumer in self._users[source]]
            self._users[source] = list(dict.fromkeys(users))
        self.groups.remove(user)


def _keeps_rows(*nodes: Node) -> bool:
    """Whether what permutations there are leave the last axis where it is."""
    moved = [node.attrs[0] for node in nodes if node.op is PERMUTE]
    return all(axes[-1] == len(axes) - 1 for axes in moved)


def _along_rows(node: Node) -> bool:
    """Whether rows are all that an op has to see whole, and its result lines up with them."""
    if node.op.kind is not Kind.REDUCE:
        return node.op.kind is Kind.MAP
    axes, keepdims = node.attrs
    return bool(keepdims) and axes == (len(node.shape) - 1,)


def _positions(value: Node, group: Group) -> set[Node]:
    """Return what counts rows or columns in a group, and views of it: no more than there are, and of no operand."""
    most = max(prod(value.shape[:-1]), prod(value.shape[-1:]))
    counted: set[Node] = set()
    for node in group.nodes:
        if node.size <= most and (
            node.op is ARANGE
            or (node.op.kind is Kind.VIEW and node.op.alias and counted.issuperset(node.inputs))
        ):
            counted.add(node)
    return counted


def _as_seen(value: Node, group: Group) -> Node:
    """Return the permutation through which alone a group looks at a value, or the value."""
    readers = [node for node in group.nodes if value in node.inputs]
    return readers[0] if len(readers) == 1 and readers[0].op is PERMUTE else value


def _views_aside(value: Node, group: Group) -> list[Node]:
    """Return the views of a group that are of its operands, and do not show `value`."""
    outside = {*group.inputs} - {value}
    aside: list[Node] = []
    for node in sorted(group.nodes, key=by_serial):
        if node.op.kind is Kind.VIEW and node.op.alias and set(node.inputs) <= outside:
            aside.append(node)
            outside.add(node)
    return aside
