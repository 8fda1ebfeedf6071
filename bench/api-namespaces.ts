// The load on sys/namespaces/:path. Every write changes its record: a client alternates between two
// namespaces that no other client writes and between two values, so that no server can pass one over.

import { describe } from "../src/base/failure.ts";
import { type Caller, call, requestBytes } from "./api-caller.ts";
import { VALUE_BYTES } from "./filled-store.ts";
import type { Load } from "./load.ts";

const EACH_CLIENT = 2; // namespaces
const VALUES = ["a", "b"];

function pathOf(n: number): string {
  return `sys/namespaces/holdfast-bench-${String(n).padStart(4, "0")}`;
}

/** About as large as the records of the other rows. */
function bodyOf(value: string): object {
  return { custom_metadata: { owner: "bench", note: value.repeat(VALUE_BYTES) } };
}

export function pathsFor(clients: number): string[] {
  return Array.from({ length: clients * EACH_CLIENT }, (_, n) => pathOf(n));
}

export async function makeNamespaces(caller: Caller, paths: readonly string[]): Promise<void> {
  for (const path of paths) await call(caller, "POST", path, bodyOf("m"));
}

/** As far as that server lets us: what stays there is told, and is no reason to lose the figures. */
export async function removeNamespaces(caller: Caller, paths: readonly string[]): Promise<void> {
  try {
    for (const path of paths) await call(caller, "DELETE", path);
  } catch (error) {
    process.stderr.write(`namespaces were left at ${caller.url}: ${describe(error)}\n`);
  }
}

export function writes(caller: Caller, paths: readonly string[], clients: number): Load {
  return {
    clients: Array.from({ length: clients }, (_, i) => {
      const own = paths.slice(i * EACH_CLIENT, (i + 1) * EACH_CLIENT);
      return VALUES.flatMap((value) =>
        own.map((path) => requestBytes(caller, "POST", path, bodyOf(value))),
      );
    }),
    statuses: [200, 204],
  };
}

/** Each client reads all of them, in the same order from different beginnings. */
export function reads(caller: Caller, paths: readonly string[], clients: number): Load {
  const requests = paths.map((path) => requestBytes(caller, "GET", path));
  return {
    clients: Array.from({ length: clients }, (_, i) => {
      const first = i * EACH_CLIENT;
      return [...requests.slice(first), ...requests.slice(0, first)];
    }),
    statuses: [200],
  };
}
