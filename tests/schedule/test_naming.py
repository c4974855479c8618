"""Names of values: plans, formulas and diagrams say what the program calls a value, or a number."""

from __future__ import annotations

import sys
from types import CodeType, FrameType, SimpleNamespace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.notebook.formulas import formulas_of
from tensorframe.schedule.plan import Plan
from tensorframe.variables import variables_of


def call(*_: object) -> tuple[CodeType, int]:
    """Return the site of a call, as recording does."""
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def array(*shape: int) -> np.ndarray:
    return np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def big(*shape: int) -> tfr.Tensor:
    return tfr.asarray(array(*shape))


def explained(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


class TestVariables:
    def test_a_result_is_called_what_it_is_stored_as(self):
        z = call(1, 2)
        self.kept = call()
        holder = SimpleNamespace(inner=SimpleNamespace())
        holder.inner.weight = call()
        layers: dict[object, object] = {}
        index = 7
        layers[3] = call()
        layers["bias"] = call()
        layers[index] = call()
        assert variables_of(z) == ("z",)
        assert variables_of(self.kept) == ("self.kept",)
        assert variables_of(holder.inner.weight) == ("holder.inner.weight",)
        assert [variables_of(layers[key]) for key in layers] == [
            ("layers[3]",),
            ("layers['bias']",),
            ("layers[index]",),
        ]

    def test_the_first_of_several_names_and_all_that_is_unpacked(self):
        first = second = call()
        code, offset = third, fourth = call()
        assert variables_of(first) == variables_of(second) == ("first",)
        assert variables_of((code, offset)) == ()  # the object itself goes to two places
        third, fourth = call()
        assert variables_of((third, fourth)) == ("third", "fourth")
        if (walrus := call()) is not None:
            assert variables_of(walrus) == ("walrus",)

    def test_names_of_cells_and_modules(self):
        known: dict[str, object] = {"call": call}
        exec("top = call()\ndef f():\n  global inner\n  inner = call()\nf()", known)
        assert variables_of(known["top"]) == ("top",)
        assert variables_of(known["inner"]) == ("inner",)

    def test_what_goes_elsewhere_has_no_name(self):
        def returned() -> tuple[CodeType, int]:
            return call()

        listed = [call()]
        passed = tuple(call())
        either = call() if listed else None
        _ = call()
        assert variables_of(returned()) == variables_of(listed[0]) == ()
        assert variables_of(passed) == variables_of(_) == variables_of(None) == ()
        assert either is not None
        assert variables_of(either) in ((), ("either",))  # as the compiler lays it out


class TestPlans:
    def test_operands_and_results_have_their_names(self):
        y = tfr.asarray(array(300, 200))
        w = tfr.asarray(array(200))
        z = tfr.exp(-y * y) * w + 1
        plan = explained(z)
        assert set(plan.names.values()) == {"y", "w", "1", "z"}
        assert " -> z float32[300, 200]" in str(plan)

    def test_the_result_of_a_function_made_of_others_has_the_name_and_nothing_inside_it_has(self):
        x = big(64, 80)
        s = tfr.softmax(x @ x.mT, axis=-1)
        t = tfr.sort(s)
        plan = explained(t)
        assert set(plan.names.values()) - {"1"} == {"s", "t"}
        assert "s is not fused: sort runs alone on cpu" in str(plan)

    def test_parts_of_a_result_that_is_unpacked(self):
        q, r = tfr.linalg.qr(big(70, 70))
        product = q @ r
        plan = explained(product)
        assert {"q", "r", "product"} == set(plan.names.values())
        assert (
            "r" not in explained(q + 1).names.values()
        )  # which part is there alone, nobody can tell

    def test_a_variable_of_a_loop_is_numbered(self):
        h = x = big(64, 64)
        for _ in range(3):
            h = tfr.tanh(h @ x)
        plan = explained(h)
        made = [plan.name_of(slot) for step in plan.steps for slot in step.outputs]
        assert made == ["h.1", "h.2", "h.3"]

    def test_what_a_loop_adds_up_is_numbered_too(self):
        x = w = big(64, 64)
        for _ in range(3):
            x = x + tfr.tanh(x @ w)
        plan = explained(x)
        made = [plan.name_of(slot) for step in plan.steps for slot in step.outputs]
        assert made == ["x.1", "x.2", "x.3"]

    def test_an_operator_alone_in_a_loop_is_numbered_and_the_inside_of_a_function_is_not(self):
        x = big(64, 65)
        for _ in range(2):
            x = x - 0.1
        assert {"x.1 =", "x.2 ="} <= {
            line.strip()[:5] for line in x.explain(until="core").split("\n")
        }
        for _ in range(2):
            x = tfr.sort(tfr.std(x, axis=0) * x)
        plan = explained(x)
        made = {plan.name_of(slot) for step in plan.steps for slot in step.outputs}
        assert {name.partition(".")[0] for name in made} == {"multiply", "x"}

    def test_plans_are_shared_and_names_are_not(self):
        first = tfr.sin(big(90, 90) * 3.5)
        one = explained(first)
        second = tfr.sin(big(90, 90) * 4.5)
        other = explained(second)
        assert one.steps is other.steps
        assert "first" in one.names.values()
        assert "second" in other.names.values()
        assert "4.5" in other.names.values()
        assert first.shape == second.shape

    def test_without_a_name_it_is_its_op_and_line(self):
        def unnamed() -> tfr.Tensor:
            return tfr.sort(tfr.sin(big(99, 99)) * 2)

        line = unnamed.__code__.co_firstlineno + 1
        plan = explained(unnamed())
        here = f"@test_naming.py:{line}"
        data = f"data@test_naming.py:{big.__code__.co_firstlineno + 1}"
        assert [plan.name_of(slot) for slot in range(len(plan.slots))] == [
            *[data if plan.slots[slot].shape else "2" for slot in range(plan.leaves)],
            f"multiply{here}",
            f"sort{here}",
        ]
        assert f"multiply{here} is not fused: sort runs alone on cpu" in str(plan)
        formulas = [line for step in plan.steps for line in formulas_of(plan, step)]
        assert formulas[-1].startswith(f"sort{here} = sort(multiply{here}")

    def test_what_one_line_records_several_times_is_numbered(self):
        x = big(60, 60)
        plan = explained(tfr.sort(tfr.sort(x, axis=0) * 2, axis=1))
        made = [plan.name_of(step.outputs[0]).partition("@")[0] for step in plan.steps]
        assert made == ["sort.1", "multiply", "sort.2"]

    def test_several_results_of_a_kernel_have_their_own_names(self):
        x = big(100, 100)
        wave = tfr.sin(x)
        total = tfr.sum(wave)
        plan = explained(tfr.sort(wave), total)
        assert {"wave", "total"} <= set(plan.names.values())

    def test_what_library_code_made_has_the_name_that_refers_to_it(self):
        model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        for _, parameter in model.named_parameters():
            parameter.compute()
        x = big(70, 64)
        doubled = tfr.jit(lambda x: x * 2)(x)
        plan = tfr.explain(model(doubled))
        names = {plan.name_of(slot) for slot in range(plan.leaves)}
        assert {"doubled", "model[0].weight", "model[0].bias", "model[2].bias"} <= names
        assert "doubled" in {
            box.title for box in model(doubled).visualize(stage="plan").diagram.boxes
        }

    def test_what_a_recorded_function_gave_and_nobody_refers_to_has_no_line(self):
        x = big(64, 65)
        given = explained(tfr.sin(tfr.jit(lambda x: x * 2)(x)))
        assert given.name_of(0) == "data"

    @pytest.mark.parametrize("stage", ["core", "simplify", "fuse", "order", "memory"])
    def test_every_stage_speaks_the_same_names(self, stage):
        x = tfr.asarray(array(120, 121))
        wave = tfr.sin(x) * 3
        text = wave.explain(until=stage)
        assert "wave" in text
        assert "(x)" in text or "(3, x)" in text
        assert "%" not in text
        assert "sin@test_naming.py:" in text or stage in ("order", "memory")

    def test_hints_of_closed_boxes_are_formulas(self):
        a = tfr.asarray(array(130, 110))
        b = tfr.exp(a) * 2
        for stage in (None, "plan"):
            hints = [box.hint for box in b.visualize(stage=stage, collapse=True).diagram.boxes]
            assert any("b = " in hint and "a)" in hint for hint in hints)
            assert "%" not in "".join(hints)

    def test_formulas_and_diagrams_have_them_too(self):
        a = tfr.asarray(array(120, 110))
        b = tfr.asarray(array(120, 110))
        c = tfr.sin(a) * b
        plan = explained(c)
        (formula,) = [line for step in plan.steps for line in formulas_of(plan, step)]
        assert formula in ("c = sin(a) * b", "c = b * sin(a)")
        for stage in (None, "plan"):
            diagram = c.visualize(stage=stage).diagram
            assert {"a", "b"} <= {box.title for box in diagram.boxes}
            assert any(wire.label.startswith("c float32") for wire in diagram.wires)

    def test_a_gradient_has_the_line_of_a_value_and_not_its_name(self):
        def loss(first, second):
            hidden = tfr.tanh(x @ first)
            return tfr.sum((hidden @ second) ** 2)

        x = big(70, 80)
        with tfr.config.override(small_size=0):
            plan = explained(*tfr.grad(loss, (0, 1))(big(80, 90), big(90, 8)))
        names = set(plan.names.values())
        assert "hidden" in names
        assert "hidden.1" not in names

    def test_plans_of_recorded_functions_have_the_names_of_parameters(self):
        model = nn.Sequential(nn.Linear(80, 40), nn.ReLU())

        @tfr.jit
        def step(model, x, rate):
            hidden = model(x)
            squared = hidden @ hidden.mT
            return tfr.sort(squared * rate)

        names = set(step.explain(model, big(160, 80), 0.5).names.values())
        assert {"model[0].weight", "model[0].bias", "x", "rate", "hidden"} <= names


def test_recording_does_not_look_for_names(monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a name was looked for")

    monkeypatch.setattr("tensorframe.schedule.naming.variables_of", refuse)
    z = tfr.exp(big(200, 100)) + 1
    assert z.compute().shape == (200, 100)


def test_a_plan_that_is_found_again_is_named_by_what_it_shows():
    def graph() -> tfr.Tensor:
        x = big(16)
        for _ in range(1000):
            x = tfr.sin(x * 0.5 + 1.0) - 0.25
        return x

    lines: list[int] = []

    def trace(frame: FrameType, event: str, _: object) -> object:
        if not frame.f_code.co_filename.endswith("naming.py"):
            return None
        if event == "line":
            lines.append(frame.f_lineno)
        return trace

    with tfr.config.override(small_size=0, small_nodes=0):
        first = explained(graph())
        again, outer = graph(), sys.gettrace()
        sys.settrace(trace)
        try:
            plan = explained(again)
        finally:
            sys.settrace(outer)
    assert plan.names == first.names
    assert len(lines) < 100 * len(plan.steps)  # of 126 nodes each, which took 16 lines a node
