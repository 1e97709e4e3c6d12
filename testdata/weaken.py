"""Leaves out each check of the validator in turn, and says which ones no vector notices.

    python testdata/weaken.py [--show TEXT | --list]

Other implementations are tested by the vectors alone. So each check that they must make needs a
vector whose verdict it decides. This program copies the core to `target/weaken`, finds the checks
in its source, and puts a switch into each. It builds that once, and runs all vectors for each
switch:

- a condition of an error, each operand of it, and each side of `(a) != (b)`, is left out;
- a comparison is wrong at its bound, or one beyond it;
- a call that checks something and gives nothing is left out, or claims a block at any offset.

A switch is noticed where a document that must be refused is taken, or one that is valid is refused,
or where the program panics or does not end. Another error is not noticed: its name is advice. What
need be noticed by no vector is in `weaken.txt`, with the reason.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
CORE = ROOT / "crates/livebuf"
COPY = ROOT / "target/weaken"
EXCEPTIONS = FOLDER / "weaken.txt"
SECONDS = 5

# Where checks are. Functions that validation does not call are exceptions, by a star.
FILES = [
    "view/validate.rs",
    "view/mod.rs",
    *(
        str(path.relative_to(CORE / "src"))
        for folder in ["block", "format"]
        for path in sorted((CORE / "src" / folder).rglob("*.rs"))
        if path.name != "tests.rs"
    ),
]

# Conditions that do not stand before an error: file, function, text, and what stands there where
# the condition is left out.
CONDITIONS = [
    ("format/date.rs", "from_days", "*DAYS.start() <= days as i64", True),
    ("format/date.rs", "from_days", "days as i64 <= *DAYS.end()", True),
    ("format/date.rs", "Time::from_microseconds", "0 <= microseconds", True),
    ("format/date.rs", "Time::from_microseconds", "microseconds < DAY", True),
    ("format/date.rs", "is_in_years", "*DAYS.start() * DAY <= microseconds", True),
    ("format/date.rs", "is_in_years", "microseconds < (*DAYS.end() + 1) * DAY", True),
    ("format/date.rs", "DateTime::from_microseconds", "is_in_years(microseconds)", True),
    ("format/date.rs", "Timestamp::from_microseconds", "is_in_years(microseconds)", True),
    ("format/decimal.rs", "new", "coefficient.unsigned_abs() <= Self::MOST", True),
    ("format/decimal.rs", "new", "scale <= Self::DIGITS", True),
    ("format/extended.rs", "from_span", "small_decimal(&value).is_none()", True),
    ("format/number.rs", "is_json_number", "integer.is_empty()", False),
    ("format/number.rs", "is_json_number", "(integer.len() > 1 && integer[0] == b'0')", False),
    ("block/map/check.rs", "Tree::check", "node.level == 0 || node.count > 1", True),
    ("block/map/check.rs", "Tree::check", "node.level + 1 == above", True),
    ("block/tensor.rs", "check_tensor", "child", True),
    ("block/tensor.rs", "check_tensor", "kind.is_tensor_type()", True),
    ("block/tensor.rs", "check_tensor", "!child", True),
    ("block/tensor.rs", "check_tensor", "!kind.is_tensor_only()", True),
]

# Errors that leave a function in a match: file, function, and what returns.
LEAVING = [
    (
        "block/map/check.rs",
        "Tree::check",
        "return Err(Error::new(ErrorKind::DuplicateKey, u64::from(offset)));",
    ),
    ("block/map/check.rs", "Tree::check", "return Err(damaged(offset)),"),
    (
        "block/shape.rs",
        "check_order",
        "return Err(Error::new(ErrorKind::DuplicateKey, self.key_position(number)));",
    ),
    ("block/shape.rs", "check_order", "return Err(misplaced()),"),
    ("block/map/hash.rs", "check_block", "return Err(Error::new(ErrorKind::NotZero, at)),"),
    ("block/map/hash.rs", "check_block", "return Err(damaged(hashed.home)),"),
]

SLOTS = "Bit Nested Run Integer Float Number Marked Span Home Code Extended Bytes".split()
WHOLE = "Integer Float Number Span Home Extended Bytes Flag".split()
COLUMNS = "Date Time DateTime Timestamp Decimal Bool8".split()

# One check for several columns: file, function, the text before which the switches are put, and
# what is put there for each.
PUT_IN = [
    (
        "block/absent.rs",
        "check",
        "let range = column.first..",
        "if crate::weak::off(#) && column.column.slot() == SlotKind::{} {{ return Ok(()); }}",
        SLOTS,
    ),
    (
        "block/column.rs",
        "check_extended",
        "let width = self.column.width();\n        let start",
        "if crate::weak::off(#) && self.column == ColumnType::{} {{ return Ok(()); }}",
        COLUMNS,
    ),
    (
        "view/validate.rs",
        "column",
        "match column.column.slot() {\n            SlotKind::Tagged =>",
        "let behind = match crate::weak::off(#) && column.column.slot() == SlotKind::{} "
        "{{ true => end, false => behind }};",
        WHOLE,
    ),
]

SWITCHES = """
use crate::error::Result;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

