import assert from "node:assert/strict";
import test from "node:test";
import { rawNumber } from "@holdfast/shared/json/json";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { refused } from "../../tests/support/made/made-tokens.ts";
import {
  CUBBYHOLES,
  CubbyholeContents,
  MAX_ENTRIES,
  type Space,
  WRAPPINGS,
} from "./cubbyhole-contents.ts";

const A = { namespaceId: "root", accessor: "a" };
const B = { namespaceId: "root", accessor: "b" };
const at = (owner: Space["owner"], namespaceId = "root"): Space => ({ owner, namespaceId });

async function made() {
  const { barrier } = await madeBarrier();
  const local = barrier.view("local/");
  const contents = new CubbyholeContents(local);
  const wipe = (owner: Space["owner"]) =>
    local.write((tx) => contents.wipe(tx, owner.namespaceId, owner.accessor));
  const keys = (below = "") => local.keys(below, { limit: 1000 });
  const drop = (below: string) => local.write((tx) => keys(below).forEach((key) => tx.delete(key)));
  const isCount = (key: string) => /^ns\/[^/]+\/(?:cubbyhole|wrapping)-use\//.test(key);
  const counts = () => keys().filter(isCount);
  return { contents, local, wipe, drop, counts, keys: () => keys().filter((key) => !isCount(key)) };
}

test("an entry is replaced whole, and its numbers keep their digits", async () => {
  const { contents } = await made();
  await contents.replace(at(A), "x", { a: "1", b: rawNumber("12345678901234567890.10") });
  assert.equal(JSON.stringify(contents.read(at(A), "x")), '{"a":"1","b":12345678901234567890.10}');
  await contents.replace(at(A), "x", { c: 2 });
  assert.deepEqual(contents.read(at(A), "x"), { c: 2 });
  await contents.delete(at(A), "x");
  await contents.delete(at(A), "x");
  assert.equal(contents.read(at(A), "x"), null);
});

test("names are listed one level down, and no one else's", async () => {
  const { contents } = await made();
  for (const path of ["x", "deep/er", "deep/est"]) await contents.replace(at(A), path, {});
  await contents.replace(at(B), "other", {});
  assert.deepEqual(contents.list(at(A), ""), ["deep/", "x"]);
  assert.deepEqual(contents.list(at(A), "deep/"), ["er", "est"]);
  assert.deepEqual(contents.list(at(B), ""), ["other"]);
  assert.deepEqual(contents.list(at(A, "t1"), ""), []);
});

test("all that a token has goes at once, in every namespace that it was in, and nothing else", async () => {
  const { contents, wipe, keys } = await made();
  for (const owner of [A, B]) {
    await contents.replace(at(owner), "x", {});
    await contents.replace(at(owner, "t1"), "x/y", {});
  }
  await contents.replace(at({ namespaceId: "t1", accessor: "a" }, "t1"), "x", {});
  await wipe(A);
  assert.deepEqual(keys(), [
    "ns/root/cubbyhole-visits/b/t1",
    "ns/root/cubbyhole/b/x",
    "ns/t1/cubbyhole-of/root/b/x/y",
    "ns/t1/cubbyhole/a/x",
  ]);
});

test("two tokens with one accessor in two namespaces never see each other's", async () => {
  const { contents, wipe, keys } = await made();
  const inTeam = { namespaceId: "t1", accessor: "a" };
  await contents.replace(at(A, "t1"), "x", { of: "root" });
  assert.equal(contents.read(at(inTeam, "t1"), "x"), null);
  await contents.replace(at(inTeam, "t1"), "x", { of: "t1" });
  assert.deepEqual(contents.read(at(A, "t1"), "x"), { of: "root" });
  await wipe(inTeam);
  assert.deepEqual(contents.read(at(A, "t1"), "x"), { of: "root" });
  await wipe(A);
  assert.deepEqual(keys(), []);
});

test("what went with its namespace leaves room, and no note of it", async () => {
  const { contents, keys, drop } = await made();
  for (let i = 0; i < MAX_ENTRIES; i += 1) await contents.replace(at(A, `n${i}`), "x", {});
  await assert.rejects(contents.replace(at(A), "x", {}), /at most/);
  for (let i = 0; i < MAX_ENTRIES; i += 1) await drop(`ns/n${i}/`);
  await contents.replace(at(A), "x", {});
  assert.deepEqual(keys(), ["ns/root/cubbyhole/a/x"]);
});

