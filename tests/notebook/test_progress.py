"""A notebook shows how far a compute is, under the cell that asked, and nothing of it when it is over or stopped."""

import re
import time

import pytest
from jupyter_client.manager import start_new_kernel

from tensorframe.graph.device import Device
from tensorframe.notebook.progress import bar
from tensorframe.runtime.progress.phases import State
from tests.notebook.shells import COLOURS, environment_of_users, run_in_kernel

SETUP = """\
import numpy as np
import tensorframe as tfr
from tensorframe.runtime.progress import monitor
monitor._PATIENCE = 0.05
monitor._LOOK = 0.01
x = tfr.asarray(np.ones((700, 700), np.float32))
def products(count):
    y = x
    for _ in range(count):
        y = tfr.sin(y @ x / 700)
    return y
"""
LONG = "products(3000).compute(); print('over')"
SHORT = "print(products(60).compute().shape)"

STATE = State(
    done=2,
    steps=80,
    step="matmul sin",
    device=Device("opencl"),
    moved=3 << 30,
    bytes=10 << 30,
    memory=1 << 30,
    limit=8 << 30,
    elapsed=12.0,
    left=28.0,
    share=0.3,
)


def test_the_bar_says_what_runs_how_far_it_is_and_what_it_takes():
    drawn = bar(STATE)
    for said in (
        "step 3 of 80: matmul sin on opencl",
        "0:12, about 0:28 left",
        "3 GiB of 10 GiB moved",
        "memory 1 GiB of 8 GiB",
        'background:#E69F00;width:30.0%"',
    ):
        assert said in drawn


def test_where_nothing_can_be_said_of_the_rest_the_bar_moves():
    from dataclasses import replace

    drawn = bar(replace(STATE, share=None, left=None, step="<lambda>"))
    assert 'class="unknown"' in drawn
    assert "left" not in re.sub(r"<style>.*</style>", "", drawn, flags=re.DOTALL)
    assert "&lt;lambda&gt;" in drawn


def test_nothing_of_it_is_kept_in_the_notebook():
    _, outputs = run_in_kernel(SETUP, SHORT)
    kept = [output for output in outputs if output.output_type == "display_data"]
    printed = [output.text for output in outputs if output.output_type == "stream"]
    assert printed == ["(700, 700)\n"]
    assert [one.data["text/html"] for one in kept] == [""] * len(kept)


def test_the_option_turns_it_off():
    _, outputs = run_in_kernel(SETUP, SHORT, TENSORFRAME_PROGRESS="off")
    assert [output.output_type for output in outputs] == ["stream"]


@pytest.fixture
def kernel():
    manager, client = start_new_kernel(kernel_name="python3", env=environment_of_users())
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages(client, request, until):
    """Yield what the kernel publishes for a request, until the kind of message that is named."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        message = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != request:
            continue
        yield message
        if message["msg_type"] == until:
            return
    raise TimeoutError(until)


def run(client, code):
    """Return what a cell printed."""
    request = client.execute(code)
    found = list(messages(client, request, "status"))
    while found[-1]["content"].get("execution_state") != "idle":
        found += messages(client, request, "status")
    client.get_shell_msg(timeout=120)
    return "".join(one["content"]["text"] for one in found if one["msg_type"] == "stream")


def test_the_stop_button_stops_a_compute_that_is_shown(kernel):
    manager, client = kernel
    run(client, SETUP)
    # otherwise the kernel drops, for a while, what it is asked after a failure
    request = client.execute(LONG, stop_on_error=False)
    *_, shown = messages(client, request, "display_data")
    # planning comes first; it is drawn again, over itself, until steps run
    again = shown
    while "step " not in again["content"]["data"]["text/html"]:
        *_, again = messages(client, request, "update_display_data")
    assert again["content"]["transient"] == shown["content"]["transient"]
    manager.interrupt_kernel()
    *before, error = messages(client, request, "error")
    assert error["content"]["ename"] == "CancelledError"
    told = COLOURS.sub("", "\n".join(error["content"]["traceback"]))
    assert re.findall(r"^-+>\s*\d+\s(.*)$", told, re.MULTILINE) == [LONG]
    updates = [one for one in before if one["msg_type"] == "update_display_data"]
    assert updates[-1]["content"]["data"]["text/html"] == ""
    client.get_shell_msg(timeout=120)
    assert run(client, SHORT) == "(700, 700)\n"
