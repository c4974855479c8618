"""Processes that are asked over a connection: each library has one of its own, and they measure by turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

# What is asked, and what is answered.
Ask = Callable[[Any], Any]


@contextmanager
def asked(answer: Callable[..., None], *given: Any) -> Iterator[Ask]:
    """Start a process that runs `answer(*given, connection)`; what is yielded asks it once, and waits.

    `answer` goes through `questions(connection)`, and sends an answer to each. It is imported there, so it is a
    function of a module that can be.
    """
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=answer, args=(*given, there), daemon=True)
    process.start()
    there.close()  # so that a process that ends is noticed

    def ask(question: Any) -> Any:
        here.send(question)
        return here.recv()

    try:
        yield ask
    finally:
        here.close()
        process.join()


def questions(connection: Connection) -> Iterator[Any]:
    """Yield what is asked, until nobody asks any more."""
    while True:
        try:
            yield connection.recv()
        except EOFError:
            return
