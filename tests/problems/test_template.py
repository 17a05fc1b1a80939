"""Reading templates: data only, and a broken file is refused with file, line and reason."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from maven_env.errors import TemplateError
from maven_env.problems import library
from maven_env.problems.template import Sampler, Template, by_regime, load

SHUTTLE = library.templates_folder() / "classical_mechanics" / "retreating-shuttle.yaml"


def write(tmp_path: Path, text: str, name: str = "retreating-shuttle") -> Path:
    folder = tmp_path / "classical_mechanics"
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = SHUTTLE.read_text(encoding="utf-8")
    assert old in text
    return write(tmp_path, text.replace(old, new, 1))


@pytest.mark.parametrize("template_id", list(library.template_files()))
def test_every_template_of_the_project_is_read(template_id: str) -> None:
    template = library.template(template_id)
    assert template.id == template_id
    assert len(template.regimes) >= 3


BROKEN = {
    "a key twice": ("version: 1", "version: 1\nversion: 2", "stands twice"),
    "an unknown key": ("version: 1", "version: 1\ncolour: red", "colour"),
    "a bare yes": ('choice: ["yes", "no"]', "choice: [yes, no]", "in quotes"),
    "a float in a sampler": ("T:   {grid: [7, 9, 1]}", "T:   {grid: [7, 9, 0.5]}", "expected an integer or a fraction"),
    "two kinds of sampler": ("T:   {grid: [7, 9, 1]}", "T:   {grid: [7, 9, 1], choice: [1]}", "exactly one of"),
    "a parameter that is not drawn": ("    m:   {grid: [20, 40, 5]}\n", "", "must be drawn"),
    "a regime that extends nothing": ("extends: nominal", "extends: normal", "normal"),
    "no nominal regime": ("  nominal:\n", "  usual:\n", "nominal"),
    "a step that refers to nothing": ("${velocity.output.expr}", "${speed.output.expr}", "speed"),
    "a hidden quantity in a step": ("${given.output.T}", "${given.output.t1}", "public"),
    "a hidden quantity in the prompt": ("A shuttle of mass {m} kg", "A shuttle of mass {gap} kg", "gap"),
    "a checkpoint without cross-check": ("  duration: gap\n", "", "duration"),
    "a checkpoint without tolerance": ("form: number, unit: s, rtol: 1e-12}", "form: number, unit: s}", "rtol"),
    "a check of no step": ("{step: residual, reads", "{step: residuum, reads", "residuum"),
    "a reading that is none": ("reads: {all: passed}, settles: d", "reads: {all: good}, settles: d", "passed"),
    "a label that the prompt lacks": ("(e) Take", "(f) Take", "(e)"),
    "a word that the prompt lacks": ("Answer `yes` or `no`.", "Answer.", "backquotes"),
    "a check that does not settle its label": ("failed}, settles: e}", "failed}}", "settles"),
    "a pitfall in no regime": ("    in: [near_degenerate]\n    mistake", "    in: [nowhere]\n    mistake", "nowhere"),
    "a pitfall that breaks nothing known": ("breaks: [distance]", "breaks: [length]", "length"),
    "an id that is not the file's": ("id: classical_mechanics/retreating-shuttle", "id: classical_mechanics/other", "must stand as"),
    "a merge key": ("version: 1", "version: 1\n<<: {a: 1}", "merge"),
    "an expression that is none": ("B: 3*A*(2*t1 + gap)/2", "B: 3*A*(2*t1 + gap", "derived B"),
    "code": ("version: 1", "version: !!python/object/apply:os.system ['true']", "python"),
    "text that is no yaml": ("version: 1", "version: [1", ""),
}


@pytest.mark.parametrize(("old", "new", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_with_file_and_reason(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(TemplateError) as caught:
        load(changed(tmp_path, old, new))
    assert "retreating-shuttle.yaml" in str(caught.value)
    assert reason in str(caught.value)


def test_the_line_of_a_fault_is_named(tmp_path: Path) -> None:
    file = changed(tmp_path, "  duration: {of:", "  duration: {from:")
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "{from:" in text)
    with pytest.raises(TemplateError, match=rf"retreating-shuttle.yaml:{line}: "):
        load(file)


def test_files_that_are_no_templates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="expected the keys"):
        load(write(tmp_path, "- 1\n- 2\n"))
    with pytest.raises(TemplateError, match="UTF-8"):
        load(tmp_path / "classical_mechanics" / "missing.yaml")
    binary = tmp_path / "classical_mechanics" / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TemplateError, match="UTF-8"):
        load(binary)


def test_numbers_in_scientific_form_are_numbers() -> None:
    template = load(SHUTTLE)
    assert template.steps["precision"].input["target_rel_error"] == 1e-10
    assert template.checkpoints["times"].rtol == 1e-12


def test_samplers_list_exact_values() -> None:
    assert Sampler(grid=(1, 2, "1/4")).options() == [1, Fraction(5, 4), Fraction(3, 2), Fraction(7, 4), 2]  # type: ignore[arg-type]
    assert Sampler(log_grid=("1/100", 1, 10)).options() == [Fraction(1, 100), Fraction(1, 10), 1]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive step"):
        Sampler(grid=(1, 2, 0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        Sampler(choice=())


def test_regimes_extend_each_other_and_circles_are_refused(tmp_path: Path) -> None:
    template = load(SHUTTLE)
    assert template.samplers("reversed")["T"] == template.samplers("nominal")["T"]
    assert template.samplers("reversed")["A"] != template.samplers("nominal")["A"]
    with pytest.raises(TemplateError, match="circle"):
        load(changed(tmp_path, "  nominal:\n", "  nominal:\n    extends: reversed\n"))


def test_a_by_regime_value_falls_back_to_all() -> None:
    assert by_regime({"all": 1, "branch": 2}, "branch") == 2
    assert by_regime({"all": 1, "branch": 2}, "nominal") == 1
    assert by_regime("x", "nominal") == "x"


def test_public_names_leave_out_what_is_hidden() -> None:
    template: Template = load(SHUTTLE)
    assert template.public_names() == ("A", "T", "m", "position")
