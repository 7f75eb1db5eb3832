"""Native entry points under random calls, good and bad: they answer or raise, nothing else.

Arrays end at an unmapped page, so a kernel that reads or writes past one is killed, at every
instruction set. The gate runs this file a second time in a build with AddressSanitizer and UBSan.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mdla import _native

LIMBS = (1, 2, 3, 4, 5, 8, 10, 16)
SPECIALS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 5e-324, 1.7e308, 1e300, -1e-300])


def guarded(values: np.ndarray) -> np.ndarray:
    """Return a copy whose last byte is the last one before an unmapped page."""
    page = mmap.PAGESIZE
    room = -(-values.nbytes // page) * page
    memory = mmap.mmap(-1, room + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + room), page, 0) == 0
    copy = np.frombuffer(memory, values.dtype, values.size, room - values.nbytes)
    copy = copy.reshape(values.shape)
    copy[...] = values
    return copy


def random_planes(rng: np.random.Generator, shape: tuple[int, ...], wild: bool) -> np.ndarray:
    """Planes with decaying limbs; wild ones hold special values anywhere, normalised or not."""
    planes = rng.uniform(-1, 1, shape)
    planes *= (2.0 ** (-53.0 * np.arange(shape[1]))).reshape((-1,) + (1,) * (len(shape) - 2))
    if wild and planes.size:
        where = rng.random(shape) < 0.2
        planes[where] = rng.choice(SPECIALS, size=int(where.sum()))
    return guarded(planes) if planes.size else planes


def strided(rng: np.random.Generator, planes: np.ndarray) -> np.ndarray:
    """The same values behind other strides: reversed, transposed in memory, every second one."""
    kind = rng.integers(4)
    if kind == 1 and planes.ndim > 2:
        return planes[..., ::-1].copy()[..., ::-1]
    if kind == 2:
        return np.asfortranarray(planes)
    if kind == 3:
        padded = np.full((*planes.shape[:-1], 2 * planes.shape[-1]), np.nan)
        padded[..., ::2] = planes
        return padded[..., ::2]
    return planes


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    sides = rng.choice([0, 1, 2, 3, 7, 8, 9, 17, 65], size=rng.integers(0, 4))
    if np.prod(sides) > 5000:
        sides = sides[:2]
    return tuple(int(n) for n in sides)


@pytest.fixture(params=_native.levels(), autouse=True)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _native.level()
    _native.set_level(request.param)
    yield request.param
    _native.set_level(before)


@pytest.mark.parametrize("limbs", LIMBS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "fma", "sqrt", "abs", "neg"])
def test_elementwise(name: str, limbs: int) -> None:
    rng = np.random.default_rng(limbs)
    count = {"fma": 3, "sqrt": 1, "abs": 1, "neg": 1}.get(name, 2)
    for _ in range(12):
        shape = random_shape(rng)
        parts = int(rng.integers(1, 3))
        operands = []
        for _ in range(count):
            own = limbs if rng.random() < 0.8 else 1
            planes = strided(rng, random_planes(rng, (parts, own, *shape), wild=True))
            if shape and rng.random() < 0.3:
                planes = np.broadcast_to(planes[..., :1], planes.shape)
            operands.append(planes)
        before = [p.copy() for p in operands]
        out = np.zeros((1 if name == "abs" else parts, limbs, *shape))
        out = guarded(out) if out.size else out
        _native.elementwise(name, out, *operands)
        for p, q in zip(operands, before, strict=True):
            np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("limbs", LIMBS)
def test_reductions(limbs: int) -> None:
    rng = np.random.default_rng(limbs)
    for m, k in itertools.product((0, 1, 3, 9), (0, 1, 7, 129, 300)):
        parts = int(rng.integers(1, 3))
        a = strided(rng, random_planes(rng, (parts, limbs, m, k), wild=True))
        b = strided(rng, random_planes(rng, (1, limbs, m, k), wild=False))
        out = np.empty((parts, limbs, m))
        _native.sum(out, a)
        _native.dot(out, a, b)
    long = random_planes(rng, (1, limbs, 1, 9000), wild=False)
    out = np.empty((1, limbs, 1))
    _native.sum(out, long)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("limbs", LIMBS)
def test_compare_and_normalize(limbs: int) -> None:
    rng = np.random.default_rng(limbs)
    for _ in range(20):
        shape = random_shape(rng)
        a, b = (random_planes(rng, (1, limbs, *shape), wild=True) for _ in range(2))
        sign = np.empty(shape, np.int8)
        _native.compare_signs(sign, a, b)
        assert np.isin(sign, (-1, 0, 1, 2)).all()
        out = np.empty((1, int(rng.choice(LIMBS)), *shape))
        _native.normalize(out, strided(rng, a))


def bad_calls() -> list[tuple[str, Callable[[], Any]]]:
    f = np.ones
    e = _native.elementwise
    return [
        ("unknown name", lambda: e("pow", f((1, 2, 3)), f((1, 2, 3)), f((1, 2, 3)))),
        ("too few operands", lambda: e("add", f((1, 2, 3)), f((1, 2, 3)))),
        ("too many operands", lambda: e("add", *[f((1, 2, 3))] * 5)),
        ("no operands", lambda: e("add", f((1, 2, 3)))),
        ("limbs that do not exist", lambda: e("add", f((1, 7, 3)), f((1, 7, 3)), f((1, 7, 3)))),
        ("shapes differ", lambda: e("add", f((1, 2, 3)), f((1, 2, 4)), f((1, 2, 3)))),
        ("limbs differ", lambda: e("add", f((1, 4, 3)), f((1, 2, 3)), f((1, 4, 3)))),
        ("parts", lambda: e("add", f((1, 2, 3)), f((2, 2, 3)), f((1, 2, 3)))),
        ("three parts", lambda: e("neg", f((3, 2, 3)), f((3, 2, 3)))),
        ("no planes", lambda: e("neg", f(3), f(3))),
        ("integers", lambda: e("neg", f((1, 2, 3), int), f((1, 2, 3), int))),
        ("mixed types", lambda: e("neg", f((1, 2, 3)), f((1, 2, 3), np.float32))),
        ("complex dtype", lambda: e("neg", f((1, 2, 3), complex), f((1, 2, 3), complex))),
        ("strided result", lambda: e("neg", f((1, 2, 6))[..., ::2], f((1, 2, 3)))),
        ("not an array", lambda: e("neg", f((1, 2, 3)), [1.0, 2.0])),
        ("None", lambda: e("neg", None, None)),
        ("read-only result", lambda: e("neg", np.broadcast_to(f(1), (1, 2, 3)), f((1, 2, 3)))),
        ("sum shapes", lambda: _native.sum(f((1, 2, 3)), f((1, 2, 4, 5)))),
        ("sum rank", lambda: _native.sum(f((1, 2, 3)), f((1, 2, 3)))),
        ("dot limbs", lambda: _native.dot(f((1, 2, 3)), f((1, 4, 3, 5)), f((1, 4, 3, 5)))),
        ("dot parts", lambda: _native.dot(f((1, 2, 3)), f((2, 2, 3, 5)), f((1, 2, 3, 5)))),
        ("compare result", lambda: _native.compare_signs(f(3), f((1, 2, 3)), f((1, 2, 3)))),
        ("compare size", lambda: _native.compare_signs(f(2, np.int8), f((1, 2, 3)), f((1, 2, 3)))),
        ("level", lambda: _native.set_level("v9")),
        ("threads", lambda: _native.set_num_threads("many")),
        ("dimensions", lambda: e("neg", *[f((1, 2) + (1,) * 62)] * 2 + [f((1, 2))])),
    ]


@pytest.mark.parametrize(("what", "call"), bad_calls())
def test_bad_calls_raise(what: str, call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError, BufferError)):
        call()


def test_every_entry_point_survives_random_arrays() -> None:
    rng = np.random.default_rng(99)
    setters = {"set_num_threads", "set_level"}
    names = [n for n in dir(_native) if not n.startswith("_") and n not in setters]
    for f in filter(callable, (getattr(_native, name) for name in names)):
        for _ in range(60):
            arguments: list[Any] = []
            for _ in range(int(rng.integers(0, 6))):
                shape = (int(rng.integers(1, 3)), int(rng.choice(LIMBS)), *random_shape(rng))
                choice = rng.integers(8)
                if choice < 5:
                    arguments.append(random_planes(rng, shape, wild=True))
                elif choice == 5:
                    arguments.append(np.ones(shape, np.int8))
                elif choice == 6:
                    arguments.append(int(rng.integers(-2, 5)))
                else:
                    arguments.append(str(rng.choice(["add", "eq", "integer", "floating", ""])))
            with contextlib.suppress(ValueError, TypeError, BufferError):
                f(*arguments)
