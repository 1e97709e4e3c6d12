// What TypeScript knows of a document. `tsc` checks it; running it does nothing.

import { test } from "node:test";
import { expectTypeOf } from "expect-type";
import { type ArrayView, open, type Timestamp, type View } from "../src/index.js";

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
    expectTypeOf(root.lines.at(0).product).toEqualTypeOf<string>();
    expectTypeOf(root.lines.at(0).note).toEqualTypeOf<string | null | undefined>();
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
