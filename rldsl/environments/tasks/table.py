"""Read rows from JSON Lines, Parquet and Hugging Face data set folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .problem import Split

FOLDER_NAMES: dict[str, tuple[str, ...]] = {
    "train": ("train",),
    "warm_start": ("warm_start", "sft"),
    "held_out": ("held_out", "test", "validation", "eval"),
}
SHAPE = 'write one object per line: {"prompt": …, "answer": …}'


class TableError(Exception):
    """A file that cannot be read: what is wrong, and what to do about it."""

    def __init__(self, message: str, fix: str):
        super().__init__(message)
        self.message, self.fix = message, fix


@dataclass(frozen=True)
class Row:
    """One row and its place: `number` is the line in a JSON Lines file, the row from 1 elsewhere."""

    file: str
    number: int
    values: dict[str, Any]


def read_rows(path: Path, split: Split) -> list[Row]:
    """All rows of a file, or of one split of a data set folder. Raises TableError."""
    if not path.exists():
        raise TableError(f"there is no file or folder '{path}'",
                         "give the path of a .jsonl or .parquet file or of a data set folder")
    files = _folder_files(path, split) if path.is_dir() else [path]
    return [row for file in files for row in _read_file(file)]


def _read_file(path: Path) -> Iterator[Row]:
    readers: dict[str, Callable[[Path], Iterator[Row]]] = {
        ".jsonl": _json_lines, ".parquet": _parquet, ".arrow": _arrow}
    if path.suffix not in readers:
        raise TableError(f"'{path}' is not in a format that tasks are read from",
                         "use JSON Lines (.jsonl), Parquet (.parquet) or a Hugging Face data set folder")
    try:
        yield from readers[path.suffix](path)
    except OSError as error:
        raise TableError(f"'{path}' cannot be read: {error.strerror or error}", "check the file") from None


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield Row(str(path), number, _json_line(path, number, line))


def _json_line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    where = f"'{path}', line {number}"
    if not line.strip():
        raise TableError(f"{where} is empty", "remove the line")
    try:
        values = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise TableError(f"{where} is not UTF-8 text", "save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
        raise TableError(f"{where} is not JSON: {reason}", SHAPE) from None
    if not isinstance(values, dict):
        raise TableError(f"{where} is not an object", SHAPE)
    return values


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON value")


def _parquet(path: Path) -> Iterator[Row]:
    pyarrow = _pyarrow(path)
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            batches = [batch.to_pylist() for batch in file.iter_batches()]
    except pyarrow.ArrowException as error:
        raise TableError(f"'{path}' is not a Parquet file: {_first_line(error)}", "write it again") from None
    yield from _numbered(path, batches)


def _arrow(path: Path) -> Iterator[Row]:
    pyarrow = _pyarrow(path)
    try:
        with pyarrow.memory_map(str(path)) as source, pyarrow.ipc.open_stream(source) as stream:
            batches = [batch.to_pylist() for batch in stream]
    except pyarrow.ArrowException as error:
        raise TableError(f"'{path}' is not an Arrow stream: {_first_line(error)}", "save it again") from None
    yield from _numbered(path, batches)


def _numbered(path: Path, batches: list[list[dict[str, Any]]]) -> Iterator[Row]:
    rows = (row for batch in batches for row in batch)
    return (Row(str(path), number, row) for number, row in enumerate(rows, 1))


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise TableError(f"'{path}' needs the package pyarrow, which is not installed",
                         "pip install 'rldsl[hf]', or use a .jsonl file") from None
    return pyarrow


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _folder_files(folder: Path, split: Split) -> list[Path]:
    """The files of one split: of a folder saved by `datasets`, of one folder per split, or of files whose
    names begin with the split's (`train-00000-of-00002.parquet`)."""
    inside = _split_folder(folder, split)
    names = FOLDER_NAMES[split]
    for suffix in (".arrow", ".parquet", ".jsonl"):
        files = sorted(f for f in inside.rglob(f"*{suffix}") if not f.name.startswith("cache-"))
        if inside == folder and suffix != ".arrow":
            files = [file for file in files if file.name.startswith(names)]
        if files:
            return files
    raise TableError(f"the folder '{folder}' has no '{split}' split",
                     f"it is looked for as {' or '.join(names)}, as a folder or at the start of file names")


def _split_folder(folder: Path, split: Split) -> Path:
    for base in (folder, folder / "data"):
        for name in FOLDER_NAMES[split]:
            if (base / name).is_dir():
                return base / name
    if (folder / "dataset_dict.json").exists():
        raise TableError(f"the folder '{folder}' has no '{split}' split",
                         f"it is looked for as {' or '.join(FOLDER_NAMES[split])}")
    return folder
