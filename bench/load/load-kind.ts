// A kind of load on a server's API, whosever server it is.

import type { Caller } from "../api/api-caller.ts";
import type { Load } from "./load.ts";

const QUICK_CLIENTS = 4;

/** Quick: to show that it works. */
export function clientsOf({ quick }: { readonly quick: boolean }, kind: LoadKind): number {
  return quick ? QUICK_CLIENTS : kind.clients;
}

export interface LoadKind {
  readonly clients: number;
  /** Makes at the server what the load asks for. */
  readonly prepare: (caller: Caller, clients: number) => Promise<Load>;
  /** Paths that are deleted at another server afterwards. */
  readonly made: (clients: number) => readonly string[];
}
