"""Programs for `conformance.py`: this library's own ways in, and examples of the protocol.

python testdata/conformance.py python testdata/programs.py python
python testdata/conformance.py python testdata/programs.py command target/debug/livebuf
"""

import json
import subprocess
import sys
from pathlib import Path


def by_module(request: list[str]) -> str:
    """Answers by the Python module."""
    import livebuf

    try:
        what, source, *rest = request
        if what == "encode":
            out, *options = rest
            recognize = "recognize" in options
            doc = livebuf.from_json(Path(source).read_bytes(), recognize=recognize)
            Path(out).write_bytes(bytes(doc))
            return "ok"
        doc = livebuf.Document(Path(source).read_bytes())
        doc.validate()
        if what == "set":
            pointer, value, out = rest
            copy = doc.copy()
            copy.set_pointer(pointer, json.loads(value))
            Path(out).write_bytes(bytes(copy))
            return "ok"
        return "ok " + livebuf.to_json(doc).decode() if what == "read" else "ok"
    except livebuf.Error as error:
        return f"no {error.kind}"


def by_command(command: str, request: list[str]) -> str:
    """Answers by the command line. It says in words what is wrong, so there is no error's name."""
    what, source, *rest = request
    out = None
    if what == "encode":
        out, *options = rest
        words = ["from-json", source, "-f", "-o", out, *[f"--{option}" for option in options]]
    elif what == "set":
        pointer, value, out = rest
        Path(out).write_bytes(Path(source).read_bytes())
        words = ["set", out, pointer, value]
    else:
        words = ["to-json" if what == "read" else what, source]
    done = subprocess.run([command, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "no"
    return f"ok {done.stdout.strip()}" if what == "read" else "ok"


def main() -> None:
    """Answers requests until there are no more."""
    way, *arguments = sys.argv[1:]
    for line in sys.stdin:
        request = json.loads(line)
        answer = by_module(request) if way == "python" else by_command(*arguments, request)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
