// Log entries: bytes that are read in one way only, a chain that no field escapes, and readers that
// were sent only a part.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import { InvariantError } from "@holdfast/shared/invariant";
import * as log from "./log-entry.ts";
import type { Draft, LogEntry, LogOperation } from "./log-entry.ts";
import { sha256 } from "./merkle.ts";
import { MalformedBytes } from "./row-bytes.ts";

interface Vectors {
  readonly lineage: string;
  readonly firstChain: string;
  readonly entries: readonly {
    readonly draft: {
      readonly epoch: number;
      readonly index: string;
      readonly time: string;
      readonly control: { readonly type: number; readonly body: string } | null;
      readonly operations: readonly {
        readonly class: "shared" | "local";
        readonly scope: string;
        readonly key: string;
        readonly value: string | null;
      }[];
    };
    readonly sharedDigest: string;
    readonly localDigest: string;
    readonly chain: string;
    readonly encoded: string;
  }[];
}
const vectorFile = join(import.meta.dirname, "../../../tests/vectors/log-entry.json");
const vectors = JSON.parse(readFileSync(vectorFile, "utf8")) as Vectors;

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const operation: fc.Arbitrary<LogOperation> = fc
  .record({
    class: fc.constantFrom("shared" as const, "local" as const),
    scope: bytes(16),
    key: fc.string({ unit: "grapheme", maxLength: 20 }),
    value: fc.option(fc.uint8Array({ maxLength: 60 })),
  })
  .map((op) => ({
    ...op,
    key: `${op.class}/${op.key}`,
    valueDigest: op.value === null ? new Uint8Array(0) : sha256(op.value),
  }));
const draft: fc.Arbitrary<Draft> = fc.record({
  epoch: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  index: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  time: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  operations: fc.array(operation, { maxLength: 6 }),
  control: fc.option(
    fc.record({ type: fc.integer({ min: 1, max: 255 }), body: fc.uint8Array({ maxLength: 40 }) }),
  ),
});

/** Bytes as hex and integers as text, so that Buffer and Uint8Array compare alike. */
function plain(value: unknown): unknown {
  const show = (_: string, each: unknown) => (typeof each === "bigint" ? `${each}n` : each);
  const readable = (each: unknown): unknown => {
    if (each instanceof Uint8Array) return hex(each);
    if (Array.isArray(each)) return each.map(readable);
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([name, part]) => [name, readable(part)]));
  };
  return JSON.parse(JSON.stringify(readable(value), show));
}

function malformed(run: () => unknown, what?: string): void {
  assert.throws(run, MalformedBytes, what);
}

test("an entry survives the round trip", () => {
  fc.assert(
    fc.property(draft, bytes(32), (each, before) => {
      const entry = log.chainEntry(each, before);
      const encoded = log.encodeEntry(entry);
      assert.deepEqual(plain(log.decodeEntry(encoded)), plain(entry));
      assert.deepEqual(log.encodeEntry(log.decodeEntry(encoded)), encoded);
      const { operations: _, control: __, ...header } = entry;
      assert.deepEqual(plain(log.decodeEntryHeader(encoded)), plain(header));
    }),
  );
});

test("an entry that is cut anywhere, or has a byte more, is refused", () => {
  fc.assert(
    fc.property(draft, fc.integer({ min: 0, max: 255 }), (each, extra) => {
      const encoded = log.encodeEntry(log.chainEntry(each, Buffer.alloc(32)));
      for (let length = 0; length < encoded.length; length++) {
        malformed(() => log.decodeEntry(encoded.subarray(0, length)));
      }
      malformed(() => log.decodeEntry(Buffer.concat([encoded, Buffer.from([extra])])));
    }),
    { numRuns: 20 },
  );
});

