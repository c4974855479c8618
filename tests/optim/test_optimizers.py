"""Optimisers: the values of the formulas and of PyTorch over many steps, trees, ties, filters and what is refused."""

from itertools import count

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import optim
from tests.optim import formulas

HOSTS = ["cpu", "numpy", "llvm"]
DEVICES = HOSTS + [name for name in ("opencl", "wgpu", "cuda") if name in tfr.backends.available()]
STEPS = 20

# name -> (what makes it, the formula, the formula's options, PyTorch's class and options or None)
CASES = {
    "sgd": (lambda: optim.SGD(0.1), formulas.sgd, {}, ("SGD", {})),
    "sgd momentum": (
        lambda: optim.SGD(0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
        formulas.sgd,
        {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        ("SGD", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ),
    "sgd nesterov": (
        lambda: optim.SGD(0.1, momentum=0.9, nesterov=True),
        formulas.sgd,
        {"momentum": 0.9, "nesterov": True},
        ("SGD", {"momentum": 0.9, "nesterov": True}),
    ),
    "adam": (
        lambda: optim.Adam(0.1, weight_decay=0.1),
        formulas.adam,
        {"weight_decay": 0.1},
        ("Adam", {"weight_decay": 0.1}),
    ),
    "adam amsgrad": (
        lambda: optim.Adam(0.1, amsgrad=True),
        formulas.adam,
        {"amsgrad": True},
        ("Adam", {"amsgrad": True}),
    ),
    "adamw": (
        lambda: optim.AdamW(0.1, betas=(0.8, 0.95), weight_decay=0.2),
        formulas.adamw,
        {"b1": 0.8, "b2": 0.95, "weight_decay": 0.2},
        ("AdamW", {"betas": (0.8, 0.95), "weight_decay": 0.2}),
    ),
    "lion": (lambda: optim.Lion(0.1, weight_decay=0.1), formulas.lion, {"weight_decay": 0.1}, None),
    "rmsprop": (lambda: optim.RMSprop(0.1), formulas.rmsprop, {}, ("RMSprop", {})),
    "rmsprop centered": (
        lambda: optim.RMSprop(0.1, momentum=0.9, centered=True, weight_decay=0.1),
        formulas.rmsprop,
        {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
        ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ),
    "adagrad": (
        lambda: optim.Adagrad(0.1, 0.05, weight_decay=0.1, initial_accumulator_value=0.2),
        formulas.adagrad,
        {"decay": 0.05, "weight_decay": 0.1, "first": 0.2},
        ("Adagrad", {"lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ),
    "adafactor": (
        lambda: optim.Adafactor(0.1, weight_decay=0.1),
        formulas.adafactor,
        {"weight_decay": 0.1},
        ("Adafactor", {"weight_decay": 0.1}),
    ),
    "muon": (
        lambda: optim.Muon(0.1, others=optim.SGD(0.1)),
        lambda p, g, s, t: (formulas.muon if p.ndim == 2 else formulas.sgd)(p, g, s, t),
        {},
        None,
    ),
}


def values(seed, dtype=np.float32):
    generator = np.random.default_rng(seed)
    shapes = {"weight": (5, 3), "bias": (7,)}
    return {name: generator.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def gradients(count, dtype=np.float32):
    return [values(100 + step, dtype) for step in range(count)]


def tensors(arrays, device=None):
    return {name: tfr.asarray(array, device=device) for name, array in arrays.items()}


def trained(optimizer, steps, device=None, dtype=np.float32):
    parameters = tensors(values(0, dtype), device)
    for gradient in gradients(steps, dtype):
        optimizer.update(parameters, tensors(gradient, device))
    return {name: tensor.numpy() for name, tensor in parameters.items()}


def expected(formula, options, steps):
    parameters = values(0, np.float64)
    state = {name: {} for name in parameters}
    for step, gradient in enumerate(gradients(steps, np.float64), start=1):
        for name in parameters:
            parameters[name] = formula(
                parameters[name], gradient[name], state[name], step, **options
            )
    return parameters


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", HOSTS)
def test_values_are_those_of_the_formula(name, device):
    make, formula, options, _ = CASES[name]
    # a formula that begins by rounding differently is the same to float32's rounding
    got, wanted = trained(make(), STEPS, device), expected(formula, options, STEPS)
    for key, value in wanted.items():
        np.testing.assert_allclose(got[key], value, rtol=2e-4, atol=2e-5, err_msg=key)


@pytest.mark.parametrize("name", ["sgd momentum", "adamw", "rmsprop centered", "adafactor"])
@pytest.mark.parametrize("device", DEVICES[len(HOSTS) :])
def test_values_are_those_of_the_formula_on_devices(name, device):
    make, formula, options, _ = CASES[name]
    got, wanted = trained(make(), 3, device), expected(formula, options, 3)
    for key, value in wanted.items():
        np.testing.assert_allclose(got[key], value, rtol=2e-4, atol=2e-5, err_msg=key)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
def test_values_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    make, _, _, (kind, options) = CASES[name]
    parameters = {
        key: torch.nn.Parameter(torch.tensor(array)) for key, array in values(0, np.float64).items()
    }
    peer = getattr(torch.optim, kind)(parameters.values(), lr=0.1, **options)
    for gradient in gradients(STEPS, np.float64):
        for key, parameter in parameters.items():
            parameter.grad = torch.tensor(gradient[key])
        peer.step()
    got = trained(make(), STEPS, dtype=np.float64)
    for key, parameter in parameters.items():
        np.testing.assert_allclose(got[key], parameter.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_muon_is_pytorchs_as_far_as_bfloat16_goes():
    torch = pytest.importorskip("torch")
    start, given = values(0)["weight"], [one["weight"] for one in gradients(STEPS)]
    parameter = torch.nn.Parameter(torch.tensor(start))
    peer = torch.optim.Muon([parameter], lr=0.1)
    weight, optimizer = tfr.asarray(start), optim.Muon(0.1)
    for gradient in given:
        parameter.grad = torch.tensor(gradient)
        peer.step()
        optimizer.update(weight, tfr.asarray(gradient))
    np.testing.assert_allclose(weight.numpy(), parameter.detach().numpy(), atol=0.05)


def test_the_first_bias_correction_keeps_its_digits():
    """1 - 0.999 in float32 has three wrong digits; the correction is right to rounding at every step."""
    from tensorframe.optim.optimizer import one_minus_power

    for step in (1, 2, 10, 1000, 100_000):
        got = one_minus_power(0.999, tfr.asarray(float(step), dtype="float32")).item()
        assert got == pytest.approx(1 - 0.999**step, rel=3e-7)


def test_half_precision_parameters_have_statistics_in_float32():
    weight = tfr.asarray(np.float16([1.0, 2.0]))
    optimizer = optim.Adam(1e-3)
    optimizer.update(weight, tfr.asarray(np.float16([1e-5, 1.0])))
    assert weight.dtype == tfr.float16
    assert all(tensor.dtype == tfr.float32 for tensor in optimizer.state["parameter"].values())
    assert (optimizer.state["parameter"]["exp_avg_sq"] > 0).all().item()  # 1e-13 is 0 in float16
    np.testing.assert_array_equal(weight.numpy(), np.float16([1.0 - 1e-3, 2.0 - 1e-3]))


def test_tied_weights_are_updated_once_by_the_sum_of_their_gradients():
    weight = tfr.asarray([1.0, 2.0])
    tree = {"embedding": weight, "layers": [weight, tfr.asarray([5.0])]}
    ones = {"embedding": tfr.ones(2), "layers": [tfr.ones(2), tfr.ones(1)]}
    optimizer = optim.SGD(0.5, momentum=0.9)
    optimizer.update(tree, ones)
    assert tree["embedding"] is tree["layers"][0] is weight
    assert weight.tolist() == [0.0, 1.0]
    assert sorted(optimizer.state) == ["embedding", "layers.1"]


def test_what_decays_is_chosen_by_name_and_parameter():
    parameters = {"weight": tfr.ones((2, 2)), "bias": tfr.ones(2), "norm": tfr.ones((2, 2))}
    zeros = {name: tfr.zeros_like(tensor) for name, tensor in parameters.items()}
    decays = lambda name, parameter: parameter.ndim > 1 and name != "norm"  # noqa: E731
    optim.AdamW(0.5, weight_decay=0.5, decays=decays).update(parameters, zeros)
    assert {name: tensor.numpy().ravel()[0] for name, tensor in parameters.items()} == {
        "weight": 0.75,
        "bias": 1.0,
        "norm": 1.0,
    }


def test_hyper_parameters_may_be_tensors_and_schedules():
    rates = [0.5, 0.25, 0.125]
    schedule = optim.schedules.exponential(0.5, 0.5)
    by_schedule, by_tensor, by_number = (tfr.asarray([4.0]) for _ in range(3))
    scheduled, tensor, number = optim.SGD(schedule), optim.SGD(tfr.asarray(0.0)), optim.SGD(0.0)
    for rate in rates:
        tensor.learning_rate = tfr.asarray(rate)
        number.learning_rate = rate
        for weight, optimizer in (
            (by_schedule, scheduled),
            (by_tensor, tensor),
            (by_number, number),
        ):
            optimizer.update(weight, tfr.ones(1))
    assert by_schedule.item() == by_tensor.item() == by_number.item() == 4.0 - sum(rates)


def test_none_leaves_a_parameter_alone():
    parameters = {"a": tfr.ones(2), "b": [tfr.ones(2), tfr.ones(3)]}
    optim.SGD(1.0).update(parameters, {"a": tfr.ones(2), "b": None})
    assert parameters["a"].tolist() == [0.0, 0.0]
    assert parameters["b"][0].tolist() == [1.0, 1.0]


REFUSED = {
    "another tree": (
        {"a": tfr.ones(2)},
        {"b": tfr.ones(2)},
        tfr.errors.ArgumentError,
        "not a tree",
    ),
    "nothing": ({"a": tfr.ones(2)}, {"a": None}, tfr.errors.ArgumentError, "no parameter with"),
    "a shape": (
        {"a": tfr.ones(2)},
        {"a": tfr.ones(3)},
        tfr.errors.ShapeError,
        r"a has shape \(2,\)",
    ),
    "integers": (
        {"a": tfr.asarray([1])},
        {"a": tfr.ones(1)},
        tfr.errors.DTypeError,
        "real floating-point",
    ),
    "a number": ({"a": 1.0}, {"a": tfr.ones(())}, tfr.errors.DTypeError, "only a tensor"),
    "no tensor": (
        {"a": tfr.ones(())},
        {"a": 1.0},
        tfr.errors.DTypeError,
        "gradient of a is a float",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_changes_nothing(case):
    parameters, given, error, text = REFUSED[case]
    optimizer = optim.Adam(0.1)
    with pytest.raises(error, match=text):
        optimizer.update(parameters, given)
    assert optimizer.state == {}
    assert optimizer.step.item() == 0


def test_an_optimiser_without_a_rule_is_refused_before_its_first_step():
    class Unfinished(tfr.optim.Optimizer):
        pass

    with pytest.raises(TypeError, match=r"abstract method .?rule"):
        Unfinished(0.1)


def test_a_failing_rule_changes_neither_parameters_nor_state():
    class Failing(optim.SGD):
        def rule(self, parameter, *rest):
            if parameter.shape == (3,):
                raise RuntimeError("stopped")
            return super().rule(parameter, *rest)

    parameters = [tfr.ones(2), tfr.ones(3)]
    optimizer = Failing(0.5, momentum=0.9)
    optimizer.init(parameters)
    with pytest.raises(RuntimeError, match="stopped"):
        optimizer.update(parameters, [tfr.ones(2), tfr.ones(3)])
    assert [tensor.tolist() for tensor in parameters] == [[1.0] * 2, [1.0] * 3]
    assert optimizer.step.item() == 0
    assert optimizer.state["0"]["momentum_buffer"].tolist() == [0.0, 0.0]


def test_another_shape_than_that_of_the_state_is_refused():
    optimizer = optim.Adam(0.1)
    optimizer.init({"w": tfr.ones(2)})
    with pytest.raises(tfr.errors.ShapeError, match="the state of w"):
        optimizer.update({"w": tfr.ones(3)}, {"w": tfr.ones(3)})


@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.SGD(-1.0),
        lambda: optim.SGD(0.1, nesterov=True),
        lambda: optim.Adam(betas=(1.0, 0.9)),
        lambda: optim.AdamW(weight_decay=-0.1),
        lambda: optim.Lion(betas=(0.9, -0.1)),
        lambda: optim.RMSprop(alpha=1.0),
        lambda: optim.Adagrad(eps=-1.0),
        lambda: optim.Adafactor(beta2_decay=0.1),
        lambda: optim.Muon(adjust="none"),
        lambda: optim.SGD(tfr.ones(2)),
        lambda: optim.SGD(0.1, decays="bias"),
    ],
    ids=count(),
)
def test_hyper_parameters_out_of_range_are_refused(make):
    with pytest.raises(tfr.errors.TensorFrameError):
        make()


def test_muon_without_others_names_the_way_out():
    with pytest.raises(tfr.errors.ShapeError, match="others"):
        optim.Muon(0.1).update(tfr.ones(3), tfr.ones(3))


def test_the_state_is_saved_and_loaded_with_the_same_bits(tmp_path):
    path = tmp_path / "state.safetensors"
    first = optim.AdamW(0.1)
    parameters = tensors(values(0))
    for gradient in gradients(3):
        first.update(parameters, tensors(gradient))
    tfr.save(path, first.state_dict())
    second = optim.AdamW(0.1)
    second.load_state_dict(tfr.load(path))
    others = {name: tfr.asarray(tensor.numpy()) for name, tensor in parameters.items()}
    last = gradients(4)[-1]
    first.update(parameters, tensors(last))
    second.update(others, tensors(last))
    for name, tensor in parameters.items():
        np.testing.assert_array_equal(tensor.numpy(), others[name].numpy())
    assert second.step.item() == 4


def test_a_state_of_other_parameters_is_refused():
    optimizer = optim.Adam(0.1)
    optimizer.init({"w": tfr.ones(2)})
    given = optim.Adam(0.1)
    given.init({"v": tfr.ones(2)})
    with pytest.raises(
        tfr.errors.ArgumentError, match=r"missing: exp_avg\.w.*unexpected: exp_avg\.v"
    ):
        optimizer.load_state_dict(given.state_dict())
    given.init({"w": tfr.ones(3)})
    with pytest.raises(tfr.errors.ShapeError, match=r"exp_avg\.w has shape"):
        optimizer.load_state_dict(given.state_dict())
    with pytest.raises(tfr.errors.ArgumentError, match="no step"):
        optimizer.load_state_dict({})
    assert optimizer.state["w"]["exp_avg"].tolist() == [0.0, 0.0]
