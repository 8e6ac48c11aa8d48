"""The command line. Each command imports only what it needs, so that it starts fast."""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from pyxl.errors import UserError
from workbook import DEFAULT_STUDY, __version__

RARELY = 100_000  # objects until the next search for garbage: a workbook is many objects and no garbage
Command = TypeVar("Command", bound=Callable[..., Any])
EVALUATOR_CHOICE = click.Choice(["formulas", "libreoffice", "formualizer", "all"])


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="solbook")
def solbook() -> None:
    """Which parallelisation strategy does a large model need on a cluster, and why?

    Writes a workbook of live formulas, computes the same numbers in Python, and proves that both agree.
    """


def study_options(command: Command) -> Command:
    """The argument and options that choose and change a study."""
    for decorate in (
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Change an input of all strategies; repeat for more. A value may carry a unit: '40 GB/s'.",
        ),
        click.option("--model", metavar="MODEL", help="A model by name, or the path of a Hugging Face config.json."),
        click.option("--hardware", metavar="DEVICE", help="A device by name, or the path of a hardware file."),
        click.argument("study", default=DEFAULT_STUDY, metavar="[STUDY]"),
    ):
        command = decorate(command)
    return command


def _study(study: str, hardware: str | None, model: str | None, settings: tuple[str, ...]) -> Any:
    from workbook.study import load

    loaded = load(study, hardware, model, settings)
    loaded.require_valid()
    return loaded


@solbook.command()
@study_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write; STUDY.xlsx if not given.")
@click.option("--addin", is_flag=True, help="For the xlwings add-in: STUDY.xlsm with settings, and a script beside it.")
@click.option("--force", is_flag=True, help="Overwrite a file even if somebody edited it.")
@click.option("--protect", is_flag=True, help="Lock calculations (without a password); inputs stay open.")
def build(
    study: str,
    *,
    hardware: str | None,
    model: str | None,
    settings: tuple[str, ...],
    output: Path | None,
    addin: bool,
    force: bool,
    protect: bool,
) -> None:
    """Write the workbook of STUDY, a name or the path of a study file (default: deepseek-v3-h800)."""
    loaded = _study(study, hardware, model, settings)
    from pyxl.fingerprint import require_replaceable
    from pyxl.writer import workbook_bytes, write_file
    from workbook.book import plan

    count = len(loaded.strategies)
    strategies = "1 strategy" if count == 1 else f"{count} strategies"
    if addin:
        from workbook.addin import excel, lite

        target = output or excel.default_target(study)
        lite.require_replaceable(target.parent, force=force)
        script = excel.write_workbook(loaded, target, protect=protect, force=force)
        folder = lite.write(target.parent)
        click.echo(f'{target}: {strategies}. Keep {script} beside it: "Run main" on the tab xlwings runs it.')
        click.echo(f"{folder}: for xlwings Lite in Excel's browser and on Mac, see the README.")
        return
    target = output or Path(f"{Path(study).stem}.xlsx")
    if target.suffix.lower() != ".xlsx":
        raise UserError(f"{target} must end in .xlsx: Excel opens no workbook under another name")
    require_replaceable(target, force=force)
    write_file(target, workbook_bytes(plan(loaded, protect=protect)))
    click.echo(f"{target}: {strategies}. Open it in Excel or LibreOffice; start at Summary.")


