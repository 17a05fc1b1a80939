"""Reading templates: data only, and a broken file is refused with file, line and reason."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from maven_env.errors import TemplateError
from maven_env.problems import library
from maven_env.problems.loading import load
from maven_env.problems.template import Sampler, Template, by_regime

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


# what is wrong: old text, new text, text of the line that must be named (where it is not the new text), reason
BROKEN = {
    "a key twice": ("version: 1", "version: 1\nversion: 2", "version: 2", "stands twice"),
    "an unknown key": ("version: 1", "version: 1\ncolour: red", "colour", "colour: Extra"),
    "a key that is no text": ("    m:   {grid: [20, 40, 5]}", "    1:   {grid: [20, 40, 5]}", "", "a key must be text"),
    "a bare yes": ('choice: ["yes", "no"]', "choice: [yes, no]", "", "in quotes"),
    "a version that is true": ("version: 1", "version: true", "", "version: "),
    "a version in text": ("version: 1", "version: '1'", "", "version: "),
    "a flag in text": ("hidden: true}", "hidden: 'true'}", "", "parameters.t1.hidden: "),
    "a flag that is a number": ("unit: m, public: true", "unit: m, public: 1", "", "derived.position.public: "),
    "a missing key": ("title: Ground", "# title: Ground", "# A shuttle", "title: Field required"),
    "a float in a sampler": ("[7, 9, 1]", "[7, 9, 0.5]", "", "regimes.nominal.T.grid.2: expected an integer"),
    "a power of ten in a sampler": ("[7, 9, 1]", "[7, 9, '1e-99999999']", "", "no exact number"),
    "a decimal in a sampler": ("[7, 9, 1]", "[7, 9, '0.5']", "", "no exact number"),
    "an integer of 50 digits": ("[7, 9, 1]", f"[7, {'9' * 50}, 1]", "", "at most 40 digits"),
    "a fraction of 50 digits": ("[7, 9, 1]", f"[7, 9, 1/{'9' * 50}]", "", "at most 40 digits"),
    "a division by zero": ("[7, 9, 1]", "[7, 9, 1/0]", "", "divides by zero"),
    "two kinds of sampler": (
        "{grid: [7, 9, 1]}",
        "{grid: [7, 9, 1], choice: [1]}",
        "",
        "regimes.nominal.T: give exactly one",
    ),
    "a factor that makes huge fractions": (
        "{grid: [7, 9, 1]}",
        f"{{log_grid: [1, 1000000, {10**39 + 1}/{10**39}]}}",
        "",
        "bits",
    ),
    "a parameter that is not drawn": (
        "    m:   {grid: [20, 40, 5]}\n",
        "",
        "  nominal:",
        "regimes.nominal: m must be drawn",
    ),
    "a regime that extends nothing": ("extends: nominal", "extends: normal", "", "regimes.near_degenerate.extends: "),
    "a regime that extends no text": ("extends: nominal", "extends: [nominal]", "", "expected the name of a regime"),
    "no nominal regime": ("  nominal:\n", "  usual:\n", "regimes:", "nominal"),
    "a derived name of nothing": (
        "C: 3*A*t1*(t1 + gap)",
        "C: 3*A*t1*(t1 + gapp)",
        "",
        "derived.C.expr: gapp has no value",
    ),
    "a derived name that comes later": (
        "B: 3*A*(2*t1 + gap)/2",
        "B: 3*A*(2*t1 + gap)/C",
        "",
        "derived only here or later",
    ),
    "a free symbol in a hidden quantity": (
        "require:",
        "  speed: position + 1\n\nrequire:",
        "  speed:",
        "derived.speed.expr: position has no value",
    ),
    "an expression that is none": ("B: 3*A*(2*t1 + gap)/2", "B: 3*A*(2*t1 + gap", "", "derived.B.expr: "),
    "a requirement of nothing": ("t1 + gap < T", "t1 + gap < t", "", "require.0: uses t;"),
    "a requirement that is no relation": ("t1 + gap < T", "t1 + gap", "", "is no relation"),
    "a step that refers to nothing": (
        "wrt: t, real_only: true}",
        "wrt: '${speed.output.expr}'}",
        "",
        "steps.times.input.wrt: refers to 'speed'",
    ),
    "a reference of no form": ("${velocity.output.expr}", "${velocity.result}", "", "is no reference"),
    "a reference that has no end": (
        '"${velocity.output.expr}", wrt: t, real',
        '"${velocity", wrt: t, real',
        "",
        "cannot be read",
    ),
    "a circle of references": (
        'expr: "${given.output.position}", wrt: t}',
        'expr: "${duration.output.expr}", wrt: t}',
        "  velocity:",
        "circle: velocity -> duration -> times -> velocity",
    ),
    "a step of another regime": (
        "  velocity:\n",
        "  velocity:\n    when: [nominal]\n",
        "  times:",
        "(regime near_degenerate)",
    ),
    "a tool that is none": (
        "tool: polynomial_roots_exact",
        "tool: polynomial_root_exact",
        "",
        "did you mean polynomial_roots",
    ),
    "a tool that is like none": (
        "tool: check_residual",
        "tool: zzz",
        "",
        "steps.residual.tool: there is no tool 'zzz'",
    ),
    "a field that the tool lacks": (
        "target_rel_error: 1e-10",
        "target_error: 1e-10",
        "",
        "no field 'target_error'; did you",
    ),
    "a field that the tool needs": (
        ", wrt: t, real_only: true",
        "",
        'expr: "${velocity.output.expr}"}',
        "needs the field 'wrt'",
    ),
    "a stand-in that is no tool": ("tool: solve_equation", "tool: solve_equations", "", "steps.times.accept.0.tool: "),
    "a stand-in's field that is none": (
        "field: solutions",
        "field: soluzioni",
        "",
        "accept.0.field: solve_equation has no",
    ),
    "a hidden quantity in a step": (
        "${given.output.T}",
        "${given.output.t1}",
        "",
        "steps.displacement.input.limits.1: ",
    ),
    "a hidden quantity in the prompt": ("mass {m} kg runs", "mass {gap} kg runs", "prompt: |", "gap"),
    "a checkpoint of no reference": ('of: "${duration.output.expr}"', "of: duration", "", "checkpoints.duration.of: "),
    "a checkpoint of a hidden step": (
        'of: "${duration.output.expr}"',
        'of: "${dur.output.expr}"',
        "",
        "refers to step 'dur'",
    ),
    "a checkpoint without cross-check": ("  duration: gap\n", "", "crosscheck:", "duration"),
    "a cross-check that is silent": ("{all: maximum, ", "{nominal: maximum, ", "", "crosscheck.kind: says nothing for"),
    "a checkpoint without tolerance": ("form: number, unit: s, rtol: 1e-12}", "form: number, unit: s}", "", "rtol"),
    "a negative tolerance": ("unit: s, rtol: 1e-12", "unit: s, rtol: -1e-12", "", "checkpoints.times.rtol: "),
    "a tolerance of one": ("unit: s, rtol: 1e-12", "unit: s, atol: 1", "", "checkpoints.times.atol: "),
    "a tolerance that is true": ("unit: s, rtol: 1e-12", "unit: s, rtol: true", "", "checkpoints.times.rtol: "),
    "a number beyond all bounds": ("unit: s, rtol: 1e-12", "unit: s, rtol: 1e999", "", "beyond the range"),
    "a check of no step": ("{step: residual, reads", "{step: residuum, reads", "", "did you mean 'residual'"),
    "a reading that is none": ("reads: {all: passed}, settles: d", "reads: {all: good}, settles: d", "", "passed"),
    "a check that is silent": (
        "reads: {all: passed}, settles: d",
        "reads: {nominal: passed}, settles: d",
        "",
        "says nothing",
    ),
    "a label that the prompt lacks": ("(e) Take", "(f) Take", "  e: {choice", "(e)"),
    "a word that the prompt lacks": ("Answer `yes` or `no`.", "Answer.", "  e: {choice", "backquotes"),
    "a check that does not settle its label": ("    settles: e\n", "", "  precision:", "settles"),
    "a path that takes nothing away": ("displacement: null", "displacment: null", "", "did you mean 'displacement'"),
    "a path that changes nothing": (
        "displacement: null",
        "displaced: {input: {order: 2}}",
        "",
        "paths.by_positions.steps.",
    ),
    "a path with a tool that is none": (
        "end:  {tool: substitute",
        "end:  {tool: replace",
        "",
        "paths.by_positions.steps.end.tool",
    ),
    "a path that takes what others need": (
        "displacement: null",
        "times: null",
        "    steps:",
        "'times', which is not there (regime",
    ),
    "a sensitivity of no field": ("{input: {tol: 1e-9}}", "{input: {tole: 1e-9}}", "", "steps.kind.input.tole: "),
    "a pitfall of no checkpoint": (
        "checkpoints: {duration:",
        "checkpoints: {time:",
        "",
        "there is no checkpoint 'time'",
    ),
    "a pitfall of no check": (
        "    breaks: [distance]",
        "    breaks: [distance]\n    x: 1",
        "    x: 1",
        "pitfalls.1.x: ",
    ),
    "a pitfall in no regime": (
        "    in: [near_degenerate]\n    mistake",
        "    in: [nowhere]\n    mistake",
        "    in: [nowhere]",
        "pitfalls.0.in: there is no regime 'nowhere'",
    ),
    "a pitfall that breaks nothing known": ("breaks: [distance]", "breaks: [length]", "", "length"),
    "an id that is not the file's": (
        "id: classical_mechanics/retreating",
        "id: classical_mechanics/x",
        "",
        "must stand as",
    ),
    "an anchor and its alias": ("version: 1", "version: 1\nx: &x 1\ny: *x", "y: *x", "aliases are not read"),
    "a merge key": ("version: 1", "version: 1\n<<: {a: 1}", "<<:", "merge"),
    "code": ("version: 1", "version: !!python/object/apply:os.system ['true']", "", "python"),
    "a date": ("version: 1", "version: !!timestamp 2020-01-01", "", "timestamp"),
    "an octal number": ("version: 1", "version: !!int 0o7", "", "is no int"),
    "a control character": ("version: 1", "version: \x01", "", "not allowed"),
    "text that is no yaml": ("version: 1", "version: [1", "title: Ground", ""),
}


@pytest.mark.parametrize(("old", "new", "at", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_fault_is_refused_with_file_line_and_reason(tmp_path: Path, old: str, new: str, at: str, reason: str) -> None:
    file = changed(tmp_path, old, new)
    lines = file.read_text(encoding="utf-8").splitlines()
    with pytest.raises(TemplateError) as caught:
        load(file)
    number, colon, message = str(caught.value).partition("shuttle.yaml:")[2].partition(": ")
    assert reason in message
    assert (at or new) in lines[int(number) - 1]
    assert colon


def test_a_step_that_exists_in_none_of_a_patchs_regimes_cannot_be_changed(tmp_path: Path) -> None:
    text = SHUTTLE.read_text(encoding="utf-8")
    for old, new in (
        ("  residual:\n", "  residual:\n    when: [near_degenerate]\n"),
        ("{step: residual, reads: {all: passed}}", "{step: residual, reads: {all: passed}, when: [near_degenerate]}"),
        ("      displacement: null\n", "      displacement: null\n      residual: null\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    line = text.partition("      residual: null")[0].count("\n") + 1
    with pytest.raises(
        TemplateError, match=f":{line}: paths.by_positions.steps.residual: .* none of the regimes nominal"
    ):
        load(write(tmp_path, text))


def test_a_patch_of_a_check_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = changed(tmp_path, "{steps: {kind: {input: {tol: 1e-9}}}}", "{checks: {extremes: {field: x}}}")
    with pytest.raises(
        TemplateError, match=r"sensitivity.tighter_test.checks.extremes: there is no check 'extremes'; did"
    ):
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
    assert Sampler(grid=(1, 2, "1/4")).options() == [1, Fraction(5, 4), Fraction(3, 2), Fraction(7, 4), 2]
    assert Sampler(log_grid=("1/100", 1, 10)).options() == [Fraction(1, 100), Fraction(1, 10), 1]
    with pytest.raises(ValueError, match="positive step"):
        Sampler(grid=(1, 2, 0))
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
