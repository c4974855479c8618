"""GGUF files: written, and dequantised, by the gguf package of llama.cpp; every lie in a header is an error."""

from __future__ import annotations

import tracemalloc

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, quants

import tensorframe as tfr
from tensorframe.errors import FileFormatError, MissingFileError
from tensorframe.frontend.files.gguf import read_gguf
from tensorframe.frontend.files.gguf_blocks import KINDS

NAMES = [kind.name for kind in KINDS.values()]


def blocks(name: str, *rows: int, columns: int = 512, seed: int = 0) -> np.ndarray:
    """Bytes of blocks whose scales are ordinary numbers, and everything else anything."""
    generator = np.random.default_rng(seed)
    size, nbytes = gguf.GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    raw = generator.integers(0, 256, (*rows, columns // size * nbytes), dtype=np.uint8)
    flat = raw.reshape(-1, nbytes)
    places = {"Q6_K": [208], "Q8_0": [0], "Q4_0": [0]}.get(name, [0, 2])
    for place in places:
        scales = generator.standard_normal(len(flat)).astype(np.float16)
        flat[:, place : place + 2] = scales.view(np.uint8).reshape(-1, 2)
    return raw


def write(path, tensors, **options) -> None:
    """Write tensors: arrays, or (the name of a kind, bytes)."""
    writer = GGUFWriter(path, "llama", **options)
    writer.add_uint32("llama.block_count", 2)
    writer.add_array("tokens", ["a", "b", "ö"])
    writer.add_array("scores", [1.5, -2.0])
    writer.add_bool("flag", True)
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            writer.add_tensor(name, tensor[1], raw_dtype=GGMLQuantizationType[tensor[0]])
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_dequantised_to_the_bit(name: str, tmp_path) -> None:
    raw = blocks(name, 3, 5)
    write(tmp_path / "m.gguf", {"x": (name, raw), "row": (name, raw[0, 0])})
    loaded = tfr.load(tmp_path / "m.gguf")
    expected = quants.dequantize(raw, GGMLQuantizationType[name])
    assert loaded["x"].shape == (3, 5, 512)
    assert loaded["x"].dtype == np.float32
    assert (
        loaded["x"][1:, ::-2, 40:300:7].numpy().tobytes() == expected[1:, ::-2, 40:300:7].tobytes()
    )
    assert loaded["x"].numpy().tobytes() == expected.tobytes()
    assert loaded["row"][300:].numpy().tobytes() == expected[0, 0, 300:].tobytes()


def test_plain_elements_and_metadata(tmp_path) -> None:
    generator = np.random.default_rng(0)
    plain: dict[str, np.ndarray] = {
        "float32": generator.standard_normal((2, 3)).astype(np.float32),
        "float16": generator.standard_normal((5,)).astype(np.float16),
        "float64": generator.standard_normal((2, 2)),
        "int8": np.arange(-3, 3, dtype=np.int8),
        "int32": np.arange(6, dtype=np.int32).reshape(1, 2, 3),
    }
    upper = np.array([[1.5, -2.0]], np.float32).view(np.uint32) >> 16
    brain = upper.astype(np.uint16).view(np.uint8)
    write(tmp_path / "m.gguf", {**plain, "bfloat16": ("BF16", brain)})
    loaded = tfr.load(tmp_path / "m.gguf")
    assert list(loaded) == [*plain, "bfloat16"]
    for name, array in plain.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name].numpy(), array)
    np.testing.assert_array_equal(loaded["bfloat16"].astype("float32").numpy(), [[1.5, -2.0]])
    metadata = tfr.load_metadata(tmp_path / "m.gguf")
    assert metadata["general.architecture"] == "llama"
    assert metadata["tokens"] == ["a", "b", "ö"]
    assert (metadata["scores"], metadata["flag"], metadata["llama.block_count"]) == (
        [1.5, -2.0],
        True,
        2,
    )


@pytest.mark.parametrize("name", ["Q4_0", "Q8_0"])
def test_matrices_stay_quantised_and_mean_the_same(name: str, tmp_path) -> None:
    raw = blocks(name, 6, columns=128)
    others = {"other": ("Q4_K", blocks("Q4_K", 2)), "stack": (name, blocks(name, 2, 2))}
    write(tmp_path / "m.gguf", {"w": (name, raw), **others})
    loaded = tfr.quantization.load(tmp_path / "m.gguf")
    q = loaded["w"]
    assert isinstance(q, tfr.quantization.QuantizedTensor)
    expected = quants.dequantize(raw, GGMLQuantizationType[name])
    assert (q.shape, q.group) == ((6, 128), 32)
    np.testing.assert_array_equal(q.dequantize().numpy(), expected)
    x = tfr.ones((2, 128))
    np.testing.assert_allclose(
        (x @ q.mT).numpy(), np.ones((2, 128)) @ expected.T, rtol=1e-4, atol=1e-4
    )
    assert isinstance(loaded["other"], tfr.Tensor)
    assert isinstance(loaded["stack"], tfr.Tensor)
    with pytest.raises(FileFormatError, match=r"no \.gguf file"):
        tfr.quantization.load(tmp_path / "m.npz")


