// Tensors of several dimensions, and of types that JavaScript has no typed array for. No encoder of this package makes them.

import * as L from "../src/layout.js";

/** A document that is a tensor (FORMAT 6.6) of this type and these lengths. */
export function tensorBytes(code: number, lengths: number[], numbers: Uint8Array): Uint8Array {
  const data = 48 + 32 * (lengths.length - 1);
  const bytes = new Uint8Array(data + L.word(numbers.length));
  const u32 = new Uint32Array(bytes.buffer);
  u32.set([0x46424cab, L.VERSION, 32]);
  bytes[16] = L.ARRAY_NODE;
  u32[5] = bytes.length;
  let count = 1;
  // The array's header, then that of each list's elements.
  let [owner, header] = [32, 32];
  lengths.forEach((length, dimension) => {
    const last = dimension === lengths.length - 1;
    const list = 48 + 32 * dimension;
    count *= length;
    bytes.set([L.ARRAY, last ? code : L.FIXED_LISTS, 0, 1], header);
    u32.set([count, count, last ? (count === 0 ? 0 : data) : list], header / 4 + 1);
    if (last) return;
    bytes.set([L.LIST, 1], list);
    u32.set([lengths[dimension + 1]!, 0, owner], list / 4 + 1);
    owner = list;
    header = list + L.LIST_ELEMENTS;
  });
  bytes.set(numbers, data);
  return bytes;
}