test("other versions, classes, kinds, texts and control records without a type are refused", () => {
  const op = { class: "shared", scope: Buffer.alloc(16), key: "shared/abcd", value: null } as const;
  const base: Draft = {
    epoch: 1,
    index: 1n,
    time: 0n,
    operations: [{ ...op, valueDigest: new Uint8Array(0) }],
    control: null,
  };
  const encoded = log.encodeEntry(log.chainEntry(base, Buffer.alloc(32)));
  const header = 1 + 4 + 8 + 8 + 3 * 32;
  const control = header; // type, length
  const first = header + 5 + 4; // control, count
  const key = first + 2 + 16 + 2;
  const broken = (at: number, ...values: number[]) => {
    const copy = Buffer.from(encoded);
    for (const [i, value] of values.entries()) copy[at + i] = value;
    return copy;
  };
  assert.doesNotThrow(() => log.decodeEntry(encoded));
  for (const version of [0, 2, 255]) malformed(() => log.decodeEntry(broken(0, version)));
  // 2 is a class, but not that of the key.
  for (const cls of [0, 2, 3, 255]) malformed(() => log.decodeEntry(broken(first, cls)));
  for (const kind of [0, 3, 255]) malformed(() => log.decodeEntry(broken(first + 1, kind)));
  // A cut four-byte sequence is shown as one mark of three bytes: the length alone does not tell.
  malformed(() => log.decodeEntry(broken(key, 0xf0, 0x9f, 0x98)));
  malformed(() => log.decodeEntry(broken(key, 0xff)));
  malformed(() => log.decodeEntry(broken(key, 0xed, 0xa0, 0x80)), "a surrogate is not UTF-8");
  const body = Buffer.concat([
    encoded.subarray(0, control),
    Buffer.from([0, 0, 0, 0, 1, 7]),
    encoded.subarray(control + 5),
  ]);
  malformed(() => log.decodeEntry(body));
  malformed(() => log.decodeEntry(broken(header + 5, 255, 255, 255, 255)));
});

test("a flipped bit anywhere in an entry is refused or breaks the chain", () => {
  fc.assert(
    fc.property(draft, bytes(32), fc.nat(), (each, before, pick) => {
      const encoded = log.encodeEntry(log.chainEntry(each, before));
      assert.ok(log.followsFrom(log.decodeEntry(encoded), before));
      const bit = pick % (encoded.length * 8);
      encoded[bit >> 3]! ^= 1 << (bit & 7);
      let read: LogEntry;
      try {
        read = log.decodeEntry(encoded);
      } catch (error) {
        assert.ok(error instanceof MalformedBytes);
        return;
      }
      assert.equal(log.followsFrom(read, before), false);
    }),
    { numRuns: 500 },
  );
});

test("an entry whose digests alone are others does not follow, although its chain does", () => {
  const entry = log.chainEntry(
    { epoch: 1, index: 1n, time: 1n, operations: [], control: null },
    Buffer.alloc(32),
  );
  assert.ok(log.followsFrom(entry, Buffer.alloc(32)));
  const other = Buffer.alloc(32, 9);
  assert.equal(log.followsFrom({ ...entry, sharedDigest: other }, Buffer.alloc(32)), false);
  assert.equal(log.followsFrom({ ...entry, localDigest: other }, Buffer.alloc(32)), false);
});

