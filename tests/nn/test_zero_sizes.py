"""No examples, or no channels: results without elements, and gradients of the operand's shape."""

import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND

KEY = tfr.random.key(0)
CALLS = {
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (3, 3)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (3, 3)),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), (3, 3)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 4), (4, 4)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 4), (4, 4)),
    "no parts": (lambda x: F.adaptive_max_pool2d(x, (0, 4)), (0, 4)),
    "prelu": (lambda x: F.prelu(x, tfr.ones(x.shape[1], device=x.device)), (6, 6)),
    "unfold": (lambda x: F.unfold(x, 2), None),
    "interpolate": (lambda x: F.interpolate(x, 9, mode="bilinear"), (9, 9)),
    "nearest": (lambda x: F.interpolate(x, 12), (12, 12)),
    "batch_norm": (lambda x: F.batch_norm(x, training=True), (6, 6)),
    "layer_norm": (lambda x: F.layer_norm(x, 6), (6, 6)),
    "rms_norm": (lambda x: F.rms_norm(x, 6), (6, 6)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), (6, 6)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), None),
    "pad": (lambda x: F.pad(x, (1, 1), "reflect"), (6, 8)),
    "dropout2d": (lambda x: F.dropout2d(x, 0.5, key=KEY), (6, 6)),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, hard=True, key=KEY), (6, 6)),
    "gelu": (F.gelu, (6, 6)),
    "mse_loss": (lambda x: F.mse_loss(x, x, reduction="none"), (6, 6)),
}


@pytest.mark.parametrize("device", ["cpu", "numpy", "llvm", *FOUND])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(0, 3, 6, 6), (2, 0, 6, 6)])
def test_nothing_gives_nothing(name, shape, device):
    call, sizes = CALLS[name]
    x = tfr.zeros(shape, device=device)
    found = call(x)
    assert found.numpy().size == 0
    if sizes is not None:
        assert found.shape == (*shape[:2], *sizes)
    gradient = tfr.grad(lambda x: call(x).sum())(x)
    assert gradient.numpy().shape == shape


def test_the_mean_of_no_losses_is_nan():
    nothing = tfr.zeros((0, 4))
    assert str(F.mse_loss(nothing, nothing).item()) == "nan"
    assert str(F.cross_entropy(nothing, tfr.zeros(0, dtype="int64")).item()) == "nan"
    assert F.cross_entropy(nothing, tfr.zeros(0, dtype="int64"), reduction="sum").item() == 0.0
