"""What wheels hold beside the code."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import livebuf
import pytest

PACKAGE = Path(__file__).resolve().parents[1]


def test_licences_are_in_the_wheel() -> None:
    """Bug: neither the licence of LiveBuf nor those of the crates in it were there."""
    try:
        files = importlib.metadata.files("livebuf") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("no wheel is installed: make test-wheel")
    found = {path.name: path.read_text() for path in files if "licenses" in path.parts}
    assert found.keys() == {"LICENSE", "THIRD-PARTY.txt"}
    assert found["LICENSE"] == (PACKAGE.parents[1] / "LICENSE").read_text()
    assert "MIT License" in found["LICENSE"]
    assert found["THIRD-PARTY.txt"] == (PACKAGE / "THIRD-PARTY.txt").read_text()


def test_the_wheel_is_small() -> None:
    """It holds the command, too, and has at most 4 MB."""
    wheels = list((PACKAGE.parents[1] / "target" / "wheels").glob("*.whl"))
    if not wheels:
        pytest.skip("no wheel was built: make test-wheel")
    assert [wheel.name for wheel in wheels if wheel.stat().st_size > 4_000_000] == []


def test_the_command(tmp_path: Path) -> None:
    """The command comes with the package."""

    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "livebuf", *arguments]
        return subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True)

    assert run("--version").stdout == f"livebuf {livebuf.__version__}\n"
    (tmp_path / "a.json").write_text('{"é": [1, 2.5, "x"]}', encoding="utf-8")
    assert run("from-json", "a.json", "-o", "a.lbuf").returncode == 0
    assert run("set", "a.lbuf", "/é/0", "7").returncode == 0
    assert run("get", "a.lbuf", "/é").stdout == '[7,2.5,"x"]\n'
    assert livebuf.load(tmp_path / "a.lbuf") == {"é": [7, 2.5, "x"]}
    missing = run("get", "a.lbuf", "/no")
    assert (missing.returncode, missing.stdout) == (1, "")
    wrong = run("from-json", "-", text="[1, 2,, 3]")
    assert wrong.returncode == 2 and "line 1, column 7" in wrong.stderr, wrong.stderr
    assert not list(tmp_path.glob("*tmp*"))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_the_command_and_its_process(tmp_path: Path) -> None:
    """Bug: with standard output closed, the document that was edited got its number, so that what
    the command prints would have come into the file. An interrupt waited for the command's end."""
    livebuf.dump({"a": 1}, tmp_path / "a.lbuf")

    def shell(line: str) -> int:
        return subprocess.run(line, shell=True, cwd=tmp_path, stderr=subprocess.DEVNULL).returncode

    command = f"'{sys.executable}' -m livebuf"
    assert shell(f"{command} get a.lbuf /a >&-") == 2
    assert shell(f"{command} set a.lbuf /a 2 <&- >&- 2>&-") in (0, 2)
    assert livebuf.load(tmp_path / "a.lbuf")["a"] in (1, 2)
    assert shell(f"{command} get a.lbuf /no 2>&-") in (1, 2)

    def reading(handler: str) -> list[str]:
        """The command, which waits for its input. A background job's interrupts may be ignored."""
        begin = f"import signal; signal.signal(signal.SIGINT, signal.{handler})"
        run = f"{begin}; import livebuf.__main__ as command; command.main()"
        return [sys.executable, "-c", run, "to-json", "-"]

    waiting = reading("default_int_handler")
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(b"[")
        running.stdin.flush()
        time.sleep(1)
        for _ in range(20):
            running.send_signal(signal.SIGINT)
            try:
                running.wait(0.1)
                break
            except subprocess.TimeoutExpired:
                continue
        assert running.returncode in (-signal.SIGINT, 1, 130)

    # Ignored interrupts stay ignored.
    waiting = reading("SIG_IGN")
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.3)
        assert running.communicate(b"[1]")[0] == b"[1]\n"


def test_the_wheel_installs_the_command() -> None:
    try:
        entries = importlib.metadata.distribution("livebuf").entry_points
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("no wheel is installed: make test-wheel")
    assert [entry.name for entry in entries if entry.group == "console_scripts"] == ["livebuf"]
    script = Path(sys.executable).with_name("livebuf")
    # That of the wheel, and not of a package that was built beside it.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([script, "--help"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "from-json" in done.stdout and "demo" not in done.stdout
    for left_out in (["demo"], ["completions", "bash"], ["man", "--help"], ["demo", "-f", "x"]):
        done = subprocess.run([script, *left_out], capture_output=True, text=True, env=env)
        assert done.returncode == 2 and "cargo install" in done.stderr, left_out


