"""`python -m tests.numpy_names`: what is different, and the table of docs/numpy.md written anew."""

from __future__ import annotations

import re
from pathlib import Path

from tests.numpy_names.comparison import differences
from tests.numpy_names.doctests import all_verdicts
from tests.numpy_names.known import examples_table
from tests.numpy_names.names import missing_parameters, table
from tests.numpy_names.signatures import every_call, homes, public, written_calls

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"
BEGIN, END = "<!-- written by python -m tests.numpy_names -->", "<!-- end -->"
EXAMPLES, EXAMPLES_END = (
    "<!-- examples, written by python -m tests.numpy_names -->",
    "<!-- end of examples -->",
)


def written_between(text: str, begin: str, part: str, end: str) -> str:
    """Return a page with a part of it written anew."""
    written = f"{begin}\n\n{part}\n\n{end}"
    return re.sub(f"{begin}.*?{end}", lambda _: written, text, flags=re.DOTALL)


def main() -> None:
    """Print what differs, and write the table."""
    for name in (*every_call(), *written_calls()):
        for call, words in differences(name).items():
            print(f"{call}: {words}")
    for prefix, space, _ in homes():
        for name in public(space):
            missing = missing_parameters(prefix, name)
            if missing:
                print(f"{prefix}{name} does not take {', '.join(missing)}")
    for verdict in all_verdicts():
        if verdict.difference:
            print(
                f"{verdict.function}: {verdict.source!r}: {verdict.difference!r:.99} ({verdict.reason})"
            )
    text = PAGE.read_text(encoding="utf-8")
    text = written_between(text, BEGIN, table(), END)
    text = written_between(text, EXAMPLES, examples_table(), EXAMPLES_END)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
