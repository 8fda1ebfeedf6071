// Going through the door: once, once more for each reset, and only for whom it is open.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  CLIENT,
  keysBelow,
  type MadeTokens,
  madeTokens,
  refused,
  restarted,
  secretOf,
} from "../../../tests/support/made/made-tokens.ts";
import { type MemoryFiles, memoryFiles } from "../../../tests/support/memory-files.ts";
import { putBootstrap } from "./bootstrap.ts";
import type { TokensOptions } from "../tokens.ts";

const SECRET = "aaaaaaaa-2222-4333-8444-555555555555";
const PATH = "/data/server/acl-bootstrap-reset";
const NEAR = { loopback: true };
const FAR = { loopback: false };

interface Door extends MadeTokens {
  readonly fs: MemoryFiles;
}

async function openDoor(more: Partial<TokensOptions> = {}): Promise<Door> {
  const fs = memoryFiles({});
  const made = await madeTokens({ resetFile: { fs, path: PATH }, ...more });
  await made.barrier
    .view("shared/")
    .write((tx) => putBootstrap(tx, { open: true, resetIndex: null }));
  return { ...made, fs };
}

async function run(tokens: MadeTokens["tokens"], secret?: string) {
  const { token } = await tokens.bootstrap.run({ secret, remote: FAR });
  return token;
}

test("the first caller gets a global management token that never expires", async () => {
  const { tokens, store } = await openDoor();
  const { token, warnings } = await tokens.bootstrap.run({ remote: FAR });
  const { name, type, global, policies, expires, ttl } = token;
  assert.deepEqual(
    { name, type, global, policies, expires, ttl },
    {
      name: "Bootstrap Token",
      type: "management",
      global: true,
      policies: [],
      expires: null,
      ttl: null,
    },
  );
  assert.equal(token.createIndex, store.index);
  assert.equal(token.modifyIndex, store.index);
  assert.deepEqual(warnings, []);
  assert.equal(tokens.find(secretOf(token))?.type, "management");
  assert.equal(tokens.bootstrapOpen, false);
});

test("an empty secret is none, and a UUID is the secret", async () => {
  const empty = await openDoor();
  assert.match(secretOf(await run(empty.tokens, "")), /^[0-9a-f-]{36}$/);
  const chosen = await openDoor();
  assert.equal(secretOf(await run(chosen.tokens, SECRET.toUpperCase())), SECRET);
  assert.ok(chosen.tokens.find(SECRET));
});

test("a secret that is no UUID or somebody's is refused, and the door stays open", async () => {
  const { tokens } = await openDoor();
  const other = await tokens.writes.create(CLIENT);
  const wrong = ["abc", ` ${SECRET}`, "00000000-0000-0000-0000-000000000000", secretOf(other)];
  for (const secret of wrong) {
    await assert.rejects(run(tokens, secret), refused("invalid acl token"));
    assert.equal(tokens.bootstrapOpen, true);
  }
  assert.ok(await run(tokens, SECRET));
});

test("a second call is told the index by which it could be reset, before its secret is looked at", async () => {
  const { tokens } = await openDoor();
  const { createIndex } = await run(tokens);
  const text = `ACL bootstrap already done (reset index: ${createIndex})`;
  for (const secret of [undefined, "", "abc", SECRET]) {
    await assert.rejects(run(tokens, secret), refused(text));
  }
});

test("T-B19: of fifty callers at once one wins, and the others are told so", async () => {
  const made = await openDoor();
  const calls = Array.from({ length: 50 }, () => run(made.tokens));
  const results = await Promise.allSettled(calls);
  const won = results.filter(({ status }) => status === "fulfilled");
  assert.equal(won.length, 1);
  for (const result of results) {
    if (result.status === "rejected") {
      assert.ok(result.reason instanceof Failure && result.reason.code === "already_bootstrapped");
    }
  }
  assert.equal(keysBelow(made, "shared/ns/root/tokens/by-accessor/").length, 1);
});

