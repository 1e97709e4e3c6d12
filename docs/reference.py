"""Writes the pages that are made from the code: `python docs/reference.py`.

`python-reference.md` has the signatures of the stubs and the docstrings. `errors.md` has the kinds
of errors. Tests say when they are due.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import livebuf

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "bindings/python/python/livebuf"
Definition = ast.FunctionDef | ast.ClassDef

INTRODUCTION = """# Python reference

Every function, class and method of the package, with its signature and what its docstring says. The
[guide](python.md) explains them. `python docs/reference.py` writes this page from the code.

Views and documents also have the operators of dicts and lists: `view[key]`, `len(view)`,
`key in view`, `for … in view`, `==`, `del view[key]`, `|=`, `+=`.

| name in signatures | stands for |
|---|---|
| `Buffer` | `bytes`, `bytearray`, `memoryview`, `mmap` and others with the buffer protocol |
| `_Source`, `_Target` | a path, a URL, or a file object that is open in binary mode |
| `_Mode` | `"r"`, `"r+"`, `"c"`, `"w+"`, `"x"`, `"x+"`, `"a+"` |
| `_Width` | 1, 2, 4 or 8 |
| `_ArrowStream`, `_ArrowArray` | objects with `__arrow_c_stream__`, `__arrow_c_array__` |
| `_Type[T]` | a type, whose objects come back |
"""
ERRORS = """# Error codes

An error has a number and a name. They are the same in every language, in SQL and on the command
line, and they stay. `python docs/reference.py` writes this page from `crates/livebuf/src/error.rs`.

| language | number | name | where in the document |
|---|---|---|---|
| Rust | `error.code()` | `error.kind()` | `error.offset()`, `error.detail()` |
| C | `livebuf_status` | `LIVEBUF_NOT_FOUND` and so on | `doc.error` |
| Python | `error.code` | `error.kind` | `error.offset` |
| JavaScript | – | `error.kind` | `error.offset`, `error.path` |
| Go, in a `*livebuf.Error` | `err.Kind` | `err.Kind.String()` | `err.Offset`, `err.Path` |
| Java | `e.kind().number()` | `e.kind().title()` | `e.offset()`, `e.path()` |

Python also has a class for each way to react: see [Errors in Python](python.md#errors).

## What to do

- **1 to 3**: these bytes are no document, or one of a newer version. JSON must be converted first.
- **4 to 16**: the bytes are damaged. No other call can help: take another copy.
- **17 to 22**: a limit was reached. The message names it. Set a higher one, or give a larger
  buffer.
- **23 to 31**: the call does not fit the document as it is now. Look the place up again, or check
  before.
- **32**: the operating system refused. The detail is its error number.
- **33 to 39**: the value or the call cannot do this. The message says what to do instead.

## All codes

| number | Rust, Python | C | means |
|---|---|---|---|
"""
ONLY_C = """
## Codes of C alone

Rust and Python have error types of their own for these.

| number | C | means |
|---|---|---|
"""


def definitions(path: Path) -> dict[str, list[Definition]]:
    """Functions and classes of a source file by name; overloads together."""
    return by_name(ast.parse(path.read_text(encoding="utf-8")).body)


def by_name(body: list[ast.stmt]) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    for item in body:
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            found.setdefault(item.name, []).append(item)
    return found


def has(item: Definition, decorator: str) -> bool:
    return any(ast.unparse(found) == decorator for found in item.decorator_list)


def shown(items: list[Definition]) -> str:
    """Signatures as the stubs have them; of overloads all but the implementation."""
    overloads = [item for item in items if has(item, "overload")] or items
    lines = []
    for item in overloads:
        assert isinstance(item, ast.FunctionDef)
        lines += [f"@{name}" for name in ("classmethod", "staticmethod") if has(item, name)]
        returns = f" -> {ast.unparse(item.returns)}" if item.returns else ""
        arguments = [spaced(argument) for argument in split(ast.unparse(item.args))]
        arguments = arguments[arguments[:1] in (["self"], ["cls"]) :]
        line = f"{item.name}({', '.join(arguments)}){returns}"
        if len(line) > 90:
            line = f"{item.name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"
        lines.append(line)
    return "```py\n" + "\n".join(lines) + "\n```\n"


def split(arguments: str) -> list[str]:
    """Arguments at the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def spaced(argument: str) -> str:
    """`a: int=1` as people write it."""
    name, colon, rest = argument.partition(": ")
    return f"{name}{colon}{rest.replace('=', ' = ', 1)}" if colon else argument


def markdown(docstring: str | None) -> str:
    """A docstring, whose examples become blocks of code."""
    lines, inside = [], False
    for line in (docstring or "").splitlines():
        if line.startswith(">>>") and not inside:
            lines.append("```py")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines).strip() + "\n"


