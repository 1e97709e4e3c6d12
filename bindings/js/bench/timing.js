// The clock. Competitors run in turns, so that a busy minute hits all of them, and the fastest of many batches counts,
// because noise only adds. The clock is the processor time of the process, which stands still while other processes have
// the core. So what the engine's threads do to collect garbage counts, too.

/** How long a contest may take: seconds for each competitor, rounds that all must run, seconds of a batch at least. */
export const FULL = { seconds: 0.5, warmUp: 0.3, rounds: 3, batch: 2e-3, quick: false };
export const QUICK = { seconds: 0.04, warmUp: 0.1, rounds: 2, batch: 5e-4, quick: true };

const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** What the work returns is kept here, so that no engine leaves the work out. */
export let sink;

class Competitor {
  batches = [];
  used = 0;
  repetitions = 1;
  next = 0;

  constructor(name, work) {
    this.name = name;
    this.work = work;
  }

  /** Runs a batch, and returns its seconds. The work is given a number that counts up. */
  batch() {
    const { work, repetitions } = this;
    let { next } = this;
    const began = seconds();
    for (let i = 0; i < repetitions; i++) sink = work(next++);
    const elapsed = seconds() - began;
    this.next = next;
    return elapsed;
  }

  /** Doubles the repetitions until a batch is long enough, and goes on, so that the engine compiles the work. */
  warmUp(effort) {
    for (let used = 0; used < effort.warmUp; ) {
      const elapsed = this.batch();
      used += elapsed;
      if (elapsed < effort.batch) this.repetitions *= 2;
    }
  }

  /** Two batches: the first finds the caches as another competitor left them, the second as this one did. */
  turn() {
    for (let i = 0; i < 2; i++) {
      const elapsed = this.batch();
      this.used += elapsed;
      this.batches.push(elapsed / this.repetitions);
      if (elapsed > 0.2) break;
    }
  }

  /** What a file of results keeps, in seconds of one operation. */
  entry() {
    const sorted = this.batches.sort((a, b) => a - b);
    const at = (share) => sorted[Math.round((sorted.length - 1) * share)];
    return {
      name: this.name,
      minimum: sorted[0],
      median: at(0.5),
      spread: at(0.5) > 0 ? (at(0.75) - at(0.25)) / at(0.5) : 0,
      runs: sorted.length,
    };
  }
}

/** Times work that does the same in different ways, by name, and returns an entry for each. */
export function contest(effort, works) {
  const all = Object.entries(works).map(([name, work]) => new Competitor(name, work));
  globalThis.gc?.();
  for (const each of all) each.warmUp(effort);
  for (let turn = 0; turn < effort.rounds || all.some((each) => each.used < effort.seconds); turn++) {
    for (const each of all) if (turn < effort.rounds || each.used < effort.seconds) each.turn();
  }
  return all.map((each) => each.entry());
}
