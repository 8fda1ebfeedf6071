// A stored setting that is damaged is named and counted where it is read; it must not keep the others,
// or the node, from opening.

import { Failure } from "@holdfast/shared/failure";

/** What the read gives, or the fallback where the stored bytes are not what was written. */
export function unlessDamaged<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure && error.kind === "damaged") return fallback;
    throw error;
  }
}
