"""The extension that `%load_ext tensorframe` loads; IPython looks for the function in the package."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Make `%%tfr_profile` and `%%tfr_explain` known to IPython; called by `%load_ext tensorframe`."""
    from tensorframe.notebook.magics import register

    register(shell)
