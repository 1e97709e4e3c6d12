"""The stubs against mypy, pyright and what is there; docstrings' examples; the example file."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import livebuf
import livebuf._livebuf
import pytest

PACKAGE = Path(__file__).resolve().parents[1]
CHECKED = ["python/livebuf", "examples"]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=PACKAGE, capture_output=True, text=True, timeout=600
    )


def need(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


def test_mypy() -> None:
    need("mypy")
    done = run("-m", "mypy", "--strict", *CHECKED)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_mistakes(tmp_path: Path) -> None:
    """The stubs say something: wrong calls are refused, each."""
    need("mypy")
    wrong = [
        "livebuf.dumps(1, min_width=3)",
        "livebuf.open('x', 'w')",
        "livebuf.from_json(5)",
        "doc.pointer('/a', default=1)",
        "view: livebuf.Object = livebuf.Document(b'').copy()",
        "table[0]",
        "table.select(5)",
        "for row in table: pass",
        "array['x']",
        "obj[0]",
        "number: int = obj.to_python()",
        "table.with_options(text='other')",
        "doc.digest().upper().decode().nothing",
        "class Mine(livebuf.Document): pass",
    ]
    lines = [
        "import livebuf",
        "doc: livebuf.Document; table: livebuf.Table; array: livebuf.Array; obj: livebuf.Object",
        *wrong,
    ]
    path = tmp_path / "wrong.py"
    path.write_text("\n".join(lines) + "\n")
    done = run("-m", "mypy", "--strict", "--no-error-summary", str(path))
    flagged = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    missed = [text for number, text in enumerate(wrong, 3) if number not in flagged]
    assert not missed, f"{missed}\n{done.stdout}"


def test_pyright() -> None:
    need("pyright")
    done = run("-m", "pyright", "--pythonpath", sys.executable, *CHECKED)
    if done.returncode != 0 and " error: " not in done.stdout and " errors" not in done.stdout:
        pytest.skip(f"pyright could not start (it downloads node): {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubtest() -> None:
    need("mypy")
    done = run(
        "-m",
        "mypy.stubtest",
        "livebuf._livebuf",
        "--allowlist",
        "tests/stubtest_allowlist.txt",
        "--ignore-unused-allowlist",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_example_runs() -> None:
    done = run("-W", "error", "examples/typed.py")
    assert done.returncode == 0, done.stderr


def test_marker() -> None:
    assert (Path(inspect.getfile(livebuf)).parent / "py.typed").is_file()


def examples() -> list[doctest.DocTest]:
    """Of the package, the compiled module, its classes and their methods.

    `DocTestFinder` does not know methods that are made by C or Rust, so that they are
    asked for one by one."""
    finder = doctest.DocTestFinder(recurse=False)
    found: dict[str, doctest.DocTest] = {}

    def add(thing: Any, name: str) -> None:
        if getattr(thing, "__doc__", None):
            for test in finder.find(
                thing, name, module=False, globs={"livebuf": livebuf, "__name__": "__main__"}
            ):
                if test.examples:
                    found[name] = test

    add(livebuf, "livebuf")
    for module in (livebuf, livebuf._livebuf):
        for name, thing in vars(module).items():
            if name.startswith("__") or inspect.ismodule(thing):
                continue
            add(thing, name)
            if isinstance(thing, type) and thing.__module__.startswith("livebuf"):
                for member, below in vars(thing).items():
                    add(below, f"{name}.{member}")
    return list(found.values())


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_docstrings(example: doctest.DocTest) -> None:
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    result = runner.run(example, out=printed.append)
    assert result.attempted > 0 and result.failed == 0, "".join(printed)


def test_examples_need_no_other_package() -> None:
    found = [
        f"{example.name}: {source.strip()}"
        for example in examples()
        for source in (line.source for line in example.examples)
        for module in re.findall(r"^\s*(?:import|from) (\w+)", source, re.M)
        if module not in sys.stdlib_module_names | {"livebuf"}
    ]
    assert not found, found


def test_there_are_examples() -> None:
    names = {example.name for example in examples()}
    wanted = {"livebuf", "Document", "Object", "Array", "Column", "dumps", "loads", "from_json"}
    assert wanted <= names, wanted - names
    assert any("." in name for name in names), names


def test_everything_public_has_a_docstring() -> None:
    for name in livebuf.__all__:
        thing = getattr(livebuf, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if isinstance(thing, type) and not issubclass(thing, BaseException):
            for member, below in vars(thing).items():
                if not member.startswith("_"):
                    assert below.__doc__, f"{name}.{member}"
