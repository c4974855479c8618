"""Pages of trials: what `bench`, `verify` and `estimate` found, and what the doctor says."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.frontend.diagnostics.doctor import Diagnosis, Finding
from tensorframe.frontend.trials.estimates import Estimate
from tensorframe.frontend.trials.timing import Benchmark, TimedBackend
from tensorframe.frontend.trials.timing import row_of as timed_row
from tensorframe.frontend.trials.verification import Verification, VerifiedBackend
from tensorframe.frontend.trials.verification import row_of as verified_row
from tensorframe.graph.device import Device
from tensorframe.notebook.figures import count_text, time_text
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import TRANSFER_HUE, gauge, hue, numbers, text, words
from tensorframe.notebook.wording import counted
from tensorframe.schedule.plan import human_bytes


def benchmark_page(benchmark: Benchmark) -> str:
    """Return the times of backends, the reference first, with bars of how near each is to the fastest."""
    timed = [timed for timed in benchmark if timed.best is not None]
    facts = [f"<b>{counted(len(benchmark.backends), 'backend')}</b>"]
    best = min(timed, key=lambda timed: timed.best or 0.0, default=None)
    if best is not None:
        facts.append(f"{device_name(best.backend)} is fastest: {time_text(best.best)}")
    fastest = best.best if best is not None else None
    rows = [_timed_row(benchmark, timed, fastest) for timed in benchmark]
    heads = ("first", "best", "median", "rate", "speed", "ulp")
    return result_page(facts, table(["backend"], heads, rows))


def _timed_row(benchmark: Benchmark, timed: TimedBackend, fastest: float | None) -> str:
    name, *_, rate, speed, ulp, note = timed_row(benchmark, timed)
    bar = gauge(fastest / timed.best, hue(name)) if fastest and timed.best else ""
    times = [time_text(seconds) for seconds in (timed.first, timed.best, timed.median)]
    return _row(name, [*times, _cell(rate), _cell(speed) + bar, _cell(ulp)], note)


def verification_page(verification: Verification) -> str:
    """Return how far backends are from the reference."""
    verdict = "all agree, but for rounding" if verification.agrees else "not all agree"
    facts = [f"<b>{verdict}</b>", f"{verification.ulp:g} ulp at most"]
    rows = [_verified_row(verified) for verified in verification]
    heads = ("ulp", "relative", "off by", "where", "value", "reference")
    return result_page(facts, table(["backend"], heads, rows))


def _verified_row(verified: VerifiedBackend) -> str:
    name, *cells, note = verified_row(verified)
    return _row(name, [text(_cell(cell)) for cell in cells], note)


def estimate_page(estimate: Estimate) -> str:
    """Return what a computation would take: its steps, and memory by device."""
    facts = [
        _figure(str(estimate.kernels), "kernel" if estimate.kernels == 1 else "kernels"),
        _figure(
            str(estimate.library_calls),
            "library call" if estimate.library_calls == 1 else "library calls",
        ),
        _figure(str(estimate.transfers), "transfer" if estimate.transfers == 1 else "transfers"),
        _figure(human_bytes(estimate.bytes_read), "read"),
        _figure(human_bytes(estimate.bytes_written), "written"),
        _figure(human_bytes(estimate.bytes_moved), "between devices"),
        _figure(count_text(estimate.flops), "flops"),
    ]
    rows = [_memory(estimate, device) for device in estimate.peak]
    return result_page(
        facts, *([table(["memory of"], ("peak", "inputs", "results"), rows)] if rows else [])
    )


def _figure(figure: str, name: str) -> str:
    return f"<b>{figure}</b> {name}"


def _memory(estimate: Estimate, device: Device) -> str:
    sizes = (estimate.peak[device], estimate.inputs.get(device, 0), estimate.results.get(device, 0))
    return words(device_name(device)) + numbers(*[human_bytes(size) for size in sizes])


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """Return the devices that compute, and what is missing or in the way, with what fixes it."""
    names = [device_name(device) for device in diagnosis.usable]
    return result_page(["<b>devices that compute</b>", *names], *map(_finding, diagnosis.findings))


def _finding(finding: Finding) -> str:
    fixes = [f"<div>try: <code>{text(fix)}</code></div>" for fix in finding.fixes]
    return f"<b>{text(finding.subject)}</b>: {text(finding.problem)}{''.join(fixes)}"


def _cell(cell: str) -> str:
    """Return a cell of a text's table, where a dash stands for nothing."""
    return "" if cell == "-" else cell


def _row(name: str, figures: Sequence[str], note: str) -> str:
    """Return a row with its figures, or with the reason that there are none; with both, the reason is a second row."""
    first = words(device_name(name))
    said = f'<span style="color:{TRANSFER_HUE}">{text(note)}</span>'
    across = f'<td colspan="{len(figures)}" style="text-align:left">{said}</td>'
    if not any(figures):
        return first + (across if note else "")
    rest = f"</tr><tr>{words('')}{across}" if note else ""
    return first + numbers(*figures) + rest
