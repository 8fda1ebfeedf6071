// Stored policies: what is kept of them, before and after a restart, and what is refused.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { utf8 } from "@holdfast/shared/bytes";
import { type RequestContext, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  unsealed,
} from "../../tests/support/made/made-barrier.ts";
import type { Turns } from "@holdfast/shared/sliced";
import { Policies } from "./policies.ts";

const ROOT = ROOT_NAMESPACE.id;

interface Made extends MadeBarrier {
  readonly policies: Policies;
}

function over(made: MadeBarrier): Made {
  const { barrier, world } = made;
  const policies = new Policies({ shared: barrier.view("shared/"), clock: world.clock });
  return { ...made, policies };
}

async function madePolicies(): Promise<Made> {
  const made = over(await madeBarrier());
  await made.barrier.view("shared/").write((tx) => made.policies.created(tx));
  return made;
}

function reading(...labels: readonly string[]): string {
  return labels.map((label) => `path "${label}" { capabilities = ["read"] }`).join("\n");
}

function refused(says: string | RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Failure && error.kind === "invalid", String(error));
    if (typeof says === "string") assert.equal(error.message, says);
    else assert.match(error.message, says);
    return true;
  };
}

test("what was written is there after a crash, with its version and its index", async () => {
  const before = await madePolicies();
  const text = reading("kv/*");
  await before.policies.write(ROOT, { name: "dev", text });
  await before.policies.write(ROOT, { name: "dev", text: `# again\n${text}` });
  const index = before.store.index;
  const { policies, barrier } = over(await crashed(before));
  assert.equal(unsealed(barrier), true);
  const record = policies.read(ROOT, "dev");
  assert.equal(record?.text, `# again\n${text}`);
  assert.equal(record?.version, 2);
  assert.equal(record?.written, index);
});

test("a name has one form, which the path gives it: another spelling is none here", async () => {
  const { policies } = await madePolicies();
  await policies.write(ROOT, { name: "dev", text: reading("a") });
  for (const name of ["Dev", " dev", "DEV"]) {
    await assert.rejects(policies.write(ROOT, { name, text: reading("b") }), /invalid policy name/);
    assert.equal(policies.read(ROOT, name), null);
    await policies.delete(ROOT, name);
  }
  assert.equal(policies.read(ROOT, "dev")?.text, reading("a"));
  assert.deepEqual(policies.names(ROOT, { limit: 10 }).names, ["default", "dev", "root"]); // 86
});

test("the room decodes nothing: base64 that reaches it is no document", async () => {
  const { policies } = await madePolicies();
  const write = policies.write(ROOT, { name: "b", text: utf8(reading("kv/*")).toString("base64") });
  await assert.rejects(write, refused(/^failed to parse policy: At 1:/));
  assert.equal(policies.read(ROOT, "b"), null);
});

test("an empty text is refused", async () => {
  const { policies } = await madePolicies();
  for (const text of ["", " \n"]) {
    const write = policies.write(ROOT, { name: "a", text });
    await assert.rejects(write, refused("'policy' parameter not supplied or empty"));
  }
});

test("built-in policies cannot be written or deleted, and root has no text", async () => {
  const { policies } = await madePolicies();
  for (const name of ["root", "response-wrapping", "control-group"]) {
    const text = reading("a");
    await assert.rejects(
      policies.write(ROOT, { name, text }),
      refused(`cannot update "${name}" policy`),
    );
    await assert.rejects(policies.delete(ROOT, name), refused(`cannot delete "${name}" policy`));
  }
  await assert.rejects(policies.delete(ROOT, "default"), refused("cannot delete default policy"));
  assert.equal(policies.read(ROOT, "root")?.text, "");
});

test("of two writers with one cas the second is refused", async () => {
  const { policies } = await madePolicies();
  const write = (cas: number | undefined, casRequired?: boolean) =>
    policies.write(ROOT, { name: "dev", text: reading("a"), cas, casRequired });
  const mismatch = refused("check-and-set parameter did not match the current version");
  await assert.rejects(write(1), mismatch);
  assert.equal((await write(-1)).version, 1);
  await assert.rejects(write(-1), mismatch);
  const both = await Promise.allSettled([write(1, true), write(1, true)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await assert.rejects(write(undefined), refused("check-and-set parameter required for this call"));
  assert.equal((await write(2)).version, 3);
  assert.equal((await write(undefined)).version, 4); // it was not repeated
});

test("T-C16: names that could reach out of their place are refused", async () => {
  const { policies, engine } = await madePolicies();
  engine.batches.length = 0;
  const names = [
    "..",
    ".",
    "a/../b",
    "/",
    "/a",
    "a/",
    "a//b",
    "a\u0000",
    "x".repeat(300),
    "\u202ea",
    "a b",
    "a\\b",
    "",
    "ｒｏｏｔ",
  ];
  for (const name of names) {
    await assert.rejects(
      policies.write(ROOT, { name, text: reading("a") }),
      refused(/^invalid policy name/),
    );
    assert.equal(policies.read(ROOT, name), null);
    await policies.delete(ROOT, name);
  }
  assert.equal(engine.batches.length, 0);
});

test("T-N02: a text that takes long is not read on for somebody who has gone", async () => {
  const { world, barrier } = await madePolicies();
  const turns: Turns = { next: async () => {}, step: async (_, work) => work() };
  const policies = new Policies({ shared: barrier.view("shared/"), clock: world.clock, turns });
  let read = 0;
  const work = function* () {
    for (; read < 100; read++) {
      world.clock.pass(10_000_000n);
      yield;
    }
  };
  let waits = 0;
  const waitFor = async <T>(turn: Promise<T>): Promise<T> => {
    if (++waits === 3) throw new Error("gone");
    return turn;
  };
  await assert.rejects(policies.inSlices(work(), { tenant: "", client: "" }, { waitFor }), /gone/);
  assert.ok(read < 6, `${read} of 100`);
});

test("T-C03: the text of a policy is read in the turns of whoever sends it", async () => {
  const { world, barrier } = await madePolicies();
  const seen = new Set<string>();
  const turns: Turns = {
    next: async () => {},
    step: async ({ tenant, client }, work) => (seen.add(`${tenant} ${client}`), work()),
  };
  let elapsed = 0n;
  const clock = { now: () => world.clock.now(), elapsed: () => (elapsed += 1_000_000n) };
  const policies = new Policies({ shared: barrier.view("shared/"), clock, turns });
  const request = {
    namespace: { path: "team/below" },
    caller: { namespace: { path: "team" } },
    remote: { address: "192.0.2.1" },
    waitFor: <T>(turn: Promise<T>) => turn,
  } as unknown as RequestContext;
  const text = reading(...Array.from({ length: 500 }, (_, i) => `secret/data/${i}`));
  await policies.write(ROOT, { name: "long", text }, request);
  assert.deepEqual([...seen], ["team 192.0.2.1"]);
});
