"""Recurrent layers go through time as their formulas say, in every number of layers and directions."""

from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import known_devices
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.gradient.differences import check
from tests.nn import reference

DEVICES = [str(device) for device in known_devices()]
STEPS, BATCH, FEATURES, SIZE, CELL = 4, 3, 5, 2, 3
# name: gates, parts of the state, a step
KINDS: dict[str, tuple[int, int, Any]] = {
    "rnn": (1, 1, reference.rnn_step),
    "relu": (1, 1, reference.relu_step),
    "gru": (3, 1, reference.gru_step),
    "lstm": (4, 2, reference.lstm_step),
    "projected lstm": (4, 2, reference.lstm_step),
}
LAYOUTS = [(1, 1), (2, 1), (1, 2), (2, 2)]


def run(kind: str, x: Any, states: Any, params: Any, *args: Any, **options: Any) -> Any:
    """Call the function of a kind of layer, with its states one by one or as a pair."""
    if states is not None and KINDS[kind][1] == 1:
        (states,) = states
    if kind == "relu":
        options["nonlinearity"] = "relu"
    names = {"relu": "rnn", "projected lstm": "lstm"}
    return getattr(F, names.get(kind, kind))(x, states, params, *args, **options)


def drawn(kind: str, layers: int, directions: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return an input, states and weights."""
    random = np.random.default_rng(seed)
    gates, parts, _ = KINDS[kind]
    is_projected = kind == "projected lstm"
    rows = gates * (CELL if is_projected else SIZE)
    projection = [(SIZE, CELL)] * is_projected
    weights = [
        [
            random.standard_normal(shape)
            for shape in ((rows, features), (rows, SIZE), (rows,), (rows,), *projection)
        ]
        for layer in range(layers)
        for features in [SIZE * directions if layer else FEATURES] * directions
    ]
    sizes = (SIZE, CELL) if is_projected else (SIZE,) * parts
    states = [random.standard_normal((layers * directions, BATCH, size)) for size in sizes]
    return random.standard_normal((STEPS, BATCH, FEATURES)), states, weights


def flat(weights: Any) -> list[Any]:
    return [one for layer in weights for one in layer]


def expected(kind: str, x: Any, states: Any, weights: Any, directions: int) -> Any:
    each = [
        reference.recurrent(
            KINDS[kind][2], x[:, n], [state[:, n] for state in states], weights, directions
        )
        for n in range(x.shape[1])
    ]
    outputs, after = zip(*each, strict=True)
    return np.stack(outputs, 1), *[np.stack(parts, 1) for parts in zip(*after, strict=True)]


def agree(found: Any, wanted: Any, **tolerance: float) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, **tolerance)


@pytest.mark.parametrize(("layers", "directions"), LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_layers_are_their_formulas(kind: str, layers: int, directions: int) -> None:
    x, states, weights = drawn(kind, layers, directions)
    wanted = expected(kind, x, states, weights, directions)
    options = {"num_layers": layers, "bidirectional": directions == 2}
    agree(run(kind, x, states, flat(weights), **options), wanted, rtol=1e-10)
    output, *after = run(
        kind, np.swapaxes(x, 0, 1), states, flat(weights), **options, batch_first=True
    )
    agree([tfr.permute_dims(output, (1, 0, 2)), *after], wanted, rtol=1e-10)
    one = [state[:, 0] for state in states]
    agree(
        run(kind, x[:, 0], one, flat(weights), **options),
        [part[:, 0] for part in wanted],
        rtol=1e-10,
    )


@pytest.mark.sweep(8)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_device_goes_through_time(kind: str, device: str) -> None:
    x, states, weights = drawn(kind, 1, 2)
    wanted = expected(kind, x, states, weights, 2)

    def moved(one: Any) -> Any:
        return tfr.asarray(one.astype("float32"), device=device)

    found = run(
        kind,
        moved(x),
        [moved(state) for state in states],
        [moved(one) for one in flat(weights)],
        bidirectional=True,
    )
    agree(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_states_begin_with_zeros_and_biases_may_be_missing(kind: str) -> None:
    x, states, weights = drawn(kind, 2, 1)
    zeros = [np.zeros_like(state) for state in states]
    without = [[*layer[:2], 0 * layer[2], 0 * layer[3], *layer[4:]] for layer in weights]
    wanted = expected(kind, x, zeros, without, 1)
    params = [one for layer in weights for one in (*layer[:2], *layer[4:])]
    agree(run(kind, x, None, params, False, 2), wanted, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_differences(kind: str) -> None:
    x, states, weights = drawn(kind, 1, 2)
    params = flat(weights)

    def function(x: Any, *others: Any) -> Any:
        output, *after = run(
            kind, x, others[: len(states)], others[len(states) :], bidirectional=True
        )
        return tfr.concat([tfr.ravel(output), *map(tfr.ravel, after)])

    check(function, x[:3, :2], *[state[:, :2] for state in states], *params, rtol=1e-5)


def test_no_steps_leave_the_state() -> None:
    x, states, weights = drawn("lstm", 1, 2)
    output, *after = run("lstm", x[:0], states, flat(weights), bidirectional=True)
    assert output.shape == (0, BATCH, 2 * SIZE)
    agree(after, states)


def test_dropout_is_between_layers() -> None:
    x, states, weights = drawn("gru", 2, 1)
    options = {"num_layers": 2, "dropout": 0.5}
    plain = expected("gru", x, states, weights, 1)
    agree(run("gru", x, states, flat(weights), **options), plain, rtol=1e-10)

    def trained(key: int) -> Any:
        return run("gru", x, states, flat(weights), **options, train=True, key=tfr.random.key(key))

    _, after = trained(1)
    np.testing.assert_allclose(after[0].numpy(), plain[1][0])  # the first layer sees no dropout
    assert not np.allclose(after[1].numpy(), plain[1][1])
    np.testing.assert_array_equal(after.numpy(), trained(1)[1].numpy())
    assert not np.allclose(after[1].numpy(), trained(2)[1][1].numpy())
    everything = run("gru", x, states, flat(weights), num_layers=2, dropout=1.0, train=True)
    weights[1][0] = 0 * weights[1][0]
    agree(everything, expected("gru", x, states, weights, 1), rtol=1e-10)


def test_the_products_of_all_inputs_are_one() -> None:
    """A step is a product with the state before it and what is done to that."""
    x, states, weights = drawn("lstm", 1, 1)
    for kind, most in (("rnn", 1), ("gru", 1), ("lstm", 2)):
        x, states, weights = drawn(kind, 1, 1)
        with tfr.config.override(small_size=0, small_nodes=0):
            output, *_ = run(kind, tfr.asarray(x), states, flat(weights))
            plan = tfr.explain(output)
        assert plan.library_calls == STEPS + 1
        assert plan.kernels <= most * STEPS + 2


def test_what_does_not_fit_is_said() -> None:
    x, states, weights = drawn("lstm", 1, 1)
    params = flat(weights)
    with pytest.raises(tfr.errors.ArgumentError, match="2 layers in 1 directions have 8 weights"):
        F.lstm(x, states, params, num_layers=2)
    with pytest.raises(tfr.errors.ArgumentError, match="takes 2 states, got 1"):
        F.lstm(x, states[:1], params)
    with pytest.raises(tfr.errors.ArgumentError, match="'tanh' or 'relu', got 'gelu'"):
        F.rnn(x, None, params, nonlinearity="gelu")
    with pytest.raises(tfr.errors.ShapeError, match=r"\(8, 2\), not \(8, 5\)"):
        F.lstm(x, states, [params[1], *params[1:]])
    with pytest.raises(tfr.errors.ShapeError, match=r"here \(1, 3, 2\), got \(1, 2, 2\)"):
        F.lstm(x, [state[:, :2] for state in states], params)
    with pytest.raises(tfr.errors.ShapeError, match=r"\(steps, features\), got shape \(5,\)"):
        F.lstm(x[0, 0], None, params)
    with pytest.raises(tfr.errors.DTypeError, match="complex128"):
        F.lstm(x * 1j, states, params)


# --- beside PyTorch


@pytest.mark.parametrize("kind", KINDS)
def test_pytorch_has_the_same_values_and_gradients(kind: str) -> None:
    torch = pytest.importorskip("torch")
    from tests.gradient.pytorch import agree as values_agree

    x, states, weights = drawn(kind, 2, 2)
    parts = len(states)
    names = {"rnn": "rnn_tanh", "relu": "rnn_relu", "projected lstm": "lstm"}
    function = getattr(torch, names.get(kind, kind))

    def ours(x: Any, *others: Any) -> Any:
        return run(kind, x, others[:parts], others[parts:], True, 2, 0.0, False, True)[0]

    def theirs(x: Any, *others: Any) -> Any:
        hx = others[:parts] if parts == 2 else others[0]
        return function(x, hx, list(others[parts:]), True, 2, 0.0, False, True, False)[0]

    values_agree(ours, theirs, x, *states, *flat(weights), rtol=1e-8)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_layers": 0}, "num_layers is positive, got 0"),
        ({"num_layers": -1}, "num_layers is positive, got -1"),
        ({"dropout": 1.5}, "dropout is a probability from 0 to 1, got 1.5"),
        ({"dropout": -0.5, "train": True}, "dropout is a probability from 0 to 1, got -0.5"),
    ],
)
def test_options_without_a_meaning_are_refused(name, options, words) -> None:
    weights = [tfr.ones((3, 2)), tfr.ones((3, 3))]
    with pytest.raises(tfr.errors.TensorFrameError, match=words):
        getattr(tfr.nn.functional, name)(tfr.ones((4, 1, 2)), None, weights, False, **options)


@pytest.mark.parametrize("layer", [tfr.nn.RNN, tfr.nn.LSTM, tfr.nn.GRU])
def test_layers_without_a_meaning_are_refused(layer) -> None:
    for sizes, options in (((2, 0), {}), ((2, 3, 0), {}), ((2, 3), {"dropout": 2.0})):
        with pytest.raises(tfr.errors.TensorFrameError):
            layer(*sizes, **options)


def test_layers_are_shown_as_pytorch_shows_them() -> None:
    layer = tfr.nn.RNN(2, 3, 2, bidirectional=True, dropout=0.1, batch_first=True, bias=False)
    options = "num_layers=2, bias=False, batch_first=True, dropout=0.1, bidirectional=True"
    assert f"RNN(2, 3, {options})" in repr(layer)
