// What TypeScript knows of a document. `tsc` checks it; running it does nothing.

import { test } from "node:test";
import { expectTypeOf } from "expect-type";
import { create, type Editor, edit } from "../src/edit.js";
import { decode } from "../src/encode.js";
import { type ArrayView, type Column, type Numbers, open, proxy, type Timestamp, type View } from "../src/index.js";
import { Partial } from "../src/partial.js";
import { SharedDocument } from "../src/shared.js";

interface Order {
  id: bigint;
  at: Timestamp;
  lines: { product: string; count: number; note?: string | null }[];
  tags: string[];
  address: { city: string } | null;
}

test("views have the types of an interface", () => {
  const check = (bytes: Uint8Array): void => {
    const { root } = open<Order>(bytes);
    expectTypeOf(root.id).toEqualTypeOf<bigint>();
    expectTypeOf(root.at).toEqualTypeOf<Timestamp>();
    expectTypeOf(root.lines).toEqualTypeOf<ArrayView<Order["lines"][number]>>();
    expectTypeOf(root.lines.at(0)?.product).toEqualTypeOf<string | undefined>();
    expectTypeOf(root.lines.at(0)!.note).toEqualTypeOf<string | null | undefined>();
    expectTypeOf(root.tags.map((tag) => tag.length)).toEqualTypeOf<number[]>();
    expectTypeOf(root.address?.city).toEqualTypeOf<string | undefined>();
    expectTypeOf(open<Order>(bytes).toObject()).toEqualTypeOf<Order>();
    expectTypeOf(open(bytes).root).toBeUnknown();
    expectTypeOf<View<number[]>>().toEqualTypeOf<ArrayView<number>>();
    // @ts-expect-error: views are for reading
    root.id = 5n;
    // @ts-expect-error: there is no such member
    root.nothing;
    // @ts-expect-error: an array of a document is read by `at`
    root.lines[0];
  };
  void check;
});

test("documents that are edited, shared or fetched have them, too", () => {
  const check = async (bytes: Uint8Array<ArrayBuffer>): Promise<void> => {
    const editor = edit<Order>(bytes);
    expectTypeOf(editor).toEqualTypeOf<Editor<Order>>();
    expectTypeOf(editor.root).toEqualTypeOf<View<Order>>();
    expectTypeOf(editor.root.lines.at(0)!.count).toEqualTypeOf<number>();
    expectTypeOf(edit(open<Order>(bytes)).root.id).toEqualTypeOf<bigint>();
    expectTypeOf(create({ a: [1], b: "text" }).root.a).toEqualTypeOf<ArrayView<number>>();
    expectTypeOf(decode<Order>(bytes)).toEqualTypeOf<Order>();
    expectTypeOf(decode(bytes)).toBeUnknown();

    const partial = await Partial.blob<Order>(new Blob([bytes]));
    expectTypeOf(await partial.read((root) => root.lines.at(0)!.product)).toEqualTypeOf<string>();
    expectTypeOf(await partial.read((_, document) => document.toObject())).toEqualTypeOf<Order>();
    expectTypeOf(await partial.read((root) => root.tags.map((tag) => tag.length))).toEqualTypeOf<number[]>();

    const shared = SharedDocument.create<Order>(bytes);
    expectTypeOf(shared.read((root) => root.address?.city)).toEqualTypeOf<string | undefined>();
    expectTypeOf(shared.edit((document) => document.root.tags.length)).toEqualTypeOf<number>();
    expectTypeOf(SharedDocument.attach<Order>(shared.buffer)).toEqualTypeOf<SharedDocument<Order>>();
  };
  void check;
});

test("columns and proxies", () => {
  const check = (bytes: Uint8Array): void => {
    const column = open<Order>(bytes).root.lines.column("count");
    expectTypeOf(column).toEqualTypeOf<Column>();
    expectTypeOf(column.values).toEqualTypeOf<Numbers | null>();
    expectTypeOf(column.valid).toEqualTypeOf<Uint8Array | null>();
    expectTypeOf(column.texts).toEqualTypeOf<string[] | null>();
    expectTypeOf(column.shape).toEqualTypeOf<number[] | null>();
    expectTypeOf(column.at(0)).toBeUnknown();
    expectTypeOf(column.toFloat64Array()[0]).toEqualTypeOf<number | undefined>();
    expectTypeOf(column.lists?.elements).toEqualTypeOf<Column | undefined>();

    const plain = proxy(open<Order>(bytes).root);
    expectTypeOf(plain.address?.city).toEqualTypeOf<string | undefined>();
    // @ts-expect-error: a proxy is for reading, too
    plain.id = 5n;
  };
  void check;
});
