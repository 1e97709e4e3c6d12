"""Makes a file that DuckDB loads of the library that Cargo builds: adds what it reads at the end.

    python bindings/duckdb/package.py target/release [PLATFORM]

writes `livebuf.duckdb_extension` into that folder, beside the library. The platform is this
machine's, unless one is named: as DuckDB's `PRAGMA platform` says it.
"""

import platform
import re
import shutil
import sys
from pathlib import Path

# The version of the C extension API that is asked for: any DuckDB that has it loads the file.
API = "v1.2.0"
CARGO = Path(__file__).resolve().parents[2] / "Cargo.toml"


def library():
    """The name of the library that Cargo builds here."""
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    return f"{'' if sys.platform == 'win32' else 'lib'}livebuf_duckdb.{suffix}"


def duckdb_platform():
    """This machine, as `PRAGMA platform` names it."""
    system = {"darwin": "osx", "win32": "windows"}.get(sys.platform, "linux")
    machine = platform.machine().lower()
    return f"{system}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(machine, machine) }"


def footer(platform_name, version):
    """The 534 bytes that end an extension: a section's header for WebAssembly, eight fields of
    32 bytes from the last to the first, and room for a signature of 256 bytes."""
    fields = ["", "", "", "C_STRUCT", version, API, platform_name, "4"]
    section = b"\x00\x93\x04\x10duckdb_signature\x80\x04"
    return section + b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256)


def package(folder, platform_name=None):
    """Writes the extension, and returns its path."""
    version = re.search(r'^version = "(.+)"', CARGO.read_text(encoding="utf-8"), re.MULTILINE)[1]
    target = Path(folder) / "livebuf.duckdb_extension"
    unfinished = target.with_suffix(".unfinished")
    shutil.copyfile(Path(folder) / library(), unfinished)
    with unfinished.open("ab") as file:
        file.write(footer(platform_name or duckdb_platform(), f"v{version}"))
    unfinished.replace(target)
    return target


if __name__ == "__main__":
    print(package(*sys.argv[1:]))
