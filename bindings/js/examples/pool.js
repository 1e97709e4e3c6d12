// A pool of workers over one document. All of them read it where it lies, in shared memory: nothing is copied or parsed,
// and a job is a few numbers. They edit it, too, one at a time.
//
//     node examples/pool.js

import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { encode } from "livebuf/encode";
import { SharedDocument } from "livebuf/shared";

/** Workers that take the next job as soon as they are done with one. */
class Pool {
  #workers;
  #idle = [];
  #waiting = [];

  constructor(size, workerData) {
    this.#workers = Array.from({ length: size }, () => new Worker(new URL(import.meta.url), { workerData }));
    this.#idle.push(...this.#workers);
  }

  async run(job) {
    const worker = this.#idle.pop() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
    return new Promise((resolve, reject) => {
      worker.once("error", reject);
      worker.once("message", (answer) => {
        worker.removeListener("error", reject);
        const next = this.#waiting.shift();
        if (next === undefined) this.#idle.push(worker);
        else next(worker);
        resolve(answer);
      });
      worker.postMessage(job);
    });
  }

  close() {
    return Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

if (isMainThread) {
  const orders = Array.from({ length: 20_000 }, (_, i) => ({ id: i, city: ["Bergen", "Lyon"][i % 2], total: i / 4 }));
  const shared = SharedDocument.create(encode({ orders, batches: [0, 0, 0, 0] }));
  const pool = new Pool(4, { buffer: shared.buffer });

  const jobs = Array.from({ length: 20 }, (_, i) => ({ from: i * 1000, to: (i + 1) * 1000 }));
  const sums = await Promise.all(jobs.map((job) => pool.run(job)));
  console.log(`sum ${sums.reduce((a, b) => a + b)}`);
  console.log(`batches ${shared.read((root) => root.batches).join(" + ")}`);
  await pool.close();
} else {
  const shared = SharedDocument.attach(workerData.buffer);
  parentPort.on("message", ({ from, to }) => {
    // A column is a typed array over the shared bytes.
    const sum = shared.read((root) => {
      const totals = root.orders.column("total").values;
      let all = 0;
      for (let i = from; i < to; i++) all += totals[i];
      return all;
    });
    const batch = Math.floor(from / 5000);
    shared.edit((document) => document.set(["batches"], batch, document.get("batches", batch) + 1));
    parentPort.postMessage(sum);
  });
}
