"""Makes what is published of the Python package, and checks it: an sdist, and wheels for Linux.

    python release.py OUT python3.11 python3.12 python3.13

One wheel for each of these interpreters, and one for the stable ABI, which later ones take.
`make release` calls this. docs/release.md says what a release needs besides.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The oldest glibc. Rust's standard library needs it, so an older one cannot be had.
GLIBC = (2, 17)
POLICY = f"manylinux_{GLIBC[0]}_{GLIBC[1]}"
NEEDED = [
    "livebuf/__init__.py",
    "livebuf/py.typed",
    "livebuf/_livebuf.pyi",
    "livebuf/_files.py",
    "livebuf/spark.py",
    "pyspark_livebuf/__init__.py",
]
# The stable ABI is that of the oldest CPython (Cargo.toml).
ABI3 = "cp311-abi3"
LICENCES = ["LICENSE", "THIRD-PARTY.txt"]

# Runs on each wheel, in an empty folder and environment.
SMOKE = """
import dataclasses, pickle, sys
import livebuf

assert livebuf.__version__ == sys.argv[1], livebuf.__version__
assert livebuf.__file__.startswith(sys.prefix), livebuf.__file__
value = {"name": "Ada", "rows": [{"n": n, "text": "x" * n} for n in range(50)], "big": 2**70}
data = livebuf.dumps(value)
assert livebuf.loads(data) == value
doc = livebuf.Document(bytearray(data))
doc.validate()
for n in range(200):
    doc["rows"].append({"n": n, "text": "y" * n})
assert doc["rows"].table["n"][-1] == 199
assert pickle.loads(pickle.dumps(doc)) == doc == livebuf.from_json(livebuf.to_json(doc))
livebuf.dump(value, "smoke.lbuf")
with livebuf.open("smoke.lbuf", "r+") as doc:
    doc["name"] = "Grace" * 1000
assert livebuf.load("smoke.lbuf")["name"] == "Grace" * 1000
with livebuf.Log("smoke.lblog", "x") as log:
    log.extend(value["rows"])
assert livebuf.Log("smoke.lblog")[49] == value["rows"][49]

@dataclasses.dataclass
class Person:
    name: str

assert livebuf.loads(data, type=Person) == Person("Ada")
try:
    livebuf.Document(b"not one")
except livebuf.DamagedError:
    print("runs on", sys.version.split()[0])
"""


def run(*command: str | Path, **environment: str) -> str:
    shown = " ".join(str(part) for part in command)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=HERE,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\n{shown}\nfailed with status {done.returncode}")
    return done.stdout


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"not fit for release: {what}")


def version() -> str:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return str(workspace["package"]["version"])


def tag(python: str) -> str:
    """Such as cp311."""
    code = "import sys; print('cp%d%d' % sys.version_info[:2])"
    return run(python, "-c", code).strip()


def build(out: Path, pythons: list[str]) -> None:
    scripts = sysconfig.get_path("scripts")
    # maturin looks for ziglang in the first interpreter of the path.
    path = os.pathsep.join([scripts, os.environ.get("PATH", "")])
    maturin = Path(scripts) / "maturin"
    print(run(maturin, "sdist", "--out", out, PATH=path))
    wheel: list[str | Path] = [
        maturin,
        "build",
        "--locked",
        "--zig",
        "--compatibility",
        POLICY,
    ]
    interpreters = [part for python in pythons for part in ("-i", python)]
    print(run(*wheel, "--out", out, *interpreters, PATH=path))
    print(run(*wheel, "--out", out, "--features", "abi3", "-i", pythons[0], PATH=path))
    run(sys.executable, Path(__file__).with_name("deflate.py"), *out.glob("*.whl"))


def glibc(library: bytes) -> tuple[int, int]:
    """The newest version of glibc that it asks for."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", library)
    return max((int(major), int(minor)) for major, minor in found)


