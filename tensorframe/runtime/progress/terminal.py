"""Progress in a terminal: one line, drawn over itself by tqdm, which knows of the bars that a program has already."""

from __future__ import annotations

import sys

from tensorframe.runtime.progress.monitor import Display
from tensorframe.runtime.progress.phases import State
from tensorframe.runtime.progress.phrases import amounts, step_words, time_words

_WITH_SHARE = "{percentage:3.0f}%|{bar:20}| {desc}"
_WITHOUT = "{desc}"


def terminal(*, always: bool) -> Display | None:
    """Return a line on the standard error stream, if somebody looks at it or it is wanted always."""
    stream = sys.stderr
    if stream is None or not (always or stream.isatty()):
        return None
    return _Line()


class _Line:
    """A bar of tqdm that does not count by itself."""

    def __init__(self) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=1000, leave=False, bar_format=_WITHOUT, dynamic_ncols=True, file=sys.stderr
        )

    def show(self, state: State) -> None:
        """Draw a state."""
        self._bar.bar_format = _WITHOUT if state.share is None else _WITH_SHARE
        self._bar.n = round(1000 * (state.share or 0.0))
        # a narrow terminal cuts the end off
        words = [time_words(state), step_words(state), *amounts(state)]
        self._bar.set_description_str(" · ".join(words))

    def close(self) -> None:
        """Clear the line."""
        self._bar.close()
