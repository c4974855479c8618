"""The contract of backends: what it exports, that it stays as it is, and what a plug-in says of itself."""

import inspect

import pytest

import tensorframe as tfr
from tensorframe.backends import INTERFACE_VERSION, About
from tensorframe.errors import ArgumentError
from tests.backends.fakes import Fake, info, registered
from tests.backends.interface import RECORDED, text

NAMED = [
    "Backend",
    "Storage",
    "Region",
    "Kind",
    "Capabilities",
    "DeviceInfo",
    "Queue",
    "Traits",
    "Program",
    "About",
]


@pytest.mark.parametrize("name", [*NAMED, "KernelBackend", "Op", "RegionOp", "Found"])
def test_the_contract_is_exported_with_what_it_means(name):
    exported = getattr(tfr.backends, name)
    assert name in tfr.backends.__all__
    assert name in dir(tfr.backends)
    if inspect.isclass(exported):
        assert inspect.getdoc(exported)
        methods = [one for one in vars(exported).values() if inspect.isfunction(one)]
        public = [one for one in methods if not one.__name__.startswith("_")]
        assert all(inspect.getdoc(one) for one in public)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Cue'"):
        _ = tfr.backends.Cue


def test_the_interface_is_what_was_recorded_for_its_version():
    assert text() == RECORDED.read_text(encoding="utf-8"), (
        "plug-ins are promised what is in interface.txt: a change needs another INTERFACE_VERSION, "
        "then `python -m tests.backends.interface`"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("interface", value)
            for value in (1, "1.0", (1,), (1, 0, 0), (1.0, 0), (-1, 0), (True, 0))
        ),
        *((name, 3) for name in ("version", "author", "licence")),
        *(("priority", value) for value in ("first", 1.5, True)),
        *(("needs", value) for value in ("module", ["module"], (3,))),
    ],
)
def test_what_a_plug_in_says_is_checked(name, value):
    with pytest.raises(ArgumentError, match=f"About: {name} is ") as caught:
        About(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    "version",
    [
        (0, 9),
        (INTERFACE_VERSION[0], INTERFACE_VERSION[1] + 1),
        (INTERFACE_VERSION[0] + 1, 0),
    ],
)
def test_a_registered_backend_of_another_version_is_refused(version):
    backend = Fake("mine", [info("mine")])
    backend.about = About(interface=version)
    with pytest.raises(ArgumentError, match=r"register: mine: it was written for version \d"):
        tfr.backends.register(backend)
    assert "mine" not in tfr.backends.available()


def test_a_registered_backend_may_say_when_auto_takes_it():
    backend = Fake("mine", [info("mine")])
    backend.about = About(interface=INTERFACE_VERSION, author="me", priority=1000)
    with registered(backend):
        assert tfr.backends.best() == "mine"
        version = ".".join(map(str, INTERFACE_VERSION))
        words = f'plug-in: mine of tests, author me, interface {version}, "auto" 1000'
        assert words in str(tfr.doctor())
    assert tfr.backends.best() != "mine"
