// What policies say: what is written counts for the next request, in its own namespace and nowhere
// else, before and after a restart.

import type { Turns } from "@holdfast/shared/sliced";
import assert from "node:assert/strict";
import test from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { type MadeBarrier, madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { Policies } from "./policies.ts";
import { policyCodec } from "./policy-record.ts";
import { Rights } from "./rights.ts";

const ROOT = ROOT_NAMESPACE.id;
const TEAM: NamespaceRef = { id: "t1", path: "team", created: 1n };

interface Made extends MadeBarrier {
  readonly policies: Policies;
  readonly rights: Rights;
  /** How long each look at the time takes for it. */
  readonly pace: { perLook: bigint };
}

function over(made: MadeBarrier): Made {
  const { barrier, world } = made;
  const policies = new Policies({ shared: barrier.view("shared/"), clock: world.clock });
  const pace = { perLook: 0n };
  const clock = {
    now: () => world.clock.now(),
    elapsed: () => {
      world.clock.pass(pace.perLook);
      return world.clock.elapsed();
    },
  };
  const turns: Turns = {
    next: () => world.timers.turn(),
    step: (_, work) => world.timers.turn().then(work),
  };
  const rights = new Rights({ policies, clock, turns });
  return { ...made, policies, rights, pace };
}

async function madePolicies(): Promise<Made> {
  const made = over(await madeBarrier());
  await made.barrier.view("shared/").write((tx) => made.policies.created(tx));
  return made;
}

let callers = 0;
function caller(policies: readonly string[], more: Partial<Caller> = {}): Caller {
  callers += 1;
  return {
    accessor: `accessor-${callers}`,
    type: "client",
    name: "",
    policies,
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
    ...more,
  };
}

async function reads(
  rights: Rights,
  who: Caller,
  path: string,
  namespace: NamespaceRef = who.namespace,
): Promise<boolean> {
  const question = { namespace, path, sudo: false, data: {}, wrapTtl: null } as const;
  return (await rights.decide(who, { ...question, capability: "read" })).allowed;
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

test("T-A20: a written policy counts for the next request of a token that has its name", async () => {
  const { policies, rights } = await madePolicies();
  const who = caller(["dev"]);
  assert.equal(await reads(rights, who, "kv/a"), false);
  await policies.write(ROOT, { name: "dev", text: reading("kv/*") }); // arms the token at once
  assert.equal(await reads(rights, who, "kv/a"), true);
  await policies.write(ROOT, { name: "dev", text: reading("other/*") });
  assert.equal(await reads(rights, who, "kv/a"), false);
  assert.equal(await reads(rights, who, "other/a"), true);
});

test("T-A20: a deleted policy counts as empty from the next request on", async () => {
  const { policies, rights } = await madePolicies();
  const who = caller(["dev"]);
  await policies.write(ROOT, { name: "dev", text: reading("kv/*") });
  assert.equal(await reads(rights, who, "kv/a"), true);
  await policies.delete(ROOT, "dev");
  assert.equal(await reads(rights, who, "kv/a"), false);
  assert.equal(policies.read(ROOT, "dev"), null);
  await policies.delete(ROOT, "dev"); // 88
});

test("a decision names the granting policies with their namespace", async () => {
  const { policies, rights } = await madePolicies();
  await policies.write(ROOT, { name: "a", text: reading("kv/*") });
  await policies.write(ROOT, { name: "b", text: reading("kv/*") });
  const question = {
    namespace: ROOT_NAMESPACE,
    path: "kv/x",
    sudo: false,
    data: {},
    wrapTtl: null,
  };
  const { granting } = await rights.decide(caller(["b", "a"]), { ...question, capability: "read" });
  // Names and nothing else: it goes to audit as it stands.
  assert.deepEqual(
    granting.toSorted((x, y) => x.name.localeCompare(y.name)),
    [
      { name: "a", namespaceId: "root" },
      { name: "b", namespaceId: "root" },
    ],
  );
});

test("T-A08: a token bound to a name gets that policy and no other", async () => {
  const { policies, rights } = await madePolicies();
  await policies.write(ROOT, { name: "app", text: reading("kv/*") });
  for (const name of ["app-2", "ap", "app/x", "apps", ""]) {
    assert.equal(await reads(rights, caller([name]), "kv/a"), false, name);
  }
});

test("T-B03 and T-B10: a client without policies, or with root by any spelling, has what default grants", async () => {
  const { rights } = await madePolicies();
  for (const names of [[], ["root"], ["Root"], ["gone"]]) {
    const who = caller(names);
    assert.equal(await reads(rights, who, "kv/a"), false);
    assert.equal(await reads(rights, who, "sys/mounts"), false);
    assert.equal(await reads(rights, who, "auth/token/lookup-self"), true);
  }
});

test("the default policy grants what its text says, and can be edited", async () => {
  const { policies, rights } = await madePolicies();
  const who = caller(["none"]);
  const words = async (path: string) =>
    (await rights.capabilitiesOf(who, ROOT_NAMESPACE, path)).join(",");
  const grants: readonly [words: string, paths: readonly string[]][] = [
    ["read", ["auth/token/lookup-self", "acl/token/self", "sys/internal/ui/resultant-acl"]],
    [
      "update",
      [
        "auth/token/renew-self",
        "auth/token/revoke-self",
        "sys/capabilities-self",
        "sys/renew",
        "sys/leases/renew",
        "sys/leases/lookup",
        "sys/wrapping/wrap",
        "sys/wrapping/lookup",
        "sys/wrapping/unwrap",
      ],
    ],
    ["create,delete,list,read,update", ["cubbyhole/a", "cubbyhole/a/b"]],
    ["list", ["cubbyhole"]],
    ["deny", ["sys/leases", "sys/auth", "secret/a", "auth/token/lookup", "sys/tools/hash"]],
  ];
  for (const [want, paths] of grants)
    for (const path of paths) assert.equal(await words(path), want, path);
  await policies.write(ROOT, { name: "default", text: reading("only/this") });
  assert.equal(await words("only/this"), "read");
  assert.equal(await words("cubbyhole/a"), "deny");
});

test("T-A12: a policy that denies beats what default grants", async () => {
  const { policies, rights } = await madePolicies();
  const text = 'path "auth/token/lookup-self" { capabilities = ["deny"] }';
  await policies.write(ROOT, { name: "mute", text });
  assert.equal(await reads(rights, caller(["mute"]), "auth/token/lookup-self"), false);
});

test("management is allowed everything at and below its namespace, and nothing above it", async () => {
  const { rights } = await madePolicies();
  const root = caller([], { type: "management" });
  const team = caller([], { type: "management", namespace: TEAM });
  assert.equal(await reads(rights, root, "sys/raw", TEAM), true);
  assert.equal(await reads(rights, team, "sys/raw"), true);
  assert.equal(await reads(rights, team, "sys/raw", ROOT_NAMESPACE), false);
  assert.equal(
    await reads(rights, team, "sys/raw", { id: "t2", path: "teams", created: 1n }),
    false,
  );
  assert.deepEqual(await rights.capabilitiesOf(root, TEAM, "a"), ["root"]); // 94
  assert.deepEqual(await rights.capabilitiesOf(team, ROOT_NAMESPACE, "a"), ["deny"]);
});

test("a client's rights end at its namespace: what lies above or beside is denied", async () => {
  const { policies, rights } = await madePolicies();
  await policies.write(TEAM.id, { name: "all", text: reading("*", "team/*") });
  const who = caller(["all"], { namespace: TEAM });
  assert.equal(await reads(rights, who, "x"), true);
  assert.equal(await reads(rights, who, "x", ROOT_NAMESPACE), false);
  assert.equal(await reads(rights, who, "x", { id: "t3", path: "team2", created: 0n }), false);
});

test("T-A09: a parent's policy reaches an older child by its path, and no younger one", async () => {
  const { policies, rights, store } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("team/+/cfg", "*") });
  const older: NamespaceRef = { id: "old", path: "team", created: store.index - 1n };
  const younger: NamespaceRef = { id: "new", path: "team", created: store.index + 1n };
  const who = caller(["p"]);
  assert.equal(await reads(rights, who, "x/cfg", older), true);
  assert.equal(await reads(rights, who, "x/other", older), false); // * does not reach it
  assert.equal(await reads(rights, who, "x/cfg", younger), false);
  const again = await madePolicies();
  await again.policies.write(ROOT, { name: "p", text: reading("team/+/cfg") });
  const child: NamespaceRef = { ...younger, created: again.store.index + 1n };
  assert.equal(await reads(again.rights, who, "x/cfg", child), false);
  await again.policies.write(ROOT, { name: "q", text: "# takes an index" });
  await again.policies.write(ROOT, { name: "p", text: reading("team/+/cfg") });
  assert.equal(await reads(again.rights, who, "x/cfg", child), true); // written with the child in sight
});

