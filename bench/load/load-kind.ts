// A kind of load on a server's API, whosever server it is.

import type { Caller } from "../api/api-caller.ts";
import type { Load } from "./load.ts";

export interface LoadKind {
  readonly clients: number;
  /** Makes at the server what the load asks for. */
  readonly prepare: (caller: Caller, clients: number) => Promise<Load>;
  /** Paths that are deleted at another server afterwards. */
  readonly made: (clients: number) => readonly string[];
}
