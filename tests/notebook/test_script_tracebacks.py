"""A script that breaks ends with the user's own lines; whoever shows errors in another way is left alone."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tensorframe as tfr
from tensorframe.errors import ShapeError
from tensorframe.notebook import script_tracebacks
from tensorframe.notebook.script_tracebacks import HOW_TO_SEE_ALL

ROOT = Path(__file__).parents[2]

SETUP = "import sys, threading\nimport tensorframe as tfr\n"
ANALYSIS = """
def analysis():
    return tfr.ones(3) + tfr.ones(4)
"""
FRAMES = re.compile(r"line \d+, in (\S+)")


def shown_by_a_script(tmp_path, text, tracebacks="auto"):
    path = tmp_path / "script.py"
    path.write_text(SETUP + text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, path],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TENSORFRAME_TRACEBACKS": tracebacks},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_scripts_show_the_lines_of_the_user(tmp_path):
    short = shown_by_a_script(tmp_path, ANALYSIS + "analysis()")
    assert FRAMES.findall(short) == ["<module>", "analysis"]
    assert HOW_TO_SEE_ALL in short
    assert short.rstrip().endswith(HOW_TO_SEE_ALL)


def test_scripts_show_every_frame_when_they_are_asked_to(tmp_path):
    whole = shown_by_a_script(tmp_path, ANALYSIS + "analysis()", "full")
    assert "in broadcast" in whole
    assert HOW_TO_SEE_ALL not in whole
    short = shown_by_a_script(tmp_path, ANALYSIS + "analysis()")
    said = short.partition("ShapeError")[2].replace(HOW_TO_SEE_ALL + "\n", "")
    assert said == whole.partition("ShapeError")[2]
    configured = "tfr.config.configure(tracebacks='full')\n"
    assert "in broadcast" in shown_by_a_script(tmp_path, configured + ANALYSIS + "analysis()")


OTHERS = """
def mine(kind, error, found):
    import traceback
    print("mine", *[entry.name for entry in traceback.extract_tb(found)], file=sys.stderr)
sys.excepthook = mine
"""


def test_who_shows_errors_in_another_way_sees_everything(tmp_path):
    shown = shown_by_a_script(tmp_path, OTHERS + ANALYSIS + "analysis()")
    assert shown.startswith("mine <module> analysis ")
    assert "broadcast" in shown


def test_unless_the_option_asks_for_it(tmp_path):
    shown = shown_by_a_script(
        tmp_path, OTHERS + "tfr.config.configure(tracebacks='short')" + ANALYSIS + "analysis()"
    )
    assert shown == "mine <module> analysis\n"


def test_importing_and_working_changes_no_hook(tmp_path):
    text = "tfr.ones(3).numpy()\nprint(sys.excepthook is sys.__excepthook__, file=sys.stderr)"
    assert shown_by_a_script(tmp_path, text) == "True\n"


def test_errors_of_others_are_shown_as_ever(tmp_path):
    caught = "try:\n    analysis()\nexcept tfr.errors.ShapeError:\n    pass\n"
    plain = "raise ValueError('of mine')"
    shown = shown_by_a_script(tmp_path, ANALYSIS + caught + plain)
    assert FRAMES.findall(shown) == ["<module>"]
    assert HOW_TO_SEE_ALL not in shown


def test_threads_end_in_the_same_way(tmp_path):
    thread = "one = threading.Thread(target=analysis)\none.start()\none.join()"
    shown = shown_by_a_script(tmp_path, ANALYSIS + thread)
    assert "Exception in thread" in shown
    assert FRAMES.findall(shown)[-1] == "analysis"
    assert "in broadcast" not in shown
    assert HOW_TO_SEE_ALL in shown


def test_what_an_error_came_from_is_shown_if_the_user_had_caught_it(tmp_path):
    text = """
try:
    [][1]
except IndexError:
    try:
        analysis()
    except tfr.errors.ShapeError as error:
        raise ValueError("of mine") from error
