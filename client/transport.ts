// What a client needs of whatever carries its requests: one request and its answer. `fetch` is one
// (fetch-transport.ts), Node's sockets are another (node/node-transport.ts).

import type { Nanos } from "@holdfast/shared/world";
import type { ServerAddress } from "./server-address.ts";

export interface Transport {
  readonly address: ServerAddress;
  /** Follows no redirect: the token would go to an address that nobody chose. */
  send(sent: Sent): Promise<Received>;
  /** The same, with an answer that is read as it comes. Whoever does not read it to its end leaves the loop. */
  open(sent: Sent): Promise<ReceivedStream>;
  /** Ends idle connections, which could otherwise keep a process. */
  close(): void;
}

export interface Sent {
  readonly method: string;
  readonly target: string; // begins with a slash
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | StreamedBody | null;
  /** Added to the time-out: how long the server may hold its answer back because it was asked to. */
  readonly held: Nanos;
}

/** A body that never lies in memory whole. */
export interface StreamedBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** In bytes; null where it is known when it ends. */
  readonly length: number | null;
  readonly contentType: string;
}

export interface Received {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Uint8Array;
}

export interface ReceivedStream {
  readonly status: number;
  header(name: string): string | undefined;
  /** Read once. A connection that breaks, or stands still for the time-out, throws. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** What was told behind the last byte, once that was read. `fetch` knows none. */
  trailer(name: string): string | undefined;
}

export function isStreamed(body: Sent["body"]): body is StreamedBody {
  return body !== null && "chunks" in body;
}

/** Largest answer in bytes, where nothing else is said: more than any answer of the API is meant to have. */
export const MAX_ANSWER: number = 64 * 2 ** 20;
