"""Options: seen by their own thread only, checked, and read from the environment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr


def test_an_override_ends_with_its_block_and_stays_in_its_thread() -> None:
    seen: list[bool] = []
    with tfr.config.override(fuse=False, block_bytes=1000) as options:
        other = threading.Thread(target=lambda: seen.append(tfr.config.get().fuse))
        other.start()
        other.join()
        assert options is tfr.config.get()
        assert not tfr.config.get().fuse
    assert seen == [True]
    assert tfr.config.get().fuse


def test_an_override_ends_with_an_error_too() -> None:
    with pytest.raises(KeyError), tfr.config.override(fuse=False):
        raise KeyError
    assert tfr.config.get().fuse


@pytest.mark.parametrize("name", ["threads", "fuse"])
def test_options_are_no_attributes_of_the_module(name: str) -> None:
    before = tfr.config.get()
    with pytest.raises(tfr.errors.ArgumentError, match=rf"configure\({name}=1\)"):
        setattr(tfr.config, name, 1)
    assert not hasattr(tfr.config, name)
    assert tfr.config.get() is before


@pytest.mark.parametrize(
    "wrong",
    [{"fusion": True}, {"fuse": 1}, {"block_bytes": -1}, {"block_bytes": True}, {"threads": 1.5}],
)
def test_a_wrong_option_is_refused_and_changes_nothing(wrong: dict[str, object]) -> None:
    before = tfr.config.get()
    with pytest.raises(tfr.errors.ArgumentError):
        tfr.config.configure(**wrong)
    with pytest.raises(tfr.errors.ArgumentError), tfr.config.override(**wrong):
        pass
    assert tfr.config.get() == before


def test_a_transfer_policy_is_one_of_three() -> None:
    with pytest.raises(tfr.errors.ArgumentError, match="'allow', 'warn' or 'error'"):
        tfr.config.configure(transfer_policy="forbid")


def test_every_option_is_described() -> None:
    text = tfr.config.describe()
    assert "block_bytes = 262144: Bytes of each operand" in text
    assert len(text.splitlines()) == len(tfr.config.Options.__dataclass_fields__)


def from_environment(**variables: str) -> subprocess.CompletedProcess[str]:
    program = "import tensorframe as tfr; o = tfr.config.get(); print(o.fuse, o.block_bytes)"
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_sets_options() -> None:
    found = from_environment(TENSORFRAME_FUSE="off", TENSORFRAME_BLOCK_BYTES="4096")
    assert found.stdout.split() == ["False", "4096"]


WRONG = [
    ("fuse", "maybe"),
    ("threads", "abc"),
    ("threads", "\u00b2"),
    ("threads", "-1"),
    ("threads", "1.5"),
    ("threads", "9" * 30),
    ("spin", "9" * 5000),
    ("progress", "loud"),
    ("transfer_policy", "forbid"),
]


@pytest.mark.parametrize(("option", "text"), WRONG[:3])
def test_a_wrong_value_in_the_environment_stops_the_import_at_its_line(
    option: str, text: str
) -> None:
    variable = f"TENSORFRAME_{option.upper()}"
    found = from_environment(**{variable: text, "PYTHONUTF8": "1"})
    assert found.returncode != 0
    assert f"ArgumentError: the environment says {variable}={text}: option {option}" in found.stderr
    assert "recorded at <string>, line 1" in found.stderr
    assert f"try: unset {variable}" in found.stderr


@pytest.mark.parametrize(("option", "text"), WRONG)
def test_the_environment_and_code_refuse_a_value_in_the_same_words(
    monkeypatch: pytest.MonkeyPatch, option: str, text: str
) -> None:
    with pytest.raises(tfr.errors.ArgumentError) as in_code:
        tfr.config.configure(**{option: text})
    monkeypatch.setenv(f"TENSORFRAME_{option.upper()}", text)
    with pytest.raises(tfr.errors.ArgumentError) as outside:
        tfr.config._from_environment()
    said = in_code.value.message.partition(", got ")[0]
    assert outside.value.message.startswith(f"the environment says TENSORFRAME_{option.upper()}=")
    assert said in outside.value.message


@pytest.mark.parametrize("option", list(tfr.config.Options.__dataclass_fields__))
def test_every_option_is_read_from_the_environment_and_checked(
    monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    default = tfr.config.Options.__dataclass_fields__[option].default
    other = {True: "no", False: "YES"}.get(default) if isinstance(default, bool) else None
    words = {"placement": "time", "progress": "on", "tracebacks": "full", "transfer_policy": "warn"}
    text = other or words.get(option)
    monkeypatch.setenv(f"TENSORFRAME_{option.upper()}", f" {text or '7'} ")
    found = getattr(tfr.config._from_environment(), option)
    assert type(found) is type(default)
    assert found != default
    monkeypatch.setenv(f"TENSORFRAME_{option.upper()}", "")
    assert getattr(tfr.config._from_environment(), option) == default
    for wrong in (None, object(), -1, 1.5, 10**30, b"bytes", "a\0b", ["on"]):
        with pytest.raises(tfr.errors.ArgumentError, match=f"option {option} is "):
            tfr.config.configure(**{option: wrong})


def test_options_take_what_is_an_integer_or_a_path(tmp_path: Path) -> None:
    with tfr.config.override(threads=np.int64(3), cache_dir=tmp_path) as options:
        assert (options.threads, options.cache_dir) == (3, str(tmp_path))
        assert type(options.threads) is int


def test_an_unknown_variable_of_ours_warns() -> None:
    found = from_environment(
        TENSORFRAME_THREAD="3", TENSORFRAME_BACKEND="numpy", TENSORFRAME_FUSE=""
    )
    assert found.stdout.split() == ["True", "262144"]
    assert (
        "SettingWarning: the environment sets TENSORFRAME_THREAD, and there is no" in found.stderr
    )
    assert "try: TENSORFRAME_THREADS" in found.stderr
    assert found.stderr.count("SettingWarning") == 1
    assert found.stderr.startswith("<string>:1: ")


def test_threads_that_configure_at_once_lose_nothing() -> None:
    before = tfr.config.get()
    names = ["spin", "plan_cache", "jit_cache", "small_nodes"]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for round_ in range(30):
            threads = [
                threading.Thread(target=tfr.config.configure, kwargs={name: 1000 + round_})
                for name in names
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(getattr(tfr.config.get(), name) == 1000 + round_ for name in names)
    finally:
        sys.setswitchinterval(interval)
        tfr.config.configure(**{name: getattr(before, name) for name in names})
