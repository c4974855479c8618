"""What a notebook asks of tensors, plans and errors, attached to them; what draws is loaded when something is drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensorframe import config
from tensorframe.cells import shell
from tensorframe.errors import TensorFrameError, when_made
from tensorframe.frontend.diagnostics import pages
from tensorframe.frontend.protocols import host
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph import networks
from tensorframe.runtime.progress import monitor
from tensorframe.runtime.progress.monitor import Display
from tensorframe.schedule.plan import Plan

if TYPE_CHECKING:
    import networkx

    from tensorframe.frontend.diagnostics.pages import Page
    from tensorframe.notebook.picture import Picture

__all__: list[str] = []


@method
def _repr_html_(self: Tensor) -> str:
    """Return the card that a notebook shows."""
    from tensorframe.notebook.card.html import card

    return card(self)


def _explained(plan: Plan) -> str:
    """Return the table that a notebook shows."""
    from tensorframe.notebook.explanation import explanation

    return explanation(plan)


# what draws the results that are pages, by the name of their class; each is loaded when it draws
_PAGES = {
    "Profile": ("profile_page", "profile_page"),
    "Calibration": ("calibration_page", "calibration_page"),
    "Benchmark": ("trial_pages", "benchmark_page"),
    "Verification": ("trial_pages", "verification_page"),
    "Estimate": ("trial_pages", "estimate_page"),
    "Diagnosis": ("trial_pages", "diagnosis_page"),
    "MemoryStatistics": ("memory_page", "statistics_page"),
    "Module": ("module_page", "module_page"),
    "Summary": ("module_page", "summary_page"),
    "MemoryEstimate": ("module_page", "memory_page"),
}


def _page(result: Page) -> str:
    kind = next(base.__name__ for base in type(result).__mro__ if base.__name__ in _PAGES)
    module, name = _PAGES[kind]
    draw: Callable[[Page], str] = getattr(import_module(f"tensorframe.notebook.{module}"), name)
    return draw(result)


def _as_rich_table(plan: Plan) -> object:
    """Return the table that `rich.print` shows."""
    from tensorframe.notebook.terminal import table_of

    return table_of(plan)


def _visualize(plan: Plan, *, collapse: bool | None = None) -> Picture:
    """Return the diagram of a plan, as `t.visualize(stage="plan")` does of a tensor's."""
    from tensorframe.notebook.stages import picture_of_plan

    return picture_of_plan(plan, collapse)


def _render_traceback(error: TensorFrameError) -> list[str]:
    from tensorframe.notebook.tracebacks import render

    return render(error)


def _show_in_scripts(options: config.Options) -> None:
    name = "tensorframe.notebook.script_tracebacks"
    if options.tracebacks == "short" or name in sys.modules:
        from tensorframe.notebook.script_tracebacks import show_as_configured

        show_as_configured(options)


def _show_short_if_nobody_minds() -> None:
    if getattr(sys, "meta_path", None) is None:
        return  # the interpreter is being taken down, and imports nothing
    from tensorframe.notebook.script_tracebacks import show_short_if_nobody_minds

    show_short_if_nobody_minds(config.get())


def _advise_after_errors() -> None:
    from tensorframe.notebook.read_only import advise_after_errors

    advise_after_errors()


# notebooks and rich ask for these names; a plan is data of a layer that draws nothing
for _name, _function in {
    "_repr_html_": _explained,
    "__rich__": _as_rich_table,
    "visualize": _visualize,
}.items():
    setattr(Plan, _name, _function)


def _progress_in_a_notebook() -> Display | None:
    from tensorframe.notebook.progress import in_a_notebook

    return in_a_notebook()


def _show_collections() -> None:
    running = shell()
    if running is not None:
        from tensorframe.notebook.formatters import register

        register(running)


def _network(graph: networkx.DiGraph[Any]) -> str | None:
    from tensorframe.notebook.diagrams.networks import MOST, diagram_of_network
    from tensorframe.notebook.picture import Picture

    diagram = diagram_of_network(graph) if 0 < len(graph) <= MOST else None
    # the text says how large it is
    return None if diagram is None else Picture(diagram)._repr_html_()


pages.drawn_by(_page)
networks.drawn_by(_network)
_show_collections()

# IPython asks every exception for a method of this name
setattr(TensorFrameError, "_render_traceback_", _render_traceback)  # noqa: B010 - not part of the class for readers
config.when_configured(_show_in_scripts)
# not before there is something to show: importing tensorframe changes nothing of the program
when_made.append(_show_short_if_nobody_minds)
host.when_handed_out.append(_advise_after_errors)
monitor.displays.append(_progress_in_a_notebook)
