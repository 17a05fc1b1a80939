"""The one way that a call is executed: references, errors, memo, guard."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from maven_env.artifacts import ArtifactStore, MemoryStore, given_artifact
from maven_env.execution.memo import Hits, Memo
from maven_env.tools.toolbox import Toolbox
from maven_env.types import ToolCall


@pytest.fixture
def store() -> ArtifactStore:
    made = MemoryStore("P")
    made.put(given_artifact("P", {"A": "1/2", "f": "x^2 + 1"}, {"A": "m", "f": ""}))
    return made


def test_references_are_resolved_typed_and_remembered_as_parents(toolbox: Toolbox, store: ArtifactStore) -> None:
    store.put(toolbox.call(ToolCall("polynomial_roots_exact", {"expr": "x^2 - 5*x + 6", "wrt": "x"}), store))
    call = ToolCall("substitute", {"expr": "2*${given.output.f}^2", "subs": {"x": "${step-01.output.roots[1]}"}})
    artifact = toolbox.call(call, store)
    assert artifact.output["expr"] == "200"
    assert artifact.parents == ("given", "step-01")
    assert artifact.resolved_input == {"expr": "2*(x^2 + 1)^2", "subs": {"x": "3"}}
    assert artifact.input == call.input


def test_a_whole_list_can_be_referred_to(toolbox: Toolbox, store: ArtifactStore) -> None:
    store.put(toolbox.call(ToolCall("polynomial_roots_exact", {"expr": "x^2 - 5*x + 6", "wrt": "x"}), store))
    call = ToolCall("cross_check_numeric", {"a": "${step-01.output.values}", "b": ["2", "3"]})
    assert toolbox.call(call, store).output["verdict"] == "passed"


def test_a_list_where_an_expression_is_needed_says_to_pick_an_element(toolbox: Toolbox, store: ArtifactStore) -> None:
    store.put(toolbox.call(ToolCall("polynomial_roots_exact", {"expr": "x^2 - 5*x + 6", "wrt": "x"}), store))
    artifact = toolbox.call(ToolCall("substitute", {"expr": "2*${step-01.output.roots}", "subs": {}}), store)
    assert artifact.error is not None
    assert "element" in artifact.error.hint


def test_a_failed_step_cannot_be_referred_to(toolbox: Toolbox, store: ArtifactStore) -> None:
    store.put(toolbox.call(ToolCall("symbolic_diff", {"expr": "x"}), store))
    artifact = toolbox.call(ToolCall("symbolic_diff", {"expr": "${step-01.output.expr}", "wrt": "x"}), store)
    assert artifact.error is not None
    assert artifact.error.code == "BAD_REFERENCE"
    assert "failed with BAD_INPUT" in artifact.error.message


def test_equal_computations_are_done_once_whatever_they_look_like(store: ArtifactStore) -> None:
    memo = Memo()
    toolbox = Toolbox(memo)
    for expr in ("x^2", "x**2", " x ^ 2"):
        toolbox.call(ToolCall("symbolic_diff", {"expr": expr, "wrt": "x"}), store)
    assert memo.hits == Hits(memory=2, disk=0, missed=1)
    assert memo.hits.rate == pytest.approx(2 / 3)


def test_a_failure_is_remembered_too(store: ArtifactStore) -> None:
    memo = Memo()
    toolbox = Toolbox(memo)
    call = ToolCall("substitute", {"expr": "1/x", "subs": {"x": "0"}})
    first, second = toolbox.call(call, store), toolbox.call(call, store)
    assert memo.hits.memory == 1
    assert first.error == second.error
    assert first.error is not None


def test_the_memo_forgets_what_was_used_longest_ago() -> None:
    memo = Memo(size=2)
    for key in ("a", "b"):
        memo.put(key, {"v": key})
    memo.get("a")
    memo.put("c", {"v": "c"})
    assert memo.get("b") is None
    assert memo.get("a") == {"v": "a"}
    assert len(memo) == 2


def test_a_memo_on_disk_outlives_the_process_that_wrote_it(tmp_path: Path, store: ArtifactStore) -> None:
    file = tmp_path / "memo.db"
    call = ToolCall("symbolic_diff", {"expr": "x^5", "wrt": "x"})
    code = (
        "import sys; from maven_env.tools.toolbox import Toolbox; from maven_env.execution.memo import Memo; "
        "from maven_env.artifacts import MemoryStore; from maven_env.types import ToolCall; "
        "Toolbox(Memo(file=sys.argv[1])).call(ToolCall('symbolic_diff', {'expr': 'x^5', 'wrt': 'x'}), MemoryStore('P'))"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
    memo = Memo(file=file)
    assert Toolbox(memo).call(call, store).output == {"expr": "5*x^4"}
    assert memo.hits == Hits(memory=0, disk=1, missed=0)
    memo.close()


def test_what_may_run_away_runs_in_the_guarded_process(toolbox: Toolbox, store: ArtifactStore) -> None:
    call = ToolCall("symbolic_simplify", {"expr": "sin(x)^2 + cos(x)^2"})
    assert toolbox.call(call, store).output["expr"] == "1"


def test_versions_of_the_back_ends_are_recorded(toolbox: Toolbox, store: ArtifactStore) -> None:
    import sympy

    artifact = toolbox.call(ToolCall("symbolic_diff", {"expr": "x^2", "wrt": "x"}), store)
    assert artifact.backend == {"sympy": sympy.__version__}
    assert artifact.tool_version == "1"
