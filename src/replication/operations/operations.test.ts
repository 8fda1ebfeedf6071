// Operation tokens and tickets between two clusters with the same keys: the real store of one that has joined, which
// follows and takes rows below core/ alone.

import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { uncovered } from "../../../tests/support/covered-token.ts";
import {
  failure,
  give,
  makeNode,
  opened,
  type TestNode,
} from "../../../tests/support/servers/sealed-node.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { MemoryDisk, MemoryEngine } from "../../storage/engines/memory.ts";
import { SystemRandom } from "../../system/random.ts";
import { makeJoinedStore } from "../joining/joined-keys.ts";
import { bundleOf, openBundle, sealBundle } from "../joining/key-bundle.ts";
import { Operations } from "./operations.ts";
import { ticketText } from "./ticket.ts";

const random = new SystemRandom();
const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const MEMBER = { set: SET, kind: "dr", id: "berlin" } as const;
const CLUSTER = { name: "berlin-1", id: "0b8e2f3e-0000-4000-8000-000000000001" };
const TWO = { secretShares: 3, secretThreshold: 2 };
const ADDRESS = "192.0.2.1";

function operationsOf(
  node: TestNode,
  mode: "primary" | "secondary" | "disabled",
  set = SET,
  operationTokenMaxAge = 0n,
  epoch = 1,
  isFenced = false,
) {
  const { barrier, keeper, clock, log } = node;
  const core = barrier.view("core/");
  return new Operations({
    node: core,
    barrier,
    keeper,
    clock,
    random,
    log,
    operationTokenMaxAge,
    operationTokenAuth: "open",
    role: () => ({ mode, set, epoch, isFenced }),
  });
}

/** A primary, and a cluster that has joined it, unsealed and following. */
async function pair() {
  const { node: primary, shares } = await opened(TWO);
  const { privateKey, publicKey } = makeHpkeKeys(random);
  const sealed = sealBundle(bundleOf(primary), publicKey, MEMBER, random);
  const bundle = openBundle(sealed, privateKey, MEMBER);
  const disk = new MemoryDisk();
  const timers = { after: () => ({ cancel: () => {} }), turn: () => Promise.resolve() };
  const { clock, log } = primary;
  const world = { clock, timers, random, log };
  const own = { cluster: CLUSTER, sealKey: null };
  await makeJoinedStore(new MemoryEngine(disk), bundle, own, world, () => {});
  const secondary = makeNode({ disk });
  await secondary.store.follow();
  await give(secondary, shares.slice(0, 2));
  assert.equal(secondary.keeper.sealed, false);
  return {
    primary,
    secondary,
    shares,
    there: operationsOf(primary, "primary"),
    here: operationsOf(secondary, "secondary"),
  };
}

async function tokenOf(operations: Operations, shares: readonly string[]): Promise<string> {
  const { nonce, otp } = await operations.start({}, ADDRESS);
  let last = null;
  for (const key of shares.slice(0, 2)) last = await operations.update({ key, nonce }, ADDRESS);
  return uncovered(last?.encodedToken ?? "", otp?.reveal() ?? "");
}

function holder(judged: ReturnType<Operations["judge"]>): Caller {
  assert.ok(judged !== null);
  return judged.caller;
}

test("on a store that follows, the shares of the primary make an operation token, which is good there alone", async () => {
  const { here, there, secondary, shares } = await pair();
  const now = secondary.clock.now();
  const token = await tokenOf(here, shares);
  const caller = holder(here.judge(token, "promote", now));
  assert.deepEqual([caller.name, caller.expires], ["operation token", null]);
  assert.equal(there.judge(token, "promote", now), null);
  assert.equal(secondary.store.index, 0n, "no entry was made");
  const index = secondary.store.index;
  await here.delete(caller);
  assert.equal(here.judge(token, "promote", now), null);
  assert.equal(secondary.store.index, index);
});

test("what is stored of a token is no token, and does not tell it", async () => {
  const { here, secondary, shares } = await pair();
  const token = await tokenOf(here, shares);
  const view = secondary.barrier.view("core/");
  const codec = jsonCodec<Record<string, string>>();
  const stored = view.records("replication/operation-tokens/", codec, { limit: 10 });
  assert.equal(stored.length, 1);
  const text = JSON.stringify(stored);
  assert.ok(!text.includes(token));
  const { salt = "", hash = "" } = stored[0]?.value ?? {};
  for (const guess of [salt, hash, "", token.slice(1), `${token} `]) {
    assert.equal(here.judge(guess, "promote", 0n), null);
  }
});

