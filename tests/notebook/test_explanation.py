"""Explanations: a row per step with its formula, figures that follow from what was measured, reasons, sources."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.limits import Limits
from tensorframe.backends.registry import unregister
from tensorframe.dtypes import ANY
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.notebook import roofline
from tensorframe.notebook.figures import count_text, share_text, time_text
from tensorframe.notebook.formulas import formulas_of
from tensorframe.notebook.style import TRANSFER_HUE
from tensorframe.schedule import fallback
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan
from tensorframe.testing.boxed import BoxedBackend
from tensorframe.testing.compare import assert_close
from tests.notebook.graphs import LARGE, small, there_and_back, values

LIMITS = Limits(copy_bandwidth=1e9, read_bandwidth=1e9, flops=1e10)


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device was calibrated."""
    monkeypatch.setattr(roofline, "limits_of", lambda _: None)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every device has round limits."""
    monkeypatch.setattr(roofline, "limits_of", lambda _: LIMITS)


@pytest.fixture
def simple() -> Iterator[str]:
    """The name of a device that does not sort."""
    fallback.forget_warnings()
    backend = BoxedBackend("simple", dtypes=ANY, refuses=lambda op, _: op.kind is Kind.LIBRARY)
    tfr.backends.register(backend)
    yield "simple"
    unregister("simple")


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def numbered_plan(tensor: tfr.Tensor) -> Plan:
    """Return the plan with numbers for what has no name, which may be made names of Python."""
    return replace(plan_of(tensor), descriptions={})


def fresh(plan: Plan) -> Plan:
    """Return the plan as if it had never run: plans are shared."""
    for step in plan.steps:
        step.seconds = None
    return plan


class TestFormulas:
    def formula(self, tensor: tfr.Tensor) -> str:
        plan = numbered_plan(tensor)
        (line,) = [line for step in plan.steps for line in formulas_of(plan, step)]
        return line.partition(" = ")[2]

    @pytest.mark.parametrize(
        "expression",
        [
            "a - (b - a)",
            "a - b - a",
            "(a + b) * a",
            "a + b * a",
            "a / (b / a)",
            "a / b / a",
            "-(a * b) + b",
            "-a * b",
            "(-a) ** b",
            "-(a**b)",
            "(a**b) ** a",
            "a ** (b**a)",
            "(a - b) % (a * b)",
            "(a < b) == (b < a)",
            "((a < b) | (b < a)) & (a > 1)",
            "~(a < b) ^ (a > 1)",
            "tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)",
            "tfr.where(a < b, a + 1, b - a)",
        ],
    )
    def test_a_formula_is_python_that_means_what_the_step_does(self, expression):
        """Brackets stand where they must: its value is the step's."""
        a, b = values(300, 100), values(300, 100, seed=1)
        want = eval(expression, {"tfr": tfr, "a": a, "b": b})
        plan = numbered_plan(want)
        assert plan.kernels == 1
        names = dict(vars(tfr))
        names |= {f"s{slot}": value for slot, value in numbered(want).items()}
        (step,) = plan.steps
        for line in formulas_of(plan, step):
            exec(re.sub(r"%(\d+)", r"s\1", line), names)
        (output,) = plan.outputs
        # the engine is NumPy's or a kernel, as what it has done so far took long or not
        assert_close(names[f"s{output}"], np.asarray(want), rtol=1e-5)

    def test_brackets_stand_nowhere_else(self):
        a, b = values(300, 100), values(300, 100, seed=1)
        assert re.fullmatch(r"%\d \+ %\d \* %\d", self.formula(a * b + a))
        assert re.fullmatch(r"%\d - %\d - 2", self.formula(a - b - 2))
        assert re.fullmatch(r"exp\(-%\d\)", self.formula(tfr.exp(-a)))

    def test_attributes_are_arguments(self):
        said = self.formula(tfr.sum(values(300, 100), axis=1, keepdims=True))
        assert re.fullmatch(r"sum\(%0, axes=1, keepdims\)", said)

    def test_what_is_used_twice_has_a_name(self):
        x = values(300, 100)
        y = tfr.exp(x)
        plan = numbered_plan(y * tfr.sin(y))
        (step,) = plan.steps
        assert formulas_of(plan, step) == [
            "t0 = exp(%0)",
            f"%{step.outputs[0]} = t0 * sin(t0)",
        ]


