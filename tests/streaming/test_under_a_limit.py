"""What does not fit into memory streams by itself: under a limit, and under one of the system's."""

import gc
import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.errors import OutOfMemoryError
from tensorframe.graph.device import CPU
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.runtime.streaming import out_of_core, tiled_execution, tiles
from tests.backends.devices import on_every_device

MEBI = 1 << 20
COUNT = 6 * MEBI  # elements: 24 MiB of float32


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).standard_normal(COUNT, dtype=np.float32)


@pytest.fixture
def path(tmp_path, values):
    name = tmp_path / "x.npy"
    np.save(name, values)
    return name


@pytest.fixture
def streamed(monkeypatch):
    """The streams that run."""
    runs = []
    run = out_of_core.run_stream

    def noted(planned, targets):
        runs.append(planned)
        run(planned, targets)

    monkeypatch.setattr(out_of_core, "run_stream", noted)
    return runs


@pytest.fixture
def little(monkeypatch):
    """Room for so much: what the process itself takes is another matter in a run of many tests."""

    def set_room(nbytes):
        budget = backend_of(CPU).budget(CPU)
        monkeypatch.setattr(type(budget), "room", lambda _: nbytes)
        budget.credit = 0

    return set_room


def test_what_fits_runs_as_ever(path, values, streamed):
    assert tfr.sum(tfr.load(path)).item() == tfr.sum(tfr.asarray(values)).item()
    assert not streamed


def test_a_reduction_of_a_file_that_does_not_fit_streams(path, values, streamed, little):
    wanted = tfr.sum(tfr.exp(-(tfr.asarray(values) ** 2))).numpy()
    x = tfr.load(path)
    little(12 * MEBI)
    assert tfr.sum(tfr.exp(-(x**2))).numpy() == wanted
    (planned,) = streamed
    assert planned.peak[CPU] <= 12 * MEBI
    assert planned.stream.done == planned.stream.tiles > 4
    assert x.node.storage is None


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::-1]], ids=["whole", "reversed"])
def test_a_reader_that_is_read_whole_and_does_not_fit_is_refused_with_its_line(
    view, values, little
):
    x = view(tfr.from_reader(values))  # this line
    little(12 * MEBI)
    with pytest.raises(OutOfMemoryError, match="24 MiB are needed on cpu") as caught:
        x.numpy()
    assert "# this line" in str(caught.value)
    little(64 * MEBI)
    assert np.array_equal(x.numpy(), view(values))


REDUCTIONS = {
    "sum": tfr.sum,
    "variance": tfr.var,
    "sum of a map": lambda x: tfr.sum(tfr.exp(-x * x) * tfr.sin(x)),
}


class Watched:
    """An array whose first elements are given once somebody lets them be, who can wait until they are asked for."""

    def __init__(self, values):
        self.shape, self.dtype, self._values = values.shape, values.dtype, values
        self.asked, self.let = threading.Event(), threading.Event()

    def __getitem__(self, key):
        self.asked.set()
        assert self.let.wait(60)
        return self._values[key]


def test_kernels_of_the_first_tile_are_made_while_it_is_read(values, little, monkeypatch):
    values = values[:-1000]  # the last tile has a form of its own
    made = []
    source = Watched(values)
    foresee = tiles.foresee_tile

    def noted(*plan, waits):
        assert source.asked.wait(60)  # before anything is compiled
        foresee(*plan, waits=waits)
        made.append(source.let.is_set())
        source.let.set()

    monkeypatch.setattr(tiles, "foresee_tile", noted)
    x = tfr.from_reader(source)
    little(12 * MEBI)
    assert tfr.sum(x).item() == tfr.sum(tfr.asarray(values)).item()
    assert made == [False, True]  # of the first tile, and of the last


def test_another_thread_may_compute_a_leaf_while_it_is_read(
    path, values, streamed, little, monkeypatch
):
    x = tfr.load(path)
    total = tfr.sum(x)
    compute = tiled_execution.Stream._compute_tile

    def after_another(*tile):
        if x.node.storage is None:
            little(1 << 30)
            thread = threading.Thread(target=x.numpy)
            thread.start()
            thread.join(60)
            assert x.node.storage is not None
        return compute(*tile)

    monkeypatch.setattr(tiled_execution.Stream, "_compute_tile", after_another)
    little(12 * MEBI)
    assert total.item() == tfr.sum(tfr.asarray(values)).item()
    assert streamed


