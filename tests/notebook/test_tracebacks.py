"""A broken cell shows the user's own line, first and last, and what went wrong; the rest stays reachable."""

import re

import pytest

import tensorframe as tfr
from tensorframe import errors
from tensorframe.cells import cell_of
from tensorframe.notebook.tracebacks import shortened
from tests.notebook.shells import a_shell, run_in_kernel, traceback_of

SETUP = """\
import numpy as np
import tensorframe as tfr
from tensorframe.notebook.tracebacks import shortened
from tensorframe.testing.boxed import BoxedBackend

class Broken(BoxedBackend):
    def compile(self, region, device):
        def run(inputs, buffers):
            raise RuntimeError("illegal instruction")
        return run

tfr.backends.register(Broken("broken"))
"""
# cells, the last of which breaks: its line, the line that is to blame, and what the message has to say
BROKEN = {
    "wrong shape": (
        ["x = tfr.ones((3, 4))\nw = tfr.ones(5)\nz = x + w"],
        "z = x + w",
        "cell 2, line 3:   z = x + w",
        ["ShapeError: add: shapes (3, 4) and (5,)", "  try: reshape", "errors/shape-error.html"],
    ),
    "out of memory": (
        [
            "a = tfr.asarray(np.ones((4_000_000, 1)))\ntotal = tfr.cumulative_sum(a * a.T, axis=0)",
            "print(total[0, 0])",
        ],
        "print(total[0, 0])",
        "cell 2, line 2:   total = tfr.cumulative_sum(a * a.T, axis=0)",
        [
            "OutOfMemoryError: out of memory: 116 TiB are needed on cpu",
            "-> float64[4000000, 4000000] on cpu",
            "  try: another axis, or parts of the data",
            "errors/out-of-memory-error.html",
        ],
    ),
    "failure on a device": (
        ["t = tfr.asarray(np.ones((3, 4)), device='broken')\nu = tfr.sin(t) * 2", "u.numpy()"],
        "u.numpy()",
        "cell 2, line 2:   u = tfr.sin(t) * 2",
        [
            "KernelError: sin multiply failed on broken: RuntimeError: illegal instruction",
            "float64[3, 4] -> float64[3, 4] on broken",
            "  try: tfr.verify(t)",
            "errors/kernel-error.html",
        ],
    ),
}


@pytest.fixture(autouse=True)
def _as_users_have_it():
    """The option as it is by default."""
    before = tfr.config.get().tracebacks
    tfr.config.configure(tracebacks="auto")
    yield
    tfr.config.configure(tracebacks=before)


def check(text, broken):
    """The only code that is shown is the cell's, and the message has everything."""
    _, own, recorded, facts = broken
    arrows = re.findall(r"^-+>\s*\d+\s(.*)$", text, re.MULTILINE)
    assert arrows == [own]
    assert "tensorframe/" not in text.replace("tensorframe-lazy", "")
    assert f"recorded at {recorded}" in text
    for fact in facts:
        assert fact in text


@pytest.fixture
def shell():
    with a_shell() as running:
        running.run_cell(SETUP, store_history=True)
        yield running
    tfr.backends.unregister("broken")


@pytest.mark.parametrize("case", BROKEN)
def test_in_a_shell(case, shell, capsys):
    cells = BROKEN[case][0]
    for cell in cells:
        result = shell.run_cell(cell, store_history=True)
    check(capsys.readouterr().out, BROKEN[case])
    error = result.error_in_exec
    assert isinstance(error, errors.TensorFrameError)
    # what debuggers look at is complete
    files = [entry.filename for entry in _frames(error.__traceback__)]
    assert any("tensorframe" in name for name in files)
    if isinstance(error, errors.KernelError):
        assert isinstance(error.__cause__, RuntimeError)
        assert any(entry.name == "run" for entry in _frames(error.__cause__.__traceback__))


def _frames(traceback):
    import traceback as tracebacks

    return tracebacks.extract_tb(traceback)


