// Waiting for what somebody else does, as long as somebody wants it.

/** Rejects with the reason of the signal as soon as that is aborted. What has begun goes on; nobody waits for it any more. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  work.catch(() => {}); // where nobody hears of it
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason as Error);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
