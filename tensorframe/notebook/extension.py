"""The extension that `%load_ext tensorframe` loads; IPython looks for the function in the package."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Make `%%tfr_profile` and `%%tfr_explain` known to IPython; called by `%load_ext tensorframe`.

    Collections of tensors have cards from then on. Importing tensorframe in a notebook does that too.
    """
    from tensorframe.notebook import formatters, magics

    magics.register(shell)
    formatters.register(shell)
