// The bytes of a document: rows in which they are coloured by what they are, and a strip of the whole document.

import type { Memory } from "../../bindings/js/src/memory.js";
import { Cursor } from "../../bindings/js/src/read.js";
import { walk } from "../../bindings/js/src/view.js";
import { $, count, make, pointerOf } from "./dom.js";
import { bytesOf, type Found, isOf, KINDS, merged, PARTS, pathAt, type Range, regionAt, WHAT } from "./regions.js";
import { Rows } from "./rows.js";

/** The row of the tree that a byte belongs to is to be shown, or to be selected. */
type Lead = (path: (string | null)[] | null) => void;

/** What lights bytes, in the order in which the strip has it; the last is drawn over the others. */
const LIGHTS = ["read", "wrote", "lit"] as const;

/** Whether one of sorted ranges has a byte. */
function inside(ranges: Range[], byte: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[middle]![1] <= byte) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low]![0] <= byte;
}

export class BytesPane {
  /** What all bytes are; null until that was found out. */
  found: Found | null = null;
  /** The bytes of the value that is pointed at, that the last look-up read, and that the last edit wrote. */
  readonly lights: Record<"lit" | "read" | "wrote", Range[]> = { lit: [], read: [], wrote: [] };
  private m!: Memory;
  private readonly box = $("bytes");
  private readonly rows = new Rows(this.box, 20, (i) => this.row(i));
  private readonly strip = $<HTMLCanvasElement>("strip");
  private readonly base = make<HTMLCanvasElement>("canvas");
  /** The colours of the lights, which take long to ask for at each frame. */
  private readonly colours: Partial<Record<"lit" | "read" | "wrote", string>> = {};
  private waiting = false;
  /** Bytes in a row. */
  private per = 16;
  /** The width of a letter, in pixels, and the letters of an offset. */
  private letter = 7;
  private digits = 4;
  /** The byte that the keys move. */
  private at = 0;

  constructor(
    private readonly point: Lead,
    private readonly enter: Lead,
  ) {
    const { box, strip } = this;
    [this.base.width, this.base.height] = [PARTS, 24];
    const under = (event: MouseEvent, then: (byte: number) => void): void => {
      const byte = this.under(event);
      if (byte >= 0) then(byte);
    };
    let last = -1;
    box.addEventListener("mousemove", (event) => {
      under(event, (byte) => {
        if (byte !== last || this.lights.lit.length === 0) this.where(byte);
        last = byte;
      });
    });
    box.addEventListener("click", (event) => under(event, (byte) => this.goIn(byte)));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focus", () => this.draw());
    box.addEventListener("scroll", () => this.drawStrip());
    new ResizeObserver(() => this.m && this.show(this.m)).observe(box);
    const jump = (event: PointerEvent): void => {
      if (event.buttons === 1) this.goTo(Math.floor((this.m.used * event.offsetX) / strip.clientWidth));
    };
    strip.addEventListener("pointerdown", jump);
    strip.addEventListener("pointermove", jump);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  /** Shows these bytes, as many in a row as there is room for. */
  show(m: Memory): void {
    this.m = m;
    const probe = make("span.probe", "0".repeat(100));
    this.box.append(probe);
    this.letter = probe.getBoundingClientRect().width / 100;
    probe.remove();
    this.digits = Math.max(4, String(m.used).length);
    const first = this.rows.first * this.per;
    this.per = this.box.clientWidth >= (68 + this.digits) * this.letter + 24 ? 16 : 8;
    this.rows.resize(Math.ceil(m.used / this.per));
    this.reveal(first);
    this.draw();
  }

  draw(): void {
    this.rows.draw();
    this.drawStrip();
  }

  reveal(byte: number): void {
    this.rows.reveal(Math.floor(byte / this.per));
  }

  /** Moves to a byte. */
  goTo(byte: number): void {
    this.at = Math.max(0, Math.min(byte, this.m.used - 1));
    this.reveal(this.at);
    this.where(this.at);
  }

  /** The region of a byte, and the path of the value that it belongs to, if it does. */
  private what(byte: number): { region: number; path: (string | null)[] | null } {
    const region = this.regionOf(byte);
    const known = region >= 0 && isOf(this.found!, region);
    return { region, path: known ? pathAt(this.found!, this.m, region, byte) : null };
  }

  regionOf(byte: number): number {
    return this.found === null ? -1 : regionAt(this.found, byte);
  }

  /** What a region is called, and the name of its kind. */
  words(region: number): [name: string, kind: string] {
    const [kind, name] = WHAT[region < 0 ? 0 : this.found!.what[region]!]!;
    return [name, KINDS[kind]!];
  }

  /** Says what a byte is, and lights the value that it belongs to. */
  private where(byte: number): void {
    if (this.found === null) return;
    const { region, path } = this.what(byte);
    const [name, kind] = this.words(region);
    $("where").textContent =
      `byte ${count(byte)}: ${name}${path === null ? "" : ` of ${pointerOf(path) || "the root"}`}`;
    const { start, size } = this.found;
    const value = new Cursor(this.m).toRoot();
    // Bytes of one value light with it; those of many, and keys, as the region that they are.
    if (path !== null && !path.includes(null) && kind !== "keys" && walk(value, path as string[])) {
      this.lights.lit = merged([...bytesOf(this.m, value), [byte, byte + 1]]);
    } else this.lights.lit = [region < 0 ? [byte, byte + 1] : [start[region]!, start[region]! + size[region]!]];
    this.point(path);
    this.draw();
  }

  private goIn(byte: number): void {
    this.at = byte;
    const { path } = this.what(byte);
    if (path !== null) this.enter(path);
  }

  private key(event: KeyboardEvent): void {
    const [row, screen] = [this.per, this.per * this.rows.seen];
    const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];
    const step = [-1, 1, -row, row, -screen, screen, -Infinity, Infinity][keys.indexOf(event.key)];
    if (event.key === "Enter") this.goIn(this.at);
    else if (step !== undefined) this.goTo(this.at + step);
    else return;
    event.preventDefault();
  }

