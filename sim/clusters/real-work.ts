// Certificates are made by the runtime's own cryptography, on threads that keep no simulated time. An event is over when
// these have ended too: then the next one comes, and the order of things is that of the seed.

const WORK = ["generateKey", "importKey", "exportKey", "sign", "verify", "digest"] as const;

type Work = (...input: unknown[]) => Promise<unknown>;

let running = 0;
let counts = false;

/** From now on `idle` knows of it. */
export function countRealWork(): void {
  if (counts) return;
  counts = true;
  const methods = Object.getPrototypeOf(crypto.subtle) as Record<(typeof WORK)[number], Work>;
  for (const name of WORK) {
    const real = methods[name];
    methods[name] = function counted(this: unknown, ...input: unknown[]): Promise<unknown> {
      running++;
      return real.apply(this, input).finally(() => running--);
    };
  }
}

/** Resolves when no promise callback and no thread has anything left to do. */
export async function idle(): Promise<void> {
  do await new Promise(setImmediate);
  while (running > 0);
}