test("a reset file opens the door once, is kept under another name, and older tokens stay", async () => {
  const { tokens, fs, world } = await openDoor();
  const first = await run(tokens);
  fs.texts.set(PATH, `${first.createIndex}\n`);
  const { token, warnings } = await tokens.bootstrap.run({ secret: SECRET, remote: FAR });
  assert.equal(secretOf(token), SECRET);
  assert.match(warnings.join(), /management tokens among them, are still valid/);
  assert.ok(world.lines.some((line) => line.includes("ACL bootstrap was reset")));
  assert.ok(tokens.find(secretOf(first)));
  assert.deepEqual([...fs.texts], [[`${PATH}.used`, `${first.createIndex}\n`]]);
  await assert.rejects(
    run(tokens),
    refused(`ACL bootstrap already done (reset index: ${token.createIndex})`),
  );
  fs.texts.set(PATH, `${first.createIndex}\n`);
  const text = `Invalid bootstrap reset index (specified ${first.createIndex}, reset index: ${token.createIndex})`;
  await assert.rejects(run(tokens), refused(text));
  assert.ok(fs.texts.has(PATH)); // a file that did nothing stays
});

test("T-B19: a reset lets one of many callers through", async () => {
  const { tokens, fs } = await openDoor();
  fs.texts.set(PATH, String((await run(tokens)).createIndex));
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => run(tokens)));
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
});

test("a reset file that is none counts as absent, and the log says why", async () => {
  const { tokens, fs, world } = await openDoor();
  const { createIndex } = await run(tokens);
  for (const text of ["", "yes", "-1", `${createIndex} ${createIndex}`, "1".repeat(65), "0x1"]) {
    fs.texts.set(PATH, text);
    await assert.rejects(run(tokens), refused(/ACL bootstrap already done/), text);
  }
  assert.equal(world.lines.filter((line) => line.includes("does not hold a number")).length, 5);
  assert.ok(world.lines.some((line) => line.includes("cannot be read")));
});

test("a reset whose file cannot be renamed still counts, and opens nothing twice", async () => {
  const fs = memoryFiles({});
  const stuck = {
    ...fs,
    replace: () => {
      throw new Failure("unavailable", "file-unwritable", "the disk is full");
    },
  };
  const { tokens, world } = await openDoor({ resetFile: { fs: stuck, path: PATH } });
  fs.texts.set(PATH, String((await run(tokens)).createIndex));
  assert.ok(await run(tokens));
  assert.ok(world.lines.some((line) => line.includes("could not be renamed")));
  await assert.rejects(run(tokens), refused(/Invalid bootstrap reset index/));
});

test("a crash between the new token and the renaming of the file opens nothing twice", async () => {
  const before = await openDoor();
  const { createIndex } = await run(before.tokens);
  before.fs.texts.set(PATH, String(createIndex));
  await run(before.tokens);
  const fs = memoryFiles({ [PATH]: String(createIndex) }); // as if it had not been renamed
  const { tokens } = await restarted(before, { resetFile: { fs, path: PATH } });
  await assert.rejects(run(tokens), refused(/Invalid bootstrap reset index/));
});

test("a crash before the token is durable leaves the door open", async () => {
  const before = await openDoor();
  before.engine.hold();
  void run(before.tokens).catch(() => {});
  const { tokens } = await restarted(before);
  assert.equal(tokens.bootstrapOpen, true);
  assert.ok(await run(tokens));
});

test("acl.bootstrap narrows the door to loopback, or shuts it", async () => {
  const narrow = await openDoor({ bootstrap: "loopback" });
  const far = narrow.tokens.bootstrap.run({ remote: FAR });
  await assert.rejects(far, refused(/^Permission denied: .*loopback/, "denied"));
  assert.ok(await narrow.tokens.bootstrap.run({ remote: NEAR }));
  const shut = await openDoor({ bootstrap: "closed" });
  const near = shut.tokens.bootstrap.run({ remote: NEAR });
  await assert.rejects(near, refused(/^Permission denied: bootstrap is closed/, "denied"));
  assert.equal(shut.tokens.bootstrapOpen, false); // nobody can use it, so nobody is warned
  assert.ok(!shut.world.lines.some((line) => line.includes("ACL bootstrap is open")));
});
