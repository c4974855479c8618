"""Values move once, to where they are needed; what a device cannot do runs on the cpu and is said once."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.backends.registry import unregister
from tensorframe.errors import DTypeError, FallbackWarning, TransferError
from tensorframe.graph.op import Kind
from tensorframe.schedule import fallback
from tensorframe.schedule.plan import Plan, StepKind
from tensorframe.testing.boxed import BoxedBackend

SHAPE = (60, 50)
BYTES = 60 * 50 * 4


@pytest.fixture(autouse=True)
def planned() -> Iterator[None]:
    """Everything gets a plan, however small."""
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture
def near() -> Iterator[BoxedBackend]:
    """A device in boxes that does everything."""
    yield from registered(BoxedBackend("near"))


@pytest.fixture
def far() -> Iterator[BoxedBackend]:
    """A device in boxes that does everything, and reaches the first one."""
    yield from registered(BoxedBackend("far", neighbours=("near",)))


@pytest.fixture
def simple() -> Iterator[BoxedBackend]:
    """A device in boxes that neither sorts nor scans, and holds no 64-bit numbers."""
    fallback.forget_warnings()
    wide = {dtypes.int64, dtypes.uint64, dtypes.float64, dtypes.complex128}
    kinds = (Kind.LIBRARY, Kind.SCAN)
    yield from registered(
        BoxedBackend("simple", dtypes=dtypes.ANY - wide, refuses=lambda op, _: op.kind in kinds)
    )


def registered(backend: BoxedBackend) -> Iterator[BoxedBackend]:
    """Make the backend known while a test runs."""
    tfr.backends.register(backend)
    yield backend
    unregister(backend.name)


def values(seed: int = 0, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def on(device: str, seed: int = 0, shape: tuple[int, ...] = SHAPE) -> tfr.Tensor:
    return tfr.asarray(values(seed, shape), device=device).compute()


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def routes(plan: Plan) -> list[tuple[str, str]]:
    return [
        (str(plan.slots[step.inputs[0]].device), str(step.device))
        for step in plan.steps
        if step.kind is StepKind.TRANSFER
    ]


class TestTransfers:
    def test_operands_on_three_devices_move_once_each_before_one_kernel(
        self, near: BoxedBackend, far: BoxedBackend
    ) -> None:
        a, b, one = on("near"), on("far", 1), on("cpu", 2)
        y = tfr.exp(-a * a) * tfr.sin(b) + a / (one + b * b)
        plan = plan_of(y)
        assert y.device == "near"
        assert sorted(routes(plan)) == [("cpu", "near"), ("far", "near")]
        assert plan.bytes_transferred == 2 * BYTES
        assert plan.kernels == 1
        assert plan.steps[-1].kind is StepKind.REGION
        x, z, w = values(), values(1), values(2)
        np.testing.assert_allclose(
            y.numpy(), np.exp(-x * x) * np.sin(z) + x / (w + z * z), rtol=1e-5
        )
        assert (near.counts["uploads"], far.counts["downloads"]) == (3, 1)

    def test_several_results_share_a_transfer(self, near: BoxedBackend) -> None:
        a, b = on("near"), on("cpu", 1)
        plan = plan_of(a + b, a * b, tfr.sum(a - b))
        assert routes(plan) == [("cpu", "near")]

    def test_a_tensor_and_its_transpose_move_once(self, near: BoxedBackend) -> None:
        x = on("near", shape=(50, 50))
        moved = x.to_device("cpu") + x.T.to_device("cpu")
        assert plan_of(moved).bytes_transferred == x.nbytes
        np.testing.assert_array_equal(moved.numpy(), values(0, (50, 50)) + values(0, (50, 50)).T)
        assert near.counts["downloads"] == 1

    def test_of_a_slice_only_the_slice_moves(self, near: BoxedBackend) -> None:
        x, y = on("near"), on("cpu", 1)
        assert plan_of((x.to_device("cpu") + y)[:5]).bytes_transferred == 5 * 50 * 4
        assert plan_of(x[3:7].to_device("cpu") * 2).bytes_transferred == 4 * 50 * 4

    def test_slices_that_are_more_than_the_whole_move_as_the_whole(
        self, near: BoxedBackend
    ) -> None:
        x = on("near")
        parts = [x[at : at + 40].to_device("cpu") * 2 for at in (0, 10, 20)]
        assert plan_of(*parts).bytes_transferred == BYTES

    def test_operands_move_before_they_are_broadcast(self, near: BoxedBackend) -> None:
        row = on("cpu", shape=(50,))
        plan = plan_of(on("near") + tfr.broadcast_to(row, SHAPE))
        assert plan.bytes_transferred == 50 * 4

    def test_there_and_back_is_nowhere(self, near: BoxedBackend) -> None:
        x = on("cpu")
        y = x.to_device("near").to_device("cpu") + 1
        assert plan_of(y).transfers == 0

    def test_ways_through_other_devices_are_cut_short(
        self, near: BoxedBackend, far: BoxedBackend
    ) -> None:
        x = on("cpu").to_device("near").to_device("far")
        assert routes(plan_of(x)) == [("cpu", "far")]

    def test_generated_values_are_made_where_they_are_needed(self, near: BoxedBackend) -> None:
        x = on("near", shape=(4000,))
        made = tfr.full((4000,), 2.0) * tfr.arange(4000, dtype=tfr.float32)
        drawn = tfr.random.uniform(4000, key=tfr.random.key(1))
        y = x + made + drawn
        assert plan_of(y).transfers == 0
        expected = values(0, (4000,)) + (made + 0).numpy() + (drawn + 0).numpy()
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)

    def test_devices_that_reach_each_other_leave_the_host_out(
        self, near: BoxedBackend, far: BoxedBackend
    ) -> None:
        x = on("near")
        np.testing.assert_array_equal(x.to_device("far").numpy(), values())
        assert far.counts["copies"] == 1
        assert near.counts["downloads"] == far.counts["uploads"] == 0

    def test_what_goes_to_two_devices_through_the_host_is_downloaded_once(
        self, near: BoxedBackend
    ) -> None:
        others = [BoxedBackend("third"), BoxedBackend("fourth")]
        for backend in others:
            tfr.backends.register(backend)
        x = on("near")
        tfr.compute(x.to_device("third"), x.to_device("fourth"))
        assert near.counts["downloads"] == 1
        for backend in others:
            unregister(backend.name)

    def test_devices_in_the_same_memory_move_nothing(self) -> None:
        x = on("cpu")
        moved = x.to_device("numpy")
        assert plan_of(moved).bytes_transferred == 0
        assert np.shares_memory(moved.numpy(), x.numpy())

    def test_what_is_moved_by_name_moves_once_for_all_plans(self, near: BoxedBackend) -> None:
        x = tfr.asarray(values(), device="near")
        (x + 1).compute()
        (x * 2).compute()
        assert near.counts["uploads"] == 1

    def test_milliseconds_are_known_after_a_run(self, near: BoxedBackend) -> None:
        y = on("cpu").to_device("near") * 3
        plan = plan_of(y)
        assert " ms]" not in str(plan)
        y.compute()
        assert str(plan).count(" ms]") == 1


class TestFallbacks:
    def test_what_a_device_cannot_do_runs_on_the_cpu_and_comes_back(
        self, simple: BoxedBackend
    ) -> None:
        x = on("simple")
        y = tfr.sort(x + 1) * 2
        with pytest.warns(FallbackWarning, match="sort of float32 runs on cpu instead of simple"):
            plan = plan_of(y)
        assert routes(plan) == [("simple", "cpu"), ("cpu", "simple")]
        assert plan.fallbacks == 1
        assert "sort of float32 runs on cpu instead of simple: simple has no sort" in str(plan)
        assert y.device == "simple"
        np.testing.assert_array_equal(y.numpy(), np.sort(values() + 1) * 2)

    def test_it_is_said_once_for_each_op_and_its_dtypes(self, simple: BoxedBackend) -> None:
        x = on("simple")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            tfr.sort(x).compute()
            tfr.sort(x + 1).compute()
            tfr.cumsum(x, axis=0).compute()
        assert [one.category for one in said] == [FallbackWarning] * 2
        assert all(one.filename == __file__ for one in said)

    def test_neighbouring_fallbacks_stay_on_the_cpu(self, simple: BoxedBackend) -> None:
        x = on("simple")
        y = tfr.cumsum(tfr.sort(x).T[:30] * 2 + 1, axis=0)
        assert routes(plan_of(y)) == [("simple", "cpu"), ("cpu", "simple")]

    def test_a_leaf_of_the_host_is_not_sent_away_to_come_back(self, simple: BoxedBackend) -> None:
        y = tfr.sort(tfr.asarray(values(), device="simple")).to_device("cpu")
        assert plan_of(y).transfers == 0
        np.testing.assert_array_equal(y.numpy(), np.sort(values()))
        assert not simple.counts

    def test_under_policy_error_planning_raises_with_the_line(self, simple: BoxedBackend) -> None:
        y = tfr.sort(on("simple"))  # this line
        with tfr.transfer_policy("error"), pytest.raises(TransferError, match="this line"):
            y.compute()

    def test_results_live_where_their_dtype_can(self, simple: BoxedBackend) -> None:
        x = on("simple")
        with pytest.warns(FallbackWarning, match="argmax: its result lives on cpu"):
            place = tfr.argmax(x, axis=1)
        assert str(place.device) == "cpu"
        assert place.dtype == tfr.int64
        np.testing.assert_array_equal(place.numpy(), values().argmax(axis=1))
        with tfr.transfer_policy("error"), pytest.raises(TransferError):
            tfr.argmax(x, axis=0)

    def test_indices_that_the_device_cannot_hold_select_on_it(self, simple: BoxedBackend) -> None:
        x = on("simple")
        picked = x[tfr.argmax(x, axis=0)]
        assert picked.device == "simple"
        np.testing.assert_array_equal(picked.numpy(), values()[values().argmax(axis=0)])
        assert simple.counts["uploads"] == 2  # x, and the positions

    def test_promotion_is_the_same_everywhere(self, simple: BoxedBackend) -> None:
        x = on("simple")
        wide = tfr.asarray(values(1).astype(np.float64))
        assert (x + wide).dtype == tfr.float64
        assert (x + wide).device == "cpu"
        np.testing.assert_array_equal((x + wide).numpy(), values() + values(1).astype(np.float64))

    def test_creation_says_what_the_device_lacks(self, simple: BoxedBackend) -> None:
        for make in (
            lambda: tfr.zeros(3, dtype=tfr.float64, device="simple"),
            lambda: tfr.asarray(np.arange(3), device="simple"),
            lambda: tfr.asarray(2.0, dtype=tfr.float64, device="simple"),
            lambda: tfr.arange(3, dtype=tfr.int64, device="simple"),
            lambda: tfr.linspace(0, 1, 3, dtype=tfr.float64, device="simple"),
            lambda: tfr.asarray([1.0, 2.0]).astype(tfr.float64).to_device("simple"),
        ):
            with pytest.raises(DTypeError, match=r"simple holds no (float|int)64") as caught:
                make()
            assert any("32" in hint for hint in caught.value.suggestions)

    def test_python_numbers_take_the_default_dtypes_of_the_device(
        self, simple: BoxedBackend
    ) -> None:
        info = tfr.__array_namespace_info__()
        found = info.default_dtypes(device="simple")
        assert found["integral"] == tfr.int32
        assert "float64" not in info.dtypes(device="simple")
        assert tfr.Device("simple") in info.devices()
        with tfr.use_backend("simple"):
            made = [tfr.asarray([1, 2]), tfr.asarray(3), tfr.arange(4), tfr.full(2, 7)]
            assert {one.dtype for one in made} == {np.dtype(np.int32)}
            assert tfr.sum(made[0]).dtype == tfr.int32
            assert {str(one.device) for one in made} == {"simple"}
            np.testing.assert_allclose(tfr.linspace(0, 9, 4, dtype=tfr.int32).numpy(), [0, 3, 6, 9])
            np.testing.assert_allclose(tfr.logspace(0, 2, 3).numpy(), [1, 10, 100], rtol=1e-6)
            assert tfr.logspace(0, 2, 3).device == "simple"
            drawn = tfr.random.integers(0, 10, 20, key=tfr.random.key(1))
            assert str(drawn.device) == "simple"
            assert drawn.dtype == tfr.int32
        wide = tfr.random.integers(0, 10, 20, key=tfr.random.key(1))
        assert drawn.tolist() == wide.tolist()

    def test_parts_of_a_call_move_by_themselves(self, simple: BoxedBackend) -> None:
        x = on("simple", shape=(8, 5))
        u, s, v = tfr.linalg.svd(x, full_matrices=False)
        product = (u * s) @ v
        np.testing.assert_allclose(product.numpy(), values(0, (8, 5)), atol=1e-5)


class TestHandOver:
    def test_native_is_what_the_device_has(self, near: BoxedBackend) -> None:
        x = on("near")
        assert x.native() is x.node.storage.handle
        assert tfr.from_native(x.native()).device == "near"
        np.testing.assert_array_equal(tfr.from_native(x.native()).numpy(), values())
        with pytest.raises(tfr.errors.ShapeError, match="packed in C order"):
            x.T.native()

    def test_native_of_the_host_is_a_read_only_array(self) -> None:
        x = on("cpu")
        array = x.native()
        assert np.shares_memory(array, x.numpy())
        assert not array.flags.writeable
        assert np.shares_memory(tfr.from_native(array).numpy(), array)

    @pytest.mark.parametrize(("device", "kind"), [("opencl", "Buffer"), ("wgpu", "GPUBuffer")])
    def test_native_of_a_device_is_its_buffer(self, device: str, kind: str) -> None:
        if tfr.Device(device) not in tfr.__array_namespace_info__().devices():
            pytest.skip(f"there is no {device} here")
        x = on(device)
        assert type(x.native()).__name__ == kind
        assert x.native() is x.native()
        with pytest.raises(tfr.errors.ShapeError, match="C order"):
            x.T.native()

    def test_unknown_objects_are_refused(self) -> None:
        with pytest.raises(DTypeError, match="no device here knows"):
            tfr.from_native(object())

    def test_dlpack_goes_through_the_host_where_the_device_has_no_place_in_it(
        self, near: BoxedBackend
    ) -> None:
        x = on("near")
        assert x.__dlpack_device__() == (1, 0)
        np.testing.assert_array_equal(np.from_dlpack(x), values())

    def test_values_are_had_on_the_host(self, near: BoxedBackend) -> None:
        x = on("near")
        assert [row.device for row in list(x)[:2]] == ["near", "near"]
        assert x[0, 0].item() == values()[0, 0]
        assert "device=near" in repr(x)
        assert tfr.nonzero(x > 0.5)[0].device == "near"
        np.testing.assert_array_equal(x[x > 0.5].numpy(), values()[values() > 0.5])
        x[1] = 7.0
        x[:, tfr.asarray([0, 2])] = np.zeros((60, 2), np.float32)
        expected = values()
        expected[1] = 7.0
        expected[:, [0, 2]] = 0
        np.testing.assert_array_equal(x.numpy(), expected)

    def test_printing_downloads_what_is_shown(self, near: BoxedBackend) -> None:
        x = on("near")
        assert repr(x) == repr(on("cpu")).replace("device=cpu", "device=near")
        # of each axis, three elements at either end and one for the dots
        assert near.counts["bytes down"] == 7 * 7 * 4

    def test_a_computed_number_is_an_array_like_others(self, near: BoxedBackend) -> None:
        one, two = tfr.asarray(1.0, device="near"), tfr.asarray(2.0, device="near")
        tfr.compute(one, two)
        x = on("near")
        for number, expected in ((one, 1), (two, 2)):
            np.testing.assert_array_equal((x * number).numpy(), values() * expected)
            assert (number.to_device("cpu") == number).item()

    def test_warnings_can_be_silenced(self, simple: BoxedBackend) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", FallbackWarning)
            tfr.sort(on("simple")).compute()