def test_a_model_in_several_files_is_one(tmp_path) -> None:
    tensors = {f"t{number}": np.full((4, 4), number, np.float32) for number in range(5)}
    write(tmp_path / "m.gguf", tensors, split_max_tensors=2)
    files = sorted(tmp_path.glob("*.gguf"))
    assert len(files) == 3
    loaded = tfr.load(files[0])
    assert sorted(loaded) == sorted(tensors)
    assert all((loaded[name].numpy() == array).all() for name, array in tensors.items())
    with pytest.raises(FileFormatError, match=r"it is file 00002 of 3(.|\n)*-00001-of-00003"):
        tfr.load(files[1])
    files[1].rename(tmp_path / "elsewhere.gguf")
    with pytest.raises(MissingFileError):
        tfr.load(files[0])
    files[2].rename(files[1])
    with pytest.raises(FileFormatError, match="does not say that it is file 2"):
        tfr.load(files[0])
    files[0].rename(tmp_path / "first.gguf")
    with pytest.raises(FileFormatError, match="one of 3 files, whose names"):
        tfr.load(tmp_path / "first.gguf")


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.gguf"
    write(path, {"a": ("Q8_0", blocks("Q8_0", 2, columns=32)), "b": np.ones((3, 4), np.float32)})
    return path


def test_every_truncation_is_an_error(small) -> None:
    whole = small.read_bytes()
    end = max(reader.offset for reader in read_gguf(str(small)).readers.values()) + 48
    for length in range(end):
        small.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            tfr.load(small)


@pytest.mark.parametrize("value", [0x00, 0x7F, 0xFF])
def test_no_byte_of_a_header_is_believed(small, value: int) -> None:
    """Whatever one byte says, there is an error or a file with tensors inside it; nothing large is reserved."""
    whole = bytearray(small.read_bytes())
    start = min(reader.offset for reader in read_gguf(str(small)).readers.values())
    tracemalloc.start()
    errors = 0
    for place in range(start):
        changed = bytearray(whole)
        changed[place] = value
        small.write_bytes(changed)
        try:
            for tensor in tfr.load(small).values():
                assert tensor.node.nbytes <= 16 * len(whole)
                tensor.numpy()
        except FileFormatError:
            errors += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert errors > (start // 10 if value else 10)
    assert peak < 1 << 22


def test_errors_say_what_is_wrong(small) -> None:
    whole = small.read_bytes()

    def loading(content: bytes) -> str:
        small.write_bytes(content)
        with pytest.raises(FileFormatError) as caught:
            tfr.load(small)
        return str(caught.value)

    assert "not a GGUF file: it begins with b'JUNK'" in loading(b"JUNK" + whole[4:])
    assert "version 1, and versions 2 and 3" in loading(whole[:4] + b"\1\0\0\0" + whole[8:])
    assert "big-endian" in loading(whole[:4] + b"\0\0\0\3" + whole[8:])
    assert "claims 1099511627776 tensors" in loading(
        whole[:8] + (1 << 40).to_bytes(8, "little") + whole[16:]
    )
    name = whole.index(b"\1\0\0\0\0\0\0\0a\2\0\0\0")
    kind = name + 9 + 4 + 16
    assert "'a' is quantised as Q2_K; known are Q4_0" in loading(
        whole[:kind] + b"\12" + whole[kind + 1 :]
    )
    assert "blocks of Q8_0 have 32 elements" in loading(
        whole[: name + 13] + b"\x21" + whole[name + 14 :]
    )
    assert "'a' has 9 axes" in loading(whole[: name + 9] + b"\11" + whole[name + 10 :])
    assert "no multiple of 32" in loading(whole[: kind + 4] + b"\1" + whole[kind + 5 :])
    other = whole.rindex(b"\1\0\0\0\0\0\0\0b\2\0\0\0")
    assert "is there twice" in loading(whole[: other + 8] + b"a" + whole[other + 9 :])
    place = other + 9 + 4 + 16 + 4
    assert "overlaps" in loading(whole[:place] + bytes(8) + whole[place + 8 :])


def test_claims_beyond_the_option_are_refused(small) -> None:
    with tfr.config.override(load_bytes=100), pytest.raises(FileFormatError, match="load_bytes"):
        tfr.load(small)


def test_a_file_that_changed_since_is_an_error(small) -> None:
    loaded = tfr.load(small)
    small.write_bytes(small.read_bytes() + b"\0")
    with pytest.raises(FileFormatError, match="has changed since"):
        loaded["a"].numpy()


def test_reading_rows_takes_no_more_than_a_piece(tmp_path) -> None:
    raw = blocks("Q4_0", 4096, columns=1024)
    write(tmp_path / "m.gguf", {"w": ("Q4_0", raw)})
    reader = read_gguf(str(tmp_path / "m.gguf")).readers["w"]
    out = np.empty(reader.shape, np.float32)
    tracemalloc.start()
    reader.read(None, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20 < out.nbytes


def test_gguf_files_are_not_written(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="read alone"):
        tfr.save(tmp_path / "m.gguf", {"x": tfr.ones(2)})
    assert not list(tmp_path.iterdir())
