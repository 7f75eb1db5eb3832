"""NVRTC through ctypes: compiles CUDA source without a GPU."""

from __future__ import annotations

import ctypes
import glob
import importlib.util
from collections.abc import Sequence
from pathlib import Path


def library_path() -> str | None:
    """Path of libnvrtc from the nvidia wheels, or None when they are not installed."""
    spec = importlib.util.find_spec("nvidia")
    if spec is None or spec.submodule_search_locations is None:
        return None
    for root in spec.submodule_search_locations:
        found = glob.glob(f"{root}/**/libnvrtc.so*", recursive=True)
        if found:
            return sorted(found)[0]
    return None


class CompileError(Exception):
    """Carries the compiler's log."""


def compile_to_cubin(source: str, headers: Path, arch: str, options: Sequence[str] = ()) -> str:
    """Compile for one real architecture; return the log, raise CompileError when it fails."""
    nvrtc = ctypes.CDLL(library_path())
    program = ctypes.c_void_p()
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"check.cu", 0, None, None
    )
    assert created == 0, created
    arguments = [
        f"--gpu-architecture={arch}",
        "--std=c++17",
        "-fmad=false",
        "-ftz=false",
        "--ptxas-options=-v",
        f"-I{headers}",
        *options,
    ]
    packed = (ctypes.c_char_p * len(arguments))(*(a.encode() for a in arguments))
    status = nvrtc.nvrtcCompileProgram(program, len(arguments), packed)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    cubin = ctypes.c_size_t()
    if status == 0:
        assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(cubin)) == 0
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    text = log.value.decode()
    if status != 0:
        raise CompileError(text)
    assert cubin.value > 0
    return text
