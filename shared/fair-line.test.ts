import assert from "node:assert/strict";
import test from "node:test";
import { FairLine } from "./fair-line.ts";
import { OWN_WORK, type Waiting } from "./waiting.ts";

const LIMITS = { atOnce: 1, atOncePerAddress: 1, waiting: 16, waitingPerAddress: 8 };

function made(limits = LIMITS) {
  const line = new FairLine(limits, () => new Error("full"));
  const done: string[] = [];
  const { promise: held, resolve: begin } = Promise.withResolvers<void>();
  const first = line.run(OWN_WORK, "127.0.0.1", () => held); // keeps the one place
  const ask = (address: string, name: string) =>
    line
      .run(OWN_WORK, address, () => Promise.resolve(void done.push(name)))
      .catch(() => void done.push(`${name} refused`));
  return { line, done, ask, begin: () => (begin(), first) };
}

test("a flood of one address waits behind itself, and one of another is second", async () => {
  const { done, ask, begin } = made();
  const all = Array.from({ length: 100 }, (_, i) => ask("192.0.2.1", `flood ${i}`));
  all.push(ask("192.0.2.2", "other"), ask("2001:db8::1", "third"), ask("192.0.2.2", "other again"));
  await begin();
  await Promise.all(all);
  assert.equal(done.filter((name) => name.endsWith("refused")).length, 92);
  const served = done.filter((name) => !name.endsWith("refused"));
  assert.deepEqual(served.slice(0, 5), ["flood 0", "other", "third", "flood 1", "other again"]);
  assert.equal(served.length, 8 + 3);
});

test("an IPv6 network of 64 bits is one address", async () => {
  const { done, ask, begin } = made();
  const all = Array.from({ length: 20 }, (_, i) => ask(`2001:db8::${i}`, `${i}`));
  await begin();
  await Promise.all(all);
  assert.equal(done.filter((name) => name.endsWith("refused")).length, 12);
});

test("where all places are taken, the last of the longest line gives way to who has fewer", async () => {
  const { done, ask, begin } = made({
    atOnce: 1,
    atOncePerAddress: 1,
    waiting: 4,
    waitingPerAddress: 3,
  });
  const all = [1, 2, 3].map((i) => ask("a", `a${i}`));
  all.push(ask("b", "b1"), ask("c", "c1"), ask("d", "d1"), ask("b", "b2"), ask("e", "e1"));
  await begin();
  await Promise.all(all);
  assert.deepEqual(done.toSorted(), [
    "a1",
    "a2 refused",
    "a3 refused",
    "b1",
    "b2 refused",
    "c1",
    "d1",
    "e1 refused",
  ]);
});

test("whoever has nothing to wait for is refused before anything is done for it, and nobody else", async () => {
  const { line, ask, begin } = made({ ...LIMITS, waitingPerAddress: 2 });
  const all = [ask("a", "a1")];
  line.check("a"); // one waits, one more may
  all.push(ask("a", "a2"));
  assert.throws(() => line.check("a"));
  line.check("b");
  await begin();
  await Promise.all(all);
  line.check("a");
});

test("work that fails hands its place on", async () => {
  const { line, done, ask, begin } = made();
  const failing = line.run(OWN_WORK, "a", () => Promise.reject(new Error("x")));
  const next = ask("b", "b");
  const seen = assert.rejects(failing, /x/);
  await begin();
  await Promise.all([seen, next]);
  assert.deepEqual(done, ["b"]);
  await ask("c", "c");
  assert.deepEqual(done, ["b", "c"], "and nobody is left behind");
});

test("no address has all the places: one of another begins at once", async () => {
  const { line, done, ask, begin } = made({ ...LIMITS, atOnce: 2 });
  const own = ask("127.0.0.1", "own");
  await ask("192.0.2.1", "other");
  assert.deepEqual(done, ["other"], "while the first still has its place");
  await begin();
  await own;
  assert.deepEqual(done, ["other", "own"]);
  assert.equal(await line.run(OWN_WORK, "127.0.0.1", () => Promise.resolve(7)), 7);
});

test("a request that is refused when its turn comes, or before, hands its place on", async () => {
  const { line, done, ask, begin } = made({ ...LIMITS, waiting: 3 });
  const never = () => assert.fail("it ran");
  const revoked: Waiting = {
    waitFor: (turn) => turn.then(() => Promise.reject(new Error("gone"))),
  };
  const leaves: Waiting = { waitFor: () => Promise.reject(new Error("sealed")) };
  const seen = assert.rejects(line.run(revoked, "a", never), /gone/);
  for (let i = 0; i < 5; i++) await assert.rejects(line.run(leaves, "b", never), /sealed/);
  const all = [ask("b", "b"), ask("c", "c")]; // those that left are not counted
  await begin();
  await Promise.all([seen, ...all]);
  assert.deepEqual(done, ["b", "c"]);
  await ask("d", "d");
  assert.deepEqual(done, ["b", "c", "d"], "and the place is free");
});

test("tenants take turns, and those of a tenant within its own; who has the most gives way", async () => {
  const line = new FairLine(
    { atOnce: 1, atOncePerAddress: 1, waiting: 6, waitingPerAddress: 4, waitingWithin: 4 },
    () => new Error("full"),
  );
  const done: string[] = [];
  const { promise: held, resolve: begin } = Promise.withResolvers<void>();
  const ask = (within: string, client: string) =>
    line
      .run(OWN_WORK, client, () => Promise.resolve(void done.push(`${within}${client}`)), within)
      .catch(() => void done.push(`${within}${client} refused`));
  const all: Promise<void>[] = [line.run(OWN_WORK, "", () => held)];
  for (let i = 0; i < 5; i++) all.push(ask("A", "a")); // the fifth is too many for a tenant
  all.push(ask("A", "b")); // instead of the fourth
  all.push(ask("B", "a"), ask("B", "b")); // now all places are taken
  all.push(ask("C", "a")); // instead of one of the longest line, in the largest tenant
  all.push(ask("A", "c")); // has to take one of its own
  begin();
  await Promise.all(all);
  assert.deepEqual(done.filter((name) => name.endsWith("refused")).toSorted(), [
    "Aa refused",
    "Aa refused",
    "Aa refused",
    "Aa refused",
  ]);
  assert.deepEqual(
    done.filter((name) => !name.endsWith("refused")),
    ["Aa", "Ba", "Ca", "Ab", "Bb", "Ac"],
  );
  await ask("A", "a");
  assert.equal(done.at(-1), "Aa", "and nothing is left behind");
});

test("one whose place is given away while it leaves by itself is no fault of anybody", async () => {
  const { line, ask, begin } = made({ ...LIMITS, waiting: 2 });
  const leaves: Waiting = { waitFor: () => Promise.reject(new Error("sealed")) };
  const never = () => assert.fail("it ran");
  const left = [1, 2].map(() => assert.rejects(line.run(leaves, "a", never), /sealed/));
  const all = [ask("b", "b")]; // in the place of one that has not left yet
  await Promise.all(left);
  await begin();
  await Promise.all(all);
});
