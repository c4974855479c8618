"""The base class of Plan: empty here, while its stub shows what `notebook/` attaches at import, which draws plans.

`plan_methods.pyi` is written by `python -m tensorframe.testing.stubs`.
"""

from __future__ import annotations


class PlanMethods:
    """What a notebook calls on a plan."""

    __slots__ = ()
