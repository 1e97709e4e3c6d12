// Random documents for the tests of the encoder: JSON text of all the kinds that the profile tells apart.

/** Random numbers from 0 up to below n, the same ones each time. */
class Random {
  constructor(private state: number) {}
  below(n: number): number {
    // A step of xorshift, and one of a generator with a multiplication.
    this.state = Math.imul(this.state ^ (this.state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    this.state ^= this.state >>> 13;
    const x = Math.imul(this.state, 0x297a2d39);
    return ((x ^ (x >>> 16)) >>> 0) % n;
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)]!;
  }
}

/** JSON text of random values, of the kinds that the profile tells apart. */
export class Generator {
  private readonly r: Random;
  /** Values that may still be made, so that documents stay small. */
  private left = 400;
  constructor(seed: number) {
    this.r = new Random(seed);
  }

  document(): string {
    const { r } = this;
    switch (r.below(16)) {
      case 0:
        return this.value(5);
      case 1:
        return this.manyTexts();
      case 2:
      case 3:
        return this.map(r.of([17, 30, 260, 300]), 1);
      case 4:
        return this.object(["a", "b", "a list", "c"].slice(0, 1 + r.below(4)), () => this.value(4));
      case 5:
        return this.wideRows();
      case 6:
        return `{"x":${this.rows(3)},"y":${this.rows(2)},"z":${this.value(2)}}`;
      case 7:
        return `[${this.map(r.of([3, 9, 20, 260]), 2)},${this.map(r.of([3, 9, 20, 260]), 2)},${this.rows(2)}]`;
      case 8:
        return this.columns();
      case 9:
        return this.list(r.below(12), () => this.value(3));
      default:
        return this.rows(4);
    }
  }

  private list(n: number, make: (i: number) => string): string {
    return `[${Array.from({ length: n }, (_, i) => make(i)).join(",")}]`;
  }

  private object(keys: string[], make: (key: string) => string): string {
    return `{${keys.map((key) => `${JSON.stringify(key)}:${make(key)}`).join(",")}}`;
  }

