import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { describe } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { START } from "../../../tests/support/fake-world.ts";
import {
  archiveOf,
  CLUSTER,
  FORMAT,
  MemoryArchive,
  readArchive,
  sourceOf,
  steadyRandom,
} from "../../../tests/support/made/made-archive.ts";
import { madeBarrier, OTHER_KEY, ROOT_KEY } from "../../../tests/support/made/made-barrier.ts";
import { bytes, madeStore } from "../../../tests/support/made/made-store.ts";
import { someOf } from "../../../tests/support/often.ts";
import { writeArchive } from "./archive-writer.ts";
import { decodeHead } from "../../storage/rows/head.ts";
import { RecordPacker } from "../../storage/rows/packed-records.ts";
import { MAX_BLOCK, MemberWriter } from "./gzip.ts";
import { encodeMeta } from "./meta.ts";
import { whyNotOurs } from "./opening.ts";
import { StateParser, type StateRecord, StateWriter } from "./state.ts";
import { BLOCK, encodeHeader, paddingOf } from "./tar.ts";

const DAY = 86_400_000_000_000n;
const SCOPE = Buffer.alloc(16, 5);
const VECTOR = join(import.meta.dirname, "../../../tests/vectors/snapshot.json");

interface Vector {
  readonly rows: readonly { key: string; scope: string; value: string }[];
  readonly head: string;
  readonly timeline: string;
  readonly archive: string;
}

const FACTS = {
  clusterId: CLUSTER,
  software: "0.1.0",
  format: FORMAT,
  created: START,
  rootKey: ROOT_KEY,
  random: steadyRandom,
};

async function small() {
  const { store } = await madeStore();
  await store.write((tx) => {
    tx.put("core/keyring", bytes("sealed keys"));
    tx.put("core/versions/0.1.0", bytes("stays"));
    tx.put("core/audit/heads/file", bytes("stays"));
    tx.put("local/tokens/a", bytes("a token"));
    tx.put("shared/kv/a", bytes("first"), SCOPE);
    tx.put("shared/kv/ä", Buffer.alloc(300, 1), SCOPE);
  });
  return store;
}

function refusal(archive: Uint8Array): Failure {
  try {
    readArchive(archive, 100);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  assert.fail("it was taken");
}

/** Repacks the tar of an archive as our own gzip does: what is wrong is wrong inside. */
function packed(tar: Uint8Array): Buffer {
  const parts: Uint8Array[] = [];
  for (const data of [tar.subarray(0, 2048), tar.subarray(2048)]) {
    const member = new MemberWriter();
    parts.push(member.head());
    for (let at = 0; at < data.length; at += MAX_BLOCK) {
      parts.push(member.block(data.subarray(at, at + MAX_BLOCK)));
    }
    parts.push(member.end());
  }
  return Buffer.concat(parts);
}

interface Member {
  readonly header: Buffer;
  readonly content: Buffer;
}

function membersOf(archive: Uint8Array): Member[] {
  const tar = gunzipSync(archive);
  const members: Member[] = [];
  for (let at = 0; tar[at] !== 0;) {
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 135), 8);
    const header = Buffer.from(tar.subarray(at, at + BLOCK));
    members.push({ header, content: tar.subarray(at + BLOCK, at + BLOCK + size) });
    at += BLOCK + size + paddingOf(size);
  }
  return members;
}

