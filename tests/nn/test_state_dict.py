"""State dicts: names, snapshots, files, and what does not fit."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import nn
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tests.nn.small_modules import PARAMETERS, Net, assert_equal


class TestStateDict:
    def test_names_and_both_places_of_a_tied_weight(self):
        model = Net()
        state = model.state_dict()
        assert set(PARAMETERS) < set(state)
        assert "heads.a.weight" in state
        assert "_mask" not in state

    def test_it_is_a_snapshot(self):
        model = Net()
        state = model.state_dict()
        before = state["layers.0.weight"].numpy()
        model.layers[0].weight += 1.0
        np.testing.assert_array_equal(state["layers.0.weight"].numpy(), before)

    @pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
    def test_a_file_gives_back_what_was_saved_and_keeps_ties(self, tmp_path, suffix):
        model, other = Net(), Net()
        for _, parameter in model.named_parameters():
            parameter += 1.0
        tfr.save(tmp_path / f"model{suffix}", model.state_dict())
        assert other.load_state_dict(tfr.load(tmp_path / f"model{suffix}")) == ([], [])
        assert_equal(other.named_parameters(), model.named_parameters())
        assert other.heads["a"].weight is other.layers[0].weight

    def test_a_tied_weight_may_be_given_by_either_name(self):
        model, state = Net(), Net().state_dict()
        state["heads.a.weight"] = state.pop("layers.0.weight") + 1
        assert model.load_state_dict(state) == ([], [])
        np.testing.assert_array_equal(
            model.layers[0].weight.numpy(), state["heads.a.weight"].numpy()
        )

    def test_arrays_are_taken_in_the_dtype_and_on_the_device_of_the_module(self):
        model = nn.Linear(3, 2, dtype="float16", device="numpy")
        model.load_state_dict({"weight": np.ones((2, 3)), "bias": np.arange(2)})
        assert (model.weight.dtype.name, str(model.weight.device)) == ("float16", "numpy")
        assert model.bias.tolist() == [0.0, 1.0]

    def test_initial_values_are_never_computed_nor_files_read_before(self, tmp_path):
        path = tmp_path / "model.safetensors"
        tfr.save(path, nn.Linear(64, 64).state_dict())
        model = nn.Linear(64, 64)
        initial = model.weight.copy()
        model.load_state_dict(tfr.load(path))
        assert not initial.is_computed
        assert not model.weight.is_computed

    def refused(self, model, state, kind=ArgumentError, **options):
        before = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        with pytest.raises(kind) as caught:
            model.load_state_dict(state, **options)
        for name, tensor in model.state_dict().items():
            np.testing.assert_array_equal(tensor.numpy(), before[name])
        return str(caught.value)

    def test_missing_names_come_with_the_nearest_one(self):
        state = Net().state_dict()
        state["layers.1.wieght"] = state.pop("layers.1.weight")
        message = self.refused(Net(), state)
        assert "layers.1.weight (the nearest name given is layers.1.wieght)" in message
        assert "unexpected:\n    layers.1.wieght" in message
        assert "strict=False" in message

    @pytest.mark.parametrize("prefix", ["model.", "module.encoder."])
    def test_a_prefix_too_many_is_told_with_what_removes_it(self, prefix):
        state = {f"{prefix}{name}": tensor for name, tensor in Net().state_dict().items()}
        message = self.refused(Net(), state)
        assert f'name.removeprefix("{prefix}")' in message
        assert "and 7 more" in message

    def test_other_shapes_name_both_and_the_transposed_one(self):
        state = nn.Linear(2, 3).state_dict()
        state["weight"] = state["weight"].T
        message = self.refused(nn.Linear(2, 3), state, ShapeError)
        assert "weight is (2, 3), and (3, 2) in the module" in message
        assert "state['weight'].T" in message
        self.refused(nn.Linear(2, 3), state, ShapeError, strict=False)

    def test_what_is_not_strict_loads_what_fits_and_says_the_rest(self):
        model, state = Net(), Net().state_dict()
        del state["scales.0"]
        state["extra"] = tfr.ones(1)
        state["scales.1"] = tfr.zeros(3)
        found = model.load_state_dict(state, strict=False)
        assert found == (["scales.0"], ["extra"])
        assert found.missing_keys == ["scales.0"]
        assert model.scales[1].tolist() == [0.0, 0.0, 0.0]

    def test_what_is_no_mapping_is_refused(self):
        with pytest.raises(DTypeError, match="takes tensors by name, got list"):
            nn.Linear(2, 2).load_state_dict([1])
