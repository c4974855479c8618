"""Random graphs: a seed makes a program that NumPy and tensorframe run, and its number is a bug report.

python -m tensorframe.testing.random_graph --seed 17
python -m tensorframe.testing.random_graph --count 1000 --no-fuse --device llvm
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorframe.testing.generate import generate
from tensorframe.testing.program import Program
from tensorframe.testing.shrink import failure, shrink

__all__ = ["check", "main", "program_of"]

MOVES = 12


def program_of(
    seed: int,
    *,
    moves: int = MOVES,
    device: str = "cpu",
    devices: Sequence[str] = (),
    **options: Any,
) -> Program:
    """The program of a seed, set to be planned and fused whatever its size; `options` are those of the config."""
    program = replace(generate(seed, moves=moves), device=device, devices=tuple(devices))
    return program.with_options(small_size=0, small_nodes=0, **options)


def check(
    seed: int,
    *,
    moves: int = MOVES,
    device: str = "cpu",
    devices: Sequence[str] = (),
    **options: Any,
) -> None:
    """Run the program of `seed` by NumPy and by tensorframe, and compare the results.

    Raises AssertionError with the smallest program found that fails in the same way, as a script. Tensors live on
    `device`, leaves on `devices` in turn where these are given; `options` are those of `tensorframe.config`:
    `fuse=False` runs every op alone.

    >>> from tensorframe.testing.random_graph import check
    >>> check(17)
    """
    program = program_of(seed, moves=moves, device=device, devices=devices, **options)
    problem = failure(program)
    if problem is not None:
        smallest = shrink(program)
        raise AssertionError(
            f"seed {seed}: {problem}\n\nthe smallest program found that fails like this, with\n"
            f"{failure(smallest)}\n\n{smallest.source()}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds from the command line; the status is 1 if one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tensorframe.testing.random_graph",
        description="Compare random programs run by NumPy and by tensorframe.",
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument(
        "--count", type=int, default=1, help="how many seeds from there (default 1)"
    )
    parser.add_argument("--moves", type=int, default=MOVES, help=f"steps at most (default {MOVES})")
    parser.add_argument("--device", default="cpu", help="where tensors live (default cpu)")
    parser.add_argument("--devices", default="", help="where leaves live in turn: cpu,opencl")
    parser.add_argument("--no-fuse", action="store_true", help="run every op alone")
    parser.add_argument(
        "--show", action="store_true", help="print the program, whether it fails or not"
    )
    said = parser.parse_args(arguments)
    settings: dict[str, Any] = {"moves": said.moves, "device": said.device}
    settings["devices"] = tuple(filter(None, said.devices.split(",")))
    settings |= {"fuse": False} if said.no_fuse else {}
    failed = 0
    for seed in range(said.seed, said.seed + said.count):
        if said.show:
            sys.stdout.write(program_of(seed, **settings).source() + "\n")
        try:
            check(seed, **settings)
        except AssertionError as error:
            failed += 1
            sys.stdout.write(f"{error}\n")
    sys.stdout.write(f"{said.count - failed} of {said.count} seeds agree with NumPy\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
