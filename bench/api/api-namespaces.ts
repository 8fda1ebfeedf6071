// The load on sys/namespaces/:path. Every write changes its record: a client alternates between two
// namespaces that no other client writes and between two values, so that no server can pass one over.

import { type Caller, call, requestBytes } from "./api-caller.ts";
import { VALUE_BYTES } from "../stores/filled-store.ts";
import type { Load } from "../load/load.ts";

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

async function made(caller: Caller, clients: number): Promise<string[]> {
  const paths = pathsFor(clients);
  for (const path of paths) await call(caller, "POST", path, bodyOf("m"));
  return paths;
}

export async function writes(caller: Caller, clients: number): Promise<Load> {
  const paths = await made(caller, clients);
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
export async function reads(caller: Caller, clients: number): Promise<Load> {
  const paths = await made(caller, clients);
  const requests = paths.map((path) => requestBytes(caller, "GET", path));
  return {
    clients: Array.from({ length: clients }, (_, i) => {
      const first = i * EACH_CLIENT;
      return [...requests.slice(first), ...requests.slice(0, first)];
    }),
    statuses: [200],
  };
}
