// How much is kept of what was compiled, what is compiled again, and how a long compilation gives way
// to others without ever being used for what has changed meanwhile.

import assert from "node:assert/strict";
import test from "node:test";
import type { Sliced } from "@holdfast/shared/sliced";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { CompiledAcl, PolicyInForce } from "../acl/compile.ts";
import { decide } from "../acl/decide.ts";
import { parseAclDocument } from "../acl/document.ts";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { CompiledAcls } from "./compiled-acls.ts";

const NAMESPACE = ROOT_NAMESPACE;

function caller(policies: readonly string[], more: Partial<Caller> = {}): Caller {
  const never = { global: false, created: 0n, expires: null };
  const namespace = NAMESPACE;
  return { accessor: "a", type: "client", name: "", policies, namespace, ...never, ...more };
}

/** On its time each look at the clock takes long enough to end a step, once `slow`. */
class LookedAtClock extends FakeClock {
  slow = false;

  override elapsed(): bigint {
    if (this.slow) this.pass(3_000_000n);
    return super.elapsed();
  }
}

/** Steps are made when the test says so. */
class StepByStep {
  #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  step<T>(_: unknown, work: () => T): Promise<T> {
    return this.next().then(work);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async once(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async all(): Promise<void> {
    while (this.#waiting.length > 0) await this.once();
  }
}

interface Made {
  readonly acls: CompiledAcls;
  /** Names, in the order in which they were looked for. */
  readonly found: string[];
  /** Labels that each policy lets read; one that is not there counts as unknown. */
  readonly labels: Map<string, string>;
  readonly clock: LookedAtClock;
  readonly turns: StepByStep;
}

function made(policies: readonly string[] = []): Made {
  const found: string[] = [];
  const labels = new Map(policies.map((name) => [name, `kv/${name}`]));
  const clock = new LookedAtClock();
  const turns = new StepByStep();
  const find = function* (namespaceId: string, name: string): Sliced<PolicyInForce | null> {
    found.push(name);
    const label = labels.get(name);
    if (label === "damaged") throw new Error("the stored policy cannot be read");
    if (label === undefined) return null;
    yield;
    const document = parseAclDocument(`path "${label}" { policy = "read" }`);
    return { name, namespaceId, document, written: 1n, expires: null };
  };
  return { acls: new CompiledAcls({ find, clock, turns }), found, labels, clock, turns };
}

/** What is there at once. */
function atOnce(acls: CompiledAcls, who: Caller): CompiledAcl {
  const acl = acls.aclFor(who, NAMESPACE);
  assert.ok(!(acl instanceof Promise), "it has to be waited for");
  return acl;
}

function waitedFor(acls: CompiledAcls, who: Caller): Promise<void> {
  const ready = acls.aclFor(who, NAMESPACE);
  assert.ok(ready instanceof Promise, "it is there at once");
  return ready;
}

function reads(acl: CompiledAcl, path: string): boolean {
  return decide(acl, { path, capability: "read", sudo: false, data: {}, wrapTtl: null }).allowed;
}

test("one compiled set serves every token with the same policies, in any order and case", () => {
  const { acls, found } = made();
  const first = atOnce(acls, caller(["a", "b"]));
  assert.equal(atOnce(acls, caller(["B", "a", "b"])), first);
  assert.deepEqual(found, ["default", "a", "b"]);
});

test("a token made without the default policy does not share a set with those that have it", () => {
  const { acls, found } = made();
  const first = atOnce(acls, caller(["a"], { withoutDefault: true }));
  assert.deepEqual(found, ["a"]);
  assert.notEqual(atOnce(acls, caller(["a"])), first);
});

test("a change compiles anew the sets that hold the policy, and no other", () => {
  const { acls, found } = made();
  const [one, two] = [caller(["a"]), caller(["b"])];
  atOnce(acls, one);
  atOnce(acls, two);
  acls.forget("root", "a");
  acls.forget("elsewhere", "b");
  found.length = 0;
  atOnce(acls, two);
  assert.deepEqual(found, []);
  atOnce(acls, one);
  assert.deepEqual(found, ["default", "a"]);
});

test("T-B25: the compiled sets of ever new tokens stay bounded, and a hot one stays", () => {
  const { acls, found } = made();
  const hot = caller(["hot"]);
  for (let i = 0; i < 5_000; i += 1) {
    atOnce(acls, caller([`p${i}`]));
    atOnce(acls, hot);
  }
  assert.ok(acls.size <= 1_024);
  assert.equal(found.filter((name) => name === "hot").length, 1);
});

const MANY = ["a", "b", "c", "d", "e", "f"];

test("what takes long is compiled a step at a time, once for all who ask meanwhile", async () => {
  const { acls, found, clock, turns } = made(MANY);
  clock.slow = true;
  const [one, two] = [caller(MANY), caller(MANY.toReversed(), { accessor: "b" })];
  const ready = waitedFor(acls, one);
  assert.equal(waitedFor(acls, two), ready);
  assert.ok(found.length < MANY.length);
  await turns.once();
  assert.ok(found.length < MANY.length);
  await turns.all();
  await ready;
  assert.deepEqual(found, ["default", ...MANY]);
  const acl = atOnce(acls, one);
  assert.equal(atOnce(acls, two), acl);
  assert.ok(MANY.every((name) => reads(acl, `kv/${name}`)));
});

test("while one set is compiled in steps, another waits for its turn, however small it is", async () => {
  const { acls, clock, turns } = made(MANY);
  clock.slow = true;
  const large = waitedFor(acls, caller(MANY));
  clock.slow = false;
  const small = waitedFor(acls, caller(["a"]));
  await turns.all();
  await Promise.all([large, small]);
  assert.equal(reads(atOnce(acls, caller(["a"])), "kv/a"), true);
});

test("a policy that changes after it went in is not lost: all who wait ask again", async () => {
  const { acls, found, labels, clock, turns } = made(MANY);
  clock.slow = true;
  const who = caller(MANY);
  const early = waitedFor(acls, who);
  while (!found.includes("c")) await turns.once();
  labels.set("a", "kv/changed");
  acls.forget("root", "a");
  const late = waitedFor(acls, who);
  assert.notEqual(late, early); // who comes after the change does not wait for what began before
  await turns.all();
  await Promise.all([early, late]);
  const acl = atOnce(acls, who);
  assert.deepEqual([reads(acl, "kv/a"), reads(acl, "kv/changed")], [false, true]);
});

test("a policy that changes at the very last step is not lost", async () => {
  const { acls, found, labels, clock, turns } = made(MANY);
  clock.slow = true;
  const who = caller(MANY);
  const ready = waitedFor(acls, who);
  while (!found.includes("f")) await turns.once();
  assert.equal(turns.waiting, 1);
  labels.delete("f");
  acls.forget("root", "f");
  await turns.all();
  await ready;
  clock.slow = false;
  assert.equal(reads(atOnce(acls, who), "kv/f"), false);
});

test("a policy that changes before it went in goes in as it is then, and nothing is begun again", async () => {
  const { acls, found, labels, clock, turns } = made(MANY);
  clock.slow = true;
  const who = caller(MANY);
  const ready = waitedFor(acls, who);
  await turns.once();
  assert.ok(!found.includes("f"));
  labels.set("f", "kv/changed");
  acls.forget("root", "f");
  assert.equal(waitedFor(acls, who), ready);
  await turns.all();
  await ready;
  assert.equal(found.length, MANY.length + 1);
  assert.equal(reads(atOnce(acls, who), "kv/changed"), true);
});

test("a policy that changes all the time holds up nobody for ever: it goes in last", async () => {
  const { acls, found, clock, turns } = made(MANY);
  clock.slow = true;
  const who = caller(MANY);
  const first = waitedFor(acls, who);
  while (!found.includes("b")) await turns.once();
  acls.forget("root", "a");
  await turns.all();
  await first;
  found.length = 0;
  const second = waitedFor(acls, who);
  while (!found.includes("f")) {
    acls.forget("root", "a");
    await turns.once();
  }
  await turns.all();
  await second;
  assert.equal(found.at(-1), "a");
  assert.equal(found.length, MANY.length + 1); // once each
  atOnce(acls, who);
});

test("tokens whose labels are filled in wait for the first and get their own", async () => {
  const { acls, labels, clock, turns } = made(MANY);
  labels.set("c", "kv/{{token.name}}");
  labels.set("d", "kv/{{ token.meta.team }}/x");
  const behind = (name: string, metadata: Record<string, string>) => ({
    origin: { namespaceId: "root", mount: null, login: "", name, metadata },
  });
  const ann = caller(MANY, behind("ann", { team: "red" }));
  // What its maker has called it opens nothing.
  const bob = caller(MANY, { name: "ann", ...behind("bob", { colour: "red" }) });
  clock.slow = true;
  const both = [waitedFor(acls, ann), waitedFor(acls, bob)];
  await turns.all();
  await Promise.all(both);
  clock.slow = false;
  const paths = ["kv/ann", "kv/bob", "kv/red/x"];
  const of = (who: Caller) => paths.map((path) => reads(atOnce(acls, who), path));
  assert.deepEqual(
    [of(ann), of(bob)],
    [
      [true, false, true],
      [false, true, false],
    ],
  );
  const moved = { ...bob, ...behind("bob", { team: "red" }) };
  assert.deepEqual(of(moved), [false, true, true]);
});

test("a policy that cannot be read fails all who wait, and the next asks for it again", async () => {
  const { acls, labels, clock, turns } = made(MANY);
  labels.set("e", "damaged");
  clock.slow = true;
  const who = caller(MANY);
  const failed = assert.rejects(waitedFor(acls, who), /cannot be read/);
  await turns.all();
  await failed;
  labels.set("e", "kv/e");
  clock.slow = false;
  assert.equal(reads(atOnce(acls, who), "kv/e"), true);
});

test("what was under way when everything was forgotten is not used", async () => {
  const { acls, found, labels, clock, turns } = made(MANY);
  clock.slow = true;
  const who = caller(MANY);
  const ready = waitedFor(acls, who);
  while (!found.includes("c")) await turns.once();
  acls.clear();
  labels.delete("a"); // nobody tells it: it does not listen any more
  await turns.all();
  await ready;
  clock.slow = false;
  assert.equal(reads(atOnce(acls, who), "kv/a"), false);
});

test("a cache is bounded by number and by cost, and always keeps the newest", () => {
  const cache = new BoundedCache<number>({ entries: 3, cost: 10 });
  for (const [i, key] of ["a", "b", "c", "d"].entries()) cache.put(key, i, 1);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => cache.get(key)),
    [undefined, 1, 2, 3],
  );
  cache.put("b", 5, 9);
  assert.equal(cache.get("b"), 5);
  assert.equal(cache.size, 2);
  cache.put("huge", 6, 1_000);
  assert.equal(cache.size, 1);
  assert.equal(cache.get("huge"), 6);
  cache.drop("huge");
  cache.put("x", 1, 10);
  assert.equal(cache.get("x"), 1); // the cost of what went is gone too
  cache.clear();
  assert.equal(cache.size, 0);
});