def test_hints_name_what_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bug: `pip install 'livebuf[parquet]'`, though nothing is published: pip failed, or would
    have installed somebody else's package."""
    monkeypatch.setitem(sys.modules, "livebuf_parquet", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \./bindings/parquet") as caught:
        livebuf.to_parquet([], "rows.parquet")
    assert caught.value.name == "livebuf_parquet"
    folder = Path(livebuf.__file__).parent
    hints = 0
    for file in folder.glob("*.py"):
        for package in re.findall(r"pip install '?([\w./-]+)", file.read_text(encoding="utf-8")):
            assert package == "fsspec" or (PACKAGE.parents[1] / package).is_dir(), file
            hints += 1
    assert hints >= 8


@pytest.mark.parametrize("name", ["livebuf", "livebuf-parquet"])
def test_licences_are_those_of_the_crates(name: str) -> None:
    """Each crate that is compiled in, by its version; `python licenses.py` writes them anew."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not there")
    code = (
        f"from licenses import *; folder = PACKAGES[{name!r}]; "
        "print(folder, *bundled(folder), sep=chr(10))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder, *crates = done.stdout.splitlines()
    assert len(crates) > 20
    text = (Path(folder) / "THIRD-PARTY.txt").read_text()
    assert not [crate for crate in crates if f"\n{crate} (" not in text]


@pytest.fixture
def release() -> Any:
    spec = importlib.util.spec_from_file_location("release", PACKAGE / "release.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAME = "livebuf-0.1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
LIBRARY = "livebuf/_livebuf.so"
LICENCE = "livebuf-0.1.0.dist-info/licenses/LICENSE"


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        (NAME, {}, None),
        (NAME.replace("_2_17", "_2_34"), {}, "not for manylinux_2_17"),
        (NAME, {LIBRARY: b"GLIBC_2.4 GLIBC_2.18 GLIBC_2.9"}, "needs glibc 2.18"),
        (NAME, {LICENCE: None}, "has no .*licenses/LICENSE"),
        (NAME, {LICENCE: b"another"}, "not the one of the checkout"),
        (NAME, {"livebuf/py.typed": None}, "has no livebuf/py.typed"),
    ],
)
def test_wheels_that_are_not_released(
    release: Any, tmp_path: Path, name: str, changes: dict[str, bytes | None], reason: str | None
) -> None:
    files: dict[str, bytes | None] = {each: b"" for each in release.NEEDED}
    for licence in release.LICENCES:
        path = f"livebuf-0.1.0.dist-info/licenses/{licence}"
        files[path] = (PACKAGE / licence).read_bytes()
    files |= {LIBRARY: b"\x7fELF GLIBC_2.2.5 GLIBC_2.17 "} | changes
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for path, content in files.items():
            if content is not None:
                archive.writestr(path, content)
    if reason is None:
        release.check_wheel(tmp_path / name)
        return
    with pytest.raises(SystemExit, match=reason):
        release.check_wheel(tmp_path / name)


IN_A_SUBINTERPRETER = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
code = '''
try:
    import livebuf
except ImportError as failure:
    assert "interpreter" in str(failure), failure
else:
    raise SystemExit("it was imported")
'''
def run():
    sub = interpreters.create()
    failed = interpreters.run_string(sub, code)
    assert failed is None, failed
    interpreters.destroy(sub)
run()
import livebuf, uuid
livebuf.loads(livebuf.dumps([uuid.uuid4()]))
try:
    livebuf.dumps(object())
except livebuf.EncodeError:
    pass
run()
print(livebuf.loads(livebuf.dumps("done")))
"""


def test_subinterpreters_are_refused() -> None:
    """Bug: what a subinterpreter had imported stayed in use after it ended."""
    if sys.version_info >= (3, 13):
        pytest.importorskip("_interpreters")
    done = subprocess.run(
        [sys.executable, "-c", IN_A_SUBINTERPRETER], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "done\n", done.stderr
