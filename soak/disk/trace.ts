// Reads the trace that the preload library wrote: what a process did to one directory, in the order
// of effect. Strict, because a record read wrongly makes every crash image wrong: any byte that does
// not fit is an error. Acknowledgements are the lines the process wrote to ack.log; they become
// records of their own and that file is otherwise invisible.

import { closeSync, openSync, readSync } from "node:fs";
import { getSystemErrorName } from "node:util";

/** One open file. Unlike a descriptor number it is never reused within a trace. */
export type Handle = number;

/** Paths are relative to the watched directory, with `/` between parts; "" is the directory itself. */
export type TraceRecord =
  | {
      readonly type: "open";
      readonly handle: Handle;
      readonly path: string;
      readonly created: boolean;
      readonly truncated: boolean;
      readonly directory: boolean;
    }
  | { readonly type: "close"; readonly handle: Handle }
  | {
      readonly type: "write";
      readonly handle: Handle;
      readonly offset: number;
      readonly data: Buffer;
      /** The caller asked for more bytes than these because a fault was injected. */
      readonly cut: boolean;
    }
  | { readonly type: "truncate"; readonly handle: Handle; readonly size: number }
  | {
      readonly type: "allocate";
      readonly handle: Handle;
      readonly offset: number;
      readonly length: number;
    }
  | { readonly type: "sync"; readonly handle: Handle }
  | { readonly type: "rename"; readonly from: string; readonly to: string }
  | { readonly type: "link"; readonly from: string; readonly to: string }
  | { readonly type: "unlink" | "rmdir" | "mkdir"; readonly path: string }
  | FailedRecord
  | { readonly type: "ack"; readonly text: string };

/** A call that returned an error and had no effect. */
export interface FailedRecord {
  readonly type: "failed";
  readonly call: CallName;
  readonly handle: Handle | null; // for calls on a descriptor
  readonly path: string | null; // for calls on a name
  readonly error: string; // EIO, ENOENT, …
  readonly injected: boolean;
}

/** In the order of `enum type` in shim/shim.h, which starts at 1. */
const CALLS = [
  "open",
  "close",
  "write",
  "truncate",
  "allocate",
  "sync",
  "rename",
  "unlink",
  "rmdir",
  "mkdir",
  "link",
] as const;
export type CallName = (typeof CALLS)[number];

export const ACK_FILE = "ack.log";

const HEADER = 48;
const MAGIC = 0x31544648; // "HFT1"
const [CREATED, TRUNCATED, DIRECTORY, INJECTED] = [1, 2, 4, 8];
const ON_HANDLE: readonly CallName[] = ["close", "write", "truncate", "allocate", "sync"];

export class TraceError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TraceError";
  }
}

export interface TraceOptions {
  /**
   * Ends quietly at an incomplete last record, as a killed process may leave it. Its call had not
   * returned, so nothing after it can have been acknowledged. Default false.
   */
  readonly killed?: boolean;
}

export function* readTrace(file: string, options: TraceOptions = {}): Generator<TraceRecord> {
  const decoder = new Decoder();
  const fd = openSync(file, "r");
  try {
    let held = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.alloc(1 << 20);
      const length = readSync(fd, chunk);
      if (length === 0) break;
      held = Buffer.concat([held, chunk.subarray(0, length)]);
      const used = yield* decoder.records(held);
      held = held.subarray(used);
    }
    if (held.length > 0 && options.killed !== true) {
      throw new TraceError(`the trace ends within a record, ${held.length} bytes are left over`);
    }
  } finally {
    closeSync(fd);
  }
}

class Decoder {
  // Several processes may have written one after the other, each counting its handles from 1.
  readonly #handles = new Map<string, { handle: Handle; ack: boolean }>();
  #last = 0;