pub static OFF: AtomicU32 = AtomicU32::new(0);
#[allow(clippy::declare_interior_mutable_const)]
const NOT: AtomicBool = AtomicBool::new(false);
pub static REACHED: [AtomicBool; 4096] = [NOT; 4096];

pub(crate) fn off(number: u32) -> bool {
    REACHED[number as usize].store(true, Relaxed);
    OFF.load(Relaxed) == number
}

/// The next block that is claimed may have any offset.
pub(crate) static UNALIGNED: AtomicBool = AtomicBool::new(false);

pub(crate) fn unaligned(number: u32) {
    UNALIGNED.store(off(number), Relaxed);
}

pub(crate) fn refuse<T: Default>(number: u32, result: Result<T>) -> Result<T> {
    if off(number) { Ok(T::default()) } else { result }
}
"""

PROGRAM = """
use livebuf::weak::{OFF, REACHED};
use std::sync::atomic::Ordering::Relaxed;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (folder, off) = (arguments.next().unwrap(), arguments.next().unwrap());
    OFF.store(off.parse().unwrap(), Relaxed);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().unwrap() == "lbuf").collect();
    files.sort();
    for path in files {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let verdict = std::panic::catch_unwind(|| {
            livebuf::Doc::open(&bytes).and_then(|doc| doc.validate()).is_ok()
        });
        if verdict.ok() != Some(name.starts_with('y')) {
            println!("{name}");
            return;
        }
    }
    let reached = REACHED.iter().enumerate().filter(|(_, reached)| reached.load(Relaxed));
    println!("{:?}", reached.map(|(number, _)| number).collect::<Vec<_>>());
}
"""


class Check:
    """A switch: text before and behind a range of a file's source."""

    def __init__(self, name: str, start: int, end: int, before: str, behind: str):
        self.name, self.start, self.end = name, start, end
        self.before, self.behind = before, behind
        self.number, self.noticed = 0, ""


def masked(source: str) -> str:
    """The source with blanks in place of comments and of what is in quotes."""
    quoted = re.compile(
        r"//[^\n]*|/\*.*?\*/|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\[^']+|[^'\\])'(?!\w)", re.DOTALL
    )
    return quoted.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), source)


OPEN, CLOSE = "([{", ")]}"


def closing(code: str, at: int) -> int:
    """Where the bracket at `at` is closed."""
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] in OPEN) - (code[place] in CLOSE)
        if depth == 0:
            return place
    raise ValueError(code[at : at + 40])


def level(code: str, start: int, end: int):
    """The places of a range that are in no brackets within it."""
    depth = 0
    for place in range(start, end):
        depth -= code[place] in CLOSE
        if depth == 0:
            yield place
        depth += code[place] in OPEN


def split(code: str, start: int, end: int, mark: str) -> "list[tuple[int, int]]":
    """The parts of an expression between operators."""
    parts, begin, skip = [], start, -1
    for place in level(code, start, end):
        if place > skip and code.startswith(mark, place):
            parts.append((begin, place))
            begin = skip = place + len(mark)
            skip -= 1
    return [trimmed(code, *part) for part in [*parts, (begin, end)]]


def trimmed(code: str, start: int, end: int) -> "tuple[int, int]":
    while start < end and code[start].isspace():
        start += 1
    while end > start and code[end - 1].isspace():
        end -= 1
    return start, end


