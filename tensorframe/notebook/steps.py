"""Steps: a plan as rows for people, which the page and the terminal show in their own ways."""

from __future__ import annotations

from dataclasses import dataclass

from tensorframe.notebook.figures import count_text
from tensorframe.notebook.formulas import formulas_of
from tensorframe.notebook.roofline import Prediction, predict, share_of_limit
from tensorframe.schedule.columns import cells
from tensorframe.schedule.plan import Plan, Step, StepKind, human_bytes


@dataclass(frozen=True, slots=True)
class Row:
    """A step: what it does, where, and what it costs."""

    number: int
    step: Step
    kind: str
    device: str
    formulas: list[str]
    gives: list[str]
    notes: list[str]
    prediction: Prediction | None
    share: float | None
    extra: dict[str, str]
    """What columns of packages say of it; the same columns for all rows of a plan."""

    @property
    def title(self) -> str:
        """What runs, and whether it is part of a gradient."""
        return titled(self.kind, self.step)

    @property
    def moved(self) -> str:
        """The bytes that are read and written; of a transfer, those that move."""
        if self.step.is_view:
            return ""
        if self.step.kind is StepKind.TRANSFER:
            written = self.step.bytes_written
            return human_bytes(written) if written else "the same memory"
        # an arrow, as in the text of a plan
        return f"{human_bytes(self.step.bytes_read)} → {human_bytes(self.step.bytes_written)}"

    @property
    def flops(self) -> str:
        """Floating-point operations, empty where there are none."""
        return count_text(self.step.flops) if self.step.flops else ""


def titled(name: str, step: Step) -> str:
    """Return the name of what runs, with the way it goes where that is part of a gradient: `kernel, backward`."""
    return f"{name}, {step.direction}" if step.direction else name


def rows_of(plan: Plan) -> list[Row]:
    """Return a row for each step."""
    notes, columns = plan.notes(), cells(plan.steps)
    return [
        _row(plan, index, step, notes[index], {name: said[index] for name, said in columns.items()})
        for index, step in enumerate(plan.steps)
    ]


def _row(plan: Plan, index: int, step: Step, notes: list[str], extra: dict[str, str]) -> Row:
    kind = {StepKind.REGION: "kernel", StepKind.LIBRARY: "library call"}.get(step.kind, "transfer")
    device = str(step.device)
    if step.kind is StepKind.TRANSFER:
        device = f"{plan.slots[step.inputs[0]].device} → {device}"
    return Row(
        index,
        step,
        "view" if step.is_view else kind,
        device,
        formulas_of(plan, step),
        [_given(plan, slot) for slot in step.outputs],
        notes,
        predict(step),
        share_of_limit(step),
        extra,
    )


def _given(plan: Plan, slot: int) -> str:
    return " ".join(filter(None, [plan.names.get(slot), str(plan.slots[slot])]))


def headline_figures(plan: Plan) -> list[tuple[str, str]]:
    """Return the figures of the whole plan, each with its name."""
    figures = [
        (str(plan.kernels), "kernels" if plan.kernels != 1 else "kernel"),
        (str(plan.library_calls), "library calls" if plan.library_calls != 1 else "library call"),
        (str(plan.transfers), "transfers" if plan.transfers != 1 else "transfer"),
    ]
    if plan.fallbacks:
        figures.append((str(plan.fallbacks), "fallbacks" if plan.fallbacks != 1 else "fallback"))
    figures += [
        (human_bytes(plan.bytes_read), "read"),
        (human_bytes(plan.bytes_written), "written"),
    ]
    figures.append((count_text(plan.flops), "flops"))
    figures += [(human_bytes(size), f"peak on {device}") for device, size in plan.peak.items()]
    return figures


def hints_of(rows: list[Row]) -> list[str]:
    """Return what would make the rows of a plan say more."""
    computing = [row for row in rows if row.step.flops or row.step.bytes_written]
    hints = []
    unknown = {row.device for row in computing if row.prediction is None and row.kind != "transfer"}
    if unknown:
        what = ", ".join(sorted(unknown))
        hints.append(f"tfr.calibrate() measures {what} once: then times are predicted")
    timed = sum(row.step.seconds is not None for row in computing)
    if not timed and computing:
        hints.append("with tfr.profile(): computing measures each step")
    return hints