test("T-D09: the same names in two namespaces are never taken for each other", async () => {
  const { policies, rights } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("kv/root") });
  await policies.write(TEAM.id, { name: "p", text: reading("kv/team") });
  for (let i = 0; i < 20_000; i += 1) {
    const namespace = i % 2 === 0 ? ROOT_NAMESPACE : TEAM;
    const who = i % 3 === 0 ? caller(["p"], { namespace }) : { ...SHARED, namespace };
    assert.equal(await reads(rights, who, "kv/root"), namespace === ROOT_NAMESPACE);
    assert.equal(await reads(rights, who, "kv/team"), namespace === TEAM);
    // From above, the namespace is the same and the policies are not.
    if (namespace === ROOT_NAMESPACE)
      assert.equal(await reads(rights, who, "kv/team", TEAM), false);
  }
});
const SHARED = caller(["p"]);

test("a policy with an expiration is gone from then on, without a write", async () => {
  const { policies, rights, world } = await madePolicies();
  const expires = world.clock.now() + 10n * SECOND;
  await policies.write(ROOT, { name: "p", text: reading("kv/*"), expires });
  const who = caller(["p"]);
  assert.equal(await reads(rights, who, "kv/a"), true);
  world.clock.pass(10n * SECOND - 1n);
  assert.equal(await reads(rights, who, "kv/a"), true);
  world.clock.pass(1n);
  assert.equal(await reads(rights, who, "kv/a"), false);
  assert.equal(policies.read(ROOT, "p"), null);
  const late = policies.write(ROOT, { name: "p", text: reading("a"), expires });
  await assert.rejects(late, refused("expiration must lie in the future"));
});

