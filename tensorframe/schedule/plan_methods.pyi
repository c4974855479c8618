"""Written by `python -m tensorframe.testing.stubs`; do not edit."""

from tensorframe.notebook.picture import Picture
from tensorframe.schedule.plan import Plan

class PlanMethods:
    def __rich__(self) -> object:
        """Return the table that `rich.print` shows."""
    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
    def visualize(self, *, collapse: bool | None = None) -> Picture:
        """Return the diagram of a plan, as `t.visualize(stage="plan")` does of a tensor's."""
