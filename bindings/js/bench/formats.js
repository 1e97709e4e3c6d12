// The formats. All of them make bytes of a value, and values of bytes.

import { createRequire } from "node:module";
import * as rx from "@creationix/rx";
import * as msgpack from "@msgpack/msgpack";
import * as cbor from "cbor-x";
import flexbuffers from "flatbuffers/js/flexbuffers.js";
import * as msgpackr from "msgpackr";
import { encode } from "../dist/encode.js";
import { open } from "../dist/index.js";

/** Bytes of a JSON text, and the text of bytes, in the ways that are the fastest in Node. */
export const toBytes = (text) => Buffer.from(text);
export const toText = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();

const records = new msgpackr.Packr({ useRecords: true });
const plain = { bigints: "number" };

/** By name; `inPlace` says that `decode` gives no plain objects, but what reads the bytes when it is asked. */
export const FORMATS = {
  livebuf: { encode: (value) => encode(value), decode: (bytes) => open(bytes).toObject(plain) },
  "JSON, bytes": { encode: (value) => toBytes(JSON.stringify(value)), decode: (bytes) => JSON.parse(toText(bytes)) },
  msgpackr: { encode: msgpackr.pack, decode: msgpackr.unpack },
  "msgpackr, records": { encode: (value) => records.pack(value), decode: (bytes) => records.unpack(bytes) },
  "@msgpack/msgpack": { encode: (value) => msgpack.encode(value), decode: (bytes) => msgpack.decode(bytes) },
  "cbor-x": { encode: cbor.encode, decode: cbor.decode },
  FlexBuffers: {
    encode: (value) => flexbuffers.encode(value),
    decode: (bytes) => flexbuffers.toObject(bytes.buffer),
    get: (bytes, path) => {
      let at = flexbuffers.toReference(bytes.buffer);
      for (const step of path) at = at.get(step);
      return at.isString() ? at.stringValue() : at.numericValue();
    },
  },
  rx: { encode: (value) => rx.encode(value), decode: (bytes) => rx.open(bytes), inPlace: true },
};

/** What a peer is known not to do. Its other tasks are measured. */
export const KNOWN = {
  FlexBuffers: "its reader in JavaScript fails where a vector or map has integers beyond 32 bits",
  rx: "it rounds numbers to some 14 digits, and some of them are further off",
};

/** Whether two values are the same. rx rounds numbers to some 14 digits, so `digits` says how many count. */
export function same(a, b, digits = 17) {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) {
    if (typeof a === "bigint") return Number(a) === Number(b);
    return a === b || (typeof a === "number" && digits < 17 && Math.abs(a - b) <= Math.abs(a) * 10 ** -digits);
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => same(a[key], b[key], digits));
}

/** Versions of the peers, and of what runs them. */
export function versions() {
  const require = createRequire(import.meta.url);
  const { dependencies } = require("./package.json");
  return { Node: process.versions.node, V8: process.versions.v8, ...dependencies };
}

/** Parts that are absent here, and make a peer slower. */
export function absent() {
  const found = [];
  if (!msgpackr.isNativeAccelerationEnabled) found.push("msgpackr runs without msgpackr-extract, its part in C++");
  if (!cbor.isNativeAccelerationEnabled) found.push("cbor-x runs without cbor-extract, its part in C++");
  return found;
}