def numbered(tensor: tfr.Tensor) -> dict[int, object]:
    """Return what a plan is given, by slot."""
    leaves = capture([tensor.node]).leaves
    return {
        index: leaf.attrs[0] if is_constant(leaf) else tfr.Tensor(leaf)
        for index, leaf in enumerate(leaves)
    }


class TestPrediction:
    def test_the_slower_of_moving_and_computing_is_what_a_step_takes(self, measured):
        (step,) = plan_of(values(300, 100) + values(300, 100, seed=1)).steps
        prediction = roofline.predict(step)
        assert prediction is not None
        assert prediction.seconds == pytest.approx(3 * 300 * 100 * 4 / 1e9)
        assert prediction.memory_bound

    def test_products_are_bound_by_arithmetic(self, measured):
        plan = plan_of(values(300, 400) @ values(400, 500, seed=1))
        prediction = roofline.predict(plan.steps[-1])
        assert prediction is not None
        assert prediction.seconds == pytest.approx(2 * 300 * 400 * 500 / 1e10)
        assert not prediction.memory_bound

    def test_views_transfers_and_devices_that_were_not_measured_have_none(
        self, simple, monkeypatch
    ):
        y = (values(300, 100).T @ values(300, 100, seed=1)).to_device(simple)
        plan = plan_of(y)
        monkeypatch.setattr(roofline, "limits_of", lambda _: LIMITS)
        known = [roofline.predict(step) is not None for step in plan.steps]
        assert known == [
            not step.is_view and step.region.ops[0].op.kind is not Kind.TRANSFER
            for step in plan.steps
        ]
        assert sorted(set(known)) == [False, True]
        monkeypatch.setattr(roofline, "limits_of", lambda _: None)
        assert not any(roofline.predict(step) for step in plan.steps)

    def test_the_share_of_the_limit_is_the_predicted_time_by_the_measured(self, measured):
        (step,) = fresh(plan_of(values(300, 100) * values(300, 100, seed=1))).steps
        assert roofline.share_of_limit(step) is None
        step.seconds = 4 * 3 * 300 * 100 * 4 / 1e9
        assert roofline.share_of_limit(step) == pytest.approx(0.25)