test("every field of an entry, and the chain before it, changes the chain", () => {
  const scope = Buffer.alloc(16, 3);
  const put = (key: string, value: string): LogOperation => ({
    class: "shared",
    scope,
    key,
    value: Buffer.from(value),
    valueDigest: sha256(Buffer.from(value)),
  });
  const gone = (key: string): LogOperation => ({
    ...put(key, ""),
    value: null,
    valueDigest: new Uint8Array(0),
  });
  const base: Draft = {
    epoch: 1,
    index: 7n,
    time: 9n,
    operations: [put("shared/a", "1"), put("shared/b", "2")],
    control: { type: 1, body: Buffer.from("c") },
  };
  const [a, b] = [base.operations[0]!, base.operations[1]!];
  const before = Buffer.alloc(32, 1);
  const others: Draft[] = [
    { ...base, epoch: 2 },
    { ...base, index: 8n },
    { ...base, time: 10n },
    { ...base, control: null },
    { ...base, control: { type: 2, body: Buffer.from("c") } },
    { ...base, control: { type: 1, body: Buffer.from("d") } },
    { ...base, operations: [a] },
    { ...base, operations: [b, a] },
    { ...base, operations: [a, b, b] },
    { ...base, operations: [{ ...a, key: "shared/A" }, b] },
    { ...base, operations: [{ ...a, class: "local" }, b] },
    { ...base, operations: [{ ...a, scope: Buffer.alloc(16, 4) }, b] },
    { ...base, operations: [put("shared/a", "x"), b] },
    { ...base, operations: [put("shared/a", ""), b] },
    { ...base, operations: [gone("shared/a"), b] },
  ];
  const chains = others.map((other) => hex(log.chainEntry(other, before).chain));
  chains.push(hex(log.chainEntry(base, before).chain));
  chains.push(hex(log.chainEntry(base, Buffer.alloc(32, 2)).chain));
  assert.equal(new Set(chains).size, chains.length);
});

test("a reader that was sent the shared operations and the digests follows the chain", () => {
  fc.assert(
    fc.property(fc.array(draft, { minLength: 1, maxLength: 5 }), bytes(16), (drafts, lineage) => {
      let chain = log.firstChain(lineage);
      let reader = log.firstChain(lineage);
      for (const each of drafts) {
        const entry = log.chainEntry(each, chain);
        chain = Buffer.from(entry.chain);
        // What crosses the wire: the header, both digests, and no local operation.
        const { operations, ...sent } = entry;
        const shared = operations.filter((op) => op.class === "shared");
        const own = log.chainEntry({ ...sent, operations: shared }, reader);
        assert.deepEqual(own.sharedDigest, sent.sharedDigest, "what was sent is complete");
        reader = log.nextChain(reader, sent);
        assert.deepEqual(reader, chain);
      }
    }),
  );
});

test("such a reader notices an operation that was left out, added or changed", () => {
  const key = (name: string): LogOperation => ({
    class: "shared",
    scope: Buffer.alloc(16),
    key: `shared/${name}`,
    value: Buffer.from(name),
    valueDigest: sha256(Buffer.from(name)),
  });
  const entry = log.chainEntry(
    { epoch: 1, index: 1n, time: 1n, operations: [key("a"), key("b")], control: null },
    Buffer.alloc(32),
  );
  for (const operations of [[key("a")], [key("a"), key("b"), key("c")], [key("a"), key("c")]]) {
    const own = log.chainEntry({ ...entry, operations }, Buffer.alloc(32));
    assert.notDeepEqual(own.sharedDigest, entry.sharedDigest);
  }
});

test("the digest of an operation stands for it where its value is not sent", () => {
  const digest = sha256(Buffer.from("secret"));
  const full: LogOperation = {
    class: "shared",
    scope: Buffer.alloc(16),
    key: "shared/a",
    value: Buffer.from("secret"),
    valueDigest: digest,
  };
  const blind = { ...full, value: new Uint8Array(0) };
  assert.deepEqual(log.operationDigest(blind), log.operationDigest(full));
});