test("a rule ends at its expiration, and a clock that is set back brings it back", async () => {
  const { policies, rights, world } = await madePolicies();
  const text = 'path "kv/*" { capabilities = ["read"] expiration = "2026-01-01T00:00:10Z" }';
  await policies.write(ROOT, { name: "p", text });
  const who = caller(["p"]);
  const start = world.clock.now();
  assert.equal(await reads(rights, who, "kv/a"), true);
  world.clock.pass(10n * SECOND);
  assert.equal(await reads(rights, who, "kv/a"), false);
  world.clock.jump(start);
  assert.equal(await reads(rights, who, "kv/a"), true);
});

test("labels are filled in for each token, also when two hold the same policies", async () => {
  const { policies, rights } = await madePolicies();
  await policies.write(ROOT, {
    name: "own",
    text: reading("kv/{{token.name}}/*", "id/{{token.accessor_id}}"),
  });
  const called = (name: string) => {
    const origin = { namespaceId: ROOT, mount: null, login: "", name, metadata: {} };
    return caller(["own"], { name: "chosen", origin });
  };
  const [ann, bob] = [called("ann"), called("bob")];
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(
      [await reads(rights, ann, "kv/ann/x"), await reads(rights, ann, "kv/bob/x")],
      [true, false],
    );
    assert.deepEqual(
      [await reads(rights, bob, "kv/ann/x"), await reads(rights, bob, "kv/bob/x")],
      [false, true],
    );
    assert.equal(await reads(rights, ann, `id/${ann.accessor}`), true);
  }
  await policies.write(ROOT, { name: "own", text: reading("kv/*") });
  assert.equal(await reads(rights, ann, "kv/bob/x"), true);
});

test("a policy that was stored and cannot be read denies its holders rather than count as empty", async () => {
  const { policies, rights, barrier } = await madePolicies();
  const record = {
    text: "path {",
    version: 1,
    modified: 0n,
    created: 1n,
    written: 1n,
    casRequired: false,
    expires: null,
  };
  const view = barrier.view("shared/ns/root/policies/acl/");
  await view.write((tx) => tx.put("bad", record, policyCodec));
  await assert.rejects(
    reads(rights, caller(["bad"]), "cubbyhole/a"),
    /policy "bad" cannot be read/,
  );
  await policies.write(ROOT, { name: "bad", text: reading("kv/*") });
  assert.equal(await reads(rights, caller(["bad"]), "kv/a"), true);
});