"""
    shown = shown_by_a_script(tmp_path, ANALYSIS + text)
    assert FRAMES.findall(shown) == ["<module>", "<module>", "analysis", "<module>"]
    parts = [shown.index(one) for one in ("IndexError", "ShapeError", HOW_TO_SEE_ALL, "of mine")]
    assert parts == sorted(parts)


def test_what_was_caught_inside_is_left_out(tmp_path):
    text = """
from tensorframe.testing.boxed import BoxedBackend
class Broken(BoxedBackend):
    def compile(self, region, device):
        def run(inputs, buffers):
            raise RuntimeError("illegal instruction")
        return run
tfr.backends.register(Broken("broken"))
tfr.sin(tfr.asarray([1.0, 2.0], device="broken")).compute()
"""
    shown = shown_by_a_script(tmp_path, text)
    assert FRAMES.findall(shown) == ["<module>"]
    assert "KernelError: sin failed on broken: RuntimeError: illegal instruction" in shown
    assert "direct cause" not in shown
    assert "direct cause" in shown_by_a_script(tmp_path, text, "full")


def a_failure():
    with pytest.raises(ShapeError) as caught:
        tfr.ones(3) + tfr.ones(4)
    return caught.value


def names(found):
    import traceback

    return [entry.name for entry in traceback.extract_tb(found)]


def test_an_error_is_short_only_while_it_is_shown(monkeypatch):
    error = a_failure()
    whole = names(error.__traceback__)
    shown = []
    monkeypatch.setattr(
        script_tracebacks._Before,
        "hook",
        lambda _kind, one, found: shown.append((names(found), one.__notes__)),
    )
    script_tracebacks._show(type(error), error, error.__traceback__)
    assert shown == [(["a_failure"], [HOW_TO_SEE_ALL])]
    assert names(error.__traceback__) == whole
    assert not hasattr(error, "__notes__")
    error.add_note("of mine")
    script_tracebacks._show(type(error), error, error.__traceback__)
    assert shown[1][1] == ["of mine", HOW_TO_SEE_ALL]
    assert error.__notes__ == ["of mine"]


def test_errors_of_a_group_are_short(monkeypatch):
    error = a_failure()
    group = ExceptionGroup("several", [ValueError("of mine"), error])
    shown = []
    monkeypatch.setattr(
        script_tracebacks._Before,
        "hook",
        lambda _kind, one, _found: shown.append(names(one.exceptions[1].__traceback__)),
    )
    script_tracebacks._show(type(group), group, None)
    assert shown == [["a_failure"]]


@pytest.fixture
def hooks(monkeypatch):
    """Python's own hooks, whatever runs the tests; options as they were."""
    before = tfr.config.get().tracebacks
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    yield
    tfr.config.configure(tracebacks=before)


def test_the_hooks_of_scripts_go_as_they_came(hooks):
    tfr.config.configure(tracebacks="short")
    assert sys.excepthook is script_tracebacks._show
    assert threading.excepthook is script_tracebacks._show_in_thread
    tfr.config.configure(tracebacks="auto")
    assert sys.excepthook is sys.__excepthook__
    assert threading.excepthook is threading.__excepthook__
    a_failure()
    assert sys.excepthook is script_tracebacks._show
    assert threading.excepthook is script_tracebacks._show_in_thread
    tfr.config.configure(tracebacks="full")
    assert sys.excepthook is sys.__excepthook__
    assert threading.excepthook is threading.__excepthook__
    a_failure()
    assert sys.excepthook is sys.__excepthook__


def test_hooks_of_others_are_left_alone(hooks, monkeypatch):
    def other(*_):
        pass

    monkeypatch.setattr(sys, "excepthook", other)
    monkeypatch.setattr(threading, "excepthook", other)
    tfr.config.configure(tracebacks="auto")
    a_failure()
    assert sys.excepthook is other
    assert threading.excepthook is other
