"""Runs notebooks: `python -m examples.notebooks` checks the kept outputs of all, `--write` keeps fresh ones.

Names (`heat`, `heat.ipynb`) choose some of them. The exit status is 1 if an output differs.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from examples.notebooks.comparison import differences
from examples.notebooks.execution import execute, paths, read
from examples.notebooks.tidy import tidied, write

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks that are asked for; the result is the exit status."""
    known = {path.stem: path for path in paths()}
    parser = argparse.ArgumentParser(prog="python -m examples.notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--write", action="store_true", help="keep the outputs of this run")
    options = parser.parse_args(arguments)
    names = [name.removesuffix(".ipynb") for name in options.names] or list(known)
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"no notebook is called {', '.join(unknown)}: there are {', '.join(known)}")
    try:
        ends = [run(known[name], keep=options.write) for name in names]
    except ModuleNotFoundError as error:
        print(f"notebooks: {error}\n  try: pip install --editable '.[examples]'", file=sys.stderr)
        return 1
    return 0 if all(ends) else 1


def run(path: Path, *, keep: bool) -> bool:
    """Run one notebook and say how it went: whether it shows what it should."""
    from nbclient.exceptions import CellExecutionError

    start = time.perf_counter()
    try:
        fresh = tidied(execute(path))
    except CellExecutionError as error:
        print(f"{path.stem:16} fails\n{COLOUR.sub('', str(error))}", flush=True)
        return False
    if keep:
        write(fresh, path)
    changes = list(differences(read(path), fresh))
    end = f"{len(changes)} differences" if changes else "written" if keep else "as kept"
    print(f"{path.stem:16} {end}, {time.perf_counter() - start:.1f} s", flush=True)
    for change in changes:
        print(f"  {change}", flush=True)
    return not changes


if __name__ == "__main__":
    sys.exit(main())
