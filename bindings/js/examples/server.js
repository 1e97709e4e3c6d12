// A server of files that answers requests for ranges (RFC 9110, section 14), as every CDN and object store does.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".lbuf": "application/octet-stream" };
const FOLDERS = {
  "/livebuf/": fileURLToPath(new URL("../dist/", import.meta.url)),
  "/": fileURLToPath(new URL("./", import.meta.url)),
};

/**
 * Serves the examples, the package under /livebuf/, and `files`: bytes by their paths, such as "/manifest.lbuf".
 * `requests` has the path and the bytes of each answer.
 */
export async function serve(files = {}) {
  const requests = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const bytes = Object.hasOwn(files, pathname) ? files[pathname] : fileAt(pathname);
    // What lets a page have SharedArrayBuffers.
    response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
    response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const from = Number(range?.[1] ?? 0);
    const part = bytes.subarray(from, range ? Number(range[2]) + 1 : undefined);
    response.writeHead(range ? 206 : 200, {
      "Accept-Ranges": "bytes",
      "Content-Length": part.length,
      "Content-Type": TYPES[extname(pathname)] ?? "text/plain",
      ETag: `"${bytes.length}"`,
      ...(range ? { "Content-Range": `bytes ${from}-${from + part.length - 1}/${bytes.length}` } : {}),
    });
    requests.push({ path: pathname, bytes: part.length });
    response.end(part);
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  const close = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { url: `http://localhost:${server.address().port}`, requests, close };
}

function fileAt(path) {
  const mount = Object.keys(FOLDERS).find((mount) => path.startsWith(mount));
  const file = FOLDERS[mount] + path.slice(mount.length);
  if (path.includes("..") || !existsSync(file) || !statSync(file).isFile()) return undefined;
  return readFileSync(file);
}
