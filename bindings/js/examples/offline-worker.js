// The service worker of offline.html. It keeps one document in the browser's cache, and answers each request for a contact
// out of it, without the network. A change goes into the document that is kept.

import { edit } from "/livebuf/edit.js";
import { open, toObject } from "/livebuf/index.js";

const FILE = "/contacts.lbuf";

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open("documents")
      .then((cache) => cache.add(FILE))
      .then(() => self.skipWaiting()),
  );
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const id = /^\/contacts\/(\d+)$/.exec(new URL(event.request.url).pathname)?.[1];
  if (id !== undefined) event.respondWith(answer(event.request, Number(id)));
});

/** The document, once it was asked for. The browser ends a worker that is idle, and the cache has it then. */
let kept;
const document = () => {
  kept ??= caches
    .match(FILE)
    .then((response) => response.arrayBuffer())
    .then((bytes) => edit(open(bytes)));
  return kept;
};

async function answer(request, id) {
  const contacts = await document();
  const contact = contacts.get("contacts", id);
  if (contact === undefined) return new Response(null, { status: 404 });
  if (request.method === "PATCH") {
    for (const [key, value] of Object.entries(await request.json())) contacts.set(contact, key, value);
    const cache = await caches.open("documents");
    await cache.put(FILE, new Response(contacts.bytes.slice()));
  }
  return Response.json(toObject(contact));
}
