"""Records: what is written is read again, and what is broken is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from maven_env.errors import ConfigurationError
from maven_env.evaluation.records import RecordWriter, is_cut_off, read_records

GOOD = '{"schema": 1, "agent": "\u00e9"}\n'


def write(tmp_path: Path, content: str | bytes) -> Path:
    file = tmp_path / "records.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_records_are_appended_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "new" / "records.jsonl"
    for number in range(2):
        writer = RecordWriter(file)
        writer.write({"schema": 1, "number": number})
        writer.close()
    assert [record["number"] for record in read_records(file)] == [0, 1]
    assert not is_cut_off(file)


@pytest.mark.parametrize("rest", [b'{"schema": 1, "age', GOOD.encode()[:25], b"{"])
def test_a_half_written_last_line_is_left_out_and_can_be_asked_for(tmp_path: Path, rest: bytes) -> None:
    file = write(tmp_path, GOOD.encode() + rest)
    assert len(list(read_records(file))) == 1
    assert is_cut_off(file)
    with pytest.raises(ConfigurationError, match="half-written"):
        RecordWriter(file)


def test_a_whole_record_without_an_end_of_line_is_read_but_not_appended_to(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD + GOOD.rstrip())
    assert len(list(read_records(file))) == 2
    assert not is_cut_off(file)
    with pytest.raises(ConfigurationError, match="half-written"):
        RecordWriter(file)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    assert list(read_records(write(tmp_path, ""))) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"schema": ', "no JSON record"),
        ("", "no JSON record"),
        ("[1]", "expected a JSON object, got list"),
        ("null", "expected a JSON object, got NoneType"),
        ("[" * 100_000, "no JSON record"),
        ('{"schema": 99}', "this version reads 1"),
    ],
)
@pytest.mark.parametrize("after", ["", GOOD])
def test_a_broken_line_is_an_error_with_its_number(tmp_path: Path, line: str, reason: str, after: str) -> None:
    file = write(tmp_path, f"{GOOD}{line}\n{after}")
    with pytest.raises(ConfigurationError, match=rf"records.jsonl:2: .*{reason}"):
        list(read_records(file))


def test_a_line_that_is_no_text_is_an_error_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"records.jsonl:1: "):
        list(read_records(write(tmp_path, b"\xff\xfe\x00\n")))


def test_files_that_cannot_be_used_are_configuration_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(read_records(tmp_path / "missing.jsonl"))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        RecordWriter(tmp_path / "file" / "records.jsonl")
