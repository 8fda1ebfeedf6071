// A batch as one ArrayBuffer, so that it crosses to the writer's thread by transfer: structured
// clone would copy every value on its own, and for a pooled Buffer the whole pool with it. The form
// lives between two threads of one process and is never stored.

import type { Batch, Leaf } from "./engine.ts";

const NONE = 0xffff_ffff; // a length that no batch can hold: stands for null
const FRESH = 0x8000_0000; // added to the slot, which has 17 bits
const LENGTH = 4; // bytes of a length or count
const INDEX = 8;

export function packBatch(batch: Batch): ArrayBuffer {
  const packed = new ArrayBuffer(sizeOf(batch));
  const out = new Packer(packed);
  out.text(batch.expect.name);
  out.bytes(batch.expect.value);
  out.count(batch.data.length);
  for (const { key, value } of batch.data) {
    out.text(key);
    out.bytes(value);
  }
  out.count(batch.leaves.length);
  for (const { slot, key, leaf, fresh } of batch.leaves) {
    out.count(fresh ? slot + FRESH : slot);
    out.text(key);
    out.bytes(leaf && leaf.hash);
    out.bytes(leaf && leaf.scope);
  }
  out.count(batch.sums.length);
  for (const { slot, sum, count } of batch.sums) {
    out.count(slot);
    out.bytes(sum);
    out.count(count);
  }
  out.place(batch.cutLogAbove);
  out.count(batch.log.length);
  for (const { index, entry } of batch.log) {
    out.index(index);
    out.bytes(entry);
  }
  out.place(batch.trimLogBelow);
  out.count(batch.meta.length);
  for (const { name, value } of batch.meta) {
    out.text(name);
    out.bytes(value);
  }
  return packed;
}

/**
 * The batch again, part by part in the order in which they lie there, each of them once. Rows are made when they are looked at: thousands
 * of them at once would outlive their first collection. Their bytes are views into `packed`.
 */
export class PackedBatch {
  readonly expect: Batch["expect"];
  readonly #from: Unpacker;

  constructor(packed: ArrayBuffer) {
    this.#from = new Unpacker(packed);
    this.expect = { name: this.#from.text(), value: this.#from.bytes() };
  }

  data(): Iterable<Batch["data"][number]> {
    const from = this.#from;
    return from.list(() => ({ key: from.text(), value: from.bytes() }));
  }

  leaves(): Iterable<Batch["leaves"][number]> {
    return this.#from.list(() => leafChangeOf(this.#from));
  }

  sums(): Batch["sums"] {
    const from = this.#from;
    const sum = () => ({ slot: from.count(), sum: from.present(), count: from.count() });
    return [...from.list(sum)];
  }

  place(): bigint | null {
    return this.#from.place();
  }

  log(): Iterable<Batch["log"][number]> {
    const from = this.#from;
    return from.list(() => ({ index: from.index(), entry: from.present() }));
  }

  meta(): Iterable<Batch["meta"][number]> {
    const from = this.#from;
    return from.list(() => ({ name: from.text(), value: from.bytes() }));
  }
}

function leafChangeOf(from: Unpacker): Batch["leaves"][number] {
  const slot = from.count();
  const change = { slot: slot % FRESH, key: from.text(), leaf: leafOf(from) };
  return slot < FRESH ? change : { ...change, fresh: true };
}

function leafOf(from: Unpacker): Leaf | null {
  const hash = from.bytes();
  const scope = from.bytes();
  return hash === null || scope === null ? null : { hash, scope };
}

function sizeOf(batch: Batch): number {
  const text = (value: string) => LENGTH + Buffer.byteLength(value);
  const bytes = (value: Uint8Array | null) => LENGTH + (value?.length ?? 0);
  let size = text(batch.expect.name) + bytes(batch.expect.value);
  size += 5 * LENGTH + 2 * (LENGTH + INDEX); // five counts, and both ends of the log with a mark each
  for (const row of batch.data) size += text(row.key) + bytes(row.value);
  for (const { key, leaf } of batch.leaves) {
    size += LENGTH + text(key) + bytes(leaf && leaf.hash) + bytes(leaf && leaf.scope);
  }
  for (const row of batch.sums) size += 2 * LENGTH + bytes(row.sum);
  for (const row of batch.log) size += INDEX + bytes(row.entry);
  for (const row of batch.meta) size += text(row.name) + bytes(row.value);
  return size;
}

class Packer {
  readonly #out: Buffer;
  #at = 0;

  constructor(packed: ArrayBuffer) {
    this.#out = Buffer.from(packed);
  }

  count(value: number): void {
    this.#at = this.#out.writeUInt32LE(value, this.#at);
  }

  index(value: bigint): void {
    this.#at = this.#out.writeBigInt64LE(value, this.#at);
  }

  /** Of the log, with a mark whether there is one. */
  place(value: bigint | null): void {
    this.count(value === null ? 0 : 1);
    if (value !== null) this.index(value);
  }

  text(value: string): void {
    const length = this.#out.write(value, this.#at + LENGTH);
    this.#out.writeUInt32LE(length, this.#at);
    this.#at += LENGTH + length;
  }

  bytes(value: Uint8Array | null): void {
    this.count(value === null ? NONE : value.length);
    if (value === null) return;
    this.#out.set(value, this.#at);
    this.#at += value.length;
  }
}

class Unpacker {
  readonly #from: Buffer;
  #at = 0;

  constructor(packed: ArrayBuffer) {
    this.#from = Buffer.from(packed);
  }

  count(): number {
    const value = this.#from.readUInt32LE(this.#at);
    this.#at += LENGTH;
    return value;
  }

  index(): bigint {
    const value = this.#from.readBigInt64LE(this.#at);
    this.#at += INDEX;
    return value;
  }

  place(): bigint | null {
    return this.count() === 0 ? null : this.index();
  }

  text(): string {
    const length = this.count();
    return this.#from.toString("utf8", this.#at, (this.#at += length));
  }

  bytes(): Uint8Array | null {
    const length = this.count();
    return length === NONE ? null : this.#from.subarray(this.#at, (this.#at += length));
  }

  present(): Uint8Array {
    return this.bytes()!; // written from a value that cannot be null
  }

  *list<T>(item: () => T): Generator<T> {
    for (let left = this.count(); left > 0; left--) yield item();
  }
}