class File:
    """A file's checks."""

    def __init__(self, name: str):
        self.name = name
        self.source = (CORE / "src" / name).read_text()
        if any(name == file for file, *_ in CONDITIONS):
            # A constant function cannot ask for a switch.
            constant = re.compile(r"\bconst fn (from_\w+|is_in_years|new)\(")
            self.source = constant.sub(r"fn \1(", self.source)
        code = masked(self.source)
        tests = re.search(r"#\[cfg\(.*\btest\b.*\)\]\s*mod \w+ {", code)
        self.code = code[: tests.start()] if tests else code
        self.checks: list[Check] = []
        for found in re.finditer(r"(\bconst )?(?:unsafe )?\bfn (\w+)", self.code):
            body = next(
                (
                    at
                    for at in level(self.code, found.end(), len(self.code))
                    if self.code[at] in "{;"
                ),
                None,
            )
            if not found[1] and body and self.code[body] == "{":
                returns = re.search(r"(?s:.*)->\s*([^{]*?)\s*$", self.code[found.end() : body])
                end = closing(self.code, body)
                self.conditions(found[2], body, end)
                self.arms(found[2], body, end, returns[1] if returns else "")
                self.calls(found[2], body, end, returns[1] if returns else "")
        self.by_hand()

    def add(self, function: str, what: str, start: int, end: int, before: str, behind: str):
        name = f"{self.name} {function}: {' '.join(what.split())}"
        self.checks.append(Check(name, start, end, before, behind))

    def text(self, start: int, end: int) -> str:
        return self.source[start:end]

    def conditions(self, name: str, start: int, end: int):
        """The conditions of errors, and those that these are made of."""
        code, names = self.code, set()
        for found in re.finditer(r"\bif\b", code[start:end]):
            begin = start + found.end()
            # A block, or the arm of a guard.
            stop = next(
                (at for at in level(code, begin, end) if re.match("{|=>", code[at : at + 2])), None
            )
            if stop is None:
                continue
            refuses = re.match(r"=>\s*(return )?{?\s*(Err\(|ErrorKind::)", code[stop:end])
            if code[stop] == "{":
                close = closing(code, stop)
                refuses = self.refuses(stop, close)
                otherwise = re.match(r"\s*else\s*{", code[close + 1 : end])
                if refuses and re.match(r"\s*let\b", code[begin:stop]):
                    self.leaves(name, *self.statements(stop, close)[-1])
                elif otherwise and not refuses:
                    block = close + otherwise.end()
                    if self.refuses(block, closing(code, block)):
                        self.operands(name, begin, stop, whole=None)
            if refuses:
                names.update(re.findall(r"\w+", code[begin:stop]))
                self.operands(name, begin, stop, whole=False)
        for found in re.finditer(r"\blet (\w+) =(?!=)\s*(?!if\b|match\b)", code[start:end]):
            if found[1] in names:
                begin = start + found.end()
                stop = next(at for at in level(code, begin, end) if code[at] == ";")
                self.operands(name, begin, stop, whole=None)

    def arms(self, name: str, start: int, end: int, returns: str):
        """Arms of matches, and other branches, that give an error."""
        code = self.code
        for found in re.finditer(r"\bmatch\b", code[start:end]):
            begin = start + found.end()
            stop = next(at for at in level(code, begin, end) if code[at] == "{")
            body = code[stop : closing(code, stop)]
            if re.search(r"\b(true|false)\s*=>", body) and "Err(" in body:
                self.operands(name, begin, stop, whole=None)
        if not re.fullmatch(r"Result<(\(\)|u32|u64|bool|Option<.*>)>", returns):
            return
        for found in re.finditer(r"=>\s*(?=Err\(|{)|\belse\s*(?={)", code[start:end]):
            begin = start + found.end()
            if code[begin] == "{":
                begin, _ = (self.statements(begin, closing(code, begin)) or [(begin, begin)])[-1]
            if not code.startswith("Err(", begin):
                continue
            before = code[: start + found.start()]
            what = "else"
            if found[0][0] == "=":
                what = self.text(max(map(before.rfind, ",{\n")) + 1, len(before)).strip()
            # For these stand the operands of what is matched.
            if what not in ("true", "false"):
                stop = closing(code, begin + 3) + 1
                what += ": " + self.text(begin, stop)
                self.add(name, what, begin, stop, "crate::weak::refuse(#, ", ")")

    def calls(self, name: str, start: int, end: int, returns: str):
        """Calls for what they check: statements, the last expression, and arms."""
        code = self.code
        for found in re.finditer("{", code[start:end]):
            block = start + found.start()
            for begin, stop in self.statements(block, closing(code, block)):
                line = code[begin:stop]
                if (
                    re.match(r"[\w.:]+\(", line)
                    and line.endswith("?;")
                    and not self.assigns(begin, stop)
                ):
                    text = self.text(begin, stop)
                    self.add(name, "call: " + text, begin, stop, "if !crate::weak::off(#) { ", " }")
                    if line.startswith("self.claim_block("):
                        what = "any offset: " + text
                        self.add(name, what, begin, begin, "crate::weak::unaligned(#); ", "")
        begin, stop = self.statements(start, end)[-1] if code[start + 1 : end].strip() else (0, 0)
        if returns == "Result<()>" and re.match(r"(?!Ok|Err)[\w.:]+\(", code[begin:stop]):
            before = "(if crate::weak::off(#) { Ok(()) } else { "
            self.add(name, "call: " + self.text(begin, stop), begin, stop, before, " })")
        for found in re.finditer(r"=>\s*(?=self\.(zero|unused\w*)\()", code[start:end]):
            begin = start + found.end()
            stop = closing(code, code.index("(", begin)) + 2
            if code[stop - 1] == "?":
                before = "(if !crate::weak::off(#) { "
                self.add(name, "call: " + self.text(begin, stop), begin, stop, before, " })")

    def by_hand(self):
        """The checks that are named above."""
        for file, function, text, value in CONDITIONS:
            if file == self.name:
                begin = self.find(function, text)
                self.operands(function, begin, begin + len(text), value)
        for file, function, text in LEAVING:
            if file == self.name:
                begin = self.find(function, text)
                self.leaves(function, begin, begin + len(text.rstrip(",")))
        for file, function, text, statement, kinds in PUT_IN:
            if file == self.name:
                begin = self.find(function, text)
                for kind in kinds:
                    self.add(
                        function, f"of {kind}", begin, begin, statement.format(kind) + "\n", ""
                    )

    def find(self, function: str, text: str) -> int:
        """Where a text is in a function, or in that of a type."""
        *of, function = function.split("::")
        at = re.search(rf"\bimpl\b.*\b{of[0]}\b.* {{", self.code).start() if of else 0
        at = re.compile(rf"\bfn {function}\(").search(self.code, at).start()
        at = next(
            place for place in level(self.code, at, len(self.code)) if self.code[place] == "{"
        )
        # A word by itself is what an arm gives.
        word = re.compile(rf"(?<==> ){text}\b" if text.isalpha() else re.escape(text))
        return word.search(self.source, at).start()

    def leaves(self, function: str, begin: int, end: int):
        """A statement that returns an error, or an arm that does."""
        text = self.text(begin, end)
        if text.startswith("return"):
            before = "{ if !crate::weak::off(#) { "
            self.add(function, "leaves: " + text, begin, end, before, " } }")

    def refuses(self, start: int, end: int) -> bool:
        """Whether a block ends in an error."""
        begin, stop = (self.statements(start, end) or [(start, start)])[-1]
        return self.code[begin:stop].startswith(("return Err(", "Err("))

    def statements(self, start: int, end: int) -> "list[tuple[int, int]]":
        """The statements of a block whose brackets are at these places."""
        code, found, begin = self.code, [], start + 1
        for place in level(code, start + 1, end):
            ends = code[place] == ";"
            if code[place] == "}":
                word = code[begin:place].lstrip()
                ends = re.match(r"(if|match|for|while|loop|unsafe|let [^=]*= else)?\b|{", word)
                ends = re.match(r"(if|match|for|while|loop|unsafe)\b|{", word)
                ends = ends and not re.match(r"\s*(else\b|[.?;,)&|=])", code[place + 1 : end])
            if ends:
                found.append(trimmed(code, begin, place + 1))
                begin = place + 1
        if code[begin:end].strip():
            found.append(trimmed(code, begin, end))
        return found

    def assigns(self, start: int, end: int) -> bool:
        return any(
            re.match(r"[^=!<>]=[^=>]", self.code[place - 1 : place + 2])
            for place in level(self.code, start, end)
        )

    def operands(self, function: str, begin: int, end: int, whole: "bool | None"):
        """The switches of a condition. `whole`: what it is where it is switched off by itself."""
        code = self.code
        begin, end = trimmed(code, begin, end)
        if code[begin] == "(" and closing(code, begin) == end - 1:
            if "," in (code[place] for place in level(code, begin + 1, end - 1)):
                return
            self.operands(function, begin + 1, end - 1, whole)
            return
        text = self.text(begin, end)
        if re.match(r"let\b", text):
            return
        either = split(code, begin, end, "||")
        if len(either) > 1:
            for part in either:
                self.operands(function, *part, whole=False)
            return
        both = split(code, begin, end, "&&")
        if len(both) > 1:
            if whole is False and not any(re.match(r"let\b", code[a:b]) for a, b in both):
                self.leave_out(function, begin, end, False)
            for part in both:
                self.operands(function, *part, whole=True)
            return
        if whole is not None:
            self.leave_out(function, begin, end, whole)
        for sign in ["!=", "=="]:
            sides = split(code, begin, end, sign)
            if len(sides) == 2 and code[sides[0][0]] == "(" and code[sides[0][1] - 1] == ")":
                one, other = (self.text(*side) for side in sides)
                for what in [f"{one} && !({other})", f"!{one} && ({other})"]:
                    weaker = "&& !" if sign == "!=" else "|| "
                    behind = f") {weaker}(crate::weak::off(#) && {what}))"
                    self.add(function, what, begin, end, "((", behind)
        found = next(
            (
                (sign, split(code, begin, end, sign))
                for sign in [" < ", " > ", " <= ", " >= "]
                if len(split(code, begin, end, sign)) == 2
            ),
            None,
        )
        # What `into` makes is known once only.
        if found and ".into()" not in text:
            sign, sides = found
            one, other = (f"({self.text(*side)})" for side in sides)
            # The value beside the bound that is taken, and the one that is not.
            less = "<" in sign
            low, high = (one, other) if less else (other, one)
            near = f"{low} == {high}" if "=" in sign else f"{low} < {high} && {high} - {low} == 1"
            far = f"{low} > {high} && {low} - {high} == 1" if "=" in sign else f"{low} == {high}"
            self.add(
                function,
                f"{text}, not at its bound",
                begin,
                end,
                "((",
                f") && !(crate::weak::off(#) && {near}))",
            )
            self.add(
                function,
                f"{text}, one beyond",
                begin,
                end,
                "((",
                f") || (crate::weak::off(#) && {far}))",
            )

    def leave_out(self, function: str, begin: int, end: int, value: bool):
        text = self.text(begin, end)
        if value:
            self.add(function, f"{text} is true", begin, end, "(crate::weak::off(#) || (", "))")
        else:
            self.add(function, text, begin, end, "(!crate::weak::off(#) && (", "))")

    def switched(self) -> str:
        """The source with all switches."""
        starts: dict[int, list[Check]] = {}
        ends: dict[int, list[Check]] = {}
        for check in self.checks:
            starts.setdefault(check.start, []).append(check)
            ends.setdefault(check.end, []).append(check)
        parts = []
        for place in range(len(self.source) + 1):
            # Of those that end here the inner one is first; of those that begin, the outer one.
            for check in sorted(ends.get(place, []), key=lambda c: (-c.start, -c.number)):
                parts.append(check.behind.replace("#", str(check.number)))
            for check in sorted(starts.get(place, []), key=lambda c: (-c.end, c.number)):
                parts.append(check.before.replace("#", str(check.number)))
            parts.append(self.source[place : place + 1])
        source = "".join(parts)
        if self.name == "view/validate.rs":
            aligned = "!offset.is_multiple_of(8)"
            assert f"({aligned})" in source
            unaligned = "crate::weak::UNALIGNED.swap(false, core::sync::atomic::Ordering::Relaxed)"
            source = source.replace(f"({aligned})", f"(!{unaligned} && {aligned})", 1)
        return source


