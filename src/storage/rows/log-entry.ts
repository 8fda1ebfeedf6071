// One entry of the write log: what one transaction changed, in full, chained to the entry before.
// The digest of each class lets a reader that was sent one alone (a performance secondary) see that nothing of it
// is missing. Byte layout: docs/formats/log-entry.md.

import { concat, EMPTY, equalBytes, utf8 } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import { ByteReader, ByteWriter, HashRoom, MalformedBytes, u8 } from "./row-bytes.ts";
import { HASH_BYTES, sha256, sha256Text } from "./merkle.ts";

const VERSION = 1;
const CLASS_CODES = { shared: 1, local: 2 } as const;
const NO_VALUE = Buffer.alloc(32);
const NO_DIGEST = Buffer.alloc(HASH_BYTES);
const TAG_OPS = utf8("holdfast log operations 1");
const TAG_ENTRY = utf8("holdfast log entry 1");
const HEADER_BYTES = 1 + 4 + 8 + 8 + 3 * 32;
const OPERATION_BYTES = 1 + 1 + 16 + 2; // beside key and value
const NO_OPERATIONS = {
  shared: sha256(concat(TAG_OPS, u8(CLASS_CODES.shared))),
  local: sha256(concat(TAG_OPS, u8(CLASS_CODES.local))),
};

const room = new HashRoom();
const roomOfMany = new HashRoom(); // filled while the other one is in use

export const SCOPE_BYTES = 16;
/** The scope of records that belong to no mount and no namespace. */
export const CORE_SCOPE: Uint8Array = Buffer.alloc(SCOPE_BYTES);
/** Of a record of which nobody knows any more where it belongs: no filter lets it out. */
export const LOST_SCOPE: Uint8Array = Buffer.alloc(SCOPE_BYTES, 0xff);

export interface LogOperation {
  readonly class: "shared" | "local";
  readonly scope: Uint8Array;
  readonly key: string;
  readonly value: Uint8Array | null; // null deletes
  readonly valueDigest: Uint8Array; // SHA-256 of the value; unused for a delete
}

/** A change of the log's own world rather than of a record: a new key term, later a filter. */
export interface ControlRecord {
  readonly type: number; // 1 = keyring update, 2 = start of an epoch
  readonly body: Uint8Array;
}

export interface LogEntry {
  readonly epoch: number;
  readonly index: bigint;
  readonly time: Instant;
  readonly operations: readonly LogOperation[];
  readonly control: ControlRecord | null;
  readonly sharedDigest: Uint8Array;
  readonly localDigest: Uint8Array;
  /** The chain up to and including this entry. */
  readonly chain: Uint8Array;
}

export type Draft = Pick<LogEntry, "epoch" | "index" | "time" | "operations" | "control">;

/** Completes a draft with its digests and its place in the chain. */
export function chainEntry(draft: Draft, before: Uint8Array): LogEntry {
  const sharedDigest = digestOperations(draft.operations, "shared");
  const localDigest = digestOperations(draft.operations, "local");
  const chain = nextChain(before, { ...draft, sharedDigest, localDigest });
  return { ...draft, sharedDigest, localDigest, chain };
}

/** The chain before the first entry of a log. */
export function firstChain(lineage: Uint8Array): Buffer {
  return sha256(concat(utf8("holdfast log 1"), lineage));
}

/** chain = H(previous chain ‖ De), De = H(epoch, index, time, Ds, Dl, control). */
export function nextChain(
  before: Uint8Array,
  entry: Omit<LogEntry, "chain" | "operations">,
): Buffer {
  const header = room.writer(TAG_ENTRY.length + 20 + 64 + controlSize(entry.control));
  header.bytes(TAG_ENTRY);
  header.u32(entry.epoch);
  header.u64(entry.index);
  header.i64(entry.time);
  header.bytes(entry.sharedDigest);
  header.bytes(entry.localDigest);
  writeControl(header, entry.control);
  const digest = sha256Text(header.done());
  const link = room.writer(before.length + HASH_BYTES);
  link.bytes(before);
  link.latin1(digest);
  return sha256(link.done());
}

/** True when the digests and the chain of a decoded entry follow from its operations. */
export function followsFrom(entry: LogEntry, before: Uint8Array): boolean {
  const again = chainEntry(entry, before);
  return (
    equalBytes(again.sharedDigest, entry.sharedDigest) &&
    equalBytes(again.localDigest, entry.localDigest) &&
    equalBytes(again.chain, entry.chain)
  );
}

export function operationDigest(operation: LogOperation): Buffer {
  return Buffer.from(operationDigestText(operation), "latin1");
}

function operationDigestText(operation: LogOperation): string {
  const keyBytes = Buffer.byteLength(operation.key);
  const out = room.writer(OPERATION_BYTES + keyBytes + HASH_BYTES);
  writeOperationHead(out, operation, keyBytes);
  out.bytes(operation.value === null ? NO_VALUE : operation.valueDigest);
  return sha256Text(out.done());
}

function digestOperations(operations: readonly LogOperation[], cls: "shared" | "local"): Buffer {
  let count = 0;
  for (const operation of operations) if (operation.class === cls) count++;
  if (count === 0) return Buffer.from(NO_OPERATIONS[cls]); // most transactions lack one class
  const out = roomOfMany.writer(TAG_OPS.length + 1 + count * HASH_BYTES);
  out.bytes(TAG_OPS);
  out.u8(CLASS_CODES[cls]);
  for (const operation of operations) {
    if (operation.class === cls) out.latin1(operationDigestText(operation));
  }
  return sha256(out.done());
}

