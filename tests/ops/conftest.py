"""Every op, on every engine that can run here."""

import pytest

import tensorframe as tfr
from tensorframe.backends.registry import devices

ENGINES = [
    str(info.device)
    for info in devices()
    if info.capabilities.executes and str(info.device) != "cpu"  # it is the others by turns
]


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request):
    """The engine that new tensors live on."""
    with tfr.use_backend(request.param):
        yield request.param
