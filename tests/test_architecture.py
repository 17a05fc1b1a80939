"""The direction of imports: a package imports only what stands before it, and optional libraries only where used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LAYERS = [
    {"errors", "types"},
    {"protocol", "references", "spaces", "expressions", "execution"},
    {"artifacts"},
    {"tools"},
    {"problems"},
    {"scoring"},
    {"episode", "observations", "rendering"},
    {"env"},
    {"benchmarks", "evaluation", "server"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
LAZY = {"torch", "trl", "openai", "mcp", "ray", "matplotlib", "sympy", "scipy", "pint", "starlette", "transformers"}


def modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for file in sorted(folder.rglob("*.py")):
        yield file, ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno


def test_every_part_of_the_environment_has_a_layer() -> None:
    parts = {
        p.stem for p in (ROOT / "maven_env").iterdir() if p.suffix == ".py" or (p.is_dir() and any(p.glob("*.py")))
    }
    assert parts - {"__init__", "__pycache__", "_templates"} <= set(RANK)


def test_imports_point_downwards() -> None:
    wrong = []
    for file, tree in modules(ROOT / "maven_env"):
        part = file.relative_to(ROOT / "maven_env").parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for name, line in imported(tree):
            if name.startswith(("maven_agents", "maven_training")):
                wrong.append(f"{file}:{line}: {name}")
            if name.startswith("maven_env."):
                target = name.split(".")[1]
                if target != part and RANK[target] >= RANK[part]:
                    wrong.append(f"{file}:{line}: {part} imports {target}")
    assert wrong == []


def test_agents_do_not_import_training() -> None:
    for file, tree in modules(ROOT / "agents"):
        assert not [name for name, _ in imported(tree) if name.startswith("maven_training")], file


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    wrong = []
    for folder in ("maven_env", "agents"):
        for file, tree in modules(ROOT / folder):
            for node in tree.body:
                wrong += [f"{file}:{line}: {name}" for name, line in imported_here(node) if name.split(".")[0] in LAZY]
    assert wrong == []


def imported_here(node: ast.stmt) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from imported(node)


def test_the_folders_of_a_checkout_hold_no_package_of_their_own() -> None:
    for folder in ("agents", "templates", "training", "tests"):
        assert not (ROOT / folder / "__init__.py").exists()
