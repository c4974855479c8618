"""Stages: what is drawn of a computation, from what was recorded to the plan that will run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorframe.errors import ArgumentError
from tensorframe.frontend.diagnostics.scope import names_in_scope
from tensorframe.graph.record import is_constant
from tensorframe.notebook.diagrams.planned import diagram_of_plan
from tensorframe.notebook.diagrams.recorded import diagram_of_nodes
from tensorframe.notebook.picture import Picture
from tensorframe.runtime.evaluate import plan_of
from tensorframe.schedule.capture import Capture, capture
from tensorframe.schedule.naming import named
from tensorframe.schedule.pipeline import PASS_NAMES, PLAN_PASSES, make_plan, transform
from tensorframe.schedule.plan import Plan

if TYPE_CHECKING:
    from tensorframe.graph.node import Node

STAGES = ("recorded", *PASS_NAMES, "plan")


def picture_of(roots: Sequence[Node], stage: str | None, collapse: bool | None) -> Picture:
    """Return the picture of what `roots` need at a stage of the pipeline."""
    stage = "recorded" if stage is None else stage
    if stage not in STAGES:
        listed = ", ".join(STAGES)
        raise ArgumentError(f"there is no stage {stage!r}", suggestions=(f"one of {listed}",))
    roots = list(dict.fromkeys(roots))
    if stage == "recorded":
        return Picture(diagram_of_nodes(roots, stage, collapse))
    if stage not in (*PLAN_PASSES, "plan"):
        return Picture(diagram_of_nodes(transform(roots, stage), stage, collapse))
    request = capture(roots)
    # the plan itself is the one that runs, so it may have been measured
    plan = plan_of(request) if stage == "plan" else make_plan(request, stage)
    plan = named(plan, request, names_in_scope())
    title = "plan" if stage == "plan" else f"after {stage}"
    return Picture(
        diagram_of_plan(
            plan,
            title=title,
            numbers=_numbers(request),
            wanted=len(roots),
            ordered=stage != "fuse",
            collapse=collapse,
        )
    )


def picture_of_plan(plan: Plan, collapse: bool | None = None) -> Picture:
    """Return the diagram of a plan; its numbers are arguments, which calls with other numbers share."""
    return Picture(diagram_of_plan(plan, collapse=collapse))


def _numbers(request: Capture) -> dict[int, object]:
    """Return the numbers among what is given to a plan, by slot."""
    return {index: leaf.attrs[0] for index, leaf in enumerate(request.leaves) if is_constant(leaf)}