@solbook.command()
@study_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compute(study: str, hardware: str | None, model: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Compute every quantity of every strategy of STUDY with the Python engine."""
    loaded = _study(study, hardware, model, settings)
    if as_json:
        click.echo(json.dumps(_as_json(study, loaded), indent=1))
        return
    from workbook.tables import strategies_table

    strategies_table(loaded)


def _as_json(reference: str, study: Any) -> dict[str, Any]:
    from workbook.analysis import analysis

    units = {quantity.name: quantity.unit for quantity in analysis.quantities.values()}
    return {
        "study": Path(reference).stem,
        "title": study.title,
        "strategies": {
            name: {key: {"value": value, "unit": units[key]} for key, value in values.items()}
            for name, values in study.values.items()
        },
    }


@solbook.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--with",
    "evaluator",
    type=EVALUATOR_CHOICE,
    default="all",
    show_default="every one that is installed",
    help="What recalculates the file.",
)
def verify(file: Path, evaluator: str) -> None:
    """Recalculate FILE, compute its inputs in Python, and compare every quantity (relative 1e-9).

    Exit code 0 if all agree, 1 if some differ, 2 if FILE cannot be read.
    """
    from workbook.verify import verify as run

    sys.exit(0 if run(file, evaluator) else 1)


@solbook.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every finding.")
@click.option("--report", type=click.Path(path_type=Path), metavar="REPORT", help="Also write REPORT.xlsx or .html.")
@click.option("--force", is_flag=True, help="Overwrite REPORT.")
def audit(file: Path, *, as_json: bool, report: Path | None, force: bool) -> None:
    """Say what somebody did to FILE since solbook built it: inputs, formulas, rows, catalogue numbers, and the rest.

    FILE stays as it is. Exit code 0 if nothing was changed, 1 if there are findings, 2 if FILE is no workbook of ours.
    """
    from workbook.audit import audit as examine
    from workbook.audit.report import print_audit, write_report

    if report is not None and report.resolve() == file.resolve():
        raise UserError(f"{file} is what is audited and stays as it is: give the report another name")
    found = examine(file)
    if report is not None:
        write_report(found, report, force=force)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_audit(found)
    sys.exit(1 if found.findings else 0)


@solbook.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("query", metavar="CELL_OR_QUANTITY")
@click.option("--strategy", metavar="NAME", help="Whose quantity; the fastest strategy that fits if not given.")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Levels of the tree.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(file: Path, query: str, *, strategy: str | None, depth: int, as_json: bool) -> None:
    """Explain a cell of FILE ('Summary!E12'), or a quantity by key or label: its formula in names and values, what it
    is computed from, down to inputs and their sources, and what moves it most.
    """
    from workbook.contents import inputs_of
    from workbook.explanation import asked

    found = asked(inputs_of(file), query, strategy, depth)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
        return
    from workbook.explanation_report import print_explanation

    print_explanation(found)


@solbook.command()
@click.argument("old", type=click.Path(path_type=Path), metavar="A.xlsx")
@click.argument("new", type=click.Path(path_type=Path), metavar="B.xlsx")
@click.option("--strategy", metavar="NAME", help="Compare this strategy alone.")
@click.option(
    "--between", nargs=2, metavar="NAME NAME", help="Compare a strategy of A with another of B, or of A again."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every quantity that changes.")
def diff(old: Path, new: Path, *, strategy: str | None, between: tuple[str, str] | None, as_json: bool) -> None:
    """Compare two workbooks by meaning: which inputs differ, and which verdicts and quantities change through them.

    Exit code 0 if they say the same, 1 if they differ, 2 if one cannot be read.
    """
    from workbook.contents import WITH_INPUTS, inputs_of
    from workbook.difference import differences

    if strategy and between:
        raise UserError("--strategy and --between exclude each other: leave out one")
    first, second = (inputs_of(path, WITH_INPUTS) for path in (old, new))
    found = differences(first, second, (str(old), str(new)), strategy, between)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        from workbook.difference_report import print_differences

        print_differences(found, str(old), str(new))
    sys.exit(0 if found.is_equal else 1)


@solbook.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every finding.")
@click.option("--schema", is_flag=True, help="Validate against Office's schemas too: slower, needs openxml-audit.")
@click.option("--rules", is_flag=True, help="Explain every rule, with its source.")
def lint(file: Path | None, *, as_json: bool, schema: bool, rules: bool) -> None:
    """Check that Excel will open FILE without a repair, and that it keeps the rules of modelling.

    Exit code 0 if it is clean, but for advice, 1 if it is not, 2 if FILE is no workbook.
    """
    from workbook import lint as run

    if rules:
        for theme, name, severity, explanation, source in run.rules():
            click.echo(f"{theme}: {name} ({severity}). {explanation} Source: {source}")
        return
    if file is None:
        raise UserError("lint needs the workbook to check: solbook lint FILE")
    found = run.findings(file, schema=schema)
    if as_json:
        click.echo(json.dumps(run.as_json(file, found), indent=1))
    else:
        for line in run.lines(file, found):
            click.echo(line)
    sys.exit(0 if run.clean(found) else 1)


@solbook.command()
@click.argument("runs", type=click.Path(path_type=Path), required=False, metavar="[RUNS.csv]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every row.")
def validate(runs: Path | None, as_json: bool) -> None:
    """Compare measured training runs with the lower bound of their step time (default: the published runs that ship).

    Exit code 0 if no run is faster than its bound, 1 if one is, 2 if RUNS.csv cannot be read.
    """
    from workbook.validation import validate as compare

    report = compare([runs] if runs else None)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=1))
    else:
        from workbook.tables import validation_tables

        validation_tables(report)
    sys.exit(1 if report.total.violations else 0)


@solbook.group()
def model() -> None:
    """Models: list them, or count one's parameters and FLOPs."""


@model.command("list")
def model_list() -> None:
    """List the models that come with solbook."""
    from workbook.tables import models_table

    models_table()


@model.command("show")
@click.argument("reference", metavar="CONFIG_OR_NAME")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Sequences.")
@click.option("--seq-len", type=click.IntRange(1), default=4096, show_default=True, help="Tokens per sequence.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def model_show(reference: str, batch: int, seq_len: int, as_json: bool) -> None:
    """Count parameters and FLOPs of a model: a name, or the path of a Hugging Face config.json."""
    from workbook.counts import counts

    counted = counts(reference, batch, seq_len)
    if as_json:
        click.echo(json.dumps(counted, indent=1))
        return
    from workbook.tables import counts_table

    counts_table(counted)


@solbook.group()
def hardware() -> None:
    """Hardware: list and show devices, write a file for a new one, check it, import measurements or make them."""


@hardware.command("list")
def hardware_list() -> None:
    """List the devices that come with solbook."""
    from workbook.tables import hardware_table

    hardware_table()


@hardware.command("import")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option("--into", type=click.Path(path_type=Path), metavar="FILE", help="The hardware file to begin or extend.")
@click.option("--name", help="The device, where FILE is new; else as a log names it.")
@click.option("--dtype", type=click.Choice(["bf16", "fp8", "fp4"]), help="Number format, where a log has none.")
@click.option("--ranks", type=click.IntRange(2), help="Ranks of collectives, where a log does not say.")
@click.option("--ranks-per-node", type=click.IntRange(1), help="Ranks that share a node, where a log does not say.")
@click.option("--force", is_flag=True, help="Replace numbers of other origin in FILE too, but none of a data sheet.")
def hardware_import(
    logs: tuple[Path, ...],
    *,
    into: Path | None,
    name: str | None,
    dtype: str | None,
    ranks: int | None,
    ranks_per_node: int | None,
    force: bool,
) -> None:
    """Read measured numbers from logs of benchmarks: nccl-tests, nvbandwidth, p2pBandwidthLatencyTest, perftest,
    mamf-finder, hipblaslt-bench, rocblas-bench, CUTLASS profiler, BabelStream, all_reduce_bench, CSV of m, n, k, time.

    Without --into nothing is written.
    """
    from workbook.hardware_logs import importing
    from workbook.hardware_logs.records import Supplied

    _take_over(*importing.read(logs, Supplied(dtype, ranks, ranks_per_node), into), into, name, force=force)


@hardware.command("measure")
@click.option("--device", type=click.Choice(["cuda", "cpu"]), help="What to measure; a GPU where PyTorch finds one.")
@click.option("--quick", is_flag=True, help="A few seconds, for a first look, instead of a minute or two.")
@click.option("--into", type=click.Path(path_type=Path), metavar="FILE", help="The hardware file to begin or extend.")
@click.option("--name", help="The device, where FILE is new; else as the machine names it.")
@click.option("--force", is_flag=True, help="Replace numbers of other origin in FILE too, but none of a data sheet.")
def hardware_measure(*, device: str | None, quick: bool, into: Path | None, name: str | None, force: bool) -> None:
    """Measure matrix multiplications and memory bandwidth on this machine, with PyTorch or else numpy.

    Under a launcher with several ranks, collectives instead: torchrun --nproc-per-node 8 --no-python solbook hardware
    measure. Without --into nothing is written.
    """
    from workbook.hardware_measure import measuring

    if found := measuring.run(device, into, name, quick=quick):
        _take_over(*found, into, name, force=force)


def _take_over(taken: Any, device: str, into: Path | None, name: str | None, *, force: bool) -> None:
    """Print what was measured and write it into a hardware file if there is one."""
    from workbook.hardware_logs.importing import require_numbers
    from workbook.hardware_logs.report import print_tables

    print_tables(taken)
    require_numbers(taken)
    if into is None:
        click.echo("Nothing was written: say where with --into FILE.toml")
        return
    from workbook.hardware_logs.hardware_file import write

    write(into, taken.findings, name, device, force=force)
    numbers = "1 measured number" if len(taken.findings) == 1 else f"{len(taken.findings)} measured numbers"
    from workbook import catalogue
    from workbook.hardware_checks import lacking

    missing = " and ".join(lacking(catalogue.device(into)))
    first = f"Add {missing} by hand, then" if missing else "Use it"
    click.echo(f"{into}: {numbers}. {first}: solbook build --hardware {into}")


@hardware.command("show")
@click.argument("reference", metavar="NAME_OR_FILE")
def hardware_show(reference: str) -> None:
    """Show all numbers of a device with kind, date and source: a name, or the path of a hardware file."""
    from workbook.catalogue import device
    from workbook.tables import device_table

    device_table(device(reference))


@hardware.command("check")
@click.argument("file", metavar="FILE")
def hardware_check(file: str) -> None:
    """Check the numbers of a hardware file for the traps of data sheets and logs.

    Exit code 0 if it can be used, with warnings printed, 2 if it cannot.
    """
    from workbook.catalogue import device, devices
    from workbook.hardware_checks import findings

    checked = device(file)
    found = findings(checked, devices())
    for finding in found:
        click.echo(f"warning: {finding.text}")
    warnings = "1 warning" if len(found) == 1 else f"{len(found) or 'no'} warnings"
    numbers = "1 number" if len(checked.numbers) == 1 else f"{len(checked.numbers)} numbers"
    click.echo(f"{file}: {checked.name}, {numbers}, {warnings}")


@hardware.command("new")
@click.argument("name")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file to write; its name from NAME if not given."
)
def hardware_new(name: str, output: Path | None) -> None:
    """Write a commented hardware file for a device NAME, with examples to replace."""
    from workbook.catalogue import new_hardware

    text = new_hardware(name)
    target = output or Path((re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "hardware") + ".toml")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{target} exists and is left as it is: give another file with -o") from None
    click.echo(f"{target}: replace its examples, then: solbook hardware check {shlex.quote(str(target))}")


@solbook.group()
def study() -> None:
    """Studies that come with solbook."""


@study.command("list")
def study_list() -> None:
    """List the studies that come with solbook."""
    from workbook.tables import studies_table

    studies_table()


@solbook.group()
def addin() -> None:
    """The Python engine beside the formulas of an open workbook: buttons, and functions in cells."""


@addin.command("libreoffice")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="solbook.oxt",
    show_default=True,
    help="The file to write.",
)
@click.option("--build-only", is_flag=True, help="Write the extension, do not install it.")
def addin_libreoffice(output: Path, *, build_only: bool) -> None:
    """Write the extension for LibreOffice and install it for this user: the menu SOL, and functions in cells."""
    from pyxl.libreoffice.extension import install
    from pyxl.writer import write_file
    from workbook.addin.libreoffice import IDENTIFIER, build

    if output.suffix != ".oxt":
        raise UserError(f"{output} must end in .oxt: LibreOffice installs no extension under another name")
    write_file(output, build())
    if build_only:
        click.echo(f"{output}: install it with: unopkg add --force {output}")
        return
    install(output)
    click.echo(f"{output}: installed. Restart LibreOffice: the menu SOL, and functions such as =SOL_HBM_PEAK(...).")
    click.echo(f"To remove it: unopkg remove {IDENTIFIER}, or Extensions in LibreOffice's menu Tools.")


@addin.command("install")
def addin_install() -> None:
    """Install xlwings' add-in and the tab SOL into Excel."""
    from workbook.addin import excel

    for line in excel.install(sys.platform):
        click.echo(line)


@addin.command("remove")
def addin_remove() -> None:
    """Take the tab SOL out of Excel."""
    from workbook.addin import excel

    for line in excel.remove(sys.platform):
        click.echo(line)


def main() -> None:
    """Run the command line; what a user can mend is one line and exit code 2."""
    gc.set_threshold(RARELY)
    try:
        solbook.main(prog_name="solbook", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.Abort:
        click.echo("solbook: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as head, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        _refuse(f"{error.format_message()} See {context.command_path} --help" if context else error.format_message())
    except UserError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"cannot read or write: {error}")


def _refuse(problem: str) -> NoReturn:
    click.echo(f"solbook: {' '.join(problem.split())}", err=True)
    sys.unraisablehook = lambda _: None  # what was left half-written complains again when it is discarded
    sys.exit(2)


if __name__ == "__main__":
    main()