@pytest.mark.parametrize("name", REDUCTIONS)
def test_kernels_of_tiles_are_those_that_were_foreseen(name, path, little, monkeypatch):
    pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
    from tensorframe.backends.llvm import functions, lowering, program
    from tensorframe.runtime.plan_cache import PLANS

    PLANS.clear()
    lowering.forget()
    foreseen, needed = set(), set()
    begin, made = program.begin, functions._made

    def note_begun(name, source):
        foreseen.add(name)
        begin(name, source)

    def note_made(name, source):
        assert name in foreseen  # before a tile needs it
        needed.add(name)
        return made(name, source)

    monkeypatch.setattr(functions, "_functions", {})
    monkeypatch.setattr(program, "begin", note_begun)
    monkeypatch.setattr(functions, "_made", note_made)
    # when a plan runs for the first time it would begin them, too
    monkeypatch.setattr(
        "tensorframe.runtime.execution.precompilation.foresee_all", lambda *_, **__: None
    )
    result = REDUCTIONS[name](tfr.load(path))
    little(12 * MEBI)
    result.compute()
    assert needed == foreseen != set()


def test_no_plan_is_made_of_files_that_do_not_fit_alone(path, little):
    result = tfr.sum(tfr.load(path))
    little(12 * MEBI)
    plans = []

    def note(event):
        if event.moment is Moment.PLAN_MADE:
            plans.append(event.plan)

    with listen(note):
        result.compute()
    assert plans
    shapes = [{slot.shape for slot in plan.slots} for plan in plans]
    assert not [made for made in shapes if made >= {(COUNT,), ()}]  # all elements to one


def test_a_map_goes_from_file_to_file(path, values, tmp_path, streamed, little):
    wanted = (tfr.asarray(values) * 2 + 1).numpy()
    result = tfr.load(path) * 2 + 1
    little(12 * MEBI)
    tfr.save(tmp_path / "y.npy", result)
    assert len(streamed) == 1
    assert result.node.storage is None
    assert np.array_equal(np.load(tmp_path / "y.npy"), wanted)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_results_that_fit_are_put_together_in_memory(path, values, streamed, little):
    x = tfr.load(path)
    thin = tfr.exp(x)[:: 1 << 4] + 1
    wanted = (tfr.exp(tfr.asarray(values))[:: 1 << 4] + 1).numpy()
    little(8 * MEBI)
    assert np.array_equal(thin.numpy(), wanted)
    assert len(streamed) == 1


def test_what_is_computed_already_is_only_written(path, values, tmp_path, streamed, little):
    from tensorframe.runtime.plan_cache import PLANS

    x = (tfr.asarray(values) * 2).compute()
    little(1 * MEBI)
    before = len(PLANS)
    tfr.save(tmp_path / "y.npy", x)
    assert np.array_equal(np.load(tmp_path / "y.npy"), values * 2)
    assert len(PLANS) == before
    assert not streamed


def test_results_beside_computed_ones_stream(path, values, tmp_path, streamed, little):
    x = tfr.load(path)
    ready = (tfr.asarray(values[:1000]) * 2).compute()
    little(12 * MEBI)
    tfr.save(tmp_path / "y.safetensors", {"ready": ready, "made": x + 1})
    made = tfr.load(tmp_path / "y.safetensors")
    assert len(streamed) == 1
    assert np.array_equal(made["ready"].numpy(), values[:1000] * 2)
    assert np.array_equal(made["made"].numpy(), values + 1)


def test_several_results_go_to_their_places_in_one_stream(path, values, tmp_path, streamed, little):
    x = tfr.load(path)
    little(12 * MEBI)
    tfr.save(tmp_path / "y.safetensors", {"half": (x / 2).astype("float16"), "total": tfr.sum(x)})
    assert len(streamed) == 1
    made = tfr.load(tmp_path / "y.safetensors")
    assert np.array_equal(made["half"].numpy(), (values / 2).astype(np.float16))
    assert made["total"].numpy() == tfr.sum(tfr.asarray(values)).numpy()


