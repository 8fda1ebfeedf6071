// Shared rows of another cluster, applied: each is stored as it came, and what follows from it is written with it.

import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { madeBarrier, type MadeBarrier } from "../../tests/support/made/made-barrier.ts";
import { bytes } from "../../tests/support/made/made-store.ts";
import { CORE_SCOPE } from "../storage/rows/log-entry.ts";
import { type Follower, Followers } from "./followers.ts";

const SCOPE = Buffer.alloc(16, 5);
const THINGS = "ns/*/things/";

/** Notes what it is told, and writes it down: the key and both values. */
function noting({ barrier }: MadeBarrier, noted: string[]): Follower<string> {
  const local = barrier.view("local/");
  return {
    folder: THINGS,
    decode: (stored) => (stored.length === 0 ? null : Buffer.from(stored).toString()),
    follow: (tx, key, before, after) => {
      noted.push(`${key}: ${before} ${after}`);
      tx.on(local).put(`of/${key}`, bytes(`${before} ${after}`), bytesCodec);
    },
  };
}

/** As the other cluster, which has the same keys, has sealed it. */
async function sealed(made: MadeBarrier, key: string, text: string): Promise<Uint8Array> {
  const full = `shared/${key}`;
  let value: Uint8Array | null = null;
  const stop = new Error("not here");
  const write = made.store.write((raw) => {
    made.barrier.view("shared/").within(raw).put(key, bytes(text), bytesCodec);
    value = raw.get(full);
    throw stop;
  });
  await assert.rejects(write, stop);
  assert.ok(value !== null);
  return new Uint8Array(value);
}

async function made() {
  const one = await madeBarrier();
  const noted: string[] = [];
  const followers = new Followers(one.barrier.view("shared/"), [noting(one, noted)]);
  const apply = (key: string, value: Uint8Array | null) =>
    one.store.writeApplied((raw) =>
      followers.apply(raw, { key: `shared/${key}`, value, scope: SCOPE }),
    );
  return { one, noted, apply };
}

test("the follower of a kind of records is told what was there and what is, in every namespace", async () => {
  const { one, noted, apply } = await made();
  const key = "ns/t1/things/a";
  const value = await sealed(one, key, "1");
  one.store.leaveShared(true);
  await apply(key, value);
  assert.deepEqual(one.store.get(`shared/${key}`), value); // the very bytes
  await apply(key, await sealed(one, key, "2"));
  await apply(key, await sealed(one, key, "")); // counts for nothing
  await apply(key, null);
  assert.deepEqual(noted, [`${key}: null 1`, `${key}: 1 2`, `${key}: 2 null`, `${key}: null null`]);
  assert.equal(one.store.get(`shared/${key}`), null);
  const row = one.barrier.view("local/").get(`of/${key}`, bytesCodec);
  assert.equal(Buffer.from(row ?? []).toString(), "null null");
});

test("what nobody follows is stored alone, whatever lies above or below its folder", async () => {
  const { one, noted, apply } = await made();
  for (const key of ["ns/t1/things/b/c", "ns/t1/things", "things/a", "a", "ns/t1/other/a"]) {
    const value = await sealed(one, key, "1");
    await apply(key, value);
    assert.deepEqual(one.store.get(`shared/${key}`), value);
    await apply(key, null);
    assert.equal(one.store.get(`shared/${key}`), null);
  }
  assert.deepEqual(noted, []);
});

test("what lies here and does not open is replaced; what comes and does not open is refused with all that came with it", async () => {
  const { one, noted, apply } = await made();
  const [key, other] = ["ns/t1/things/a", "ns/t1/things/b"];
  await one.store.write((raw) => raw.put(`shared/${key}`, bytes("nonsense"), CORE_SCOPE));
  await apply(key, await sealed(one, key, "1"));
  assert.deepEqual(noted, [`${key}: null 1`]);
  const damaged = (error: unknown) => error instanceof Failure && error.kind === "damaged";
  const { index } = one.store;
  await assert.rejects(apply(other, await sealed(one, key, "1")), damaged); // of another key
  assert.deepEqual([one.store.index, one.store.get(`shared/${other}`)], [index, null]);
});

test("only shared rows are applied, and records of one kind have one follower", async () => {
  const { one, apply } = await made();
  const followers = new Followers(one.barrier.view("shared/"), []);
  const local = { key: "local/a", value: null, scope: SCOPE };
  await assert.rejects(
    one.store.writeApplied((raw) => followers.apply(raw, local)),
    /only what is shared/,
  );
  const twice = [noting(one, []), noting(one, [])];
  assert.throws(() => new Followers(one.barrier.view("shared/"), twice), /one follower/);
  await apply("ns/t1/things/a", null); // was never there
});

test("a row that is sealed under a key which is not here is refused with all that came with it, also where nothing follows from it", async () => {
  const { one, apply } = await made();
  const key = "ns/t1/other/a";
  const value = await sealed(one, key, "1");
  const later = Buffer.from(value);
  later.writeUInt32BE(7); // the term
  await assert.rejects(apply(key, later), { code: "barrier-key-missing" });
  assert.equal(one.store.get(`shared/${key}`), null);
  await assert.rejects(apply("ns/t1/things/a", later), { code: "barrier-key-missing" });
  await apply(key, value);
  await apply(key, null);
});
