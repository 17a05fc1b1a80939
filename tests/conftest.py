"""Fixtures that many tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maven_env.env import MavenBenchEnv
from maven_env.problems import library
from maven_env.tools.toolbox import Toolbox
from maven_env.types import Problem

ROOT = Path(__file__).resolve().parents[1]
TRUTH = ROOT.parent / "shared" / "truth"  # published cases; only some machines hold them


@pytest.fixture(scope="session")
def toolbox() -> Toolbox:
    """One toolbox for the session: results of equal calls are computed once."""
    return Toolbox()


@pytest.fixture(scope="session")
def paper_problem() -> Problem:
    """The paper's own problem."""
    return library.deployed_problem("MAVEN-Bench-0001")


@pytest.fixture
def env(toolbox: Toolbox) -> Iterator[MavenBenchEnv]:
    """An environment over the deployed instances."""
    made = MavenBenchEnv(split="test", toolbox=toolbox)
    yield made
    made.close()


@pytest.fixture(scope="session")
def truth() -> Path:
    """The folder of published cases. Skips where it is not there: some of them must not be copied into a repository."""
    if not TRUTH.is_dir():
        pytest.skip("the published cases are not here")
    return TRUTH