function joined(members: readonly Member[]): Buffer {
  const parts = members.flatMap(({ header, content }) => [
    header,
    content,
    Buffer.alloc(paddingOf(content.length)),
  ]);
  return packed(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

/** A header with other bytes in one place and the checksum of what it is then. */
function changed(header: Buffer, at: number, text: string): Buffer {
  const out = Buffer.from(header);
  out.write(text, at, "latin1");
  out.fill(" ", 148, 156);
  const sum = out.reduce((total, byte) => total + byte, 0);
  out.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return out;
}

describe("an archive", () => {
  test("has every row with its scope but those that stay, and who made it when", async () => {
    const store = await small();
    const read = readArchive(await archiveOf(store));
    assert.deepEqual(
      read.records.map(({ key, scope, value }) => [key, hex(scope), value.length]),
      [
        ["core/keyring", "00".repeat(16), 11],
        ["local/tokens/a", "00".repeat(16), 7],
        ["shared/kv/a", "05".repeat(16), 5],
        ["shared/kv/ä", "05".repeat(16), 300],
      ],
    );
    assert.equal(read.meta.index, 1);
    assert.equal(read.meta.entries, 4);
    assert.equal(read.meta.clusterId, CLUSTER);
    assert.equal(read.meta.created, START);
    assert.equal(read.head.index, 1n);
    assert.equal(read.timeline.epochs.length, 1);
  });

  test("is read the same whatever pieces it comes in, and has the sum of its bytes", async () => {
    const archive = await archiveOf(await small());
    const whole = readArchive(archive);
    assert.equal(hex(whole.sha256), createHash("sha256").update(archive).digest("hex"));
    for (const piece of [1, 2, 3, 7, 511, 512, 4096]) {
      assert.deepEqual(readArchive(archive, piece), whole, `pieces of ${piece}`);
    }
  });

  test("is what gzip, tar and sha256sum of others take", async () => {
    const archive = await archiveOf(await small());
    const list = spawnSync("tar", ["-tzf", "-"], { input: archive });
    assert.equal(list.stdout.toString(), "meta.json\nstate.bin\nSHA256SUMS\nSHA256SUMS.sealed\n");
    const [meta, state, sums] = membersOf(archive);
    for (const [member, name] of [
      [meta, "meta.json"],
      [state, "state.bin"],
    ] as const) {
      const sum = createHash("sha256").update(member!.content).digest("hex");
      assert.match(sums!.content.toString(), new RegExp(`^${sum}  ${name}$`, "m"));
    }
  });

  test("of a large store goes through in blocks", async () => {
    const { store } = await madeStore();
    for (let i = 0; i < 40; i++) {
      await store.write((tx) => tx.put(`shared/large/${i}`, Buffer.alloc(100_000, i)));
    }
    const archive = await archiveOf(store);
    assert.equal(readArchive(archive, 10_000).records.length, 40);
    assert.equal(gunzipSync(archive).length % BLOCK, 0);
  });

  test("is byte by byte as the vector has it", async () => {
    const { rows, head, timeline, archive } = JSON.parse(readFileSync(VECTOR, "utf8")) as Vector;
    const file = new MemoryArchive();
    const headRow = Buffer.from(head, "hex");
    const records = rows.map(({ key, scope, value }) => ({
      key,
      scope: Buffer.from(scope, "hex"),
      value: Buffer.from(value, "hex"),
    }));
    const rowsOfHead = { head: decodeHead(headRow), headRow, timelineRow: Buffer.from(timeline) };
    await writeArchive(sourceOf(rowsOfHead, records), file, FACTS);
    assert.equal(file.bytes.toString("base64"), archive);
    assert.equal(readArchive(file.bytes).records.length, rows.length);
  });
});

/** Of all bytes and lengths, in each run others; `npm run soak -- properties` tries all. */
const TRIED = 700;

describe("damage", () => {
  test("every byte of it counts: none can be flipped, nor a bit of one", async () => {
    const archive = await archiveOf(await small());
    for (const at of someOf([...archive.keys()], TRIED)) {
      for (const bits of [1 << (at % 8), 255]) {
        archive[at]! ^= bits;
        assert.throws(() => readArchive(archive), Failure, `byte ${at}, bits ${bits}`);
        archive[at]! ^= bits;
      }
    }
    readArchive(archive);
  });

  test("every length that it is cut to is refused, and anything behind it", async () => {
    const archive = await archiveOf(await small());
    for (const length of someOf([...archive.keys()], TRIED)) {
      const { code } = refusal(archive.subarray(0, length));
      assert.equal(code, "snapshot-truncated", `${length} bytes`);
    }
    for (const more of [Buffer.alloc(1), archive, gzipSync("more")]) {
      assert.equal(refusal(Buffer.concat([archive, more])).code, "snapshot-foreign");
    }
  });

  test("inside: flipped bytes with checksums that were made to fit are found by the sums", async () => {
    const members = membersOf(await archiveOf(await small()));
    const texts: string[] = [];
    for (const at of [0, 1]) {
      for (let byte = 0; byte < members[at]!.content.length; byte += 13) {
        const content = Buffer.from(members[at]!.content);
        content[byte]! ^= 1;
        const archive = joined(members.with(at, { ...members[at]!, content }));
        texts.push(refusal(archive).message);
      }
    }
    assert.ok(texts.includes("the snapshot is damaged: the sum of state.bin differs"));
    assert.ok(texts.some((text) => /meta\.json is not of the form/.test(text)));
  });

  test("inside: no byte of the tar counts for nothing, headers, padding and seal included", async () => {
    const archive = await archiveOf(await small());
    const tar = gunzipSync(archive);
    assert.deepEqual(packed(tar), archive);
    const own = { rootKey: ROOT_KEY, clusterId: CLUSTER, keyedAt: START - DAY };
    for (const at of someOf([...tar.keys()], TRIED)) {
      tar[at]! ^= 1 << (at % 8);
      try {
        assert.notEqual(whyNotOurs(readArchive(packed(tar)), own), null, `byte ${at} was taken`);
      } catch (error) {
        assert.ok(error instanceof Failure, `byte ${at}: ${String(error)}`);
      }
      tar[at]! ^= 1 << (at % 8);
    }
  });

  test("sums that were made to fit as well do not open with the root key", async () => {
    const store = await small();
    const members = membersOf(await archiveOf(store));
    const other = membersOf(await archiveOf(await madeStoreWith("shared/kv/b")));
    const mixed = readArchive(joined([...other.slice(0, 3), members[3]!]));
    const own = { rootKey: ROOT_KEY, clusterId: CLUSTER, keyedAt: START - DAY };
    assert.equal(whyNotOurs(mixed, own)?.code, "snapshot-changed");
    assert.equal(whyNotOurs(readArchive(joined(members)), own), null);
  });
});

async function madeStoreWith(key: string) {
  const { store } = await madeStore();
  await store.write((tx) => tx.put(key, bytes("x")));
  return store;
}

describe("T-L01: the four members and nothing else", () => {
  test("unknown, missing, reordered and doubled members are refused by name", async () => {
    const members = membersOf(await archiveOf(await small()));
    const [meta, state, sums, sealed] = members as [Member, Member, Member, Member];
    const named = (member: Member, name: string) => ({
      ...member,
      header: changed(member.header, 0, name.padEnd(100, "\0")),
    });
    const cases: [members: Member[], text: RegExp][] = [
      [
        [named(meta, "../../etc/passwd"), state, sums, sealed],
        /"\.\.\/\.\.\/etc\/passwd" is unknown/,
      ],
      [[named(meta, "/meta.json"), state, sums, sealed], /"\/meta\.json" is unknown/],
      [[named(meta, "./meta.json"), state, sums, sealed], /is unknown/],
      [[named(meta, "meta.json/"), state, sums, sealed], /is unknown/],
      [[named(meta, "a\nb"), state, sums, sealed], /"a\\nb" is unknown/],
      [[state, meta, sums, sealed], /"state\.bin" comes before meta\.json/],
      [[meta, state, sealed, sums], /"SHA256SUMS\.sealed" comes before SHA256SUMS/],
      [[meta, meta, state, sums, sealed], /"meta\.json" stands twice/],
      [[meta, state, state, sums, sealed], /"state\.bin" stands twice/],
      [[meta, state, sums, sealed, sealed], /"SHA256SUMS\.sealed" stands twice/],
      [[meta, state, sums, sealed, named(sealed, "evil")], /"evil" is unknown/],
      [[meta, state, sums], /SHA256SUMS\.sealed is missing/],
      [[meta, state], /SHA256SUMS is missing/],
      [[meta], /state\.bin is missing/],
      [[], /meta\.json is missing/],
      [[meta, sums, sealed], /"SHA256SUMS" comes before state\.bin/],
    ];
    for (const [list, text] of cases) {
      const failure = refusal(joined(list));
      assert.equal(failure.code, "snapshot-members");
      assert.match(failure.message, text);
      assert.match(failure.message, /in this order and nothing else$/);
    }
  });

  test("links, directories, devices and headers with more in them are refused", async () => {
    const members = membersOf(await archiveOf(await small()));
    const meta = members[0]!;
    const withHeader = (header: Buffer) => refusal(joined(members.with(0, { ...meta, header })));
    assert.match(withHeader(changed(meta.header, 156, "1")).message, /"meta\.json" is a link/);
    assert.match(withHeader(changed(meta.header, 156, "2")).message, /"meta\.json" is a link/);
    assert.match(withHeader(changed(meta.header, 156, "5")).message, /is a directory/);
    for (const type of "346789LKxgS\0") {
      assert.match(withHeader(changed(meta.header, 156, type)).message, /is no plain file/);
    }
    for (const [at, text] of [
      [100, "0000777"],
      [108, "0000001"],
      [157, "target"],
      [265, "root"],
      [345, "../.."],
      [500, "x"],
    ] as const) {
      assert.equal(withHeader(changed(meta.header, at, text)).code, "snapshot-members", `at ${at}`);
    }
    const state = members[1]!;
    const later = changed(state.header, 136, "15125334401");
    const failure = refusal(joined(members.with(1, { ...state, header: later })));
    assert.match(failure.message, /its times differ/);
  });

  test("small members are small, and state.bin has the size that meta.json says", async () => {
    const members = membersOf(await archiveOf(await small()));
    for (const [at, name] of [
      [0, "meta.json"],
      [2, "SHA256SUMS"],
      [3, "SHA256SUMS.sealed"],
    ] as const) {
      const content = Buffer.alloc(8193, " ");
      const header = encodeHeader({
        name,
        size: content.length,
        time: Number(START / 1_000_000_000n),
      });
      const { message } = refusal(joined(members.with(at, { header, content })));
      assert.equal(message.split(";")[0], `${name} has 8193 bytes, more than 8192`);
    }
    const content = Buffer.concat([members[1]!.content, Buffer.alloc(1)]);
    const time = Number(START / 1_000_000_000n);
    const header = encodeHeader({ name: "state.bin", size: content.length, time });
    assert.match(
      refusal(joined(members.with(1, { header, content }))).message,
      /state\.bin has another size than meta\.json says/,
    );
  });
});

describe("T-L02: bombs", () => {
  test("nothing expands: compressed data is refused at its first block, however nested", async () => {
    const archive = await archiveOf(await small());
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const asOurs = (gzip: Buffer) => Buffer.concat([archive.subarray(0, 10), gzip.subarray(10)]);
    for (const one of [bomb, gzipSync(bomb), gzipSync(gunzipSync(archive))]) {
      assert.equal(refusal(asOurs(one)).code, "snapshot-foreign");
      assert.match(refusal(asOurs(one)).message, /its data is compressed, at byte 10/);
      assert.match(refusal(one).message, /compressed|not one of ours/);
    }
  });

  test("its data is cut as the writer cuts it: no smaller blocks, and no other front", async () => {
    const { store } = await madeStore();
    await store.write((tx) => tx.put("shared/large", Buffer.alloc(100_000)));
    const tar = gunzipSync(await archiveOf(store));
    const member = (data: Buffer, block: number) => {
      const writer = new MemberWriter();
      const parts: Uint8Array[] = [writer.head()];
      for (let at = 0; at < data.length; at += block) {
        parts.push(writer.block(data.subarray(at, at + block)));
      }
      return Buffer.concat([...parts, writer.end()]);
    };
    const cut = (front: number, block: number) =>
      Buffer.concat([member(tar.subarray(0, front), block), member(tar.subarray(front), block)]);
    readArchive(cut(2048, MAX_BLOCK));
    for (const [front, block] of [
      [2048, 1],
      [2048, 512],
      [2048, MAX_BLOCK - 1],
      [0, MAX_BLOCK],
      [2047, MAX_BLOCK],
      [2560, MAX_BLOCK],
    ] as const) {
      const { code, message } = refusal(cut(front, block));
      assert.equal(code, "snapshot-foreign", `${front}, ${block}`);
      assert.match(message, /cut into other blocks than a snapshot's, before byte \d+$/);
    }
  });

  test("a declared size of 10 GiB takes no memory, and is found out when the bytes do not come", () => {
    const meta = encodeMeta({
      id: steadyRandom.uuid(),
      index: 1,
      epoch: 1,
      lineage: CLUSTER,
      clusterId: CLUSTER,
      created: START,
      format: FORMAT,
      software: "0.1.0",
      entries: 1,
      size: 10 * 2 ** 30,
    });
    const time = Number(START / 1_000_000_000n);
    const archive = packed(
      Buffer.concat([
        encodeHeader({ name: "meta.json", size: meta.length, time }),
        meta,
        encodeHeader({ name: "state.bin", size: 10 * 2 ** 30, time }),
        Buffer.from("HFSTATE\n"),
      ]),
    );
    assert.equal(
      refusal(archive).message,
      "state.bin is missing; " + refusal(archive).message.split("; ")[1],
    );
  });

  test("state.bin cannot declare more than a store holds in one place", () => {
    const begin = new StateWriter().begin({ head: Buffer.alloc(0), timeline: Buffer.alloc(0) });
    const parser = new StateParser();
    parser.push(begin);
    const record = Buffer.alloc(4 + 8 + 16 + 4);
    record.writeUInt16BE(8, 2);
    record.write("shared/a", 4);
    record.writeUInt32BE(0xffff_ffff, 28);
    assert.throws(() => parser.push(record), /record 1 has a value of 4294967295 bytes/);
    const sizes = Buffer.from(begin);
    sizes.writeUInt32BE(0xffff_ffff, 10);
    assert.throws(() => new StateParser().push(sizes), /its beginning is of no form/);
  });
});

describe("foreign, newer and of another key", () => {
  test("what is no archive is told from one that is damaged", () => {
    for (const other of [Buffer.from("PK\u0003\u0004 a zip of some kind"), Buffer.alloc(5000)]) {
      const { code, message } = refusal(other);
      assert.equal(code, "snapshot-foreign");
      assert.match(message, /it does not begin as gzip does/);
    }
    assert.equal(refusal(packed(Buffer.alloc(4096, 0x41))).code, "snapshot-damaged");
  });

  test("a newer archive and a newer store name the version that made them", async () => {
    const members = membersOf(await archiveOf(await small()));
    const meta = members[0]!;
    const withText = (from: string, to: string) => {
      const content = Buffer.from(meta.content.toString().replace(from, to));
      return refusal(joined(members.with(0, { ...meta, content })));
    };
    const version = withText('"Version":1', '"Version":2');
    assert.equal(version.code, "snapshot-too-new");
    assert.match(version.message, /version 2 of archives, and 1 is read here; Holdfast 0\.1\.0/);
    const format = withText(`"Format":${FORMAT}`, `"Format":${FORMAT + 7}`);
    assert.match(format.message, /format 9 of stores, and 2 is read here; Holdfast 0\.1\.0/);
  });

  test("a seal that does not open is told by its date and cluster", async () => {
    const archive = readArchive(await archiveOf(await small()));
    const own = { rootKey: OTHER_KEY, clusterId: CLUSTER, keyedAt: START + DAY };
    const before = whyNotOurs(archive, own);
    assert.equal(before?.code, "snapshot-before-rekey");
    assert.match(before.message, /2026-01-01T00:00:00Z.*2026-01-02T00:00:00Z.*snapshot-force/);
    assert.equal(whyNotOurs(archive, { ...own, clusterId: "x" })?.code, "snapshot-other-cluster");
    assert.equal(whyNotOurs(archive, { ...own, keyedAt: START })?.code, "snapshot-not-opened");
  });
});

describe("state.bin", () => {
  const key = fc
    .array(fc.stringMatching(/^[a-zäöü0-9 😀]{1,12}$/u), { minLength: 1, maxLength: 5 })
    .map((parts) => `shared/${parts.join("/")}`)
    .filter((one) => one.isWellFormed());
  const rows = fc.uniqueArray(fc.record({ key, value: fc.uint8Array({ maxLength: 300 }) }), {
    selector: ({ key: one }) => one,
    maxLength: 40,
  });

  test("what goes in comes out, whatever pieces it comes in", () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 1, max: 400 }), (found, piece) => {
        const sorted = found
          .map(({ key: one, value }): StateRecord => ({ key: one, scope: SCOPE, value }))
          .toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
        const [writer, packer] = [new StateWriter(), new RecordPacker()];
        const bin = Buffer.concat([
          writer.begin({ head: bytes("head"), timeline: bytes("timeline") }),
          Buffer.from(writer.records(packer.pack(sorted.slice(0, 3)))), // there until more are packed
          writer.records(packer.pack(sorted.slice(3))),
          writer.end(),
        ]);
        const parser = new StateParser();
        const out: StateRecord[] = [];
        for (let at = 0; at < bin.length; at += piece) {
          out.push(...parser.push(bin.subarray(at, at + piece)));
        }
        parser.end();
        assert.deepEqual(
          out.map((one) => [one.key, hex(one.scope), hex(one.value)]),
          sorted.map((one) => [one.key, hex(one.scope), hex(one.value)]),
        );
      }),
    );
  });

  test("a large value comes whole out of single bytes, in memory that nobody else writes to", () => {
    const value = Buffer.alloc(300_000, 7);
    const writer = new StateWriter();
    const record = { key: "shared/a", scope: SCOPE, value };
    const bin = Buffer.concat([
      writer.begin({ head: bytes("h"), timeline: bytes("t") }),
      writer.records(new RecordPacker().pack([record])),
      writer.end(),
    ]);
    const parser = new StateParser();
    const out: StateRecord[] = [];
    const piece = Buffer.alloc(1); // which is used again
    for (const byte of bin) {
      piece[0] = byte;
      out.push(...parser.push(piece));
    }
    parser.end();
    assert.deepEqual(
      out.map(({ key: one }) => one),
      ["shared/a"],
    );
    assert.ok(value.equals(out[0]!.value));
  });

  test("keys out of order, twice, illegal, or of rows that stay are refused", () => {
    const tried = (...keys: string[]) => {
      const [writer, packer] = [new StateWriter(), new RecordPacker()];
      const parser = new StateParser();
      parser.push(writer.begin({ head: bytes("h"), timeline: bytes("t") }));
      for (const one of keys) {
        parser.push(writer.records(packer.pack([{ key: one, scope: SCOPE, value: bytes("v") }])));
      }
      parser.push(writer.end());
      parser.end();
    };
    tried("core/keyring", "shared/a", "shared/b");
    assert.throws(() => tried("shared/b", "shared/a"), /not behind the one before it/);
    assert.throws(() => tried("shared/a", "shared/a"), Failure);
    assert.throws(() => tried("other/a"), /none that a store has/);
    assert.throws(() => tried("shared//a"), /none that a store has/);
    assert.throws(() => tried("core/versions/1"), /a row that no snapshot has/);
  });
});

test("nothing in clear and nothing of the root key is in an archive; who stops it is heard", async () => {
  const made = await madeBarrier();
  await made.barrier.view("shared/").write((tx) => tx.put("kv/a", bytes("canary"), bytesCodec));
  const archive = await archiveOf(made.store);
  assert.ok(!archive.includes("canary"));
  assert.ok(!archive.includes(ROOT_KEY.export()));
  const snapshot = made.store.snapshot();
  const signal = AbortSignal.abort();
  await assert.rejects(writeArchive(snapshot, new MemoryArchive(), FACTS, { signal }));
  snapshot.close();
});
