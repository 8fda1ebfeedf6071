// Transactions that plugins of one family of the ecosystem begin and end by calls of their own, over the real wire.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

type Calls = readonly (readonly string[])[];
const CHANGED = "the transaction cannot be committed: what it has read was changed since";
const GONE =
  "there is no such transaction: it was committed, rolled back, or left alone for five minutes";

async function mounted(t: Parameters<typeof PluginServer.start>[0]) {
  const server = await PluginServer.start(t);
  await server.register();
  assert.equal((await server.mount("small")).status, 204);
  return async (...calls: Calls) =>
    at(await server.ok("POST", "small/storage", { calls }), "data", "said") as unknown[];
}

test("a transaction sees what it writes and nobody else does, until it is committed; one that is rolled back leaves nothing", async (t) => {
  const say = await mounted(t);
  assert.deepEqual(await say(["transactional"]), [true]);
  await say(["put", "", "a", "1"], ["put", "", "d/x", "1"], ["put", "", "d/y/z", "1"]);
  const said = await say(
    ["begin", "one"],
    ["get", "one", "a"],
    ["put", "one", "a", "2"],
    ["put", "one", "b/c", "new"],
    ["delete", "one", "d/y/z"],
    ["get", "one", "a"],
    ["get", "one", "d/y/z"],
    ["list", "one", ""],
    ["list", "one", "d/"],
    ["page", "one", "", "a 1"],
    ["get", "", "a"],
    ["get", "", "b/c"],
    ["list", "", "d/"],
    ["commit", "one"],
    ["get", "", "a"],
    ["get", "", "b/c"],
    ["list", "", "d/"],
    ["get", "one", "a"],
    ["commit", "one"],
  );
  assert.deepEqual(said, [
    "",
    "1",
    "",
    "",
    "",
    "2",
    null,
    ["a", "b/", "begun", "d/"],
    ["x"],
    ["b/"],
    "1",
    null,
    ["x", "y/"],
    "",
    "2",
    "new",
    ["x"],
    GONE,
    GONE,
  ]);
  const undone = await say(
    ["begin", "two"],
    ["put", "two", "a", "3"],
    ["delete", "two", "b/c"],
    ["roll back", "two"],
    ["get", "", "a"],
    ["get", "", "b/c"],
    ["roll back", "two"],
  );
  assert.deepEqual(undone, ["", "", "", "", "2", "new", GONE]);
});

test("of two that have read the same one is committed, also where what they have read is a list or that there is nothing; writing blindly disturbs nobody", async (t) => {
  const say = await mounted(t);
  await say(["put", "", "n", "1"], ["put", "", "l/a", "1"]);
  const read: Calls = [
    ["get", "T", "n"],
    ["get", "T", "none"],
    ["list", "T", "l/"],
  ];
  const others: Calls = [
    ["put", "other", "n", "9"],
    ["put", "other", "none", "9"],
    ["put", "other", "l/b", "9"],
  ];
  for (const [i, looked] of read.entries()) {
    const [what = "", , key = ""] = looked;
    const said = await say(
      ["begin", "T"],
      [what, "T", key],
      ["put", "T", "result", String(i)],
      ["begin", "other"],
      others[i] ?? [],
      ["commit", "other"],
      ["commit", "T"],
      ["get", "", "result"],
    );
    assert.deepEqual([said[5], said[6], said[7]], ["", CHANGED, null], `${what} ${key}`);
  }
  const blind = await say(
    ["begin", "T"],
    ["put", "T", "n", "blind"],
    ["put", "", "n", "before"],
    ["commit", "T"],
    ["get", "", "n"],
  );
  assert.deepEqual(blind.slice(3), ["", "blind"]);
});

test("what one reads is of one moment, also where it only reads; it writes nothing then, and nobody writes there while it is set up", async (t) => {
  const say = await mounted(t);
  await say(["put", "", "a", "1"], ["put", "", "b", "1"]);
  const said = await say(
    ["begin to read", "R"],
    ["get", "R", "a"],
    ["put", "R", "a", "2"],
    ["get", "R", "b"],
    ["put", "", "c", "x"], // of which it has read nothing
    ["get", "R", "begun"],
    ["put", "", "a", "2"],
    ["get", "R", "a"],
    ["list", "R", "d/"],
    ["commit", "R"],
    ["begin to read", "one"],
    ["get", "one", "a"],
    ["commit", "one"],
  );
  assert.deepEqual(said, [
    "",
    "1",
    "cannot write in a read-only transaction",
    "1",
    "",
    "yes",
    "",
    "1",
    CHANGED,
    CHANGED,
    "",
    "2",
    "",
  ]);
});

test("keys of this cluster alone and others are not written together; transactions, what they read and how long they are left alone have bounds", async (t) => {
  const say = await mounted(t);
  const both = await say(
    ["begin", "T"],
    ["put", "T", "a", "1"],
    ["put", "T", "here/a", "1"],
    ["get", "T", "here/b"],
    ["put", "", "here/b", "2"],
    ["commit", "T"],
  );
  assert.deepEqual(both, [
    "",
    "",
    "a transaction writes keys of this cluster alone, or others, and not both",
    null,
    "",
    CHANGED,
  ]);
  const here = await say(
    ["begin", "T"],
    ["put", "T", "here/c", "1"],
    ["commit", "T"],
    ["get", "", "here/c"],
  );
  assert.deepEqual(here.slice(2), ["", "1"]);
  const many = await say(
    ["begin", "T"],
    ...Array.from({ length: 1001 }, (_, i) => ["get", "T", `k${i}`]),
  );
  assert.equal(many.at(-2), null);
  assert.equal(many.at(-1), "a transaction reads at most 1000 keys and lists");
  const begun = await say(...Array.from({ length: 64 }, (_, i) => ["begin", `t${i}`]));
  assert.deepEqual(new Set(begun), new Set(["", "there are 64 transactions already"]));
});