def build(files: "list[File]") -> Path:
    """Builds the core with switches, and the program that runs the vectors."""
    source = COPY / "livebuf/src"
    for path in sorted((CORE / "src").rglob("*.rs")):
        write(source / path.relative_to(CORE / "src"), path.read_text())
    for file in files:
        write(source / file.name, file.switched())
    library = (CORE / "src/lib.rs").read_text()
    write(
        source / "lib.rs",
        library.replace("mod block;", "#[doc(hidden)]\npub mod weak;\nmod block;", 1),
    )
    write(source / "weak.rs", SWITCHES)
    manifest = (CORE / "Cargo.toml").read_text()
    # Neither tests nor examples, nor what only they need.
    manifest = re.split(r"\[(?:dev-dependencies|\[example)", manifest)[0]
    workspace = (ROOT / "Cargo.toml").read_text()
    package = re.search(r"\[workspace\.package\].*?(?=\n\[)", workspace, re.DOTALL)
    members = '[workspace]\nmembers = ["livebuf", "program"]\nresolver = "3"\n'
    write(COPY / "Cargo.toml", f"{members}\n{package[0]}\n[workspace.lints]\n")
    write(COPY / "livebuf/Cargo.toml", manifest)
    write(
        COPY / "program/Cargo.toml",
        '[package]\nname = "weak"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n'
        'livebuf = { path = "../livebuf", default-features = false, features = ["alloc"] }\n',
    )
    write(COPY / "program/src/main.rs", PROGRAM)
    # The versions that are there already.
    if not (COPY / "Cargo.lock").exists() and (ROOT / "Cargo.lock").exists():
        write(COPY / "Cargo.lock", (ROOT / "Cargo.lock").read_text())
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--target-dir", "target"]
    environment = {**os.environ, "RUSTFLAGS": "-Awarnings"}
    subprocess.run(command, cwd=COPY, env=environment, check=True)
    return COPY / "target/debug/weak"