  private row(i: number): HTMLElement {
    const { per, lights } = this;
    const { u8, used } = this.m;
    const row = make("div.line", make("span.offset", `${String(i * per).padStart(this.digits)}  `));
    const letters: HTMLElement[] = [];
    let last = "";
    for (let k = 0; k < per; k++) {
      const byte = i * per + k;
      const gap = k === 7 && per === 16 ? "  " : " ";
      if (byte >= used) {
        row.append(`  ${gap}`);
        continue;
      }
      const region = this.regionOf(byte);
      let style = `span.${this.words(region)[1]}`;
      if (inside(lights.wrote, byte)) style += ".wrote";
      else if (inside(lights.read, byte)) style += ".read";
      if (inside(lights.lit, byte)) style += ".lit";
      if (byte === this.at && document.activeElement === this.box) style += ".here";
      if (style + region !== last) {
        row.append(make(style));
        letters.push(make(style));
        last = style + region;
      }
      const code = u8[byte]!;
      (row.lastChild as HTMLElement).append(`${code < 16 ? "0" : ""}${code.toString(16)}${gap}`);
      letters[letters.length - 1]!.append(code >= 32 && code < 127 ? String.fromCharCode(code) : "·");
    }
    row.append(" ", ...letters);
    return row;
  }

  /** The byte that the mouse is on, or −1. */
  private under(event: MouseEvent): number {
    const line = (event.target as Element).closest(".line");
    if (line === null) return -1;
    const { per } = this;
    const x = event.clientX - line.getBoundingClientRect().left - 8;
    const column = Math.floor(x / this.letter) - this.digits - 2;
    const hex = 3 * per + (per === 16 ? 1 : 0);
    const k = column > hex ? column - hex - 1 : Math.floor((column - (column > 24 ? 1 : 0)) / 3);
    const byte = Number(line.firstChild!.textContent) + k;
    return k >= 0 && k < per && byte < this.m.used ? byte : -1;
  }

  /** Paints the whole document as a strip, once for each map. */
  paint(): void {
    const style = getComputedStyle(document.documentElement);
    for (const light of LIGHTS) this.colours[light] = style.getPropertyValue(`--${light}`);
    const g = this.base.getContext("2d")!;
    g.clearRect(0, 0, PARTS, 24);
    for (let i = 0; i < PARTS && this.found !== null; i++) {
      const part = this.found.parts.subarray(KINDS.length * i, KINDS.length * (i + 1));
      const all = part.reduce((sum, n) => sum + n, 0);
      let y = 0;
      part.forEach((n, k) => {
        if (n === 0) return;
        g.fillStyle = style.getPropertyValue(`--${KINDS[k]}-strong`);
        g.fillRect(i, y, 1, (24 * n) / all);
        y += (24 * n) / all;
      });
    }
    this.draw();
  }

  /** Draws the strip once before the next frame, with marks of what is lit and of what is seen. */
  private drawStrip(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const g = this.strip.getContext("2d")!;
      const { used } = this.m;
      g.clearRect(0, 0, PARTS, 40);
      g.drawImage(this.base, 0, 8);
      for (const light of LIGHTS) {
        g.fillStyle = this.colours[light] ?? "";
        let drawn = 0;
        for (const [start, end] of this.lights[light]) {
          // An edit may write hundreds of thousands of ranges.
          const x = Math.max(drawn, (PARTS * start) / used);
          const to = Math.max((PARTS * start) / used + 2, (PARTS * end) / used);
          if (to - drawn < 0.5) continue;
          g.fillRect(x, light === "lit" ? 34 : 0, to - x, 6);
          drawn = to;
        }
      }
      const seen = $("seen").style;
      seen.left = `${(100 * this.rows.first * this.per) / used}%`;
      seen.width = `${Math.max(0.4, (100 * Math.min(used, this.rows.seen * this.per)) / used)}%`;
    });
  }
}
