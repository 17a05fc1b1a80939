"""Numeric linear algebra on one thread, without changing the host's setting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold the BLAS libraries to one thread, so that sums are taken in one order."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find the loaded BLAS libraries once; scipy brings one of its own, so it is loaded first."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