def write(path: Path, text: str):
    """Writes a file that is not there or has another text, so that little is built anew."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(program: Path, number: int) -> str:
    """The vector that notices a switch; or, in square brackets, which switches were reached."""
    command = [program, FOLDER / "vectors", str(number)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "does not end"
    return ended.stdout.strip() if ended.returncode == 0 else f"status {ended.returncode}"


def exceptions() -> "list[str]":
    """The checks that no vector need notice. Their reasons stand before them."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def excepting(name: str, known: "list[str]") -> "str | None":
    """The line that makes a check an exception."""
    starred = (line for line in known if line.endswith("*") and name.startswith(line[:-1]))
    return name if name in known else next(starred, None)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--show", metavar="TEXT", help="the checks with this in their names, and what notices them"
    )
    parser.add_argument("--list", action="store_true", help="all checks, and run nothing")
    options = parser.parse_args()
    files = [File(name) for name in FILES]
    checks = [check for file in files for check in file.checks]
    seen: dict[str, int] = {}
    for number, check in enumerate(checks, 1):
        check.number = number
        seen[check.name] = seen.get(check.name, 0) + 1
        if seen[check.name] > 1:
            check.name += f" (again {seen[check.name]})"
    if options.list:
        print(*(check.name for check in checks), sep="\n")
        return
    program = build(files)
    plain = run(program, 0)
    if not plain.startswith("["):
        sys.exit(f"without any change: {plain}")
    reached = {int(number) for number in re.findall(r"\d+", plain)}
    if options.show:
        checks = [check for check in checks if options.show in check.name]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda check: run(program, check.number), checks)
        for check, answer in zip(checks, answers, strict=True):
            check.noticed = "" if answer.startswith("[") else answer
            if options.show:
                print(f"{check.name}\n    {check.noticed or 'NOT NOTICED'}")
    known = exceptions()
    missed = [check for check in checks if not check.noticed]
    lines = {excepting(check.name, known) for check in missed}
    new = [check for check in missed if not excepting(check.name, known)]
    for check in new:
        print(("not noticed: " if check.number in reached else "not reached: ") + check.name)
    stale = [] if options.show else [line for line in known if line not in lines]
    for line in stale:
        print(f"noticed now, or gone: {line}")
    noticed = len(checks) - len(missed)
    excepted = len(missed) - len(new)
    print(f"{len(checks)} checks: {noticed} noticed, {excepted} excepted, {len(new)} not")
    sys.exit(bool(new or stale))


if __name__ == "__main__":
    main()
