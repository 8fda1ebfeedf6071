// Waiting for work that somebody else does, as long as somebody wants it.

import * as failures from "../failures.ts";

/** What has begun goes on; nobody waits for it. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw failures.requestOver();
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = () => reject(failures.requestOver());
  signal.addEventListener("abort", aborted);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}