@pytest.mark.parametrize("case", BROKEN)
def test_in_a_kernel(case):
    *_, broken = run_in_kernel(SETUP, *BROKEN[case][0])
    check(traceback_of(broken), BROKEN[case])


def test_the_notebook_s_name_stands_in_front():
    *_, broken = run_in_kernel(
        "import tensorframe as tfr",
        "tfr.ones(3) + tfr.ones(4)",
        JPY_SESSION_NAME="/home/somebody/analysis.ipynb",
    )
    line = "recorded at analysis.ipynb, cell 2, line 1:   tfr.ones(3) + tfr.ones(4)"
    assert line in traceback_of(broken)


def test_vs_code_tells_the_name_in_its_own_way(shell, capsys, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    shell.user_ns["__vsc_ipynb_file__"] = "/home/somebody/study.ipynb"
    shell.run_cell("tfr.ones(3) + tfr.ones(4)", store_history=True)
    assert "recorded at study.ipynb, cell 2, line 1:" in capsys.readouterr().out


def test_files_are_no_cells(shell):
    assert cell_of(__file__) is None
    assert cell_of("<ipython-input-12-0a1b2c3d>") == "cell 12"


def test_a_cell_that_was_edited_and_run_again_keeps_the_lines_of_both(shell, capsys):
    shell.run_cell("t = tfr.asarray(np.ones((3, 4)), device='broken')", store_history=True)
    shell.run_cell("u = tfr.sin(t)  # as it was", store_history=True)
    shell.run_cell("# longer now\n\nv = tfr.cos(t)  # edited", store_history=True)
    shell.run_cell("u.compute()", store_history=True)
    assert "recorded at cell 3, line 1:   u = tfr.sin(t)  # as it was" in capsys.readouterr().out
    shell.run_cell("v.compute()", store_history=True)
    assert "recorded at cell 4, line 3:   v = tfr.cos(t)  # edited" in capsys.readouterr().out


def test_user_code_inside_ours_is_shown(shell, capsys):
    shell.run_cell("@tfr.jit\ndef f(x):\n    return x + tfr.ones(7)\nf(tfr.ones(3))")
    shown = capsys.readouterr().out
    assert re.findall(r"^-+>\s*\d+\s+(.*)$", shown, re.MULTILINE) == [
        "f(tfr.ones(3))",
        "return x + tfr.ones(7)",
    ]


def test_the_option_shows_every_frame(shell, capsys):
    with tfr.config.override(tracebacks="full"):
        shell.run_cell("tfr.ones(3) + tfr.ones(4)")
    assert "in broadcast(" in capsys.readouterr().out


def test_other_errors_are_shown_as_ever(shell, capsys):
    shell.run_cell("tfr.exp()")
    assert "TypeError" in capsys.readouterr().out


WITH = {
    "use_backend": lambda: tfr.use_backend("abacus"),
    "override": lambda: tfr.config.override(speed=11),
}


@pytest.mark.parametrize("ask", WITH.values(), ids=WITH)
def test_a_with_statement_is_named_by_the_line_that_says_what_it_sets(ask):
    with pytest.raises(errors.TensorFrameError) as caught, ask():
        pass
    line = ask.__code__.co_firstlineno
    assert caught.value.location.startswith(f"{__file__}, line {line}:")
    files = {entry.filename for entry in _frames(shortened(caught.value).__traceback__)}
    assert files == {__file__}


def test_copies_that_keep_causes_show_none(monkeypatch):
    """As where distributed is loaded, whose pickling of errors copies go by."""
    error = errors.KernelError("it failed")
    error.__cause__ = RuntimeError("illegal instruction")

    def with_cause(given):
        made = type(given)(*given.args)
        made.__cause__ = given.__cause__
        return made

    monkeypatch.setattr("tensorframe.notebook.tracebacks.copy.copy", with_cause)
    assert shortened(error).__cause__ is None
    assert error.__cause__ is not None
