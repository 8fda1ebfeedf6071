// A unix socket's file outlives a process that was killed, and then stands in the way of the next one.

import { connect } from "node:net";
import type { Fs } from "@holdfast/shared/world";

/** Removes it if nobody listens behind it; true when the address is free now. */
export async function removeStale(path: string, fs: Fs): Promise<boolean> {
  if (fs.info(path)?.kind !== "other") return false; // a file or directory is somebody's
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect(path);
  probe.once("connect", () => resolve(false));
  probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  const stale = await promise;
  probe.destroy();
  if (stale) fs.remove(path);
  return stale;
}
