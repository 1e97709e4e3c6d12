"""Runs the test vectors through any implementation of LiveBuf, and says what fails.

    python testdata/conformance.py COMMAND [ARGUMENT ...]

COMMAND is a program of yours that reads requests from its standard input and answers on its
standard output, as `testdata/README.md` says in "The protocol". It needs nothing but Python 3.9.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from os.path import commonprefix
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
VECTORS = FOLDER / "vectors"

# What a request is to find: its class, its name, the request, and what the answer must be.
Check = tuple[str, str, list[str], "Wanted"]


class Wanted:
    """An answer: `ok` with this text, or these bytes in a file; or `no`, best with this error."""

    def __init__(self, text=None, file=None, data=None, error=None):
        self.text, self.file, self.data, self.error = text, file, data, error

    def fault(self, answer: str, program: "Program") -> "str | None":
        """What is wrong with an answer."""
        verdict, _, rest = answer.partition(" ")
        if self.error is not None:
            if verdict != "no":
                return f"is damaged ({self.error}), and was taken: {answer[:60]}"
            if rest and rest != self.error:
                program.other_names.append((self.error, rest))
            return None
        if verdict != "ok":
            return answer[:200]
        if self.text is not None and rest != self.text:
            at = len(commonprefix([rest, self.text]))
            return f"from character {at} on: {rest[at:][:40]!r}, not {self.text[at:][:40]!r}"
        if self.data is not None:
            if not Path(self.file).exists():
                return "no file was written"
            found = Path(self.file).read_bytes()
            if found != self.data:
                at = len(commonprefix([found, self.data]))
                return f"other bytes from {at} on ({len(found)}, not {len(self.data)})"
        return None


class Program:
    """The program under test."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.other_names: list[tuple[str, str]] = []

    def ask(self, request):
        """Sends a request; the answer, without its line end."""
        line = json.dumps(request)
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError as error:
            answer = ""
            print(f"{error}, asked {line}", file=sys.stderr)
        if not answer.endswith("\n"):
            self.process.kill()
            status = self.process.wait()
            sys.exit(f"the program ended with status {status} when it was asked {line}")
        return answer.rstrip("\r\n")

    def end(self):
        """Closes its input, and waits."""
        self.process.stdin.close()
        return self.process.wait()


def checks(work: Path) -> Iterator[Check]:
    """All requests, and what is wanted of them."""
    for path in sorted(VECTORS.glob("y_*.lbuf")):
        text = path.with_suffix(".json")
        name = path.stem
        if text.exists():
            text = text.read_text(encoding="utf-8").rstrip("\n")
            yield "reader", name, ["read", str(path)], Wanted(text=text)
        yield "validator", name, ["validate", str(path)], Wanted()
        kind = name.split("_")[1]
        if kind in ("encoded", "recognized"):
            out = work / f"{name}.lbuf"
            options = ["recognize"] if kind == "recognized" else []
            request = ["encode", str(path.with_suffix(".json")), str(out), *options]
            wanted = Wanted(file=out, data=path.read_bytes())
            yield "encoder", name, request, wanted
    for path in sorted(VECTORS.glob("n_*.lbuf")):
        error = path.stem.split("_")[1]
        yield "validator", path.stem, ["validate", str(path)], Wanted(error=error)
    edits = json.loads((FOLDER / "edits.json").read_text(encoding="utf-8"))
    for number, edit in enumerate(edits):
        source = VECTORS / f"{edit['document']}.lbuf"
        name = f"{number} {edit['document']}{edit['pointer']}"
        value = json.dumps(edit["value"], ensure_ascii=False, separators=(",", ":"))
        before, out = source.read_bytes(), work / f"edit {number}.lbuf"
        yield "editor", name, ["set", str(source), edit["pointer"], value, str(out)], Wanted()
        # The document itself is left as it was; what was made of it is valid, and says so.
        yield "editor", name, ["validate", str(out)], Wanted()
        yield "editor", name, ["read", str(out)], Wanted(text=edit["gives"])
        yield "editor", name, ["validate", str(source)], Wanted(file=source, data=before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program, and arguments")
    command = parser.parse_args().command
    if not command:
        parser.error("which program?")
    program = Program(command)
    passed, failed, skipped = {}, {}, {}
    with tempfile.TemporaryDirectory() as work:
        left = None
        for what, name, request, wanted in checks(Path(work)):
            if left == (what, name):
                continue
            answer = program.ask(request)
            if answer == "skip":
                skipped[what] = skipped.get(what, 0) + 1
                left = (what, name)
                continue
            fault = wanted.fault(answer, program)
            if fault is None:
                passed[what] = passed.get(what, 0) + 1
                continue
            # What follows from it says nothing more.
            left = (what, name)
            failed[what] = failed.get(what, 0) + 1
            print(f"{what}: {name}: {fault}")
    status = program.end()
    print()
    for what in ("reader", "validator", "encoder", "editor"):
        counts = (passed.get(what, 0), failed.get(what, 0), skipped.get(what, 0))
        print("{:10} {:4} passed {:4} failed {:4} skipped".format(what, *counts))
    if program.other_names:
        print("Refused with another error than the vector names, which is right where one field")
        print("breaks several rules:")
        for wanted, found in sorted(set(program.other_names)):
            print(f"  {found}, not {wanted}: {program.other_names.count((wanted, found))}")
    if status != 0:
        print(f"the program ended with status {status}")
    sys.exit(bool(failed) or status != 0)


if __name__ == "__main__":
    main()