def members(owner: str, body: list[ast.stmt], docs: Any) -> list[str]:
    """The public methods and properties of a class."""
    parts = []
    for name, items in by_name(body).items():
        first = items[0]
        if name.startswith("_") or not isinstance(first, ast.FunctionDef):
            continue
        if any(has(item, f"{name}.setter") for item in items) or has(first, "property"):
            returns = f": {ast.unparse(first.returns)}" if first.returns else ""
            code = f"```py\n{name}{returns}\n```\n"
        else:
            code = shown(items)
        parts += [f"#### {owner}.{name}\n", code, markdown(docs(name, first))]
    return parts


def documented(name: str, stub: ast.ClassDef) -> list[str]:
    """A class: signatures of the stubs or of the source, docstrings of the module."""
    found = getattr(livebuf, name)
    parts = [f"### {name}\n"]
    made = by_name(stub.body).get("__new__") or by_name(stub.body).get("__init__")
    if made:
        call = re.sub(r"__(?:new|init)__", name, shown(made))
        parts.append(re.sub(r"\) -> .*", ")", call))
    parts.append(markdown(inspect.getdoc(found)))
    return parts + members(
        name, stub.body, lambda member, _: inspect.getdoc(getattr(found, member))
    )


def module(name: str) -> list[str]:
    """The public functions of a module in Python."""
    tree = ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
    parts = [f"## livebuf.{name}\n", markdown(ast.get_docstring(tree))]
    for function, items in by_name(tree.body).items():
        if not function.startswith("_") and isinstance(items[-1], ast.FunctionDef):
            parts += [f"### {name}.{function}\n", shown(items)]
            parts.append(markdown(ast.get_docstring(items[-1])))
    return parts


def python_reference() -> str:
    compiled = definitions(PACKAGE / "_livebuf.pyi") | definitions(PACKAGE / "_shared.py")
    package = definitions(PACKAGE / "__init__.py") | definitions(PACKAGE / "_parquet.py")
    errors = definitions(PACKAGE / "_errors.py")
    names = [name for name in livebuf.__all__ if not name.startswith("_")]
    functions = [name for name in names if not inspect.isclass(getattr(livebuf, name))]
    classes = [name for name in names if name in compiled and name not in functions]
    parts = [INTRODUCTION, "## Functions\n"]
    for name in sorted(functions):
        items = package.get(name) or compiled[name]
        docstring = inspect.getdoc(getattr(livebuf, name))
        parts += [f"### livebuf.{name}\n", shown(items), markdown(docstring)]
    parts.append("## Classes\n")
    for name in sorted(classes):
        [stub] = compiled[name]
        assert isinstance(stub, ast.ClassDef)
        parts += documented(name, stub)
    parts += ["## Errors\n", "[Error codes](errors.md) has the numbers.\n"]
    for name, [item] in errors.items():
        assert isinstance(item, ast.ClassDef)
        if name in names:
            bases = ", ".join(ast.unparse(base) for base in item.bases)
            parts += [f"### {name}\n", f"```py\nclass {name}({bases})\n```\n"]
            parts.append(markdown(ast.get_docstring(item)))
    for name in ("polars", "dask", "spark"):
        parts += module(name)
    return "\n".join(part for part in parts if part.strip())


def errors() -> str:
    source = (DOCS.parent / "crates/livebuf/src/error.rs").read_text(encoding="utf-8")
    kinds = re.findall(r"((?:^    /// .*\n)+)    (\w+) = (\d+), \"", source, re.MULTILINE)
    rows = []
    for comment, name, code in kinds:
        constant = "LIVEBUF_" + re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper()
        rows.append(f"| {code} | `{name}` | `{constant}` | {joined(comment, '///')} |\n")
    header = (DOCS.parent / "bindings/c/include/livebuf.h").read_text(encoding="utf-8")
    # Those of the core come before.
    header = header[header.index("LIVEBUF_TENSOR_MISMATCH = ") : header.index("} livebuf_code;")]
    rows.append(ONLY_C)
    for comment, name, code in re.findall(r"/\*\*(.*?)\*/\s+(\w+) = (\d+),", header, re.DOTALL):
        rows.append(f"| {code} | `{name}` | {joined(comment, '*')} |\n")
    return ERRORS + "".join(rows)


def joined(comment: str, mark: str) -> str:
    """The lines of a comment as one."""
    lines = [line.strip().removeprefix(mark).strip() for line in comment.splitlines()]
    return " ".join(line for line in lines if line)


PAGES = {"python-reference.md": python_reference, "errors.md": errors}

if __name__ == "__main__":
    for page, written in PAGES.items():
        (DOCS / page).write_text(written(), encoding="utf-8")