  private text(): string {
    const { r } = this;
    switch (r.below(9)) {
      case 0:
        return JSON.stringify("a repeated text of some length".slice(0, r.below(30)));
      case 1:
        return JSON.stringify(`${"ä€😀".slice(0, 2 * r.below(3))} ${r.below(40)} and more`);
      case 2:
        return JSON.stringify("x".repeat(r.of([1023, 1024, 1025, 7, 8, 9, 300])) + r.below(3));
      case 3:
        return r.of(['"\\u00e4\\n\\ud83d\\ude00"', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\u0000"', '"2026-11-23"']);
      case 4:
        return JSON.stringify(`unique ${r.below(1e9)}`);
      default:
        return JSON.stringify(
          r.of(["", "red", "green", "blue and green", "a longer colour name", "1234567", "12345678"]),
        );
    }
  }

  private number(): string {
    const { r } = this;
    switch (r.below(10)) {
      case 0:
        return r.of(["0", "-0", "0.0", "-0.0", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535"]);
      case 1:
        return r.of(["2147483647", "2147483648", "4294967295", "4294967296", "-2147483648", "-2147483649"]);
      case 2:
        return r.of(["9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "16777216"]);
      case 3:
        return r.of(["9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775808"]);
      case 4:
        return r.of(["1e400", "0.1234567890123456789", "1E5", "5e-324", "1e-400", "1.5", "2.0", "16777217.0", "1e22"]);
      case 5:
        return (r.below(1e6) / 1e3).toString();
      case 6:
        return `${r.below(100)}.5`;
      default:
        return String(r.below(r.of([2, 100, 300, 70_000, 1e9])) - r.of([0, 0, 0, 50, 1e8]));
    }
  }

  private scalar(): string {
    const { r } = this;
    switch (r.below(5)) {
      case 0:
        return r.of(["null", "true", "false"]);
      case 1:
      case 2:
        return this.number();
      default:
        return this.text();
    }
  }

  private value(depth: number): string {
    const { r } = this;
    this.left--;
    if (depth <= 0 || this.left < 0) return this.scalar();
    switch (r.below(7)) {
      case 0:
        return this.rows(depth - 1);
      case 1:
        return this.list(r.below(6), () => this.value(depth - 1));
      case 2:
        return this.object(this.keys(r.below(6)), () => this.value(depth - 1));
      case 3:
        return this.column(1 + r.below(12), depth - 1);
      default:
        return this.scalar();
    }
  }

  private keys(n: number): string[] {
    const { r } = this;
    const all = ["id", "name", "x", "y", "a key of some length", "created_at", "list", "größe", "", "toJSON", "deep"];
    const found = new Set<string>();
    for (let i = 0; i < n; i++) found.add(r.chance(10) ? `key ${r.below(50)}` : r.of(all));
    return [...found];
  }

  /** Values of one kind, perhaps with gaps. */
  private column(n: number, depth: number): string {
    return this.list(n, this.maker(depth));
  }

  /** What makes the values of one column. */
  private maker(depth: number): () => string {
    const { r } = this;
    const nulls = r.of([0, 0, 0, 10, 60]);
    const length = r.below(5);
    const most = r.of([3, 200, 60_000, 1e9]);
    const keys = this.keys(1 + r.below(5));
    const members = keys.map(() => (depth > 0 ? this.maker(depth - 1) : () => this.scalar()));
    const odd = r.of([0, 0, 2, 20]);
    const kinds: (() => string)[] = [
      () => String(r.below(most)),
      () => String(r.below(most) - 5),
      () => `${r.below(most)}.25`,
      () => r.of([`${r.below(100)}`, `${r.below(100)}.5`, `${r.below(20)}.0`]),
      () => r.of([`${r.below(most)}`, `${r.below(most)}.1`]),
      () => this.text(),
      () => JSON.stringify(`one of ${r.below(4)} texts`),
      () => JSON.stringify(`t${r.below(most)}`),
      () => JSON.stringify(`a text by itself ${r.below(1e9)}`),
      () => r.of(["true", "false"]),
      () => "null",
      () => this.list(length, () => String(r.below(most))),
      () => this.list(r.below(5), () => `${r.below(9)}.5`),
      () => this.list(length, () => this.list(2, () => this.number())),
      () => this.list(r.below(3), () => this.list(r.below(3), () => this.text())),
      () => `{${keys.map((key, i) => `${JSON.stringify(key)}:${members[i]!()}`).join(",")}}`,
      () => this.row(keys, members, 60),
    ];
    const kind = r.of(kinds);
    return () => (r.chance(nulls) ? "null" : r.chance(odd) ? this.scalar() : kind());
  }

  /** An object that has some of the keys. */
  private row(keys: string[], members: (() => string)[], percent: number): string {
    const { r } = this;
    const places = keys.map((_, i) => i).filter(() => r.chance(percent));
    if (percent < 50 && places.length > 1) places.push(places.shift()!);
    const parts = places.map((i) => `${JSON.stringify(keys[i]!)}:${members[i]!()}`);
    if (r.chance(2) && places.length > 0) parts.push(`${JSON.stringify(keys[places[0]!]!)}:${this.scalar()}`);
    return `{${parts.join(",")}}`;
  }

  /** Similar objects: all alike, with gaps, in other orders, or now and then something else. */
  private rows(depth: number): string {
    const { r } = this;
    const n = r.of([1, 2, 3, 5, 8, 9, 20, 40, 70]);
    const keys = this.keys(1 + r.below(8));
    const members = keys.map(() => this.maker(depth - 1));
    const [percent, turned, nulls] = [r.of([100, 100, 90, 60, 30]), r.of([0, 0, 30]), r.of([0, 0, 0, 10])];
    return this.list(n, () => {
      if (r.chance(nulls)) return "null";
      if (this.left-- < -200) return "{}";
      if (!r.chance(turned)) return this.row(keys, members, percent);
      const order = keys.map((_, i) => i).sort(() => r.below(3) - 1);
      return this.row(
        order.map((i) => keys[i]!),
        order.map((i) => members[i]!),
        percent,
      );
    });
  }

  private columns(): string {
    return this.object(this.keys(4), () => this.column(this.r.of([1, 2, 7, 8, 9, 40, 300]), 2));
  }

  /** An object of many members, or of long keys; its values may be similar objects. */
  private map(n: number, depth: number): string {
    const { r } = this;
    const long = r.chance(20) || n < 256 ? r.below(n) : -1;
    const make = r.chance(60) ? this.maker(depth) : () => this.value(depth);
    const keys = Array.from({ length: n }, (_, i) => `k${i}`);
    if (long >= 0) keys[long] = "l".repeat(r.of([255, 256, 300]));
    if (r.chance(20)) keys[r.below(n)] = keys[0]!;
    if (r.chance(20)) keys[r.below(n)] = "a key of more than seven bytes";
    return this.object(keys, make);
  }

  /** Rows of more than 255 keys. */
  private wideRows(): string {
    const { r } = this;
    const n = 250 + r.below(20);
    const kinds = Array.from({ length: n }, () => r.below(3));
    const missing = r.of([0, 0, 1, 10]);
    const deep = r.chance(30);
    return this.list(1 + r.below(5), () => {
      const keys = Array.from({ length: n }, (_, i) => `k${i}`).filter(() => !r.chance(missing));
      if (r.chance(10)) keys.reverse();
      return this.object(keys, (key) => {
        const kind = kinds[Number(key.slice(1))]!;
        return deep
          ? `{"x":${r.below(9)}}`
          : kind === 0
            ? String(r.below(300))
            : kind === 1
              ? `"t${r.below(9)}"`
              : "null";
      });
    });
  }

  /** So many texts that the search for equal ones pauses. */
  private manyTexts(): string {
    const { r } = this;
    const n = r.of([1100, 1500, 2500]);
    const repeats = r.of([0, 1, 5]);
    const text = (i: number): string =>
      JSON.stringify(r.chance(repeats) ? `a text number ${r.below(i + 1)}` : `a text number ${i}`);
    if (r.chance(30)) return this.list(n, text);
    if (r.chance(30)) return this.list(n / 10, (i) => `{"a":${text(i)},"b":${this.list(r.below(9), text)}}`);
    const parts = Array.from(
      { length: n / 4 },
      (_, i) => `{"a":${text(4 * i)},"b":[${text(4 * i + 1)}],"c":${text(4 * i + 2)}}`,
    );
    return this.object(
      parts.map((_, i) => `k${i % 200}${i >= 200 ? `x${i}` : ""}`).slice(0, 255),
      (key) => parts[key.length % parts.length]! && parts[r.below(parts.length)]!,
    );
  }
}
