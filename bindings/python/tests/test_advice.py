"""What errors of exports advise: each call that one of them names succeeds."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import livebuf
import pytest

pa = pytest.importorskip("pyarrow")
NAN, INF, LARGE, LONG = float("nan"), float("inf"), 2**53 + 1, 10**40

COLUMNS: list[list[Any]] = [
    [0.5, LARGE],
    [NAN, LARGE],
    [-INF, LARGE, 0.25],
    [1e300, LARGE],
    [-1, 2**64 - 1],
    [-1, 2**64 - 1, 0.5],
    [-1, 2**64 - 1, NAN],
    [LONG],
    [LONG, 1],
    [LONG, 0.5],
    [LONG, NAN],
    [LONG, Decimal("1.5")],
    [10**25],
    [10**25, 0.5],
    [0.5, Decimal("1.50")],
    [NAN, Decimal("1.50")],
    [1e300, Decimal("1.50")],
    [1e-300, Decimal("1.50")],
    [10**18, Decimal("1e-30")],
    [Decimal("1e-50"), 10**30],
    [{"x": NAN}, {"x": LARGE}],
    [[NAN], [LARGE]],
    [[2**63], [-1]],
    ["A1", 5],
    ["A1", 0.5],
    ["A1", NAN],
    ["A1", [NAN]],
    ["A1", {"n": INF}],
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"numbers": "decimal"},
    {"numbers": "text"},
    {"numbers": "float"},
    {"mixed": "raise"},
    {"mixed": "json"},
]


def numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [] if isinstance(value, str) else [value]


def are_finite(values: list[Any]) -> bool:
    return all(isinstance(each, int) or math.isfinite(each) for each in numbers(values))


def fit_a_decimal(values: list[Any]) -> bool:
    found = [Decimal(str(number)).normalize().as_tuple() for number in numbers(values)]
    scale = max(max(-each.exponent, 0) for each in found)  # type: ignore[operator]
    return max(len(each.digits) + each.exponent for each in found) + scale <= 38  # type: ignore[operator]


def advised(message: str, values: list[Any], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The options that a message advises for these values."""
    named = re.search(r"set (?:the option )?`?(numbers|mixed)\b[`=]* to (.*)$", message)
    if named is None:
        assert "`non_finite` prints null" in message or 'numbers="float" rounds it' in message
        how = {"non_finite": "null"} if "non_finite" in message else {"numbers": "float"}
        return [options | how]
    option, text = named.groups()
    calls = []
    for clause in re.findall(r'"(?:text|json|float|decimal)"[^"]*(?:"null"[^"]*)?', text):
        how = {option: clause.split('"')[1]}
        if "if none are and 38 digits" in clause:
            if not are_finite(values) or not fit_a_decimal(values):
                continue
        elif "which prints null" in clause or "if NaN" in text and not are_finite(values):
            how["non_finite"] = "null"
        calls.append(options | how)
    assert calls, message
    return calls


def check(values: list[Any], options: dict[str, Any], export: Any) -> None:
    try:
        export(options)
    except (livebuf.Error, pa.ArrowException) as error:
        for call in advised(str(error), values, options):
            try:
                export(call)
            except Exception as failure:
                pytest.fail(f"{values}: {options} gave {error}\n{call} gave {failure}")


@pytest.mark.parametrize("values", COLUMNS, ids=str)
def test_of_a_table_and_a_log(values: list[Any], tmp_path: Path) -> None:
    """Bug: `numbers="decimal"` was advised where numbers are NaN or have more than 38 digits, and
    `"text"` without `non_finite` where they are NaN."""
    rows = [{"v": value} for value in values]
    table = livebuf.Document.from_python(rows).root.table
    with livebuf.Log(tmp_path / "rows.lblog", "x") as log:
        for row in rows:
            log.append(row)
        for options in OPTIONS:
            for source in (table, log, table.select(["v"])):
                check(values, options, lambda how, it=source: pa.table(it.with_options(**how)))


@pytest.mark.parametrize("values", COLUMNS, ids=str)
def test_of_files(values: list[Any], tmp_path: Path) -> None:
    """Bug: besides, integers above 2**63 in one file and negative ones in another were an error
    without advice, and so were decimals in one and long integers in another."""
    pytest.importorskip("polars")
    from livebuf.polars import scan

    for order in (values, values[::-1]):
        for number, value in enumerate(order):
            livebuf.dump([{"v": value}], tmp_path / f"{number}.lbuf")
        for options in OPTIONS:
            paths, about = tmp_path, order
            try:
                scan(tmp_path, **options).collect()
            except livebuf.WrongTypeError as error:
                # Some are about a file, whatever the others hold.
                alone = re.search(r'(\d+)\.lbuf: column "', str(error))
                if alone is not None:
                    paths, about = tmp_path / f"{alone[1]}.lbuf", [order[int(alone[1])]]
            check(about, options, lambda how, at=paths: scan(at, **how).collect())


@pytest.mark.parametrize("values", [column for column in COLUMNS if numbers(column) == column])
def test_of_a_given_schema(values: list[Any], tmp_path: Path) -> None:
    """Bug: `numbers="decimal"` and `"text"` were advised, which change no schema that is given."""
    pl = pytest.importorskip("polars")
    from livebuf.polars import scan

    for number, value in enumerate(values):
        livebuf.dump([{"v": value}], tmp_path / f"{number}.lbuf")
    given = {"v": pl.Float64}
    for options in OPTIONS:
        check(values, options, lambda how: scan(tmp_path, schema=given, **how).collect())
    livebuf.dump([{"v": "A1"}], tmp_path / "text.lbuf")
    with pytest.raises(livebuf.WrongTypeError, match=r"cannot be exported as float64$"):
        scan(tmp_path / "text.lbuf", schema=given).collect()
    livebuf.dump([{"v": "A1"}, {"v": 1}], tmp_path / "text.lbuf")
    with pytest.raises(livebuf.WrongTypeError, match=r'"A1" does not fit float64$'):
        scan(tmp_path / "text.lbuf", schema=given).collect()