function controlSize(control: ControlRecord | null): number {
  return 5 + (control?.body.length ?? 0);
}

function writeControl(out: ByteWriter, control: ControlRecord | null): void {
  out.u8(control?.type ?? 0);
  out.u32(control?.body.length ?? 0);
  if (control !== null) out.bytes(control.body);
}

function writeOperationHead(out: ByteWriter, operation: LogOperation, keyBytes: number): void {
  invariant(operation.scope.length === SCOPE_BYTES, "a scope has 16 bytes");
  out.u8(CLASS_CODES[operation.class]);
  out.u8(operation.value === null ? 2 : 1);
  out.bytes(operation.scope);
  out.u16(keyBytes);
  out.text(operation.key, keyBytes);
}

export function encodeEntry(entry: LogEntry): Buffer {
  const keySizes = entry.operations.map(({ key }) => Buffer.byteLength(key));
  let size = HEADER_BYTES + controlSize(entry.control) + 4;
  for (const [i, { value }] of entry.operations.entries()) {
    size += OPERATION_BYTES + keySizes[i]! + (value === null ? 0 : 4 + value.length);
  }
  const out = new ByteWriter(size);
  out.u8(VERSION);
  out.u32(entry.epoch);
  out.u64(entry.index);
  out.i64(entry.time);
  out.bytes(entry.sharedDigest);
  out.bytes(entry.localDigest);
  out.bytes(entry.chain);
  writeControl(out, entry.control);
  out.u32(entry.operations.length);
  for (const [i, operation] of entry.operations.entries()) {
    writeOperationHead(out, operation, keySizes[i]!);
    if (operation.value === null) continue;
    out.u32(operation.value.length);
    out.bytes(operation.value);
  }
  return out.done();
}

/** Strict: throws MalformedBytes for anything that encodeEntry would not have written. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  const reader = new ByteReader(bytes);
  const header = decodeHeader(reader);
  const control = decodeControl(reader);
  const operations: LogOperation[] = [];
  for (let left = reader.u32(); left > 0; left--) operations.push(decodeOperation(reader));
  reader.end();
  return { ...header, operations, control };
}

/** What of an entry is shared: with its place, and without anything of what is local, or of the log's own world. Null where nothing is. With
 *  `lets` without what lies in other scopes too; then the digest is that of what is left, since one of all would tell of the rest. */
export function sharedPart(
  bytes: Uint8Array,
  lets: ((scope: Uint8Array) => boolean) | null = null,
): Buffer | null {
  if (equalBytes(decodeEntryHeader(bytes).sharedDigest, NO_OPERATIONS.shared)) return null;
  const entry = decodeEntry(bytes);
  const shared = entry.operations.filter((operation) => operation.class === "shared");
  const operations = lets === null ? shared : shared.filter(({ scope }) => lets(scope));
  if (operations.length === 0) return null;
  const isAll = operations.length === shared.length;
  const sharedDigest = isAll ? entry.sharedDigest : digestOperations(operations, "shared");
  const rest = { control: null, localDigest: NO_DIGEST };
  return encodeEntry({ ...entry, operations, sharedDigest, ...rest });
}

/** Of what sharedPart has left. Strict: throws MalformedBytes where it is not all that the entry had. */
export function decodeSharedPart(bytes: Uint8Array): LogEntry {
  const entry = decodeEntry(bytes);
  const { operations, sharedDigest, localDigest, control } = entry;
  const isWhole = equalBytes(digestOperations(operations, "shared"), sharedDigest);
  const isOnly = operations.every((operation) => operation.class === "shared");
  if (!isWhole || !isOnly || control !== null || !equalBytes(localDigest, NO_DIGEST)) {
    throw new MalformedBytes("not the shared part of an entry");
  }
  return entry;
}

/** Only what stands before the operations, which are neither read nor hashed. */
export function decodeEntryHeader(bytes: Uint8Array): Omit<LogEntry, "operations" | "control"> {
  return decodeHeader(new ByteReader(bytes));
}

function decodeHeader(reader: ByteReader): Omit<LogEntry, "operations" | "control"> {
  if (reader.u8() !== VERSION) throw new MalformedBytes("log entry of an unknown version");
  return {
    epoch: reader.u32(),
    index: reader.u64(),
    time: reader.i64(),
    sharedDigest: reader.bytes(32),
    localDigest: reader.bytes(32),
    chain: reader.bytes(32),
  };
}

function decodeControl(reader: ByteReader): ControlRecord | null {
  const type = reader.u8();
  const body = reader.bytes(reader.u32());
  if (type !== 0) return { type, body };
  if (body.length > 0) throw new MalformedBytes("control record without a type");
  return null;
}

function decodeOperation(reader: ByteReader): LogOperation {
  const classCode = reader.u8();
  const kind = reader.u8();
  if (classCode !== 1 && classCode !== 2) throw new MalformedBytes("operation of an unknown class");
  if (kind !== 1 && kind !== 2) throw new MalformedBytes("operation of an unknown kind");
  const scope = reader.bytes(SCOPE_BYTES);
  const key = reader.text(reader.u16());
  const cls = classCode === 1 ? "shared" : "local";
  if (!key.startsWith(`${cls}/`)) throw new MalformedBytes("operation on a key of another class");
  const value = kind === 1 ? reader.bytes(reader.u32()) : null;
  const valueDigest = value === null ? EMPTY : sha256(value);
  return { class: cls, scope, key, value, valueDigest };
}
