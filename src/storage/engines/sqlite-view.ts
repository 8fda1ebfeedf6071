// The program of a thread that reads everything stored as of one moment, packed, for an archive: in the main thread it
// would hold up all requests for as long as it takes.

import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { concat } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { RecordReading } from "../record-reading.ts";
import type { PackedRecords } from "../rows/packed-records.ts";
import { describeSqlite, WriterFailure } from "./sqlite-failure.ts";
import { SqliteReader } from "./sqlite-reader.ts";
import type { ThreadOptions } from "./sqlite-thread.ts";
import type { ViewReply, ViewRequest } from "./sqlite-view-apart.ts";

const ALONE = { pause: async () => {} }; // nobody else has a turn here

// Of this thread alone, where the system knows threads: whoever has a request goes first.
setPriority(constants.priority.PRIORITY_LOW);

const port = parentPort;
invariant(port !== null, "a view is a program for a worker thread");
const reader = SqliteReader.open((workerData as ThreadOptions).path, new WriterFailure());
let reading: RecordReading | null = null;
let waiting: PackedRecords | null = null; // read, and there was no more room
let pieces: readonly Uint8Array[] = [];
let turn = 0;

/** Some that are worth a message, in the piece of memory whose turn it is. Those that do not fit come alone. */
function next(): ViewReply {
  invariant(reading !== null, "a view was read before it had begun");
  const piece = pieces[turn % pieces.length]!;
  let [length, count] = [0, 0];
  for (;;) {
    const found = waiting ?? reading.next();
    waiting = null;
    if (found === null) break;
    if (length + found.bytes.length > piece.length) {
      if (length === 0) return { kind: "done", records: { ...found, bytes: concat(found.bytes) } };
      waiting = found;
      break;
    }
    piece.set(found.bytes, length);
    length += found.bytes.length;
    count += found.count;
  }
  if (length === 0) return { kind: "done" };
  turn++;
  return { kind: "done", filled: { length, count } };
}

async function work(request: ViewRequest): Promise<ViewReply> {
  switch (request.kind) {
    case "pin": {
      reader.pin();
      const metas = request.metas.flatMap((name): [string, Uint8Array][] => {
        const value = reader.meta(name);
        return value === null ? [] : [[name, value]];
      });
      return { kind: "done", metas: new Map(metas) };
    }
    case "begin":
      pieces = request.pieces.map((piece) => new Uint8Array(piece));
      reading = await RecordReading.begin(reader, request.which, ALONE);
      return { kind: "done" };
    case "next":
      return next();
    case "close":
      reader.close();
      return { kind: "done" };
  }
}

port.on("message", (request: ViewRequest) => {
  void work(request)
    .catch((error: unknown): ViewReply => ({ kind: "done", reason: describeSqlite(error) }))
    .then((reply) => {
      const alone = reply.records?.bytes.buffer;
      port.postMessage(reply, alone instanceof ArrayBuffer ? [alone] : []);
    });
});
port.postMessage({ kind: "done" } satisfies ViewReply);
