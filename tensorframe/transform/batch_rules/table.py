"""The table of rules: for an op that differs from others of its kind, for a kind, and for users' kernels."""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.graph.op import Kind, Op
from tensorframe.transform.batching import Rule

_OF_OPS: dict[Op, Rule] = {}
_OF_KINDS: dict[Kind, Rule] = {}
_OF_RAW_KERNELS: list[Rule] = []


def rule_of(op: Op) -> Rule:
    """Return the rule of an op: its own, or that of its kind."""
    if op.raw is not None:
        return _OF_RAW_KERNELS[0]
    own = _OF_OPS.get(op)
    return _OF_KINDS[op.kind] if own is None else own


def for_kind(kind: Kind) -> Callable[[Rule], Rule]:
    """Register a function as the rule of a kind of op."""

    def register(rule: Rule) -> Rule:
        _OF_KINDS[kind] = rule
        return rule

    return register


def for_ops(*ops: Op) -> Callable[[Rule], Rule]:
    """Register a function as the rule of these ops, which differ from others of their kind."""

    def register(rule: Rule) -> Rule:
        _OF_OPS.update(dict.fromkeys(ops, rule))
        return rule

    return register


def for_raw_kernels(rule: Rule) -> Rule:
    """Register a function as the rule of users' kernels."""
    _OF_RAW_KERNELS[:] = [rule]
    return rule
