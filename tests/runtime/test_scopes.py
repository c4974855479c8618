"""Settings for a block: checked at the call, entered again and again, and told of where nobody enters them."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, SettingWarning, TensorFrameError
from tensorframe.scopes import Scope

SCOPES: dict[str, tuple[Callable[[], Scope[Any]], Callable[[], Any]]] = {
    "tfr.use_backend('numpy')": (
        lambda: tfr.use_backend("numpy"),
        lambda: str(tfr.get_backend()) == "numpy",
    ),
    "tfr.transfer_policy('error')": (
        lambda: tfr.transfer_policy("error"),
        lambda: tfr.config.get().transfer_policy == "error",
    ),
    "tfr.config.override(fuse=False, spin=7)": (
        lambda: tfr.config.override(fuse=False, spin=7),
        lambda: not tfr.config.get().fuse,
    ),
}
every_scope = pytest.mark.parametrize(
    ("named", "scope", "holds"), [(name, *rest) for name, rest in SCOPES.items()], ids=SCOPES
)


@every_scope
def test_a_scope_that_nobody_enters_warns_at_its_line(named, scope, holds) -> None:
    with pytest.warns(SettingWarning, match="does nothing without a `with` block") as told:
        scope()
    assert str(told[0].message).startswith(named)
    assert f"try: with {named}: ..." in str(told[0].message)
    assert told[0].filename == __file__
    assert told[0].lineno == scope.__code__.co_firstlineno
    assert not holds()


@every_scope
def test_a_scope_holds_in_its_block_and_may_be_entered_again(named, scope, holds) -> None:
    setting = scope()
    for _ in range(2):
        with setting:
            assert holds()
            with setting:
                assert holds()
            assert holds()
        assert not holds()
    assert repr(setting) == f"<{named}: a setting for a `with` block>"


@every_scope
def test_a_scope_ends_with_an_error(named, scope, holds) -> None:
    with pytest.raises(KeyError), scope():
        raise KeyError
    assert not holds()


@every_scope
def test_a_generator_that_is_closed_in_another_context_disturbs_nothing(
    named, scope, holds
) -> None:
    def inside() -> Any:
        with scope():
            yield holds()

    generator = inside()
    assert contextvars.copy_context().run(next, generator)
    assert not holds()
    generator.close()
    assert not holds()


@every_scope
def test_one_scope_serves_several_threads_at_once(named, scope, holds) -> None:
    setting, barrier = scope(), threading.Barrier(4)
    failures: list[str] = []

    def enter() -> None:
        for _ in range(50):
            barrier.wait(60)
            with setting:
                if not holds():
                    failures.append("inside")
            if holds():
                failures.append("outside")

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@every_scope
def test_a_scope_decorates_functions(named, scope, holds) -> None:
    @scope()
    def factorial(number: int) -> int:
        """Calls itself."""
        assert holds()
        return number * factorial(number - 1) if number else 1

    assert factorial(5) == 120
    assert factorial.__doc__ == "Calls itself."
    assert not holds()


@every_scope
def test_what_runs_later_than_its_call_is_no_function_to_decorate(named, scope, holds) -> None:
    def generator() -> Any:
        yield 1

    async def coroutine() -> None: ...

    for wrong in (generator, coroutine, "text"):
        with pytest.raises(ArgumentError, match="tfr"):
            scope()(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tfr.use_backend("nonsense"),
        lambda: tfr.transfer_policy("forbid"),
        lambda: tfr.config.override(fusion=True),
        lambda: tfr.config.override(threads=-1),
    ],
    ids=["device", "policy", "option", "value"],
)
def test_what_is_wrong_is_told_at_the_call(call: Callable[[], Any]) -> None:
    with pytest.raises(TensorFrameError):
        call()


def test_an_override_changes_what_is_in_force_when_it_is_entered() -> None:
    setting = tfr.config.override(spin=7)
    with tfr.config.override(fuse=False), setting as options:
        assert (options.fuse, options.spin) == (False, 7)
    with setting as options:
        assert options.fuse