def check_wheel(wheel: Path) -> None:
    name = wheel.name
    check(f"-{POLICY}_" in name or "manylinux2014_" in name, f"{name} is not for {POLICY}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for needed in NEEDED:
            check(needed in names, f"{name} has no {needed}")
        [info] = {entry.split("/")[0] for entry in names if ".dist-info/" in entry}
        for licence in LICENCES:
            path = f"{info}/licenses/{licence}"
            check(path in names, f"{name} has no {path}")
            same = archive.read(path) == (HERE / licence).read_bytes()
            check(same, f"{path} of {name} is not the one of the checkout")
        [library] = [entry for entry in names if entry.endswith(".so")]
        floor = glibc(archive.read(library))
        check(floor <= GLIBC, f"{name} needs glibc {floor[0]}.{floor[1]}")
        print(f"{name}: {wheel.stat().st_size:,} bytes, glibc {floor[0]}.{floor[1]}")


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = {member.name.split("/", 1)[-1]: member for member in archive.getmembers()}
        root = sdist.name.removesuffix(".tar.gz")
        for licence in LICENCES:
            found = [name for name in members if name.rsplit("/", 1)[-1] == licence]
            check(bool(found), f"{sdist.name} has no {licence}")
            for name in found:
                # A link is followed.
                file = archive.extractfile(f"{root}/{name}")
                same = file is not None and file.read() == (HERE / licence).read_bytes()
                check(same, f"{name} of {sdist.name} is not the one of the checkout")
        check(any(name.endswith("Cargo.lock") for name in members), "the sdist has no Cargo.lock")
    print(f"{sdist.name}: {sdist.stat().st_size:,} bytes")


def smoke(wheel: Path, python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", f"{folder}/venv")
        run(f"{folder}/venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
        script = Path(folder, "work", "smoke.py")
        script.parent.mkdir()
        script.write_text(SMOKE)
        done = subprocess.run(
            [f"{folder}/venv/bin/python", "-W", "error", script.name, version()],
            cwd=script.parent,
            capture_output=True,
            text=True,
        )
        check(done.returncode == 0, f"{wheel.name} does not work with {python}:\n{done.stderr}")
        print(f"{wheel.name} {done.stdout.strip()}")


def from_source(sdist: Path, python: str, folder: Path) -> Path:
    """The wheel that users without a ready one build, by pip and the build backend."""
    run(python, "-m", "venv", folder / "build")
    # Crates of others are not compiled again.
    target = str(ROOT / "target")
    pip = folder / "build/bin/pip"
    run(pip, "wheel", "--quiet", "--no-deps", "-w", folder, sdist, CARGO_TARGET_DIR=target)
    [wheel] = folder.glob("*.whl")
    return wheel


def main() -> None:
    out, pythons = Path(sys.argv[1]).resolve(), sys.argv[2:]
    check(len(pythons) > 0, "name the interpreters")
    tags = {}
    for python in pythons:
        found = shutil.which(python)
        check(found is not None, f"{python} is not there")
        tags[tag(str(found))] = str(found)
    wanted = f"livebuf-{version()}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    build(out, list(tags.values()))

    wheels = {"-".join(wheel.name.split("-")[2:4]): wheel for wheel in out.glob("*.whl")}
    expected = {f"{each}-{each}" for each in tags} | {ABI3}
    check(wheels.keys() == expected, f"wheels for {sorted(wheels)}, not {sorted(expected)}")
    for wheel in wheels.values():
        check(wheel.name.startswith(f"{wanted}-"), f"{wheel.name} is not of {wanted}")
        check_wheel(wheel)
    for each, python in tags.items():
        smoke(wheels[f"{each}-{each}"], python)
        smoke(wheels[ABI3], python)

    oldest = min(tags)
    sdist = out / f"{wanted}.tar.gz"
    check_sdist(sdist)
    with tempfile.TemporaryDirectory() as folder:
        smoke(from_source(sdist, tags[oldest], Path(folder)), tags[oldest])
    files = sorted(path for path in out.iterdir() if path.suffix in (".whl", ".gz"))
    print(run(sys.executable, "-m", "twine", "check", "--strict", *files))
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    (out / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print("\n".join(sums))


if __name__ == "__main__":
    main()
