"""Losses: labels out of range, shapes that do not belong together, and what a mean is over."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    OutOfRangeError,
    ShapeError,
    TensorFrameError,
)
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND

SCORES = tfr.asarray(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
LABELLED = [F.cross_entropy, F.nll_loss, F.multi_margin_loss]


@pytest.mark.parametrize("label", [4, -1, -100, 7])
@pytest.mark.parametrize("loss", LABELLED, ids=lambda loss: loss.__name__)
def test_a_label_out_of_range_is_named(loss, label):
    labels = tfr.asarray([1, label, 2])
    if label == -100 and loss is not F.multi_margin_loss:  # which ignores none
        assert np.isfinite(loss(SCORES, labels).item())
        return
    with pytest.raises(IndexingError, match=f"target {label} at 1 is out of range for 4 classes"):
        loss(SCORES, labels)


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm", *FOUND])
@pytest.mark.parametrize("label", [4, -1])
def test_a_computed_label_out_of_range_is_an_error_when_it_runs(label, device):
    scores = tfr.asarray(SCORES, device=device)
    labels = tfr.asarray(np.asarray([0, label - 1, 1], "int32"), device=device) + 1
    with pytest.raises(IndexingError, match="out of bounds"):
        F.cross_entropy(scores, labels).item()
    for loss in (F.cross_entropy, F.nll_loss):
        gradient = tfr.grad(lambda x: loss(x, labels))(scores)  # noqa: B023
        with pytest.raises(IndexingError, match="out of bounds"):
            gradient.numpy()


LOGS = tfr.log_softmax(SCORES[:, None, :], axis=-1)  # three steps of one example, four classes
WRONG_ALIGNMENTS = {
    "input_lengths 4 at 0 is out of range for 4 lengths of at most 3": ([[1]], (4,), (1,)),
    "target_lengths 2 at 0 is out of range for 2 lengths of at most 1": ([[1]], (3,), (2,)),
    "targets 4 at (0, 1) is out of range for 4 classes": ([[1, 4, 9]], (3,), (2,)),
    "input_lengths has shape (2,), but log_probs of 1 examples needs (1,)": ([[1]], (3, 3), (1,)),
    "of shape (3,) are the labels of all examples, but target_lengths of 1 examples, of 1, add up to 2": (
        ([1, 2, 3], (3,), (2,))
    ),
    "targets has integers, got float32": ([[1.0]], (3,), (1,)),
}


@pytest.mark.parametrize("message", WRONG_ALIGNMENTS)
def test_what_has_no_alignment_is_named(message):
    targets, *lengths = WRONG_ALIGNMENTS[message]
    with pytest.raises(TensorFrameError) as caught:
        F.ctc_loss(LOGS, tfr.asarray(targets), *lengths).item()
    assert message in str(caught.value)
    with pytest.raises(IndexingError, match="blank 4 is out of range for 4 classes"):
        F.ctc_loss(LOGS, [[1]], (3,), (1,), blank=4)


@pytest.mark.parametrize("device", ["numpy", "llvm", *FOUND])
def test_computed_lengths_are_checked_when_they_run(device):
    logs = tfr.asarray(LOGS.numpy(), device=device)
    for lengths in ((3, 2), (4, 1)):
        own = [tfr.asarray(np.asarray([n - 1], "int32"), device=device) + 1 for n in lengths]
        with pytest.raises(IndexingError, match="out of bounds"):
            F.ctc_loss(logs, tfr.asarray([[1]], device=device), *own).item()


def test_a_step_of_an_alignment_is_one_kernel():
    logs = tfr.asarray(np.zeros((40, 2, 3), np.float32))
    targets, lengths = tfr.asarray([[1, 2], [2, 1]]), ((40, 30), (2, 1))
    assert tfr.explain(F.ctc_loss(logs, targets, *lengths)).kernels <= 40 + 12


def test_all_examples_ignored_have_no_mean():
    labels = tfr.asarray([-100] * 3)
    assert np.isnan(F.cross_entropy(SCORES, labels).item())
    assert F.cross_entropy(SCORES, labels, reduction="sum").item() == 0.0
    gradient = tfr.grad(lambda x: F.cross_entropy(x, labels, reduction="sum"))(SCORES)
    assert not gradient.numpy().any()


def test_scores_of_ignored_examples_do_not_matter():
    scores = tfr.asarray([[np.nan, 1.0], [0.0, 0.0]])
    labels = tfr.asarray([-100, 0])
    assert F.cross_entropy(scores, labels).item() == pytest.approx(np.log(2.0))
    assert F.cross_entropy(scores, labels, label_smoothing=0.1).item() == pytest.approx(np.log(2))


def test_the_loss_of_half_precision_is_computed_in_float32():
    scores = tfr.asarray(np.full((3, 1000), 9.0, np.float16))
    loss = F.cross_entropy(scores, tfr.asarray([0, 1, 2]))
    assert loss.dtype == tfr.float16
    assert loss.item() == pytest.approx(np.log(1000.0), rel=1e-3)


def test_cross_entropy_in_a_jitted_step():
    labels = np.asarray([3, 0, 1])

    @tfr.jit
    def step(x, y):
        loss, gradient = tfr.value_and_grad(lambda x: F.cross_entropy(x, y))(x)
        return loss, x - gradient

    losses = []
    x = SCORES
    for _ in range(4):
        loss, x = step(x, labels)
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(IndexingError):
        step(x, np.asarray([3, 0, 4]))


def test_losses_map_over_examples():
    scores, labels = tfr.asarray(SCORES.numpy().reshape(3, 1, 4)), tfr.asarray([[3], [0], [1]])
    found = tfr.vmap(F.cross_entropy)(scores, labels).numpy()
    wanted = F.cross_entropy(SCORES, labels[:, 0], reduction="none").numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gradients = tfr.vmap(tfr.grad(F.cross_entropy))(scores, labels).numpy()[:, 0]
    shares = tfr.softmax(SCORES).numpy()
    np.testing.assert_allclose(gradients, shares - np.eye(4)[[3, 0, 1]], rtol=1e-5, atol=1e-6)


def test_slopes_at_kinks_are_those_of_pytorch():
    x, zeros = tfr.asarray([-1.0, 0.0, 1.0, 2.0]), tfr.zeros(4)

    def slopes(loss):
        return tfr.grad(lambda x: loss(x).sum())(x).tolist()

    assert slopes(lambda x: F.l1_loss(x, zeros, "none")) == [-1.0, 0.0, 1.0, 1.0]
    assert slopes(lambda x: F.huber_loss(x, zeros, "none")) == [-1.0, 0.0, 1.0, 1.0]
    hinge = slopes(lambda x: F.hinge_embedding_loss(x, tfr.full(4, -1.0), 1.0, "none"))
    assert hinge == [-1.0, -1.0, -1.0, 0.0]
    ranking = slopes(lambda x: F.margin_ranking_loss(x, zeros, tfr.ones(4), 1.0, "none"))
    assert ranking == [-1.0, -1.0, -1.0, 0.0]


ELEMENTWISE = [
    *(F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div, F.soft_margin_loss),
    *(F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.poisson_nll_loss),
    *(F.hinge_embedding_loss, F.multilabel_soft_margin_loss),
]


@pytest.mark.parametrize("loss", ELEMENTWISE, ids=lambda loss: loss.__name__)
def test_a_target_that_would_make_more_losses_than_inputs_is_refused(loss):
    with pytest.raises(
        ShapeError, match=r"target of shape \(3, 1\) does not belong to an input of"
    ):
        loss(tfr.ones(3), tfr.ones((3, 1)))
    with pytest.raises(ArgumentError, match="there is no reduction 'median'"):
        loss(tfr.ones(3), tfr.ones(3), reduction="median")
    with pytest.raises(DTypeError, match="input has a real floating dtype"):
        loss(tfr.asarray([1, 2]), tfr.ones(2))
    assert loss(tfr.ones((2, 3)) / 2, tfr.asarray(1), reduction="sum").shape == ()


def test_a_loss_is_one_kernel():
    random = np.random.default_rng(1)
    x, y = (tfr.asarray(random.uniform(0.1, 0.9, (300, 400)).astype("f")).compute() for _ in "xy")
    for loss in ELEMENTWISE:
        assert tfr.explain(loss(x, y, reduction="sum")).kernels == 1, loss.__name__
        both = tfr.value_and_grad(lambda x: loss(x, y, reduction="sum"))(x)  # noqa: B023
        assert tfr.explain(*both).kernels <= 2, loss.__name__


def test_other_wrong_arguments():
    with pytest.raises(ShapeError, match=r"weight has shape \(3,\), but an input with 4 classes"):
        F.cross_entropy(SCORES, tfr.asarray([1, 2, 3]), tfr.ones(3))
    with pytest.raises(
        ShapeError, match=r"target has shape \(2,\), but an input of shape \(3, 4\)"
    ):
        F.cross_entropy(SCORES, tfr.asarray([1, 2]))
    with pytest.raises(DTypeError, match="target has integers, got truth values"):
        F.cross_entropy(SCORES, tfr.asarray([True, False, True]))
    with pytest.raises(OutOfRangeError, match="label_smoothing is a probability from 0 to 1"):
        F.cross_entropy(SCORES, tfr.asarray([1, 2, 3]), label_smoothing=1.5)
    with pytest.raises(ShapeError, match="has no classes"):
        F.cross_entropy(tfr.ones((3, 0)), tfr.asarray([0, 0, 0]))
    with pytest.raises(ArgumentError, match="there is no p 3"):
        F.multi_margin_loss(SCORES, tfr.asarray([1, 2, 3]), p=3)


@pytest.mark.parametrize(
    "loss", [F.mse_loss, F.l1_loss, F.huber_loss], ids=lambda one: one.__name__
)
def test_weights_have_the_shape_of_the_input(loss):
    x, y = tfr.ones((4, 3)), tfr.zeros((4, 3))
    for shape in [(3,), (4, 1), ()]:
        with pytest.raises(ShapeError, match=r"weight has shape .* needs \(4, 3\)"):
            loss(x, y, weight=tfr.ones(shape))
    assert loss(x, y, weight=tfr.ones((4, 3), dtype="float64")).dtype == tfr.float64
    assert loss(x, y, weight=tfr.ones((4, 3), dtype="int64")).dtype == tfr.float32


def test_widths_of_huber_losses_are_positive():
    for delta in (0, -1.0):
        with pytest.raises(OutOfRangeError, match=f"huber_loss: delta is positive, got {delta}"):
            F.huber_loss([1.0], [2.0], delta=delta)
    with pytest.raises(OutOfRangeError, match="smooth_l1_loss: beta is not negative, got -1"):
        F.smooth_l1_loss([1.0], [2.0], beta=-1)
