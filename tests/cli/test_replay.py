"""`fanlight replay`: what it prints and how it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from fanlight.cli.main import app

VECTORS = Path(__file__).parent.parent / "vectors"


def fanlight(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def case(name: str, **fields: Any) -> dict[str, Any]:
    """Two records in one window, which closes: their sum is 3."""
    return {
        "name": name,
        "op": "window_agg",
        "window": {"kind": "fixed", "size": 10},
        "agg": "sum",
        "trigger": "default",
        "expect_mode": "each_step",
        "row_order": "exact",
        "steps": [{"in": [{"ts": 1, "v": 1}, {"ts": 2, "v": 2}]}, {"watermark": 10}],
        "expect": [{"after": 1, "rows": [{"window": [0, 10], "v": 3}]}],
        **fields,
    }


def file(folder: Path, *vectors: dict[str, Any]) -> Path:
    path = folder / "cases.yaml"
    document = {"format": "windowing-vectors/1", "repo": "here", "vectors": list(vectors)}
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def wrong(value: Any) -> list[dict[str, Any]]:
    return [{"after": 1, "rows": [{"window": [0, 10], "v": value}]}]


def test_a_line_a_case_and_a_total(tmp_path: Path) -> None:
    result = fanlight(file(tmp_path, case("adds"), case("bids", op="nexmark")))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "pass         adds",
        "not adopted  bids: nexmark: not built yet",
        "2 cases: 1 pass, 0 fail, 1 not adopted",
    ]


def test_a_case_that_differs_shows_the_difference_and_exits_with_1(tmp_path: Path) -> None:
    result = fanlight(file(tmp_path, case("adds"), case("differs", expect=wrong(4))))
    assert result.exit_code == 1
    assert (
        "fail         differs: after step 1: row 0: expected {window: [0, 10], v: 4}, got {window: [0, 10], v: 3}"
        in result.stdout
    )
    assert result.stdout.endswith("2 cases: 1 pass, 1 fail, 0 not adopted\n")


def test_a_case_that_raises_fails_and_the_others_still_run(tmp_path: Path) -> None:
    raises = case("raises", window={"kind": "fixed", "size": 0})
    result = fanlight(file(tmp_path, raises, case("adds")))
    assert result.exit_code == 1
    assert "fail         raises: SpecError: Tumbling: `size`" in result.stdout
    assert "pass         adds" in result.stdout


def test_an_attribute_no_row_has_fails_the_case(tmp_path: Path) -> None:
    result = fanlight(file(tmp_path, case("asserts", expect=[{"after": 1, "rows": [{"colour": "red"}]}])))
    assert result.exit_code == 1
    assert "`expect` asserts `colour`, which no row here has" in result.stdout


def test_json_is_a_list_of_names_statuses_and_reasons(tmp_path: Path) -> None:
    result = fanlight(
        "--json", file(tmp_path, case("adds"), case("differs", expect=wrong(4)), case("bids", op="nexmark"))
    )
    assert result.exit_code == 1
    entries = json.loads(result.stdout)
    assert [(entry["name"], entry["status"]) for entry in entries] == [
        ("adds", "pass"),
        ("differs", "fail"),
        ("bids", "not adopted"),
    ]
    assert all(entry.keys() == {"name", "status", "reason"} for entry in entries)
    assert not entries[0]["reason"]
    assert entries[2]["reason"] == "nexmark: not built yet"


def test_a_file_without_cases_gives_none(tmp_path: Path) -> None:
    data = tmp_path / "data.yaml"
    data.write_text("format: windowing-vectors/1-nexmark-data\nperson: {rows: []}\n")
    result = fanlight(data)
    assert (result.exit_code, result.stdout) == (0, "0 cases: 0 pass, 0 fail, 0 not adopted\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be opened"),
        ("a: [", "is not YAML"),
        ("- 1", "does not say `format: windowing-vectors/1`"),
        ("format: windowing-vectors/1\nvectors: 5", "`vectors` (int) must be a list of cases"),
        ("format: windowing-vectors/1\nvectors: [{op: join}]", "case 0 has no `name`"),
    ],
)
def test_a_file_that_cannot_be_read_exits_with_2_and_says_why(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "broken.yaml"
    if text is not None:
        path.write_text(text)
    result = fanlight(path)
    assert result.exit_code == 2
    assert "broken.yaml" in result.stderr
    assert said in result.stderr
    assert not result.stdout


def test_nothing_is_run_when_one_file_cannot_be_read(tmp_path: Path) -> None:
    result = fanlight(file(tmp_path, case("adds")), tmp_path / "missing.yaml")
    assert result.exit_code == 2
    assert not result.stdout


def test_an_engine_that_is_not_there_exits_with_2(tmp_path: Path) -> None:
    result = fanlight("--engine", "abacus", file(tmp_path, case("adds")))
    assert result.exit_code == 2
    assert "no engine is called 'abacus'" in result.stderr


def test_the_processor_that_runs_on_spark_replays_too(tmp_path: Path) -> None:
    by_signal = case("waits for the caller", trigger="manual")
    result = fanlight("--engine", "spark", file(tmp_path, case("adds"), case("differs", expect=wrong(4)), by_signal))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "pass         adds",
        "fail         differs: after step 1: row 0: expected {window: [0, 10], v: 4}, got {window: [0, 10], v: 3}",
        "not adopted  waits for the caller: a trigger that waits for the caller's signal has no caller on Spark",
        "3 cases: 1 pass, 1 fail, 1 not adopted",
    ]


@pytest.mark.slow
def test_without_pyspark_the_command_says_what_to_install(tmp_path: Path) -> None:
    """In a process of its own, in which pyspark cannot be imported."""
    program = "import sys; sys.modules['pyspark'] = None; from fanlight.cli.main import app; app()"
    command = [sys.executable, "-c", program, "replay", "--engine", "spark", str(file(tmp_path, case("adds")))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert not result.stdout
    assert result.stderr.startswith("replay: the engine 'spark' needs PySpark 4.2 or newer, and it cannot be imported")
    assert "pip install 'fanlight[spark]'" in result.stderr


def test_the_cases_of_this_repository_run() -> None:
    result = fanlight(VECTORS / "kafka_time_windows.yaml", VECTORS / "window_assign.yaml")
    assert result.exit_code == 0, result.stdout
    assert "pass         kafka_emit_final_restart" in result.stdout