def test_what_neither_fits_nor_streams_is_refused_before_it_reads(path, streamed, little):
    x = tfr.load(path)
    little(12 * MEBI)
    ordered = tfr.sort(tfr.exp(x))
    with pytest.raises(
        OutOfMemoryError, match=r"nothing has run.*sort.*more of an operand"
    ) as error:
        ordered.compute()
    assert not streamed
    assert x.node.storage is None
    assert "test_under_a_limit.py" in error.value.location
    assert not any("tfr.save" in hint for hint in error.value.suggestions)


def test_results_that_do_not_fit_are_refused_with_what_saving_them_takes(path, little):
    x = tfr.load(path)
    little(12 * MEBI)
    with pytest.raises(OutOfMemoryError, match="its results do not fit") as error:
        tfr.exp(x).compute()
    first, *_ = error.value.suggestions
    assert first.startswith("tfr.save(path, t): streams ")
    assert "x.npy in" in first
    assert x.node.storage is None


def test_values_that_are_held_are_left_out_when_they_do_not_fit(path, values, streamed, little):
    x = tfr.load(path)
    held = tfr.cumulative_sum(x)
    total = tfr.max(held)
    little(12 * MEBI)
    assert total.numpy() == np.cumsum(values, dtype=np.float64).astype(np.float32).max()
    assert len(streamed) == 1
    assert held.node.storage is None


def test_explain_says_how_it_streams(path, little):
    x = tfr.load(path)
    total, result = tfr.max((x - tfr.mean(x)) * 2), x * 2
    assert total.explain().stream == ""
    little(12 * MEBI)
    text = str(total.explain())
    assert re.search(
        r"^  streams \S*x\.npy in \d+ tiles of \d+ MiB along axis 0, 2 passes, peak [\d.]+ MiB on cpu, "
        r"about [\d.]+ s of disk$",
        text,
        re.MULTILINE,
    )
    assert "does not fit into memory; tfr.save(path, t) streams" in str(result.explain())
    assert "does not run tile by tile: sort: it needs more" in str(tfr.sort(x * 2).explain())
    assert x.node.storage is None


def test_an_array_in_memory_is_cut_too(values, streamed, little):
    x = tfr.asarray(values)
    wanted = tfr.sort(tfr.asarray(values).reshape((-1, 64)), axis=1)[:, 5].numpy()
    few = tfr.sort(x.reshape((-1, 64)) * 1, axis=1)[:, 5]
    little(8 * MEBI)
    assert np.array_equal(few.numpy(), wanted)
    assert len(streamed) == 1


def test_a_compiled_function_streams_too(values, streamed, little):
    @tfr.jit
    def middle(x, scale):
        return tfr.sort(x.reshape((-1, 64)) * scale, axis=1)[:, 5]

    x = tfr.asarray(values)
    wanted = middle(x, 2).numpy()
    little(8 * MEBI)
    assert np.array_equal(middle(x, 2).numpy(), wanted)
    assert np.array_equal(middle(x, 4).numpy(), wanted * 2)
    assert len(streamed) == 2


@pytest.mark.sweep(4)
@on_every_device
def test_a_device_streams_arrays_of_the_host(device, values, tmp_path, streamed):
    """What does not fit on a device is cut there: each tile is uploaded, and its result comes back."""
    x = tfr.asarray(values[: 1 << 20]).to_device(device)
    wanted = values[: 1 << 20] * 2 + 1
    tfr.ones(8, device=device).compute()
    gc.collect()
    tfr.memory.trim(device)
    with tfr.memory.limit("2 MiB", device=device):
        assert tfr.max(x * 2 + 1).item() == wanted.max()
        tfr.save(tmp_path / "y.npy", x * 2 + 1)
    assert len(streamed) == 2
    assert all(planned.peak[tfr.Device(device)] <= 2 * MEBI for planned in streamed)
    assert np.array_equal(np.load(tmp_path / "y.npy"), wanted)
    assert not x.is_computed


