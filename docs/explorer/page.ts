// The page: a document's values on one side, its bytes on the other, and what look-ups read and edits write.

import { Document, steps } from "../../bindings/js/src/document.js";
import { HEADER_SIZE } from "../../bindings/js/src/layout.js";
import { load } from "../../bindings/js/src/memory.js";
import { ARRAY, Cursor, SCALAR } from "../../bindings/js/src/read.js";
import { walk } from "../../bindings/js/src/view.js";
import { BytesPane } from "./bytes.js";
import { columnsTable } from "./columns.js";
import { $, count, jsonOf, make, percent, pointerOf, share, size, textOf } from "./dom.js";
import { bytesOf, type Found, KINDS, merged, type Range } from "./regions.js";
import { Rows } from "./rows.js";
import { type Row, summary, Tree } from "./tree.js";
import { editorOf, PACKER, run, type Size, serve, setTyped, takeBack } from "./work.js";

/** Most places of a look-up or an edit that are listed. */
const PLACES = 24;
/** Of larger files the work is done by workers. */
const LARGE = 1 << 18;
/** Longer texts are not changed in a field. */
const LONGEST = 1 << 20;

function page(): void {
  let doc!: Document;
  let name = "";
  let tree!: Tree;
  /** The number of the file that is shown, by which the workers know their copy of it. */
  let shown = 0;
  let large = false;
  /** Counts documents and edits, so that answers that come too late are left alone. */
  let turn = 0;
  /** The same for sizes, which are not found out again while a large document is edited. */
  let round = 0;
  /** The pointers of the edits that can be taken back. */
  let changes: string[] = [];
  /** The last of the edits and the last of the maps, which wait for those before them. */
  let last: Promise<void> = Promise.resolve();
  let maps: Promise<boolean> = Promise.resolve(true);
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
        if (event.key === "Enter" && value !== before) inTurn(() => write(row.path, value));
      };
      $("values").append(input);
      input.focus();
      input.select();
    });
  };

  /** Has an edit begin when it is known what the one before it wrote, so that the copy gets all of them in order. */
  const inTurn = (action: () => Promise<void>): void => {
    const file = shown;
    last = last
      .then(() => (file === shown ? action() : undefined))
      .catch((error) => report((error as Error).message));
  };

  const write = async (path: string[], text: string): Promise<void> => {
    const pointer = pointerOf(path);
    try {
      const editor = editorOf(doc);
      doc = editor;
      setTyped(editor, pointer, text);
    } catch (error) {
      refresh();
      report((error as Error).message);
      return;
    }
    changes.push(pointer);
    const now = new Cursor(doc.memory).toRoot();
    walk(now, path);
    const wrote = run("edit", large, [shown, pointer, text]);
    await changed(wrote, `${pointer} is now ${now.kind === SCALAR ? jsonOf(now, 60) : summary(now)}`);
  };

  const undo = async (): Promise<void> => {
    const pointer = changes.pop();
    if (pointer === undefined) return;
    const file = shown;
    const change = await run("undo", large, file);
    if (file !== shown) return;
    doc = takeBack(doc, change);
    await changed(change.wrote, `${pointer} is as it was`);
  };

  const refresh = (): void => {
    tree.refresh(doc.memory);
    rows.resize(tree.rows);
    selected = Math.min(selected, tree.rows - 1);
    pane.show(doc.memory);
  };

  /** Shows what an edit did, at once, and where it wrote as soon as that is known. */
  const changed = async (places: Promise<Range[]> | Range[], text: string): Promise<void> => {
    refresh();
    Object.assign(lights, { read: [], lit: [] });
    $<HTMLButtonElement>("undo").disabled = changes.length === 0;
    const { cursor, path } = tree.row(selected);
    showColumns(cursor, path);
    report(text);
    turn++;
    let wrote: Range[] = [];
    lights.wrote = wrote;
    const known = await places;
    // Unless something was looked up meanwhile, or another file opened.
    const stays = (): boolean => lights.wrote === wrote;
    const say = (): void => report(`${text} — wrote ${share(wrote, doc.memory.used)}:`, wrote);
    if (stays()) {
      lights.wrote = wrote = known;
      if (wrote.length > 0) pane.reveal(wrote[wrote.length - 1]![0]);
      pane.draw();
      say();
    }
    // The next edit does not wait for it.
    const learn = async (): Promise<void> => {
      if (!(await map())) return;
      if (stays()) say();
      // It would take too long to do it again and again for a large one.
      if (doc.memory.used < 1 << 20) await measure();
    };
    learn();
  };

  // --- The document.

  const copy = (): Promise<Uint8Array> => run("copy", large, shown);

  /** Finds out what all bytes are; says whether the document is still the same then. */
  const map = (): Promise<boolean> => {
    const mine = ++turn;
    // One at a time, since only the last of them counts.
    const next = maps.then(async () => {
      if (mine !== turn) return false;
      const found = await run("map", large, await copy());
      if (mine === turn) showMap(found);
      return mine === turn;
    });
    maps = next.catch(() => false);
    return maps;
  };

  const showMap = (found: Found): void => {
    pane.found = found;
    const entries = KINDS.map((kind, k) => {
      const n = found.sums[k]!;
      return make("span.entry", make(`i.${kind}`), kind, make("small", `${size(n)}, ${percent(n, doc.memory.used)}`));
    });
    $("legend").replaceChildren(...entries.filter((_, k) => found.sums[k]! > 0));
    pane.paint();
  };

  /** Finds out how large the value is in other formats. */
  const measure = async (): Promise<void> => {
    const mine = ++round;
    const sizes: [string, Size][] = [];
    let bytes = await copy();
    for (const format of ["LiveBuf", "JSON", "MessagePack"] as const) {
      const found = await run(format, large, bytes).catch(() => null);
      if (mine !== round) return;
      bytes = found?.bytes ?? (await copy());
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
  let files = 0;

  const show = async (file: Blob, title: string, first: string[] = []): Promise<void> => {
    $("name").textContent = `${title} …`;
    const mine = ++files;
    const isLarge = file.size > LARGE;
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if (mine !== files) return;
      const opened = await run("open", isLarge, [bytes, mine]);
      // Another file was chosen meanwhile.
      if (mine !== files) return;
      doc = new Document(load(opened));
    } catch (error) {
      if (mine !== files) return;
      $("name").textContent = name;
      report(`${title} cannot be shown: ${(error as Error).message}`);
      return;
    }
    [shown, large] = [mine, isLarge];
    name = title;
    $("name").textContent = name;
    changes = [];
    $<HTMLButtonElement>("undo").disabled = true;
    $("sizes").replaceChildren();
    round++;
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
    show(new Blob([$("sample-json").textContent!]), "sample.json", ["orders", "2", "total"]);

  const open = async (files: FileList | null | undefined): Promise<void> => {
    const file = files?.[0];
    if (file) await show(file, file.name);
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
  $("undo").onclick = () => inTurn(undo);
  $("document").onclick = () => inTurn(async () => save(doc.bytes, ".lbuf", "application/vnd.livebuf"));
  $("json").onclick = () =>
    inTurn(async () => save(await run("json", large, await copy()), ".json", "application/json"));
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
    inTurn(undo);
  });
  sample();
}

if (typeof document === "undefined") serve();
else page();
