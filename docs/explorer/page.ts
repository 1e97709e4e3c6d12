// The page: a document's values on one side, its bytes on the other, and what look-ups read and edits write.

import { Document, steps } from "../../bindings/js/src/document.js";
import { Editor, edit } from "../../bindings/js/src/edit.js";
import { fromJSON } from "../../bindings/js/src/encode.js";
import { HEADER_SIZE } from "../../bindings/js/src/layout.js";
import { load } from "../../bindings/js/src/memory.js";
import { ARRAY, Cursor, SCALAR } from "../../bindings/js/src/read.js";
import {
  Decimal,
  Float,
  LocalDate,
  LocalDateTime,
  LocalTime,
  Timestamp,
  Uuid,
} from "../../bindings/js/src/scalar.js";
import { walk } from "../../bindings/js/src/view.js";
import { BytesPane } from "./bytes.js";
import { columnsTable } from "./columns.js";
import { $, count, jsonOf, make, percent, pointerOf, share, size, textOf } from "./dom.js";
import { bytesOf, KINDS, merged, type Range } from "./regions.js";
import { Rows } from "./rows.js";
import { type Row, summary, Tree } from "./tree.js";
import { PACKER, run, type Size, serve } from "./work.js";

/** What an edit changed: the bytes that were there, and how many were in use. */
interface Change {
  pointer: string;
  used: number;
  old: { at: number; bytes: Uint8Array }[];
}

/** Most places of a look-up or an edit that are listed. */
const PLACES = 24;
/** Of an edit that wrote at more places, all bytes between the first and the last are kept for undo. */
const MANY = 10_000;
/** Longer texts are not changed in a field. */
const LONGEST = 1 << 20;