def test_progress_counts_tiles(path, little, streamed, monkeypatch):
    from tensorframe.runtime.progress.monitor import _Watch
    from tensorframe.runtime.progress.phrases import amounts, step_words
    from tensorframe.runtime.streaming.tiled_execution import Stream

    said = []
    compute = Stream._compute_tile

    def seen(self, *arguments):
        (wait,) = [wait for wait in _Watch.computes if not wait.over]
        state = wait.state()
        said.append((step_words(state), amounts(state)[0], state.share))
        return compute(self, *arguments)

    monkeypatch.setattr(Stream, "_compute_tile", seen)
    x = tfr.load(path)
    little(12 * MEBI)
    tfr.sum(tfr.exp(x)).compute()
    count = streamed[0].stream.tiles
    assert [words.partition(":")[0] for words, _, _ in said] == [
        f"tile {number} of {count}" for number in range(1, count + 1)
    ]
    assert "x.npy on cpu" in said[1][0]
    assert said[1][1].endswith("of 24 MiB moved")
    assert said[1][2] == 1 / count


def test_an_interrupt_leaves_everything_as_it_was(path, tmp_path, streamed, little, monkeypatch):
    from tensorframe.runtime.streaming.tiled_execution import Stream

    (tmp_path / "y.npy").write_bytes(b"as it was")
    result = tfr.load(path) * 2
    little(12 * MEBI)
    compute = Stream._compute_tile

    def interrupted(self, *arguments):
        if self.done == 2:
            raise KeyboardInterrupt
        return compute(self, *arguments)

    monkeypatch.setattr(Stream, "_compute_tile", interrupted)
    with pytest.raises(tfr.errors.CancelledError, match="interrupted in tile 3 of"):
        tfr.save(tmp_path / "y.npy", result)
    assert (tmp_path / "y.npy").read_bytes() == b"as it was"
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]
    assert result.node.storage is None
    monkeypatch.undo()
    assert np.array_equal(result.numpy(), np.load(path) * 2)


def test_a_file_that_ends_too_soon_is_told(path, tmp_path, little):
    result = tfr.load(path) * 2
    little(12 * MEBI)
    with open(path, "r+b") as file:
        file.truncate(COUNT * 2)
    with pytest.raises(tfr.errors.FileFormatError, match=r"x\.npy"):
        tfr.save(tmp_path / "y.npy", result)
    assert os.listdir(tmp_path) == ["x.npy"]


def test_plans_that_fit_have_no_more_steps_or_plans(values):
    from tensorframe.runtime.plan_cache import PLANS

    x = tfr.asarray(values)
    made = tfr.exp(x) + 1
    made.compute()
    before = len(PLANS)
    again = tfr.exp(tfr.asarray(values + 1)) + 1
    assert again.explain().kernels == 1
    again.compute()
    assert len(PLANS) == before


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is what the others do not keep")
def test_a_process_with_little_room_is_not_killed(tmp_path):
    """320 MB from file to file, and a sum, where the process may have 230 MB more than it takes anyway."""
    program = textwrap.dedent(
        """
        import resource, sys
        import numpy as np
        import tensorframe as tfr

        source, target = sys.argv[1:]
        tfr.sum(tfr.exp(tfr.asarray(np.ones(300_000, np.float32)))).item()  # loads what computing takes
        addresses = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (addresses + (230 << 20),) * 2)
        x = tfr.load(source)
        tfr.save(target, x * 2 + 1)
        print(tfr.sum(x).item(), tfr.var(x).item())
        """
    )
    source, target = tmp_path / "x.npy", tmp_path / "y.npy"
    block = np.random.default_rng(1).standard_normal(5_000_000, dtype=np.float32)
    mapped = np.lib.format.open_memmap(source, "w+", np.float32, (16 * len(block),))
    for start in range(0, len(mapped), len(block)):
        mapped[start : start + len(block)] = block
    del mapped
    done = subprocess.run(
        [sys.executable, "-c", program, source, target], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = np.load(target, mmap_mode="r")
    wanted = block * 2 + 1
    for start in range(0, len(made), len(block)):
        assert np.array_equal(made[start : start + len(block)], wanted)
    x = np.load(source, mmap_mode="r")
    total, variance = (float(text) for text in done.stdout.split())
    assert total == tfr.sum(tfr.asarray(x)).item()
    assert variance == tfr.var(tfr.asarray(x)).item()
