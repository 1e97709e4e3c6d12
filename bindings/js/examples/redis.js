// Workers that change documents in Redis, and send only the bytes that changed.
//
//     npm install livebuf redis
//     node examples/redis.js redis://localhost:6379
//
// A worker keeps the document. It watches the document's revision. Where that is the one that it knows, it sends the
// changed ranges by SETRANGE, and the next revision, in one MULTI. Where another worker was faster, it reads the document
// and does its edit again: no update is lost.

import { pathToFileURL } from "node:url";
import { edit } from "livebuf/edit";
import { encode } from "livebuf/encode";
import { createClient, RESP_TYPES, WatchError } from "redis";

/** The ranges of bytes in which a document differs from what it was. Those near each other are one. */
function* changes(before, after) {
  const differs = (i) => i >= before.length || before[i] !== after[i];
  for (let start = 0; start < after.length; start++) {
    if (!differs(start)) continue;
    let end = start + 1;
    for (let i = end; i < Math.min(end + 32, after.length); i++) if (differs(i)) end = i + 1;
    yield [start, after.subarray(start, end)];
    start = end;
  }
}

/** A document under a key; its revision is under another one. A client has one of them at a time, since it watches. */
export class StoredDocument {
  #client;
  #key;
  #revision = -1;
  #document;
  /** The bytes that Redis has. */
  #stored;

  constructor(client, key) {
    this.#client = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    this.#key = key;
  }

  /** Changes the document. `change` may be called again, with a newer document. Tells how many times it was. */
  async edit(change) {
    const [client, key, counter] = [this.#client, this.#key, `${this.#key}:revision`];
    for (let times = 1; ; times++) {
      await client.watch(counter);
      const revision = Number((await client.get(counter)) ?? 0);
      if (revision !== this.#revision) {
        this.#stored = new Uint8Array(await client.get(key));
        this.#document = edit(this.#stored.slice());
      }
      this.#revision = -1; // of no document, until all of it is stored
      change(this.#document);
      const { bytes } = this.#document;
      let all = client.multi();
      for (const [at, part] of changes(this.#stored, bytes)) all = all.setRange(key, at, Buffer.from(part));
      try {
        await all.incr(counter).exec();
      } catch (error) {
        if (error instanceof WatchError) continue;
        throw error;
      }
      this.#stored = bytes.slice();
      this.#revision = revision + 1;
      return times;
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const clients = [1, 2].map(() => createClient({ url: process.argv[2] }));
  await Promise.all(clients.map((client) => client.connect()));
  const players = Array.from({ length: 5000 }, (_, i) => ({ name: `player ${i}`, score: 0 }));
  const bytes = encode({ rounds: 0, players });
  await clients[0].multi().set("game", Buffer.from(bytes)).incr("game:revision").exec();

  const sent = async () => Number(/total_net_input_bytes:(\d+)/.exec(await clients[0].info("stats"))[1]);
  const before = await sent();
  const play = async (client) => {
    const game = new StoredDocument(client, "game");
    let times = 0;
    for (let i = 0; i < 100; i++) {
      times += await game.edit((document) => {
        const round = document.root.rounds + 1;
        document.set([], "rounds", round);
        const player = document.root.players.at((round * 7) % 5000);
        document.set(player, "score", player.score + 1);
      });
    }
    return times;
  };
  const times = (await Promise.all(clients.map(play))).reduce((a, b) => a + b);
  const bytesSent = (await sent()) - before;

  const game = new StoredDocument(clients[0], "game");
  await game.edit(({ root }) => {
    const scores = root.players.column("score").toArray();
    console.log(`rounds ${root.rounds}, scores ${scores.reduce((a, b) => a + b)}`);
  });
  console.log(`edits ${times}, each sent ${Math.round(bytesSent / times)} of ${bytes.length} bytes`);
  await Promise.all(clients.map((client) => client.close()));
}
