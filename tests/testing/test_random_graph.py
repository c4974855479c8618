"""The tester tested: a wrong op is found, shrunk to a few lines, and printed as a script that fails alike."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import functions
from tensorframe.graph.op import Kind, find, rows
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.testing.generate import generate
from tensorframe.testing.program import Program, Result, Step
from tensorframe.testing.random_graph import check, main, program_of
from tensorframe.testing.reference import reference
from tensorframe.testing.shrink import failure, shrink

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wrong_op(monkeypatch):
    """Gives an op of the device numpy another meaning until the test ends; plans hold functions, so none is kept."""

    def inject(name, function):
        PLANS.clear()
        monkeypatch.setitem(functions.implementation, find(name), function)

    yield inject
    PLANS.clear()


def first_failure(seeds):
    for seed in seeds:
        program = program_of(seed, device="numpy")
        problem = failure(program)
        if problem is not None:
            return program, problem
    raise AssertionError("nobody noticed")


def off_at_ends(x, *rest):
    """A running sum that forgets the last element."""
    found = np.cumsum(x, axis=rest[0], dtype=x.dtype)
    return np.where(np.arange(found.size).reshape(found.shape) == found.size - 1, 0, found).astype(
        x.dtype
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("negative", lambda x, out=None, **_: np.positive(x, out=out)),
        ("subtract", lambda x, y, out=None, **_: np.subtract(y, x, out=out)),
        ("maximum", lambda x, y, out=None, **_: np.minimum(x, y, out=out)),
        ("cumulative_sum", off_at_ends),
        ("permute", lambda x, axes: np.moveaxis(x, range(x.ndim), axes)),
        ("concat", lambda *operands: np.concatenate(operands[-2::-1], axis=operands[-1])),
    ],
)
def test_a_wrong_op_is_found_and_shrunk_to_a_few_lines(name, function, wrong_op):
    wrong_op(name, function)
    program, problem = first_failure(range(3000))
    assert problem.startswith(("wrong result: v", "KernelError"))
    smallest = shrink(program)
    assert failure(smallest) is not None
    assert len(smallest.results) == 1
    assert len(smallest.steps) <= 3 <= len(program.steps)


def test_an_exception_is_a_failure_of_its_own_kind(wrong_op):
    def broken(*_, **__):
        raise MemoryError("no memory for sorting")

    wrong_op("sort", broken)
    program, problem = first_failure(range(3000))
    assert problem.startswith("OutOfMemoryError")
    smallest = shrink(program)
    assert [step.code.partition("(")[0] for step in smallest.steps][-1] == "{out} = xp.sort"


def test_the_printed_program_runs_and_fails_alike(wrong_op, tmp_path):
    program = Program(
        (
            Step(0, (), "{out} = xp.asarray(np.array([1.0, 2.0, nan], 'float32'))"),
            Step(1, (0,), "{out} = xp.asarray({0}, copy=True)\n{out}[1:] = 7.0"),
            Step(2, (0, 1), "{out} = xp.subtract({0}, {1})"),
        ),
        (Result(2, 1e-6), Result(1)),
        options=(("small_size", 0),),
        device="numpy",
    )
    assert failure(program) is None
    path = tmp_path / "program.py"
    path.write_text(program.source())
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(path)], check=True, env=environment)
    wrong_op("subtract", lambda x, y, out=None, **_: np.add(x, y, out=out))
    with pytest.raises(AssertionError, match="elements of float32"):
        exec(compile(program.source(), str(path), "exec"), {})


def test_a_failing_seed_says_its_number_and_prints_a_script(wrong_op, capsys):
    wrong_op("add", lambda x, y, out=None, **_: np.subtract(x, y, out=out))
    seed = next(seed for seed in range(3000) if failure(program_of(seed, device="numpy")))
    with pytest.raises(AssertionError) as caught:
        check(seed, device="numpy")
    message = str(caught.value)
    assert message.startswith(f"seed {seed}: wrong result: v")
    assert "def program(xp):" in message
    assert main(["--seed", str(seed), "--device", "numpy"]) == 1
    assert capsys.readouterr().out == f"{message}\n0 of 1 seeds agree with NumPy\n"


def test_programs_use_most_rows_and_many_layouts():
    """What the generator leaves out it cannot find."""
    lines = "\n".join(generate(seed).body() for seed in range(3000))
    used = {op.name for op in rows() if f"xp.{op.name}(" in lines}
    missing = {op.name for op in rows(Kind.MAP) if op.public and not op.attributes} - used
    assert missing == set()
    for piece in (
        "[..., ::-2]",
        ".T",
        "broadcast_to",
        "copy=False",
        "xp.compute",
        "[1:-1]",
        "::-1",
    ):
        assert piece in lines
    assert {"int8", "uint64", "bfloat16", "float16", "complex64", "bool"} <= {
        word
        for word in lines.replace("'", " ").split()
        if word.isidentifier() or word[-1].isdigit()
    }


def test_every_kind_of_graph_appears():
    programs = [generate(seed) for seed in range(300)]
    readers = [[step.inputs.count(step.target) for step in program.steps] for program in programs]
    assert readers
    shared = sum(
        any(sum(number in step.inputs for step in program.steps) > 1 for number in range(30))
        for program in programs
    )
    assert shared > 100
    assert sum(len(program.results) > 2 for program in programs) > 100
    assert any(not program.together for program in programs)


def test_the_reference_answers_by_our_names():
    x = np.array([-2.0, 0.5], np.float32)
    assert reference.relu(x).tolist() == [0.0, 0.5]
    assert reference.sigmoid(x).dtype == np.float32
    assert reference.minimum(x.astype(tfr.bfloat16), 0.5).dtype == tfr.bfloat16
    with pytest.raises(AttributeError, match="no function 'nonsense'"):
        reference.nonsense(x)
