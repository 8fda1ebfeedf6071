// A body that nobody has to wait for any longer when a signal says so, also while the client sends nothing.

import type { BodyStream } from "@holdfast/shared/endpoint/stream";

export function untilAborted(stream: BodyStream, signal: AbortSignal): BodyStream {
  return { length: stream.length, [Symbol.asyncIterator]: () => chunksOf(stream, signal) };
}

async function* chunksOf(stream: BodyStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  let refuse = (_reason: unknown): void => {};
  const left = () => refuse(signal.reason);
  signal.addEventListener("abort", left, { once: true });
  let over = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      // One promise for each piece: one for all of them would remember every wait.
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array>>();
      refuse = reject;
      chunks.next().then(resolve, reject);
      const next = await promise;
      over = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", left);
    // Not waited for: it ends when the client does.
    if (!over) void chunks.return?.().catch(() => {});
  }
}