function page(): void {
  let doc!: Document;
  let name = "";
  let tree!: Tree;
  /** Counts documents and edits, so that answers that come too late are left alone. */
  let turn = 0;
  /** The same for sizes, which are not found out again while a large document is edited. */
  let round = 0;
  let changes: Change[] = [];
  /** A copy of the document's bytes that no task has, or null: copies of large ones take long. */
  let spare: Uint8Array | null = null;
  let selected = 0;
  /** The row that the mouse is on, or the value of the byte that it is on. */
  let pointed = -1;
  const field = $<HTMLInputElement>("pointer");
  const box = $("tree");
  const rows = new Rows(box, 24, (i) => rowOf(i));
  const point = (row: number): void => {
    pointed = row;
    rows.draw();
  };
  const pane = new BytesPane(
    (path) => point(path === null ? -1 : tree.find(path, false)),
    (path) => choose(path!.slice(0, path!.includes(null) ? path!.indexOf(null) : path!.length) as string[]),
  );
  const { lights } = pane;

  // --- Values.

  const rowOf = (i: number): HTMLElement => {
    const { cursor, path, branch, open } = tree.row(i);
    const last = path[path.length - 1] ?? name;
    const key = branch === null || branch.cursor.kind === ARRAY ? last : JSON.stringify(last);
    const made = make(`div.row${i === selected ? ".selected" : ""}${i === pointed ? ".pointed" : ""}`);
    made.id = `row-${i}`;
    made.role = "treeitem";
    made.ariaLevel = String(path.length + 1);
    made.ariaSelected = String(i === selected);
    made.style.paddingLeft = `${8 + 16 * Math.min(path.length, 20)}px`;
    const holder = cursor.kind !== SCALAR;
    if (holder) made.ariaExpanded = String(open);
    made.append(make("span.twist", holder ? (open ? "▾" : "▸") : ""), make("span.key", key));
    made.append(holder ? make("span.summary", summary(cursor)) : make("span.value", jsonOf(cursor, 200)));
    return made;
  };

  const select = (i: number): void => {
    selected = Math.max(0, Math.min(i, tree.rows - 1));
    box.setAttribute("aria-activedescendant", `row-${selected}`);
    rows.reveal(selected);
    rows.draw();
    field.value = pointerOf(tree.row(selected).path);
    lookUp();
  };
  /** Opens what a value is in, and selects it. */
  const choose = (path: string[]): void => {
    const i = tree.find(path, true);
    rows.resize(tree.rows);
    select(i);
  };
  const toggle = (row: Row): void => {
    tree.toggle(row);
    rows.resize(tree.rows);
  };

  const under = (event: MouseEvent): number => {
    const row = (event.target as Element).closest(".row");
    return row === null ? -1 : Number(row.id.slice(4));
  };
  box.addEventListener("mousemove", (event) => {
    const i = under(event);
    if (i === pointed || i < 0) return;
    lights.lit = bytesOf(doc.memory, tree.row(i).cursor);
    point(i);
    pane.draw();
  });
  for (const side of [box, $("bytes")]) {
    side.addEventListener("mouseleave", () => {
      lights.lit = [];
      $("where").textContent = "";
      point(-1);
      pane.draw();
    });
  }
  box.addEventListener("click", (event) => {
    const i = under(event);
    if (i < 0) return;
    if ((event.target as Element).className === "twist") toggle(tree.row(i));
    select(i);
  });
  box.addEventListener("dblclick", (event) => under(event) >= 0 && change());
  box.addEventListener("keydown", (event) => {
    const row = tree.row(selected);
    const closed = row.cursor.kind !== SCALAR && !row.open;
    const actions: Record<string, () => void> = {
      ArrowDown: () => select(selected + 1),
      ArrowUp: () => select(selected - 1),
      PageDown: () => select(selected + rows.seen),
      PageUp: () => select(selected - rows.seen),
      Home: () => select(0),
      End: () => select(tree.rows - 1),
      ArrowRight: () => (closed ? toggle(row) : select(selected + 1)),
      ArrowLeft: () => (row.open && selected > 0 ? toggle(row) : choose(row.path.slice(0, -1))),
      Enter: change,
      F2: change,
      " ": () => toggle(row),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });

  // --- Look-ups and edits.

  /** Says what happened, and to which bytes in which order; each place leads to its bytes. */
  const report = (text: string, places: Range[] = []): void => {
    const chips: (Node | string)[] = places.slice(0, PLACES).map(([start, end]) => {
      const [label, kind] = pane.words(pane.regionOf(start));
      const chip = make<HTMLButtonElement>(
        `button.chip.${kind}`,
        `${label} `,
        make("small", `${start} + ${end - start}`),
      );
      chip.title = `${count(end - start)} bytes from byte ${count(start)}`;
      chip.onclick = () => pane.goTo(start);
      return chip;
    });
    if (places.length > PLACES) chips.push(`and ${count(places.length - PLACES)} more`);
    $("report").replaceChildren(make("span.said", text), ...chips);
  };

  const showColumns = (value: Cursor | null, path: string[]): void => {
    const table = value === null ? null : columnsTable(value, path[path.length - 1] ?? "");
    $("details").replaceChildren(...(table === null ? [] : [table]));
    $("details").hidden = table === null;
  };

  /** Looks the pointer of the field up, and shows which bytes were asked for. Says whether it leads to a value. */
  const lookUp = (): boolean => {
    const { memory } = doc;
    const places: Range[] = [[0, HEADER_SIZE]];
    let there = false;
    try {
      const path = steps(field.value.trim());
      const value = new Cursor(memory);
      memory.bring = (start, length) => length > 0 && places.push([start, start + length]);
      there = walk(value.toRoot(), path);
      if (there && value.kind === SCALAR) {
        // Of a long text only the first letters are shown.
        const long = textOf(value);
        if (long === null) value.scalar();
        else memory.reach(long[0], long[1] - long[0]);
      }
      memory.bring = undefined;
      const text = !there ? "not there" : value.kind === SCALAR ? jsonOf(value, 60) : summary(value);
      lights.wrote = [];
      lights.read = merged(places);
      // A block is asked for by its first bytes, then wholly.
      const larger = (a: Range, b: Range): boolean => a[0] <= b[0] && a[1] >= b[1] && a[1] - a[0] > b[1] - b[0];
      const seen = new Set<number>();
      const chips = places.filter((b) => !seen.has(b[0]) && !places.some((a) => larger(a, b)) && seen.add(b[0]));
      report(`${text} — read at most ${share(lights.read, memory.used)}:`, chips);
      showColumns(there ? value : null, path);
      pane.reveal(places[places.length - 1]![0]);
      pane.draw();
    } catch (error) {
      report((error as Error).message);
    }
    memory.bring = undefined;
    field.ariaInvalid = String(!there);
    return there;
  };
  field.addEventListener("input", () => {
    if (!lookUp()) return;
    selected = tree.find(steps(field.value.trim()), true);
    rows.resize(tree.rows);
    rows.reveal(selected);
  });
  $("look").addEventListener("submit", (event) => {
    event.preventDefault();
    lookUp();
  });

  /** Puts a field over the selected value, to change it. */
  const change = (): void => {
    const row = tree.row(selected);
    if (row.cursor.kind !== SCALAR) {
      toggle(row);
      return;
    }
    const long = textOf(row.cursor);
    if (long !== null && long[1] - long[0] > LONGEST) {
      report(`${pointerOf(row.path)} is too long to be changed here`);
      return;
    }
    const before = jsonOf(row.cursor);
    rows.reveal(selected);
    requestAnimationFrame(() => {
      const value = $(`row-${selected}`)?.querySelector(".value")?.getBoundingClientRect();
      if (value === undefined) return;
      const input = make<HTMLInputElement>("input.edit");
      const side = $("values").getBoundingClientRect();
      input.value = before;
      input.ariaLabel = `New value of ${pointerOf(row.path)}, as JSON`;
      Object.assign(input.style, { left: `${value.left - side.left - 5}px`, top: `${value.top - side.top - 2}px` });
      input.onblur = () => input.remove();
      input.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== "Escape") return;
        const { value } = input;
        box.focus({ preventScroll: true });
        if (event.key === "Enter" && value !== before) write(row.path, typed(value, row.cursor.scalar()));
      };
      $("values").append(input);
      input.focus();
      input.select();
    });
  };

  const write = (path: string[], value: unknown): void => {
    const before = taken();
    const pointer = pointerOf(path);
    try {
      // What was opened here is valid. The editor takes the bytes from the document before.
      const editor = doc instanceof Editor ? doc : edit(doc, { trusted: true });
      doc = editor;
      editor.setPointer(pointer, value);
    } catch (error) {
      refresh();
      report((error as Error).message);
      return;
    }
    const { used, u8 } = doc.memory;
    const wrote = difference(before, u8.subarray(0, used));
    const kept: Range[] = wrote.length > MANY ? [[wrote[0]![0], wrote[wrote.length - 1]![1]]] : wrote;
    const old = kept.map(([at, end]) => ({ at, bytes: before.slice(at, end) }));
    if (used < before.length) old.push({ at: used, bytes: before.slice(used) });
    if (used === before.length) {
      before.set(u8.subarray(0, used));
      spare = before;
    }
    changes.push({ pointer, used: before.length, old });
    const now = new Cursor(doc.memory).toRoot();
    walk(now, path);
    changed(wrote, `${pointer} is now ${now.kind === SCALAR ? jsonOf(now, 60) : summary(now)}`);
  };

  const undo = (): void => {
    const last = changes.pop();
    if (last === undefined) return;
    let bytes = taken();
    if (bytes.length !== last.used) {
      const now = bytes.subarray(0, last.used);
      bytes = new Uint8Array(last.used);
      bytes.set(now);
    }
    for (const { at, bytes: old } of last.old) bytes.set(old, at);
    const wrote = difference(doc.bytes, bytes);
    doc = new Document(load(bytes));
    changed(wrote, `${last.pointer} is as it was`);
  };

  const refresh = (): void => {
    tree.refresh(doc.memory);
    rows.resize(tree.rows);
    selected = Math.min(selected, tree.rows - 1);
    pane.show(doc.memory);
  };

  const changed = async (wrote: Range[], text: string): Promise<void> => {
    refresh();
    Object.assign(lights, { read: [], lit: [], wrote });
    $<HTMLButtonElement>("undo").disabled = changes.length === 0;
    const { cursor, path } = tree.row(selected);
    showColumns(cursor, path);
    if (wrote.length > 0) pane.reveal(wrote[wrote.length - 1]![0]);
    const say = (): void => report(`${text} — wrote ${share(wrote, doc.memory.used)}:`, wrote);
    say();
    if (!(await map())) return;
    // Unless something was looked up meanwhile.
    if (lights.wrote === wrote) say();
    // It would take too long to do it again and again for a large one.
    if (doc.memory.used < 1 << 20) await measure();
  };

  // --- The document.

  const copy = (): Uint8Array => doc.bytes.slice();
  /** The spare copy, which is no longer there then, or a new one. */
  const taken = (): Uint8Array => {
    const bytes = spare ?? copy();
    spare = null;
    return bytes;
  };

  /** Finds out what all bytes are; says whether the document is still the same then. */
  const map = async (): Promise<boolean> => {
    const mine = ++turn;
    const { bytes, ...found } = await run("map", taken());
    if (mine !== turn) return false;
    spare = bytes;
    pane.found = found;
    const entries = KINDS.map((kind, k) => {
      const n = found.sums[k]!;
      return make("span.entry", make(`i.${kind}`), kind, make("small", `${size(n)}, ${percent(n, doc.memory.used)}`));
    });
    $("legend").replaceChildren(...entries.filter((_, k) => found.sums[k]! > 0));
    pane.paint();
    return true;
  };

  /** Finds out how large the value is in other formats. */
  const measure = async (): Promise<void> => {
    const mine = ++round;
    const sizes: [string, Size][] = [];
    let bytes = copy();
    for (const format of ["LiveBuf", "JSON", "MessagePack"] as const) {
      const found = await run(format, bytes).catch(() => null);
      if (mine !== round) return;
      bytes = found?.bytes ?? copy();
      if (found === null) continue;
      sizes.push([format, found]);
      const most = Math.max(...sizes.map(([, { plain }]) => plain));
      const cells = sizes.flatMap(([name, { plain, packed }]) => {
        const [all, small] = [make("i.plain"), make("i.packed")];
        all.style.width = `${(100 * plain) / most}%`;
        small.style.width = `${(100 * packed) / most}%`;
        const figure = make("span.figure", packed > 0 ? `${size(packed)} ${PACKER}` : "");
        if (PACKER === "gzip") figure.title = "This browser has no zstd";
        return [make("span", name), make("span.bar", all, small), make("span.figure", size(plain)), figure];
      });
      $("sizes").replaceChildren(...cells);
    }
  };

  /** How many files were chosen. */
  let turns = 0;

  const show = async (file: Uint8Array, title: string, first: string[] = []): Promise<void> => {
    $("name").textContent = `${title} …`;
    const turn = ++turns;
    try {
      const opened = await run("open", file);
      // Another file was chosen meanwhile.
      if (turn !== turns) return;
      doc = new Document(load(opened));
    } catch (error) {
      if (turn !== turns) return;
      $("name").textContent = name;
      report(`${title} cannot be shown: ${(error as Error).message}`);
      return;
    }
    name = title;
    $("name").textContent = name;
    changes = [];
    $<HTMLButtonElement>("undo").disabled = true;
    $("sizes").replaceChildren();
    round++;
    spare = null;
    pane.found = null;
    Object.assign(lights, { lit: [], read: [], wrote: [] });
    tree = new Tree(doc.memory);
    pane.show(doc.memory);
    choose(first);
    if (!(await map())) return;
    lookUp();
    await measure();
  };
  const sample = (): Promise<void> =>
    show(new TextEncoder().encode($("sample-json").textContent!), "sample.json", ["orders", "2", "total"]);

  const open = async (files: FileList | null | undefined): Promise<void> => {
    const file = files?.[0];
    if (file) await show(new Uint8Array(await file.arrayBuffer()), file.name);
  };
  const save = (bytes: Uint8Array, ending: string, type: string): void => {
    const link = make<HTMLAnchorElement>("a");
    link.href = URL.createObjectURL(new Blob([bytes as BlobPart], { type }));
    link.download = name.replace(/\.[^.]*$/, "") + ending;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  const file = $<HTMLInputElement>("file");
  $("open").onclick = () => file.click();
  file.onchange = async () => {
    await open(file.files);
    file.value = "";
  };
  $("sample").onclick = sample;
  $("undo").onclick = undo;
  $("document").onclick = () => save(doc.bytes, ".lbuf", "application/vnd.livebuf");
  $("json").onclick = async () => save(await run("json", copy()), ".json", "application/json");
  $("copy").onclick = async () => {
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      field.select();
      document.execCommand("copy");
    }
    $("copy").textContent = "Copied";
    setTimeout(() => $("copy").replaceChildren("Copy"), 1200);
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    open(event.dataTransfer?.files);
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "z" || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    undo();
  });
  sample();
}

