"""What a notebook asks of tensors, plans and errors, attached to them; what draws is loaded when something is drawn."""

from __future__ import annotations

import sys

from tensorframe import config
from tensorframe.errors import TensorFrameError

__all__: list[str] = []


def _render_traceback(error: TensorFrameError) -> list[str]:
    from tensorframe.notebook.tracebacks import render

    return render(error)


def _show_in_scripts(options: config.Options) -> None:
    name = "tensorframe.notebook.tracebacks"
    if options.tracebacks == "short" or name in sys.modules:
        from tensorframe.notebook.tracebacks import show_short_in_scripts

        show_short_in_scripts(options)


# IPython asks every exception for a method of this name
setattr(TensorFrameError, "_render_traceback_", _render_traceback)  # noqa: B010 - not part of the class for readers
config.when_configured(_show_in_scripts)
