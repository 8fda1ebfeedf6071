// Certificates are made by the runtime's own cryptography, on threads that keep no simulated time. An event is over when
// these have ended too: then the next one comes. What several clusters have asked for in one event is handed to them in the order in
// which they have asked, each when the one before is done with it: so the order of things is that of the seed, however long a thread took.

const WORK = ["generateKey", "importKey", "exportKey", "sign", "verify", "digest"] as const;

type Work = (...input: unknown[]) => Promise<unknown>;

let running = 0;
let counts = false;
let queue: Promise<void> = Promise.resolve();

/** From now on `idle` knows of it. */
export function countRealWork(): void {
  if (counts) return;
  counts = true;
  const methods = Object.getPrototypeOf(crypto.subtle) as Record<(typeof WORK)[number], Work>;
  for (const name of WORK) {
    const real = methods[name];
    methods[name] = function counted(this: unknown, ...input: unknown[]): Promise<unknown> {
      running++;
      const result = real.apply(this, input);
      const ended = result.then(nothing, nothing);
      // What follows from the one before takes microtasks, and is over with the next turn of the loop.
      queue = queue.then(() => ended).then(() => new Promise<void>((done) => setImmediate(done)));
      return queue.then(() => result).finally(() => running--);
    };
  }
}

function nothing(): void {}

/** Resolves when no promise callback and no thread has anything left to do. */
export async function idle(): Promise<void> {
  do await new Promise(setImmediate);
  while (running > 0);
}