  /** Yields what is complete in `bytes` and returns how many bytes that was. */
  *records(bytes: Buffer): Generator<TraceRecord, number> {
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const head = bytes.subarray(at, at + HEADER);
      if (head.readUInt32LE(0) !== MAGIC || head.readUInt32LE(44) !== MAGIC) {
        throw new TraceError("no record where one should begin");
      }
      const dataAt = HEADER + head.readUInt16LE(6) + head.readUInt16LE(8);
      const size = dataAt + head.readUInt32LE(40);
      if (bytes.length - at < size) break;
      yield* this.#record(bytes.subarray(at, at + size), dataAt);
      at += size;
    }
    return at;
  }

  *#record(bytes: Buffer, dataAt: number): Generator<TraceRecord> {
    const call = CALLS[bytes.readUInt8(4) - 1];
    const flags = bytes.readUInt8(5);
    if (call === undefined) throw new TraceError(`unknown record type ${bytes.readUInt8(4)}`);
    if (bytes.readUInt16LE(10) !== 0 || flags > 15) throw new TraceError("unknown flags");
    const middle = HEADER + bytes.readUInt16LE(6);
    const path = bytes.toString("utf8", HEADER, middle);
    const path2 = bytes.toString("utf8", middle, dataAt);
    const data = Buffer.from(bytes.subarray(dataAt)); // a copy: the chunk it lies in may be large
    const key = `${bytes.readUInt32LE(12)}/${bytes.readUInt32LE(16)}`;
    const error = bytes.readInt32LE(20);
    const offset = Number(bytes.readBigInt64LE(24));
    const length = Number(bytes.readBigUInt64LE(32));
    const injected = (flags & INJECTED) !== 0;
    if (data.length > 0 && call !== "write") throw new TraceError(`a ${call} cannot carry data`);

    const onHandle = ON_HANDLE.includes(call);
    const known = onHandle ? this.#handles.get(key) : undefined;
    if (onHandle && known === undefined) throw new TraceError(`${call} on a handle never opened`);
    const handle = known?.handle ?? 0;
    if (known?.ack === true || path === ACK_FILE) {
      if (error !== 0) throw new TraceError(`${call} on ${ACK_FILE} failed`);
      if (call === "open") this.#handles.set(key, { handle: ++this.#last, ack: true });
      if (call === "write") yield* acks(data);
      return;
    }
    if (path2 === ACK_FILE) throw new TraceError(`${ACK_FILE} was made by ${call}`);

    if (error !== 0) {
      const name = getSystemErrorName(-error);
      const where = onHandle ? { handle, path: null } : { handle: null, path };
      yield { type: "failed", call, ...where, error: name, injected };
      return;
    }
    switch (call) {
      case "open": {
        const opened = ++this.#last;
        this.#handles.set(key, { handle: opened, ack: false });
        const [created, truncated] = [(flags & CREATED) !== 0, (flags & TRUNCATED) !== 0];
        const directory = (flags & DIRECTORY) !== 0;
        yield { type: call, handle: opened, path, created, truncated, directory };
        break;
      }
      case "close":
        this.#handles.delete(key);
        yield { type: call, handle };
        break;
      case "write":
        if (offset < 0 || data.length > length) throw new TraceError("a write beyond its bounds");
        yield { type: call, handle, offset, data, cut: injected };
        break;
      case "truncate":
        yield { type: call, handle, size: length };
        break;
      case "allocate":
        yield { type: call, handle, offset, length };
        break;
      case "sync":
        yield { type: call, handle };
        break;
      case "rename":
      case "link":
        yield { type: call, from: path, to: path2 };
        break;
      case "unlink":
      case "rmdir":
      case "mkdir":
        yield { type: call, path };
        break;
    }
  }
}

function* acks(data: Buffer): Generator<TraceRecord> {
  const text = data.toString("utf8");
  // A line in two writes would leave open which of them acknowledged it.
  if (!text.endsWith("\n")) throw new TraceError(`a write to ${ACK_FILE} must be whole lines`);
  for (const line of text.slice(0, -1).split("\n")) yield { type: "ack", text: line };
}
