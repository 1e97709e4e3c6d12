// Answers the requests of testdata/conformance.py (testdata/README.md, "The protocol"), by the package that was built:
//
//     python3 testdata/conformance.py node bindings/js/test/conformance.js [FOLDER]
//
// FOLDER has the package's modules. Default: dist.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder =
  process.argv[2] === undefined ? new URL("../dist/", import.meta.url) : pathToFileURL(`${process.argv[2]}/`);
/** A module of the package; `undefined` where it is not there. */
const part = (name) => import(new URL(`${name}.js`, folder)).catch(() => undefined);
const [reader, validator, encoder, editor] = await Promise.all(["index", "validate", "encode", "edit"].map(part));

function answer([what, source, ...rest]) {
  try {
    switch (what) {
      case "read": {
        const bytes = readFileSync(source);
        validator?.validate(bytes);
        return `ok ${reader.open(bytes).toText()}`;
      }
      case "validate":
        if (validator === undefined) return "skip";
        validator.validate(readFileSync(source));
        return "ok";
      case "encode": {
        if (encoder === undefined) return "skip";
        const [out, option] = rest;
        writeFileSync(out, encoder.fromJSON(readFileSync(source), { recognize: option === "recognize" }));
        return "ok";
      }
      case "set": {
        if (encoder === undefined || editor === undefined) return "skip";
        const [pointer, value, out] = rest;
        const document = editor.edit(new Uint8Array(readFileSync(source)));
        document.setPointer(pointer, reader.open(encoder.fromJSON(value)));
        writeFileSync(out, document.bytes);
        return "ok";
      }
      default:
        return "skip";
    }
  } catch (error) {
    // Anything else is a fault of the package, and ends the program.
    if (error?.name !== "LivebufError") throw error;
    return `no ${error.kind}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(answer(JSON.parse(line)));
