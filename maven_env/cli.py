"""The command line: `maven-bench run | templates | tools`. Each command is a few lines over a function."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from maven_env.errors import ConfigurationError, MavenError

if TYPE_CHECKING:
    from maven_env.types import Agent, ChatModel

app = typer.Typer(
    name="maven-bench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
templates_app = typer.Typer(no_args_is_help=True, help="List, show and prove templates; make the deployed instances.")
tools_app = typer.Typer(no_args_is_help=True, help="List, show and call tools.")
app.add_typer(templates_app, name="templates")
app.add_typer(tools_app, name="tools")


def main() -> None:
    """Run the command line; an error that is meant for the user ends it with its message and status 1."""
    try:
        app()
    except MavenError as error:
        _err().print(f"[red]error:[/red] {escape(str(error))}", highlight=False)
        sys.exit(1)


def _out() -> Console:
    return Console()


def _err() -> Console:
    return Console(stderr=True)


def _progress(target: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=target)


# ---- run -------------------------------------------------------------------------------------------------------------
def _version(wanted: bool) -> None:
    if wanted:
        import maven_env

        _out().print(f"maven-bench {maven_env.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """MavenBench: problems of mathematics and physics for agents that call tools."""


@app.command()
def run(
    agent: Annotated[list[str] | None, typer.Option(help="agent by name; may be repeated")] = None,
    model: Annotated[str | None, typer.Option(help="name of a chat model; without --agent it runs as direct")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1")
    ] = None,
    native_tools: Annotated[bool, typer.Option(help="use the API's own tool calling instead of JSON text")] = False,
    max_tokens: Annotated[int | None, typer.Option(help="tokens of one response at most")] = None,
    ids: Annotated[list[str] | None, typer.Option(help="only this instance; may be repeated")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="only the first N instances")] = None,
    tools: Annotated[str, typer.Option(help="offer the tools of the domain, 24 for the problem, or all")] = "domain",
    max_steps: Annotated[int, typer.Option(min=1, help="responses until an episode is cut off")] = 40,
    out: Annotated[Path | None, typer.Option(help="folder for records.jsonl; must not hold one already")] = None,
) -> None:
    """Run agents over the deployed instances and print the table of scores.

    Without options it runs the built-in agents, which need no model. Status 1 if every instance is void.
    """
    from maven_env.evaluation.runner import Plan, deployed_ids
    from maven_env.evaluation.runner import run as run_plan
    from maven_env.evaluation.summary import summarise, table
    from maven_env.tools.menus import OFFERS

    names = tuple(agent) if agent else ("direct",) if model else _agents().BUILT_IN
    if tools not in OFFERS:
        raise ConfigurationError(f"--tools {tools} is not known; choose one of {', '.join(OFFERS)}")
    make_agent = _agent_factory(names, model, base_url, native_tools, max_tokens)
    options = {"split": "test", "tools": tools, "max_steps": max_steps}
    plan = Plan(names, deployed_ids(limit, ids or ()), "test", model, options)
    file = _records_file(out)
    records = []
    with _progress(_err()) as progress:
        task = progress.add_task("episodes", total=len(plan))
        for record in run_plan(plan, make_agent, file):
            records.append(record)
            progress.update(task, advance=1, description=record["agent"])
    _out().print(table(summarise(records)))
    if file is not None:
        _out().print(f"records: {file}", highlight=False)
    _warn(records)
    if records and all("void" in record for record in records):
        raise typer.Exit(1)


def _agents() -> Any:
    """Return the package of agents; found by name when it is needed, so that the environment stands without it."""
    return importlib.import_module("maven_agents")


def _agent_factory(
    names: tuple[str, ...], model: str | None, base_url: str | None, native_tools: bool, max_tokens: int | None
) -> Callable[[str], Agent]:
    agents = _agents()
    chat: ChatModel | None = None
    if model is None:
        options = {"--base-url": base_url, "--native-tools": native_tools, "--max-tokens": max_tokens}
        for option, value in options.items():
            if value:
                raise ConfigurationError(f"{option} is for a chat model; name one with --model")
    else:
        chat = importlib.import_module("maven_agents.chat").OpenAIChat(model, base_url, max_tokens=max_tokens)
    if model is not None and set(names) <= set(agents.BUILT_IN):
        raise ConfigurationError(f"--model is for a chat agent such as direct; {', '.join(names)} need none")
    for name in names:
        agents.make(name, chat)  # an unknown name ends the run before it begins

    def make(name: str) -> Agent:
        made: Agent = agents.make(name, chat)
        if native_tools and hasattr(made, "native_tools"):
            made.native_tools = True
        return made

    return make


def _records_file(out: Path | None) -> Path | None:
    if out is None:
        return None
    file = out / "records.jsonl"
    try:
        if out.exists() and not out.is_dir():
            raise ConfigurationError(f"--out is a folder for records.jsonl, and {out} is a file")
        if file.exists():
            raise ConfigurationError(f"{file} exists already; choose another folder with --out")
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be written: {error.strerror or error}") from None
    return file


def _warn(records: list[dict[str, Any]]) -> None:
    void = [record for record in records if "void" in record]
    if void:
        count = "1 instance is" if len(void) == 1 else f"{len(void)} instances are"
        message = f"{count} void and not scored; the first: {void[0]['void']['message']}"
        _err().print(f"[yellow]warning:[/yellow] {escape(message)}", highlight=False)
    scored = [record for record in records if "score" in record and record["model"] is not None]
    if scored and all("no_tool_calls" in record["score"]["flags"] for record in scored):
        _err().print("[yellow]warning:[/yellow] no tool was called in the whole run", highlight=False)


# ---- templates -------------------------------------------------------------------------------------------------------
@templates_app.command("list")
def list_templates() -> None:
    """List the templates with their regimes."""
    from maven_env.problems import library

    held = set(library.deployment().heldout)
    deployed = {entry.template_id: entry.problem_id for entry in library.deployment().instances.values()}
    result = Table(title="templates", title_justify="left")
    for heading in ("template", "regimes", "split", "deployed as"):
        result.add_column(heading, no_wrap=heading in ("template", "deployed as"))
    for template_id in library.template_files():
        found = library.template(template_id)
        split = "heldout" if template_id in held else "train"
        result.add_row(template_id, ", ".join(found.regimes), split, deployed.get(template_id, "-"))
    _out().print(result)


@templates_app.command("show")
def show_template(
    name: Annotated[str, typer.Argument(help="template id, MAVEN-Bench-0001, or id@version/regime/seed")],
    regime: Annotated[str, typer.Option(help="regime to draw from, for a template id")] = "nominal",
    seed: Annotated[int, typer.Option(help="seed of the draw, for a template id")] = 0,
) -> None:
    """Show a problem with its solution: statement, given, canonical trace with outputs, answers, pitfalls."""
    from maven_env.evaluation.exhibit import draw_problem
    from maven_env.problems import library

    if "/" in name and "@" not in name:
        name = f"{name}@{library.template(name).version}/{regime}/{seed}"
    _out().print(draw_problem(library.problem(name)), markup=False, highlight=False, soft_wrap=True)


@templates_app.command("prove")
def prove_templates(
    names: Annotated[list[str] | None, typer.Argument(help="template ids; all if none is given")] = None,
    draws: Annotated[int, typer.Option(min=1, help="draws of each regime")] = 40,
    jobs: Annotated[int, typer.Option(min=1, help="processes")] = 1,
) -> None:
    """Prove templates: run every claim that they make on many draws; status 1 if one fails."""
    from maven_env.evaluation.proving import prove_all
    from maven_env.problems import library

    chosen = tuple(names or library.template_files())
    for name in chosen:
        library.template(name)  # a broken or unknown template ends the run before it begins
    proofs = []
    with _progress(_err()) as progress:
        task = progress.add_task("templates", total=len(chosen))
        for proof in prove_all(chosen, draws, jobs):
            proofs.append(proof)
            progress.update(task, advance=1, description=proof.template_id)
    result = Table(title=f"proof on {draws} draws of each regime", title_justify="left")
    for heading in ("template", "regimes", "steps", "pitfalls", "proven"):
        result.add_column(heading, justify="right" if heading in ("regimes", "pitfalls") else "left")
    for proof in proofs:
        span = "-".join(map(str, sorted(set(proof.steps))))
        state = "yes" if proof.is_proven else "NO"
        result.add_row(proof.template_id, str(len(proof.regimes)), span, str(proof.pitfalls), state)
    _out().print(result)
    for proof in proofs:
        for fault, count in proof.faults[:20]:
            _out().print(f"{proof.template_id}: {count} x {fault}", markup=False, highlight=False)
    if not all(proof.is_proven for proof in proofs):
        raise typer.Exit(1)


@templates_app.command("deploy")
def deploy_templates(
    add: Annotated[bool, typer.Option(help="also deploy templates that have no instance yet")] = False,
) -> None:
    """Make the stored references of the deployed instances again; a changed digest needs a new template version."""
    from maven_env.problems.deploying import redeploy

    with _progress(_err()) as progress:
        task = progress.add_task("instances", total=None)
        made = redeploy(add=add, report=lambda done, total: progress.update(task, completed=done, total=total))
    _out().print(f"{len(made.instances)} instances, {len(made.heldout)} held-out templates")


# ---- tools -----------------------------------------------------------------------------------------------------------
@tools_app.command("list")
def list_tools() -> None:
    """List the tools with signature and purpose."""
    from maven_env.tools.registry import registry

    result = Table(title="tools", title_justify="left")
    for heading in ("family", "signature", "purpose"):
        result.add_column(heading, overflow="fold")
    for spec in registry().values():
        result.add_row(spec.family, escape(spec.signature()), escape(spec.purpose))
    _out().print(result)


@tools_app.command("show")
def show_tool(name: Annotated[str, typer.Argument(help="tool id")]) -> None:
    """Show what a tool does, its arguments, outputs, errors and an example."""
    from maven_env.tools.documentation import draw_tool
    from maven_env.tools.registry import find

    _out().print(draw_tool(find(name)), markup=False, highlight=False, soft_wrap=True)


@tools_app.command("call")
def call_tool(
    name: Annotated[str, typer.Argument(help="tool id")],
    given: Annotated[str, typer.Argument(metavar="JSON", help='input, such as \'{"expr": "x^2", "wrt": "x"}\'')],
) -> None:
    """Call a tool once and print the artifact; status 1 if the call failed."""
    from maven_env.artifacts import MemoryStore
    from maven_env.tools.toolbox import Toolbox
    from maven_env.types import ToolCall

    try:
        arguments = json.loads(given)
    except ValueError as error:
        raise ConfigurationError(f"the input is no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ConfigurationError("the input must be a JSON object of arguments")
    artifact = Toolbox().call(ToolCall(name, arguments), MemoryStore("command-line"))
    print(json.dumps(artifact.to_json(), ensure_ascii=False, indent=2))
    if not artifact.ok:
        raise typer.Exit(1)


if __name__ == "__main__":
    main()
