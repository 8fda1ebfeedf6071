import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readTrace, TraceError, type TraceOptions, type TraceRecord } from "./trace.ts";

const place = mkdtempSync(join(tmpdir(), "hf-trace-"));
after(() => rmSync(place, { recursive: true }));

const OPEN = 1;
const CLOSE = 2;
const WRITE = 3;
const SYNC = 6;
const RENAME = 7;

interface Fields {
  readonly flags?: number;
  readonly pid?: number;
  readonly handle?: number;
  readonly error?: number;
  readonly path?: string;
  readonly path2?: string;
  readonly offset?: number;
  readonly data?: string | Buffer;
}

/** The format of shim/shim.c, written down a second time. */
function record(type: number, fields: Fields): Buffer {
  const [path, path2] = [Buffer.from(fields.path ?? ""), Buffer.from(fields.path2 ?? "")];
  const data = Buffer.from(fields.data ?? "");
  const header = Buffer.alloc(48);
  header.write("HFT1", 0);
  header.writeUInt8(type, 4);
  header.writeUInt8(fields.flags ?? 0, 5);
  header.writeUInt16LE(path.length, 6);
  header.writeUInt16LE(path2.length, 8);
  header.writeUInt32LE(fields.pid ?? 100, 12);
  header.writeUInt32LE(fields.handle ?? 0, 16);
  header.writeInt32LE(fields.error ?? 0, 20);
  header.writeBigInt64LE(BigInt(fields.offset ?? 0), 24);
  header.writeBigUInt64LE(BigInt(data.length), 32);
  header.writeUInt32LE(data.length, 40);
  header.write("HFT1", 44);
  return Buffer.concat([header, path, path2, data]);
}

function read(records: readonly Buffer[], options?: TraceOptions): TraceRecord[] {
  const file = join(place, "trace");
  writeFileSync(file, Buffer.concat(records));
  return [...readTrace(file, options)];
}

const opened = record(OPEN, { flags: 1, handle: 7, path: "data.db" });

test("records come back in order and with all their fields", () => {
  const trace = read([
    opened,
    record(WRITE, { handle: 7, offset: 4096, data: "page" }),
    record(SYNC, { handle: 7 }),
    record(RENAME, { path: "a", path2: "b/ü" }),
    record(CLOSE, { handle: 7 }),
  ]);
  assert.deepEqual(trace, [
    { type: "open", handle: 1, path: "data.db", created: true, truncated: false, directory: false },
    { type: "write", handle: 1, offset: 4096, data: Buffer.from("page"), cut: false },
    { type: "sync", handle: 1 },
    { type: "rename", from: "a", to: "b/ü" },
    { type: "close", handle: 1 },
  ]);
});

test("a record longer than one read comes back whole", () => {
  const data = Buffer.alloc(3 << 20, "x");
  const trace = read([opened, record(WRITE, { handle: 7, data }), record(SYNC, { handle: 7 })]);
  assert.equal(trace.length, 3);
  assert.ok(trace[1]?.type === "write" && trace[1].data.equals(data));
});

test("lines written to ack.log are acknowledgements and that file shows nowhere else", () => {
  const trace = read([
    opened,
    record(OPEN, { flags: 1, handle: 8, path: "ack.log" }),
    record(WRITE, { handle: 8, data: "row 1\nrow 2\n" }),
    record(SYNC, { handle: 8 }),
    record(CLOSE, { handle: 8 }),
  ]);
  assert.deepEqual(trace.slice(1), [
    { type: "ack", text: "row 1" },
    { type: "ack", text: "row 2" },
  ]);
});

test("half a line in ack.log is refused", () => {
  const ack = record(OPEN, { handle: 8, path: "ack.log" });
  assert.throws(() => read([ack, record(WRITE, { handle: 8, data: "row" })]), /whole lines/);
});

test("a call that failed says which, where, how and whether it was our doing", () => {
  const trace = read([
    opened,
    record(SYNC, { handle: 7, error: 5, flags: 8 }),
    record(OPEN, { path: "none", error: 2 }),
  ]);
  assert.deepEqual(trace.slice(1), [
    { type: "failed", call: "sync", handle: 1, path: null, error: "EIO", injected: true },
    { type: "failed", call: "open", handle: null, path: "none", error: "ENOENT", injected: false },
  ]);
});

test("handles of two processes are kept apart", () => {
  const trace = read([
    opened,
    record(OPEN, { pid: 200, handle: 7, path: "other" }),
    record(SYNC, { pid: 100, handle: 7 }),
    record(SYNC, { pid: 200, handle: 7 }),
  ]);
  assert.deepEqual(trace.slice(2), [
    { type: "sync", handle: 1 },
    { type: "sync", handle: 2 },
  ]);
});

test("an incomplete last record is an error unless the process was killed", () => {
  const whole = record(SYNC, { handle: 7 });
  for (const length of [1, 47, 48]) {
    const part = record(WRITE, { handle: 7, data: "x" }).subarray(0, length);
    assert.throws(() => read([opened, whole, part]), /ends within a record/);
    assert.equal(read([opened, whole, part], { killed: true }).length, 2);
  }
});

test("bytes that are not a trace are refused", () => {
  const wrong: Buffer[][] = [
    [Buffer.alloc(48)],
    [opened, Buffer.from("x"), record(SYNC, { handle: 7 })],
    [record(99, {})],
    [record(SYNC, { handle: 7 })], // never opened
    [opened, record(CLOSE, { handle: 7 }), record(SYNC, { handle: 7 })],
    [opened, record(SYNC, { handle: 7, flags: 16 })],
    [opened, record(SYNC, { handle: 7, data: "x" })],
    [opened, record(WRITE, { handle: 7, offset: -1, data: "x" })],
  ];
  for (const records of wrong) assert.throws(() => read(records, { killed: true }), TraceError);
});