test("a ticket of the primary is good on the secondary for what it names, and as long as it says", async () => {
  const { here, there, secondary } = await pair();
  const { clock } = secondary;
  const { text, expires, id } = there.issue(["promote", "reindex"], HOUR);
  assert.equal(expires - (expires % SECOND), expires);
  for (const operation of ["promote", "reindex"] as const) {
    const caller = holder(here.judge(text, operation, clock.now()));
    assert.deepEqual([caller.name, caller.accessor], ["operator ticket", id]);
  }
  assert.equal(here.judge(text, "disable", clock.now()), null);
  assert.equal(here.judge(text, "promote", expires), null);
  assert.ok(here.judge(text, "promote", expires - 1n) !== null);
  const begins = expires - HOUR;
  assert.ok(here.judge(text, "promote", begins - MINUTE) !== null, "clocks differ by a minute");
  assert.equal(here.judge(text, "promote", begins - MINUTE - 1n), null);
});

test("a ticket of another set, or of another root key, is none", async () => {
  const { here, secondary, primary } = await pair();
  const now = secondary.clock.now();
  const elsewhere = operationsOf(primary, "primary", "another-set");
  assert.equal(here.judge(elsewhere.issue(["promote"], HOUR).text, "promote", now), null);
  const stranger = operationsOf((await opened(TWO)).node, "primary");
  assert.equal(here.judge(stranger.issue(["promote"], HOUR).text, "promote", now), null);
});

test("no other spelling of a ticket is taken, and none that is longer than there are", async () => {
  const { here, there, secondary } = await pair();
  const now = secondary.clock.now();
  const { text } = there.issue(["seal"], HOUR);
  const [prefix = "", body = "", mac = ""] = text.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const other of [
    `${prefix}.${encoded({ ...claims, operations: ["promote"] })}.${mac}`,
    `${prefix}.${body}.`,
    `${prefix}.${body}`,
    `${prefix}.${body}.${mac}.`,
    `${prefix}.${body}.${mac}=`,
    `${prefix}.${body}=.${mac}`,
    `${prefix}.${body}.${mac.slice(0, -2)}`,
    `${prefix}..`,
    `${text}${"A".repeat(2048)}`,
    text.toUpperCase(),
  ]) {
    for (const operation of ["promote", "seal"] as const) {
      assert.equal(here.judge(other, operation, now), null, other.slice(0, 40));
    }
  }
  assert.ok(here.judge(text, "seal", now) !== null);
});

test("what is authentic and says something else than a ticket does is none", async () => {
  const { here, primary, secondary } = await pair();
  const now = secondary.clock.now();
  const good = {
    id: random.uuid(),
    set: SET,
    epoch: 1,
    operations: ["seal"],
    notBefore: now,
    expires: now + HOUR,
  };
  const text = (changed: object) =>
    ticketText(primary.barrier.rootKey, { ...good, ...changed } as never);
  assert.ok(here.judge(text({}), "seal", now) !== null);
  for (const changed of [
    { id: "../live/x" },
    { id: "" },
    { set: 7 },
    { epoch: "1" },
    { epoch: 0 },
    { operations: "seal" },
    { operations: ["everything"] },
    { operations: [] },
    { expires: 0n },
    { notBefore: -now },
  ]) {
    assert.equal(
      here.judge(text(changed), "seal", now),
      null,
      JSON.stringify(Object.keys(changed)),
    );
  }
});

test("a ticket that was spent is remembered until it expires, and goes then", async () => {
  const { here, there, secondary, primary } = await pair();
  const { clock, barrier } = secondary;
  const core = barrier.view("core/");
  const short = there.issue(["promote", "disable"], MINUTE);
  const spend = (caller: Caller) => core.write((tx) => here.spend(tx, caller));
  await spend(holder(here.judge(short.text, "promote", clock.now())));
  for (const operation of ["promote", "disable"] as const) {
    assert.equal(here.judge(short.text, operation, clock.now()), null);
  }
  const spent = () => core.keys("replication/operation-tokens/spent/", { limit: 10 });
  assert.equal(spent().length, 1);
  clock.ahead += HOUR;
  primary.clock.ahead += HOUR;
  const next = there.issue(["promote"], MINUTE);
  await spend(holder(here.judge(next.text, "promote", clock.now())));
  assert.deepEqual(spent(), [`replication/operation-tokens/spent/${next.id}`]);
});