test("what changed while the room was closed counts once it is used again", async () => {
  const { policies, rights, barrier, world } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("kv/*") });
  const who = caller(["p"]);
  assert.equal(await reads(rights, who, "kv/a"), true);
  rights.close();
  const other = new Policies({ shared: barrier.view("shared/"), clock: world.clock });
  await other.write(ROOT, { name: "p", text: reading("other") });
  assert.equal(await reads(rights, who, "kv/a"), false);
  assert.equal(await reads(rights, who, "other"), true);
});

test("rights that are worked out, or soon are, are not waited for; with many policies they are", async () => {
  const { policies, rights, world, pace } = await madePolicies();
  for (let i = 0; i < 40; i += 1) {
    await policies.write(ROOT, { name: `p${i}`, text: reading(`kv/${i}`) });
  }
  const question = { namespace: ROOT_NAMESPACE, path: "kv/7", sudo: false, data: {} } as const;
  const ask = (who: Caller) =>
    rights.decide(who, { ...question, capability: "read", wrapTtl: null });
  assert.ok(!(ask(caller(["p7"])) instanceof Promise));
  const names = Array.from({ length: 40 }, (_, i) => `p${i}`);
  const [one, two] = [caller(names), caller(names)];
  pace.perLook = MILLISECOND;
  const turns = world.timers.turns;
  const [first, second] = [ask(one), ask(two)];
  assert.ok(first instanceof Promise && second instanceof Promise);
  assert.deepEqual(
    (await Promise.all([first, second])).map(({ allowed }) => allowed),
    [true, true],
  );
  assert.ok(world.timers.turns - turns > 2);
  pace.perLook = 0n;
  assert.ok(!(ask(one) instanceof Promise) && !(ask(two) instanceof Promise));
});

test("a policy that changes while rights are worked out counts for all who wait for them", async () => {
  const { policies, rights, world, pace } = await madePolicies();
  const names = Array.from({ length: 40 }, (_, i) => `p${i}`);
  for (const name of names) await policies.write(ROOT, { name, text: reading(`kv/${name}`) });
  const who = caller(names);
  pace.perLook = 10n * MILLISECOND; // a step for each policy
  const turns = world.timers.turns;
  const before = reads(rights, who, "kv/p0");
  while (world.timers.turns < turns + 10) await nextTurn(); // so that p0, the first, has gone in
  await policies.write(ROOT, { name: "p0", text: reading("other") });
  assert.ok(world.timers.turns - turns < names.length, "it was not under way any more");
  const after = reads(rights, who, "kv/p0");
  assert.deepEqual(await Promise.all([before, after]), [false, false]);
  pace.perLook = 0n;
  assert.equal(await reads(rights, who, "other"), true);
});

test("T-A20: a policy that changes or goes while it is parsed counts as it is then, whenever that is", async () => {
  const rules = Array.from({ length: 100 }, (_, i) => `kv/${i}`);
  let seen = 0;
  for (let steps = 0, under = true; under; steps++) {
    for (const goes of [false, true]) {
      const { policies, rights, world, pace } = await madePolicies();
      await policies.write(ROOT, { name: "dev", text: reading(...rules) });
      const who = caller(["dev"], { name: "only it" });
      pace.perLook = 10n * MILLISECOND; // a turn after each step
      let ended = false;
      const turns = world.timers.turns;
      const before = reads(rights, who, "kv/0").finally(() => (ended = true));
      while (!ended && world.timers.turns < turns + steps) await nextTurn();
      under = !ended;
      if (goes) await policies.delete(ROOT, "dev");
      else await policies.write(ROOT, { name: "dev", text: reading("other") });
      pace.perLook = 0n;
      const now = `after ${steps} steps`;
      if (under) assert.equal(await before, false, now);
      assert.equal(await reads(rights, who, "kv/0"), false, now);
      assert.equal(await reads(rights, caller(["dev"]), "kv/0"), false, now);
      assert.equal(await reads(rights, who, "other"), !goes, now);
      if (under) seen++;
    }
  }
  assert.ok(seen > 10, `it was under way ${seen} times`);
});

test("whoever waits for rights when the room closes is told what reading says then", async () => {
  const { policies, rights, pace, barrier } = await madePolicies();
  const names = Array.from({ length: 40 }, (_, i) => `p${i}`);
  for (const name of names) await policies.write(ROOT, { name, text: reading(`kv/${name}`) });
  pace.perLook = MILLISECOND;
  const waiting = reads(rights, caller(names), "kv/p0");
  rights.close();
  await barrier.seal();
  await assert.rejects(waiting, (error) => error instanceof Failure);
});
