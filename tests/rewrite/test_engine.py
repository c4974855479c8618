"""The rewriting engine keeps nodes in the order of their recording, and those that nothing happens to as they are."""

from __future__ import annotations

import numpy as np

import tensorframe as tfr
from tensorframe.graph.node import reachable
from tensorframe.rewrite.engine import rewrite, rule


@rule(lambda op: op.name == "sin")
def sine_to_cosine(node, builder):
    """Another row of the same shape, so that only the order can tell."""
    cosine = tfr.cos(tfr.zeros(2)).node.op
    return builder.make(cosine, node.inputs, (), node.shape, node.dtype, node.device, like=node)


def recorded():
    x = tfr.asarray(np.arange(4.0))
    first = tfr.exp(x)
    second = tfr.sin(x) + first
    third = tfr.tan(x)
    return ((second * third) - tfr.sqrt(x)).node


def names(root):
    return [node.op.name for node in reachable([root]) if node.storage is None]


def test_what_no_rule_is_for_stays_as_it_is():
    root = recorded()
    (rewritten,) = rewrite([root], ())
    assert rewritten is root


def test_nodes_stay_in_the_order_of_their_recording():
    root = recorded()
    (rewritten,) = rewrite([root], (sine_to_cosine,))
    expected = ["cos" if name == "sin" else name for name in names(root)]
    assert names(rewritten) == expected


def test_what_stands_before_the_first_change_stays_as_it_is():
    root = recorded()
    (rewritten,) = rewrite([root], (sine_to_cosine,))
    kept = set(reachable([root])) & set(reachable([rewritten]))
    assert [node.op.name for node in sorted(kept, key=lambda node: node.serial)] == ["data", "exp"]
