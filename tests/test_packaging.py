"""The wheel: built from the checkout, installed in a clean environment, used outside of it."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_works_outside_the_checkout(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(dist), str(ROOT)], check=True)
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    command = [
        str(tmp_path / "env" / "bin" / "maven-bench"),
        "run",
        "--limit",
        "2",
        "--agent",
        "oracle",
        "--out",
        "runs",
    ]
    subprocess.run(command, check=True, cwd=outside)
    records = [json.loads(line) for line in (outside / "runs" / "records.jsonl").read_text().splitlines()]
    assert [record["score"]["total"] for record in records] == [pytest.approx(100)] * 2
    where = "import maven_env, maven_agents; print(maven_env.__file__)"
    run = subprocess.run([str(python), "-c", where], check=True, cwd=outside, capture_output=True, text=True)
    assert str(tmp_path / "env") in run.stdout


def test_the_readme_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert "maven-bench run" in commands[0]
    assert "-m pytest" in commands[1]


def test_version_licence_and_citation_agree() -> None:
    import maven_env

    assert f"version: {maven_env.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {maven_env.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
