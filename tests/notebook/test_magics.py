"""Cell magics: cells run as they would without them, and show what was computed."""

from __future__ import annotations

import json

import pytest

import tensorframe as tfr
from tensorframe.backends import spans
from tests.notebook.shells import a_shell

SETUP = "import tensorframe as tfr\nx = tfr.ones((300, 300)).compute()"


@pytest.fixture
def shell(monkeypatch):
    """IPython with the extension, and a list of what was displayed."""
    with a_shell() as running:
        running.shown = []
        monkeypatch.setattr(
            "IPython.display.display", lambda *found, **_: running.shown.extend(found)
        )
        done(running, "%load_ext tensorframe")
        done(running, SETUP)
        yield running
    assert not spans.collectors


def done(shell, *lines):
    """Run a cell that works, and return its result."""
    found = shell.run_cell("\n".join(lines), store_history=True)
    found.raise_error()
    return found.result


def failed(shell, *lines):
    """Run a cell that fails, and return the error."""
    return shell.run_cell("\n".join(lines), store_history=True).error_in_exec


def test_a_profile_is_shown_and_the_namespace_is_the_users(shell):
    done(shell, "%%tfr_profile", "y = (x + 1).compute()", "z = x * 2")
    (found,) = shell.shown
    assert isinstance(found, tfr.Profile)
    assert [(record.name, record.calls) for record in found.records] == [("add", 1)]
    assert shell.user_ns["y"].is_computed
    assert not shell.user_ns["z"].is_computed


def test_lines_are_those_of_the_cell(shell):
    number = shell.execution_count
    done(shell, "%%tfr_profile", "", "y = (x + 1).compute()")
    (record,) = shell.shown[0].records
    assert record.line == f"cell {number}, line 3"
    assert record.source == "y = (x + 1).compute()"


def test_the_last_expression_is_the_cells_result(shell, capsys):
    number = shell.execution_count
    done(shell, "%%tfr_profile --quiet", "y = 3", "y + 4")
    assert f"Out[{number}]: 7" in capsys.readouterr().out
    assert shell.user_ns["_"] == 7
    assert shell.user_ns["Out"][number] == 7
    done(shell, "%%tfr_profile --quiet", "y + 5;")
    assert "8" not in capsys.readouterr().out
    assert shell.shown == []


def test_options_keep_the_profile(shell, tmp_path):
    path = tmp_path / "a trace.json"
    done(shell, f'%%tfr_profile --quiet --into p --trace "{path}"', "(x + 1).compute()")
    assert [record.name for record in shell.user_ns["p"].records] == ["add"]
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert "add" in {event["name"] for event in events}


def test_cells_may_use_magics_and_functions(shell):
    done(
        shell,
        "%%tfr_profile --into p",
        "def twice(x):",
        "    return (x * 2).compute()",
        "%precision",
        "y = [twice(x) for _ in range(3)]",
    )
    assert [record.calls for record in shell.user_ns["p"].records] == [3]


def test_errors_are_those_of_a_normal_cell(shell, capsys):
    error = failed(shell, "%%tfr_profile", "(x + 1).compute()", "1 / 0")
    assert isinstance(error, ZeroDivisionError)
    told = capsys.readouterr().out
    assert "----> 3 1 / 0" in told
    assert "magics.py" not in told
    assert "run_cell_magic" not in told
    (found,) = shell.shown
    assert [record.name for record in found.records] == ["add"]


def test_errors_of_tensorframe_show_the_line_too(shell, capsys):
    error = failed(shell, "%%tfr_explain", "x + tfr.ones(7)")
    assert isinstance(error, tfr.errors.ShapeError)
    told = capsys.readouterr().out
    assert "----> 2 x + tfr.ones(7)" in told
    assert "run_cell_magic" not in told


def test_unknown_options_are_refused_before_the_cell_runs(shell, capsys):
    for magic in ("tfr_profile", "tfr_explain"):
        failed(shell, f"%%{magic} --bogus", "ran = True")
        assert "unrecognized arguments: --bogus" in capsys.readouterr().err
    assert "ran" not in shell.user_ns


def test_explain_shows_what_ran_and_what_would(shell):
    done(
        shell,
        "%%tfr_explain",
        "for i in range(3):",
        "    (x + 1).compute()",
        "z = tfr.sum(x * 2)",
        "z",
    )
    (found,) = shell.shown
    assert [said for _, said in found.plans] == [
        "ran 3 times",
        "of the result, which is not computed",
    ]
    assert [plan.steps[0].name for plan, _ in found.plans] == ["add", "multiply sum"]
    assert not shell.user_ns["z"].is_computed
    assert shell.user_ns["_"] is shell.user_ns["z"]
    assert "# ran 3 times\nplan: 1 kernel" in repr(found)
    html = found._repr_html_()
    assert "ran 3 times" in html
    assert html.count("<div") == html.count("</div>")


def test_explain_says_what_ran_without_a_plan(shell, capsys):
    done(shell, "%%tfr_explain", "(tfr.asarray([1.0]) + 1).item()")
    assert repr(shell.shown[0]) == "1 small graph ran op by op, without a plan"
    assert "2.0" in capsys.readouterr().out
    done(shell, "%%tfr_explain", "y = 1")
    assert repr(shell.shown[1]) == "no plan ran"


def test_the_magics_say_what_they_do(shell):
    for name in ("tfr_profile", "tfr_explain"):
        assert "Run the cell" in shell.find_cell_magic(name).__doc__
    assert "--trace FILE" in shell.find_cell_magic("tfr_profile").__doc__
