// What a client needs of whatever carries its requests: one request and its answer. `fetch` is one
// (fetch-transport.ts), Node's sockets are another (node/node-transport.ts).

import type { Nanos } from "@holdfast/shared/world";
import type { ServerAddress } from "./server-address.ts";

export interface Transport {
  readonly address: ServerAddress;
  /** Follows no redirect: the token would go to an address that nobody chose. */
  send(sent: Sent): Promise<Received>;
  /** Ends idle connections, which could otherwise keep a process. */
  close(): void;
}

export interface Sent {
  readonly method: string;
  readonly target: string; // begins with a slash
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Added to the time-out: how long the server may hold its answer back because it was asked to. */
  readonly held: Nanos;
}

export interface Received {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Uint8Array;
}

/** Largest answer in bytes, where nothing else is said: more than any answer of the API is meant to have. */
export const MAX_ANSWER: number = 64 * 2 ** 20;