test("entries have the pinned bytes, digests and chain", () => {
  const lineage = Buffer.from(vectors.lineage, "hex");
  let chain: Uint8Array = log.firstChain(lineage);
  assert.equal(hex(chain), vectors.firstChain);
  for (const vector of vectors.entries) {
    const { epoch, index, time, control, operations } = vector.draft;
    const entry = log.chainEntry(
      {
        epoch,
        index: BigInt(index),
        time: BigInt(time),
        control: control && { type: control.type, body: Buffer.from(control.body, "hex") },
        operations: operations.map((op) => {
          const value = op.value === null ? null : Buffer.from(op.value, "hex");
          const valueDigest = value === null ? new Uint8Array(0) : sha256(value);
          return { ...op, scope: Buffer.from(op.scope, "hex"), value, valueDigest };
        }),
      },
      chain,
    );
    assert.equal(hex(entry.sharedDigest), vector.sharedDigest);
    assert.equal(hex(entry.localDigest), vector.localDigest);
    assert.equal(hex(entry.chain), vector.chain);
    assert.equal(hex(log.encodeEntry(entry)), vector.encoded);
    const read = log.decodeEntry(Buffer.from(vector.encoded, "hex"));
    assert.deepEqual(plain(read), plain(entry));
    assert.ok(log.followsFrom(read, chain));
    chain = entry.chain;
  }
});

test("the largest transaction has an entry: 8,192 operations", () => {
  const operations = Array.from({ length: 8192 }, (_, i): LogOperation => ({
    class: "local",
    scope: Buffer.alloc(16),
    key: `local/${i}`,
    value: Buffer.from([i & 255]),
    valueDigest: sha256(Buffer.from([i & 255])),
  }));
  const entry = log.chainEntry(
    { epoch: 1, index: 1n, time: 1n, operations, control: null },
    Buffer.alloc(32),
  );
  assert.equal(log.decodeEntry(log.encodeEntry(entry)).operations.length, 8192);
});

test("a scope of another length is not written", () => {
  const op = {
    class: "shared",
    key: "shared/a",
    value: null,
    valueDigest: new Uint8Array(0),
  } as const;
  const operations = [{ ...op, scope: Buffer.alloc(15) }];
  const draft = { epoch: 1, index: 1n, time: 1n, operations, control: null };
  assert.throws(() => log.chainEntry(draft, Buffer.alloc(32)), InvariantError);
  const digest = Buffer.alloc(32);
  const entry = { ...draft, sharedDigest: digest, localDigest: digest, chain: digest };
  assert.throws(() => log.encodeEntry(entry), InvariantError);
});

test("the shared part of an entry has its place and its shared operations, and not a byte of anything else", () => {
  fc.assert(
    fc.property(draft, (made) => {
      const value = Buffer.from("only here");
      const hidden = { value, valueDigest: sha256(value) };
      const marked = made.operations.map((op) =>
        op.class === "shared" ? op : { ...op, key: `${op.key} only here`, ...hidden },
      );
      const control = { type: 1, body: Buffer.from("only here") };
      const entry = log.chainEntry({ ...made, operations: marked, control }, FIRST);
      const part = log.sharedPart(log.encodeEntry(entry));
      const shared = marked.filter((op) => op.class === "shared");
      if (shared.length === 0) return assert.equal(part, null);
      const { index, epoch, chain, operations, ...rest } = log.decodeSharedPart(part!);
      assert.deepEqual([index, epoch, chain], [entry.index, entry.epoch, entry.chain]);
      assert.deepEqual(
        operations.map(({ key }) => key),
        shared.map(({ key }) => key),
      );
      assert.equal(rest.control, null);
      assert.ok(!part!.includes("only here") && !part!.includes(entry.localDigest));
      const { operations: all, ...header } = log.decodeEntry(part!);
      const less = log.encodeEntry({ ...header, operations: all.slice(1) });
      assert.throws(() => log.decodeSharedPart(less), MalformedBytes);
      assert.throws(() => log.decodeSharedPart(log.encodeEntry(entry)), MalformedBytes);
    }),
  );
});

test("an entry without anything shared has no such part", () => {
  const made = { epoch: 1, index: 1n, time: 0n, operations: [], control: null };
  assert.equal(log.sharedPart(log.encodeEntry(log.chainEntry(made, FIRST))), null);
});

const FIRST = log.firstChain(Buffer.alloc(16, 1));