class TestPage:
    def test_a_row_for_each_step_with_its_formula(self, unmeasured):
        plan = plan_of(small())
        html = plan._repr_html_()
        assert html.count('<tr class="step">') == len(plan.steps)
        for step in plan.steps:
            for line in formulas_of(plan, step):
                assert line.replace("<", "&lt;").replace(">", "&gt;") in html

    def test_the_headline_has_the_figures_of_the_plan(self, unmeasured):
        plan = plan_of(small())
        html = plan._repr_html_()
        assert f"<b>{plan.kernels}</b> kernels" in html
        assert f"<b>{plan.library_calls}</b> library call" in html
        assert f"<b>{count_text(plan.flops)}</b> flops" in html

    def test_reasons_stand_with_their_steps(self, unmeasured):
        plan = plan_of(small())
        html = plan._repr_html_()
        notes = [note for found in plan.notes() for note in found]
        assert notes
        assert all(f'<div class="note">{note}</div>' in html for note in notes)

    def test_fallbacks_are_marked(self, unmeasured, simple):
        with tfr.config.override(small_size=0, small_nodes=0):
            plan = plan_of(tfr.sort(values(300, 100).to_device(simple) * 2, axis=1))
        html = plan._repr_html_()
        assert plan.fallbacks == 1
        said = f'<div class="note" style="color:{TRANSFER_HUE}">sort of float32 runs on cpu instead of simple'
        assert said in html
        assert "<b>1</b> fallback" in html

    def test_steps_of_a_gradient_say_so(self, unmeasured):
        plan = plan_of(*there_and_back())
        ways = [step.direction for step in plan.steps]
        assert {"", "backward", "forward and backward"} == set(ways)
        html = plan._repr_html_()
        shown = re.findall(r'<tr class="step"><td[^>]*>\d+ <span[^>]*>([^<]*)</span>', html)
        assert [one.partition(", ")[2] for one in shown] == ways

    def test_without_limits_there_is_no_prediction_but_a_hint(self, unmeasured):
        html = plan_of(small())._repr_html_()
        assert "tfr.calibrate()" in html
        assert "predicted</th>" not in html
        assert "of limit</th>" not in html

    def test_predicted_and_measured_times_and_their_share(self, measured):
        a = values(300, 100)
        plan = fresh(plan_of(a / values(300, 100, seed=1)))
        assert "predicted</th>" in plan._repr_html_()
        assert "measured</th>" not in plan._repr_html_()
        plan.steps[0].seconds = 8 * 3 * 300 * 100 * 4 / 1e9
        html = plan._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
        assert time_text(3 * 300 * 100 * 4 / 1e9) in html
        assert time_text(plan.steps[0].seconds) in html
        assert "12 %" in html
        assert "tfr.calibrate()" not in html

    def test_a_profile_measures(self, unmeasured):
        x = values(300, 100)
        plan = plan_of(tfr.exp(x) * 7)
        (tfr.exp(x) * 7).compute()
        fresh(plan)
        assert "tfr.profile()" in plan._repr_html_()
        with tfr.profile():
            (tfr.exp(x) * 7).compute()
        assert "measured</th>" in plan._repr_html_()

    def test_the_source_of_a_kernel_is_folded(self, unmeasured):
        html = plan_of(tfr.exp(values(300, 100)) * 2)._repr_html_()
        (source,) = re.findall(
            r"<details><summary>source</summary><pre>(.*?)</pre>", html, re.DOTALL
        )
        assert "for i in range(start, stop):" in source

    def test_long_steps_are_folded(self, unmeasured):
        y = values(300, 100)
        for _ in range(12):
            y = tfr.sin(y) * y
        plan = plan_of(y)
        assert len(formulas_of(plan, plan.steps[0])) > 8
        assert "<details><summary>24 ops: sin" in plan._repr_html_()

    def test_plans_that_are_not_too_long_bring_their_picture(self, unmeasured):
        assert "<svg" in plan_of(small())._repr_html_()
        assert "<svg" not in plan_of(LARGE["residual"]())._repr_html_()

    def test_no_script_and_nothing_to_fetch(self, unmeasured):
        html = plan_of(small(), values(300, 100) < 2)._repr_html_()
        assert ElementTree.fromstring(html).tag == "div"
        assert "<script" not in html
        assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}

    def test_plans_for_devices_that_are_not_here_are_explained(self, unmeasured):
        plan = plan_of(tfr.sum(values(300, 100).to_device("dry") * 2))
        assert plan._repr_html_().count('<tr class="step">') == len(plan.steps)


def test_rich_prints_a_table_with_a_row_for_each_step(measured):
    rich_console = pytest.importorskip("rich.console")
    plan = fresh(plan_of(small()))
    console = rich_console.Console(width=200, record=True, file=io.StringIO())
    console.print(plan)
    text = console.export_text()
    assert all(f"{index} " in text for index in range(len(plan.steps)))
    assert "predicted" in text
    for step in plan.steps:
        assert formulas_of(plan, step)[-1] in text


def test_rich_says_which_steps_are_of_a_gradient(unmeasured):
    rich_console = pytest.importorskip("rich.console")
    console = rich_console.Console(width=200, record=True, file=io.StringIO())
    console.print(plan_of(*there_and_back()))
    text = console.export_text()
    assert "library call, backward" in text
    assert "kernel, forward and backward" in text


def test_figures_have_three_digits_and_a_unit():
    assert [count_text(one) for one in (0, 7, 999, 1000, 1.25e6, 2e9, 3e15)] == [
        "0",
        "7",
        "999",
        "1 k",
        "1.25 M",
        "2 G",
        "3 P",
    ]
    times = [time_text(one) for one in (None, 2.0, 0.00125, 3.5e-6, 4e-9)]
    assert times == ["", "2 s", "1.25 ms", "3.5 µs", "4 ns"]
    assert [share_text(one) for one in (None, 0.5, 0.004, 1.5)] == ["", "50 %", "0.4 %", "150 %"]