/** Values that stay of their kind if what is typed can be read so. */
const KEPT = [Decimal, LocalDate, LocalDateTime, LocalTime, Timestamp, Uuid];

/** What was typed over a value: JSON, else text. It is read as documents are, since `JSON.parse` rounds numbers. */
function typed(text: string, old: unknown): unknown {
  try {
    const kind = KEPT.find((kind) => old instanceof kind);
    if (kind !== undefined) return kind.from(text.trim().replace(/^"|"$/g, ""));
  } catch {
    // It is another value.
  }
  try {
    const value: unknown = new Document(load(fromJSON(text))).root;
    // `2.0` stays a float.
    return typeof value === "number" && !/^\s*-?\d+\s*$/.test(text) ? new Float(value) : value;
  } catch {
    return text;
  }
}

/** The first number from i on that differs. */
function different(a: Uint32Array, b: Uint32Array, i: number): number {
  const n = a.length;
  while (i < n && a[i] === b[i]) i++;
  return i;
}

/** Where two runs of bytes differ; bytes of the second behind the end of the first are all new. */
function difference(before: Uint8Array, after: Uint8Array): Range[] {
  const ranges: Range[] = [];
  const shared = Math.min(before.length, after.length);
  const a = new Uint32Array(before.buffer, before.byteOffset, shared >>> 2);
  const b = new Uint32Array(after.buffer, after.byteOffset, shared >>> 2);
  for (let i = different(a, b, 0); i < a.length; i = different(a, b, i + 1)) {
    for (let k = 4 * i; k < 4 * i + 4; k++) {
      const last = ranges[ranges.length - 1];
      if (before[k] === after[k]) continue;
      if (last?.[1] === k) last[1]++;
      else ranges.push([k, k + 1]);
    }
  }
  if (after.length > shared) ranges.push([shared, after.length]);
  return ranges;
}

if (typeof document === "undefined") serve();
else page();
