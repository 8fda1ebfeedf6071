// An answer that is made while it is sent: no more than a piece of it waits in the process for a client that
// does not read, and a client that has gone ends what makes it. One that cannot be finished is cut off,
// never ended: whoever reads it must see that something is missing.

import type { Writable } from "node:stream";
import type { StreamBody } from "@holdfast/shared/endpoint/stream";
import { PIECE } from "./http1/pieces.ts";

export interface StreamEvents {
  /** We wait for the client to read; false: no longer. */
  waits(waiting: boolean): void;
  /** So many bytes are on their way. */
  progress(bytes: number): void;
  /** All of it is on its way; what is told behind it may be added. */
  whole(): void;
  done(): void;
  /** It could not be finished. Null: the client was not there any more. */
  broken(error: unknown): void;
}

export async function sendStream(
  stream: Writable,
  body: StreamBody,
  events: StreamEvents,
): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of body.chunks()) {
      for (let from = 0; from < chunk.length; from += PIECE) {
        const piece = chunk.subarray(from, from + PIECE);
        if (!(await written(stream, piece, events))) return events.broken(null);
        bytes += piece.length;
        if (body.length !== null && bytes > body.length) throw new Error("longer than announced");
        events.progress(bytes);
      }
    }
    if (body.length !== null && bytes < body.length) throw new Error("shorter than announced");
    events.whole();
    stream.end(() => events.done());
  } catch (error) {
    events.broken(error);
  }
}

/** False when nobody is there any more. */
async function written(
  stream: Writable,
  piece: Uint8Array,
  events: StreamEvents,
): Promise<boolean> {
  if (stream.destroyed) return false;
  if (stream.write(piece)) return true;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const drained = () => resolve(true);
  const closed = () => resolve(false);
  stream.once("drain", drained);
  stream.once("close", closed);
  if (stream.destroyed) closed();
  events.waits(true);
  const there = await promise;
  events.waits(false);
  stream.off("drain", drained);
  stream.off("close", closed);
  return there;
}
