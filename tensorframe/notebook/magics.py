"""Cell magics: `%%tfr_profile` and `%%tfr_explain`, which `%load_ext tensorframe` makes known to IPython."""

from __future__ import annotations

import ast
import shlex
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from tensorframe.frontend.diagnostics.plans import explain
from tensorframe.frontend.diagnostics.profiling import profile
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.explanation import SHEET, body_of
from tensorframe.notebook.style import page, text
from tensorframe.schedule.plan import Plan

_PLANS = 12  # that are shown

Shell = Any  # IPython's own annotations stop halfway


class _Options(ArgumentParser):
    """The options behind a magic's name; what is wrong with them is said as IPython says it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"%%{name}", add_help=False)

    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the process."""
        from IPython.core.error import UsageError

        raise UsageError(f"{message}\n{self.format_usage()}")

    def of(self, line: str) -> Any:
        """Return the options that a line gives."""
        return self.parse_args(shlex.split(line))


_PROFILE = _Options("tfr_profile")
_PROFILE.add_argument(
    "--trace", metavar="FILE", help="write a trace that https://ui.perfetto.dev opens"
)
_PROFILE.add_argument("--into", metavar="NAME", help="the variable that gets the profile")
_PROFILE.add_argument("--quiet", action="store_true", help="do not show the profile")
_PROFILE.add_argument(
    "--timeline", metavar="STEPS", type=int, default=100_000, help="steps kept one by one"
)
_EXPLAIN = _Options("tfr_explain")


def register(shell: Shell) -> None:
    """Make the magics known to a shell."""
    for options, magic in ((_PROFILE, tfr_profile), (_EXPLAIN, tfr_explain)):
        bound = partial(magic, shell)
        # what `%%tfr_profile?` shows
        bound.__doc__ = f"{magic.__doc__}\n\n{options.format_help()}"
        shell.register_magic_function(bound, "cell", magic.__name__)


def tfr_profile(shell: Shell, line: str, cell: str) -> None:
    """Run the cell, show its result, and a profile of what it computed.

    What showing the result computes is not part of it. After an error the profile has what ran until then.
    """
    wanted = _PROFILE.of(line)
    profiled = profile(timeline=wanted.timeline)
    try:
        with profiled:
            value = _run(shell, cell)
        _show_result(shell, cell, value)
    finally:
        if wanted.into:
            shell.push({wanted.into: profiled})
        if wanted.trace:
            profiled.save(wanted.trace)
        if not wanted.quiet:
            _show(profiled)


def tfr_explain(shell: Shell, line: str, cell: str) -> None:
    """Run the cell and show every plan that ran in it, each once.

    If the cell ends in a tensor that is not computed, its plan is shown too, in place of its elements: nothing is
    computed for that.
    """
    _EXPLAIN.of(line)
    ran = profile(timeline=0)
    with ran:
        value = _run(shell, cell)
    plans = [(plan, _times(count)) for plan, count in ran.plans]
    if isinstance(value, Tensor) and not value.is_computed:
        plan = explain(value)
        assert isinstance(plan, Plan)
        plans.append((plan, "of the result, which is not computed"))
        shell.displayhook.update_user_ns(value)
    else:
        _show_result(shell, cell, value)
    _show(ShownPlans(plans, ran.summary.small_runs))


def _show_result(shell: Shell, cell: str, value: object) -> None:
    """Show the value of a cell as IPython does; it sees the magic's own line, and no semicolon at its end."""
    if not shell.displayhook.semicolon_at_end_of_expression(cell):
        shell.displayhook(value)


def _show(shown: object) -> None:
    from IPython import display

    # its annotations are missing
    show: Callable[[object], object] = display.display
    show(shown)


def _times(count: int) -> str:
    return "ran once" if count == 1 else f"ran {count:,} times"


@dataclass(frozen=True)
class ShownPlans:
    """Plans with what to say of each, and how many small graphs ran without one."""

    plans: Sequence[tuple[Plan, str]]
    small: int

    def __repr__(self) -> str:
        shown = [f"# {said}\n{plan}" for plan, said in self.plans[:_PLANS]]
        return "\n\n".join([*shown, *self._rest()])

    def _repr_html_(self) -> str:
        shown = [
            f'<p class="soft">{text(said)}</p>{body_of(plan)}' for plan, said in self.plans[:_PLANS]
        ]
        rest = [f'<p class="soft">{text(line)}</p>' for line in self._rest()]
        return page("".join([*shown, *rest]), SHEET)

    def _rest(self) -> list[str]:
        more = len(self.plans) - _PLANS
        lines = [f"and {more} more plans"] if more > 0 else []
        if self.small:
            graphs = "1 small graph" if self.small == 1 else f"{self.small:,} small graphs"
            lines.append(f"{graphs} ran op by op, without a plan")
        return lines or ([] if self.plans else ["no plan ran"])


def _run(shell: Shell, cell: str) -> Any:
    """Run a cell in the user's namespace, and return the value of its last line if that is an expression.

    Lines keep their numbers: the magic stands in the first one, and IPython leaves out empty ones that follow.
    """
    empty = cell[: len(cell) - len(cell.lstrip())].count("\n")
    code = "\n" * (1 + empty) + shell.transform_cell(cell)
    name = shell.compile.cache(code, shell.displayhook.prompt_count, raw_code="\n" + cell)
    body = shell.transform_ast(shell.compile.ast_parse(code, filename=name)).body
    value = body.pop().value if body and isinstance(body[-1], ast.Expr) else None
    try:
        exec(shell.compile(ast.Module(body, []), name, "exec"), shell.user_ns)  # noqa: S102 - the user's
        if value is None:
            return None
        return eval(shell.compile(ast.Expression(value), name, "eval"), shell.user_ns)  # noqa: S307
    except BaseException as error:
        # IPython asks for this, and would show its own frames and ours
        setattr(error, "_render_traceback_", partial(_render, shell, error, name))  # noqa: B010
        raise


def _render(shell: Shell, error: BaseException, name: str) -> Any:
    """Return the lines of an error's traceback as if no magic had run the cell."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename != name:
        traceback = traceback.tb_next
    error.__traceback__ = traceback or error.__traceback__
    own = getattr(type(error), "_render_traceback_", None)
    if own is not None:
        return own(error)
    shown = error.__traceback__
    return shell.InteractiveTB.structured_traceback(type(error), error, shown, tb_offset=0)