test("what another ticket has spent stays spent, and of six operation tokens the oldest is gone", async () => {
  const { here, there, secondary, shares } = await pair();
  const { clock, barrier } = secondary;
  const core = barrier.view("core/");
  const tickets = [there.issue(["disable"], HOUR).text, there.issue(["disable"], HOUR).text];
  for (const text of tickets) {
    const caller = holder(here.judge(text, "disable", clock.now()));
    await core.write((tx) => here.spend(tx, caller));
  }
  for (const text of tickets) assert.equal(here.judge(text, "disable", clock.now()), null);
  const tokens: string[] = [];
  for (let i = 0; i < 6; i++) {
    tokens.push(await tokenOf(here, shares));
    clock.ahead += MINUTE;
  }
  const isGood = (token: string) => here.judge(token, "promote", clock.now()) !== null;
  assert.deepEqual(tokens.map(isGood), [false, true, true, true, true, true]);
});

test("a ticket promotes nobody where a later epoch is known than it is of, and is good for the rest", async () => {
  const { there, secondary } = await pair();
  const { text } = there.issue(["promote", "read"], HOUR);
  const later = operationsOf(secondary, "secondary", SET, 0n, 2);
  const now = secondary.clock.now();
  assert.equal(later.judge(text, "promote", now), null);
  assert.match(later.refusal(text, "promote", now) ?? "", /before another cluster of the set was/);
  assert.ok(later.judge(text, "read", now) !== null);
});

test("an operation token is not spent, and all of them go in the transaction that ends the role", async () => {
  const { here, secondary, shares } = await pair();
  const { barrier, clock } = secondary;
  const core = barrier.view("core/");
  const tokens = [await tokenOf(here, shares), await tokenOf(here, shares)];
  const judged = () => tokens.map((token) => here.judge(token, "disable", clock.now()) !== null);
  await core.write((tx) => here.spend(tx, holder(here.judge(tokens[0] ?? "", "promote", 0n))));
  assert.deepEqual(judged(), [true, true]);
  await assert.rejects(
    core.write((tx) => {
      here.revokeAll(tx);
      throw new Error("the role stays");
    }),
  );
  assert.deepEqual(judged(), [true, true]);
  await core.write((tx) => here.revokeAll(tx));
  assert.deepEqual(judged(), [false, false]);
});

test("tickets of before a change of the role are not taken after it, those of later are", async () => {
  const { here, there, secondary, primary } = await pair();
  const { clock, barrier } = secondary;
  const { text } = there.issue(["promote"], HOUR);
  assert.ok(here.judge(text, "promote", clock.now()) !== null);
  await barrier.view("core/").write((tx) => here.revokeAll(tx));
  assert.equal(here.judge(text, "promote", clock.now()), null);
  // In the same second: by epochs, not by clocks.
  assert.equal(here.judge(there.issue(["promote"], HOUR).text, "promote", clock.now()), null);
  const later = operationsOf(primary, "primary", SET, 0n, 2).issue(["promote"], HOUR);
  assert.ok(here.judge(later.text, "promote", clock.now()) !== null);
});

test("only a primary issues tickets, and for what there is", async () => {
  const { here, there, primary } = await pair();
  const not = failure("invalid", /not a primary/);
  const issue = (operations: Operations) => async () => operations.issue(["promote"], HOUR);
  await assert.rejects(issue(here), not);
  await assert.rejects(issue(operationsOf(primary, "disabled")), not);
  const fenced = operationsOf(primary, "primary", SET, 0n, 1, true);
  await assert.rejects(issue(fenced), failure("unavailable", /fenced/));
  for (const names of [[], ["demote"], ["promote", "everything"], [""]]) {
    assert.throws(() => there.issue(names, HOUR), failure("invalid", /one or several of promote,/));
  }
  assert.deepEqual(there.issue(["seal", "promote", "seal"], DAY).operations, ["promote", "seal"]);
});

test("an operation token ends where its age is bounded, and is good until then", async () => {
  const { secondary, shares, here } = await pair();
  const { clock } = secondary;
  const bounded = operationsOf(secondary, "secondary", SET, HOUR);
  const token = await tokenOf(here, shares);
  assert.notEqual(bounded.judge(token, "promote", clock.now()), null);
  clock.ahead += HOUR;
  assert.equal(bounded.judge(token, "promote", clock.now()), null);
  assert.notEqual(here.judge(token, "promote", clock.now()), null);
});

test("of two requests with one ticket the second changes nothing", async () => {
  const { here, there, secondary } = await pair();
  const core = secondary.barrier.view("core/");
  const { text } = there.issue(["update-primary"], MINUTE);
  const caller = holder(here.judge(text, "update-primary", secondary.clock.now()));
  await core.write((tx) => here.spend(tx, caller));
  await assert.rejects(
    core.write((tx) => here.spend(tx, caller)),
    failure("denied", /used already/),
  );
});