test("a token has so many entries and no more, in all namespaces together; all of them go", async () => {
  const { contents, wipe, keys } = await made();
  const writes = Array.from({ length: MAX_ENTRIES }, (_, i) =>
    contents.replace(at(A, i % 2 === 0 ? "root" : "t1"), `entry-${i}`, { i }),
  );
  await Promise.all(writes);
  const text = `the cubbyhole of a token holds at most ${MAX_ENTRIES} entries; delete one first`;
  await assert.rejects(contents.replace(at(A), "more", {}), refused(text));
  await contents.replace(at(A), "entry-0", { again: true });
  await contents.replace(at(B), "other", {});
  await contents.delete(at(A), "entry-0");
  await contents.replace(at(A), "more", {});
  await wipe(A);
  assert.deepEqual(keys(), ["ns/root/cubbyhole/b/other"]);
});

const HALF = 512 * 1024;

const maker = (by: Space["owner"] | null, management = false) => ({ by, management });

/** An object of about so many bytes. */
const filled = (bytes: number) => ({ text: "x".repeat(bytes) });

test("a token has so many bytes in a namespace; what it gives back it may use again", async () => {
  const { contents, wipe, counts } = await made();
  const whole = CUBBYHOLES.ofHolder.bytes / HALF;
  for (let i = 0; i < whole - 1; i++) {
    await contents.replace(at(A), `entry-${i}`, filled(HALF));
  }
  const full = /^the cubbyhole of a token holds at most 128 entries and 8388608 bytes; delete some/;
  await assert.rejects(contents.replace(at(A), "more", filled(HALF)), refused(full));
  await assert.rejects(contents.replace(at(A), "entry-0", filled(2 * HALF)), refused(full));
  await contents.replace(at(A), "entry-0", filled(HALF));
  await contents.replace(at(B), "more", filled(HALF));
  await contents.delete(at(A), "entry-0");
  await contents.delete(at(A), "entry-0");
  await contents.replace(at(A), "more", filled(HALF));
  await wipe(A);
  assert.deepEqual(counts(), ["ns/root/cubbyhole-use/all", "ns/root/cubbyhole-use/of/root/b"]);
  await wipe(B);
  assert.deepEqual(counts(), []);
});

test("wrapped answers count as their maker's, until each of them is gone", async () => {
  const { contents, local, wipe, counts, keys } = await made();
  const wrap = (accessor: string, by: Space["owner"] | null, bytes: number) =>
    local.write((tx) =>
      contents.putAnswer(tx, { namespaceId: "root", accessor }, filled(bytes), maker(by)),
    );
  const many = WRAPPINGS.ofHolder.bytes / HALF;
  for (let i = 0; i < many; i++) {
    contents.checkWrapping("root", maker(A));
    await wrap(`w-${i}`, A, HALF);
  }
  const full =
    /^there may be at most 4096 entries and 33554432 bytes of wrapped answers made by one/;
  assert.throws(() => contents.checkWrapping("root", maker(A)), refused(full, "rate-limited"));
  contents.checkWrapping("root", maker(B));
  contents.checkWrapping("t1", maker(A));
  contents.checkWrapping("root", maker(null));
  // Those that were let in at the same moment are kept, but not without end.
  for (let i = 0; i < many - 1; i++) await wrap(`v-${i}`, A, HALF);
  await assert.rejects(wrap("one-more", A, HALF), refused(full, "rate-limited"));
  // The end of their maker leaves them, and what they count as.
  await wipe(A);
  assert.throws(() => contents.checkWrapping("root", maker(A)), refused(full, "rate-limited"));
  for (let i = 0; i < many; i++) await wipe({ namespaceId: "root", accessor: `w-${i}` });
  contents.checkWrapping("root", maker(A));
  for (let i = 0; i < many - 1; i++) await wipe({ namespaceId: "root", accessor: `v-${i}` });
  assert.deepEqual([...counts(), ...keys()], []);
});

test("the last quarter of a namespace is kept for management", async () => {
  const { contents, local, counts, keys, wipe } = await made();
  const text = filled(2 * HALF - 64);
  let count = 0;
  const wrap = async (management: boolean) => {
    // Each of them somebody else's.
    const whose = maker({ namespaceId: "root", accessor: `maker-${count}` }, management);
    contents.checkWrapping("root", whose);
    const owner = { namespaceId: "root", accessor: `w-${count}` };
    await local.write((tx) => contents.putAnswer(tx, owner, text, whose));
    count += 1;
  };
  const whole = WRAPPINGS.ofNamespace.bytes / (2 * HALF);
  // The one that passes the limit is let in, since what is left is more than nothing.
  for (let i = 0; i <= (whole * 3) / 4; i++) await wrap(false);
  const full = /at most 49152 entries and 201326592 bytes of wrapped answers in this namespace/;
  await assert.rejects(wrap(false), refused(full, "rate-limited"));
  while (count <= whole) await wrap(true);
  const last = /at most 65536 entries and 268435456 bytes of wrapped answers in this namespace/;
  await assert.rejects(wrap(true), refused(last, "rate-limited"));
  for (let i = 0; i < count; i++) await wipe({ namespaceId: "root", accessor: `w-${i}` });
  assert.deepEqual([...counts(), ...keys()], []);
});
