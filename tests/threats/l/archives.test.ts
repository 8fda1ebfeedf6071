// Threats L of archives that a stranger made, sent to the server that checks them.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { deflateRawSync, gunzipSync, gzipSync } from "node:zlib";
import { engineServer } from "../../support/servers/engine-server.ts";
import { archiveOf, GZIP_HEAD, stored } from "../../support/snapshots/packed-archive.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";

const BOUND = { timeout: 300_000 };
function named(tar: Buffer, name: string, type = "0"): Buffer {
  const out = Buffer.from(tar);
  out.fill(0, 0, 100).write(name, 0, "latin1");
  out.write(type, 156, "latin1");
  out.fill(" ", 148, 156);
  const sum = out.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  out.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return out;
}

interface Member {
  readonly name: string;
  readonly bytes: Buffer;
}

/** The members of a tar, each with its header and what fills its last block. */
function membersOf(tar: Buffer): Member[] {
  const found: Member[] = [];
  for (let at = 0; tar[at] !== 0 && at < tar.length;) {
    const name = tar.toString("latin1", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8);
    const end = at + 512 + Math.ceil(size / 512) * 512;
    found.push({ name, bytes: tar.subarray(at, end) });
    at = end;
  }
  return found;
}

const END = Buffer.alloc(1024);
const tarOf = (members: readonly Member[]) =>
  Buffer.concat([...members.map(({ bytes }) => bytes), END]);
/** Whatever reads an archive reads it strictly. */
const READERS = ["snapshot-verify", "snapshot", "snapshot-force"] as const;

test(
  "T-L01, case 124: an archive with other members than the four, or fewer, is refused by whatever reads it",
  BOUND,
  async (t) => {
    const server = await engineServer(t);
    const { url } = server.test;
    const { store } = server.test.server;
    const tar = gunzipSync((await takeSnapshot(url, server.root)).body);
    const members = membersOf(tar);
    assert.deepEqual(
      members.map(({ name }) => name),
      ["meta.json", "state.bin", "SHA256SUMS", "SHA256SUMS.sealed"],
    );
    const [meta, state, sums, sealed] = members as [Member, Member, Member, Member];
    const another = { name: "evil", bytes: named(meta.bytes, "evil") };
    const cases: [what: string, members: readonly Member[], text: RegExp][] = [
      ["the list of sums is missing", [meta, state, sealed], /SHA256SUMS is missing|comes before/],
      ["the seal is missing", [meta, state, sums], /SHA256SUMS\.sealed is missing/],
      ["both are", [meta, state], /SHA256SUMS is missing/],
      ["one more at the end", [...members, another], /evil|follows its end|more/],
      ["one more in between", [meta, another, state, sums, sealed], /\\"evil\\" is unknown/],
      ["one twice", [meta, state, sums, sums, sealed], /comes (?:twice|before)|SHA256SUMS/],
      ["another order", [meta, state, sealed, sums], /comes before|missing/],
    ];
    const { status } = await sendSnapshot(url, server.root, "snapshot-verify", archiveOf(tar));
    assert.equal(status, 200, "this is how one is made");
    for (const reader of READERS) {
      for (const [what, some, text] of cases) {
        const answer = await sendSnapshot(url, server.root, reader, archiveOf(tarOf(some)));
        assert.equal(answer.status, 400, `${reader}: ${what}: ${answer.text}`);
        assert.match(answer.text, text, `${reader}: ${what}`);
      }
    }
    assert.equal(server.test.server.store, store, "the same data");
  },
);

test(
  "T-L01: an archive whose members lead elsewhere is refused by name, and nothing is written",
  BOUND,
  async (t) => {
    const server = await engineServer(t);
    const { url, directory } = server.test;
    const tar = gunzipSync((await takeSnapshot(url, server.root)).body);
    const seen = () => readdirSync(directory, { recursive: true, encoding: "utf8" }).toSorted();
    const before = seen();
    const cases: [tar: Buffer, text: RegExp][] = [
      [
        named(tar, "../../../../tmp/evil"),
        /the member \\"\.\.\/\.\.\/\.\.\/\.\.\/tmp\/evil\\" is unknown/,
      ],
      [named(tar, "/etc/passwd"), /is unknown/],
      [named(tar, "meta.json", "1"), /is a link/],
      [named(tar, "meta.json", "2"), /is a link/],
      [named(tar, "state.bin"), /comes before meta\.json/],
    ];
    for (const [evil, text] of cases) {
      for (const reader of READERS) {
        const answer = await sendSnapshot(url, server.root, reader, archiveOf(evil));
        assert.equal(answer.status, 400, reader);
        assert.match(answer.text, text, reader);
      }
    }
    assert.deepEqual(seen(), before);
    assert.ok(!before.includes(join("server", "spool", "evil")));
  },
);

test("T-L02: a bomb is refused at its first block, whatever it would become", BOUND, async (t) => {
  const server = await engineServer(t);
  const { url } = server.test;
  const zeros = Buffer.alloc(50_000_000);
  const bomb = Buffer.concat([GZIP_HEAD, deflateRawSync(zeros, { level: 9 })]);
  const before = process.memoryUsage().arrayBuffers;
  for (const archive of [
    bomb,
    gzipSync(bomb),
    Buffer.concat([GZIP_HEAD, gzipSync(bomb).subarray(10)]),
  ]) {
    for (const reader of READERS) {
      const answer = await sendSnapshot(url, server.root, reader, archive);
      assert.equal(answer.status, 400, reader);
      assert.match(
        answer.text,
        /its data is compressed|the gzip header at byte 0 is not one of ours/,
      );
    }
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 32 * 1024 * 1024);
  // A declared size is believed by nobody: what does not come is missing.
  const tar = gunzipSync((await takeSnapshot(url, server.root)).body);
  const short = Buffer.concat([stored(tar.subarray(0, 2048)), stored(tar.subarray(2048, 3000))]);
  assert.match(
    (await sendSnapshot(url, server.root, "snapshot-verify", short)).text,
    /state\.bin is missing/,
  );
});

test("T-L02: an archive cut into tiny blocks is refused where the cuts begin", BOUND, async (t) => {
  const server = await engineServer(t);
  const { url } = server.test;
  const tar = gunzipSync((await takeSnapshot(url, server.root)).body);
  for (const block of [1, 100]) {
    for (const reader of READERS) {
      const answer = await sendSnapshot(url, server.root, reader, archiveOf(tar, block));
      assert.equal(answer.status, 400, `${reader}: ${answer.text}`);
      assert.match(answer.text, /cut into other blocks than a snapshot's/);
    }
  }
});
