"""What NVIDIA's tools say of a kernel is kept, and asked again where anything differs that it depends on."""

from __future__ import annotations

import pytest

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tests.sass import disassembly

SOURCE = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2; }'

needs_tools = pytest.mark.skipif(
    not disassembly.is_available(), reason="nvdisasm and cuobjdump are NVIDIA's wheels"
)


@pytest.fixture
def compiled(monkeypatch):
    """Return the architectures that kernels are compiled for from now on."""
    compile_for = disassembly.compiled
    disassembly._releases()  # which compiles one of its own
    asked = []

    def counted(name, source, architecture):
        asked.append(architecture)
        return compile_for(name, source, architecture)

    monkeypatch.setattr(disassembly, "compiled", counted)
    return asked


@needs_tools
def test_a_kernel_is_compiled_again_where_its_text_its_architecture_or_a_tool_has_changed(
    compiled, monkeypatch, tmp_path
):
    monkeypatch.setenv("SASS_CACHE", str(tmp_path))
    first = disassembly.disassembly("k", SOURCE, "sm_90")
    assert disassembly.disassembly("k", SOURCE, "sm_90") == first
    assert "FADD" in first
    assert compiled == ["sm_90"]
    disassembly.disassembly("k", SOURCE, "sm_80")
    assert "FMUL" in disassembly.disassembly("k", SOURCE.replace("2", "3"), "sm_90")
    monkeypatch.setattr(disassembly, "_releases", lambda: ("another",))
    disassembly.disassembly("k", SOURCE, "sm_90")
    assert compiled == ["sm_90", "sm_80", "sm_90", "sm_90"]


@needs_tools
def test_nothing_is_kept_where_no_folder_is_named(compiled, monkeypatch):
    monkeypatch.setenv("SASS_CACHE", "")
    said = {disassembly.disassembly("k", SOURCE, "sm_90") for _ in range(2)}
    assert len(said) == 1
    assert compiled == ["sm_90"] * 2
