// Stored policies: what is written counts for the next request, in its own namespace and nowhere
// else, before and after a restart.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "../base/failure.ts";
import { utf8 } from "../base/bytes.ts";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "../endpoint/request.ts";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  ROOT_KEY,
} from "../../tests/support/made-barrier.ts";
import { Policies } from "./policies.ts";
import { policyCodec } from "./policy-record.ts";

const SECOND = 1_000_000_000n;
const ROOT = ROOT_NAMESPACE.id;
const TEAM: NamespaceRef = { id: "t1", path: "team", created: 1n };

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

function reads(
  policies: Policies,
  who: Caller,
  path: string,
  namespace: NamespaceRef = who.namespace,
): boolean {
  const question = { namespace, path, sudo: false, data: {}, wrapTtl: null } as const;
  return policies.decide(who, { ...question, capability: "read" }).allowed;
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

test("90 and T-A20: a written policy counts for the next request of a token that has its name", async () => {
  const { policies } = await madePolicies();
  const who = caller(["dev"]);
  assert.equal(reads(policies, who, "kv/a"), false);
  await policies.write(ROOT, { name: "dev", text: reading("kv/*") }); // arms the token at once
  assert.equal(reads(policies, who, "kv/a"), true);
  await policies.write(ROOT, { name: "dev", text: reading("other/*") });
  assert.equal(reads(policies, who, "kv/a"), false);
  assert.equal(reads(policies, who, "other/a"), true);
});

test("91 and T-A20: a deleted policy counts as empty from the next request on", async () => {
  const { policies } = await madePolicies();
  const who = caller(["dev"]);
  await policies.write(ROOT, { name: "dev", text: reading("kv/*") });
  assert.equal(reads(policies, who, "kv/a"), true);
  await policies.delete(ROOT, "dev");
  assert.equal(reads(policies, who, "kv/a"), false);
  assert.equal(policies.read(ROOT, "dev"), null);
  await policies.delete(ROOT, "dev"); // 88
});

test("a decision names the granting policies with their namespace", async () => {
  const { policies } = await madePolicies();
  await policies.write(ROOT, { name: "a", text: reading("kv/*") });
  await policies.write(ROOT, { name: "b", text: reading("kv/*") });
  const question = {
    namespace: ROOT_NAMESPACE,
    path: "kv/x",
    sudo: false,
    data: {},
    wrapTtl: null,
  };
  const { granting } = policies.decide(caller(["b", "a"]), { ...question, capability: "read" });
  // Names and nothing else: it goes to audit as it stands.
  assert.deepEqual(
    granting.toSorted((x, y) => x.name.localeCompare(y.name)),
    [
      { name: "a", namespaceId: "root" },
      { name: "b", namespaceId: "root" },
    ],
  );
});

test("what was written is there after a crash, with its version and its index", async () => {
  const before = await madePolicies();
  const text = reading("kv/*");
  await before.policies.write(ROOT, { name: "dev", text });
  await before.policies.write(ROOT, { name: "dev", text: `# again\n${text}` });
  const index = before.store.index;
  const { policies, barrier } = over(await crashed(before));
  assert.equal(barrier.unseal(ROOT_KEY), true);
  const record = policies.read(ROOT, "DEV ");
  assert.equal(record?.text, `# again\n${text}`);
  assert.equal(record?.version, 2);
  assert.equal(record?.written, index);
  assert.equal(reads(policies, caller(["dev"]), "kv/a"), true);
});

test("76: a name in upper case is folded, with a warning", async () => {
  const { policies } = await madePolicies();
  const { name, warnings } = await policies.write(ROOT, { name: " Dev", text: reading("a") });
  assert.equal(name, "dev");
  assert.deepEqual(warnings, ["policy name was converted to dev"]);
  assert.equal(reads(policies, caller(["DEV"]), "a"), true);
  assert.deepEqual(policies.list(ROOT, "", { limit: 10 }), ["default", "dev"]); // 86
});

test("77 and 78: base64 counts if it is a document, and as text otherwise", async () => {
  const { policies } = await madePolicies();
  const text = reading("kv/*");
  await policies.write(ROOT, { name: "b", text: utf8(text).toString("base64") });
  assert.equal(policies.read(ROOT, "b")?.text, text);
  const write = policies.write(ROOT, { name: "c", text: utf8("nonsense {").toString("base64") });
  await assert.rejects(write, refused(/^failed to parse policy: At 1:/));
  assert.equal(policies.read(ROOT, "c"), null);
});

test("79: an empty text is refused", async () => {
  const { policies } = await madePolicies();
  for (const text of ["", " \n"]) {
    const write = policies.write(ROOT, { name: "a", text });
    await assert.rejects(write, refused("'policy' parameter not supplied or empty"));
  }
});

test("84 and 85: built-in policies cannot be written or deleted, and root has no text", async () => {
  const { policies } = await madePolicies();
  for (const name of ["root", "ROOT", "response-wrapping", "control-group"]) {
    const folded = name.toLowerCase();
    const text = reading("a");
    await assert.rejects(
      policies.write(ROOT, { name, text }),
      refused(`cannot update "${folded}" policy`),
    );
    await assert.rejects(policies.delete(ROOT, name), refused(`cannot delete "${folded}" policy`));
  }
  await assert.rejects(policies.delete(ROOT, "default"), refused("cannot delete default policy"));
  assert.equal(policies.read(ROOT, "root")?.text, "");
});

test("92: of two writers with one cas the second is refused", async () => {
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

test("T-A08: a token bound to a name gets that policy and no other", async () => {
  const { policies } = await madePolicies();
  await policies.write(ROOT, { name: "app", text: reading("kv/*") });
  for (const name of ["app-2", "ap", "app/x", "apps", ""]) {
    assert.equal(reads(policies, caller([name]), "kv/a"), false, name);
  }
});

test("T-B03 and T-B10: a client without policies, or with root by any spelling, has what default grants", async () => {
  const { policies } = await madePolicies();
  for (const names of [[], ["root"], ["Root"], ["gone"]]) {
    const who = caller(names);
    assert.equal(reads(policies, who, "kv/a"), false);
    assert.equal(reads(policies, who, "sys/mounts"), false);
    assert.equal(reads(policies, who, "auth/token/lookup-self"), true);
  }
});

test("the default policy grants what the contract lists, and can be edited", async () => {
  const { policies } = await madePolicies();
  const who = caller(["none"]);
  const words = (path: string) => policies.capabilitiesOf(who, ROOT_NAMESPACE, path).join(",");
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
        "sys/tools/hash",
        "sys/tools/hash/sha2-256",
      ],
    ],
    ["create,delete,list,read,update", ["cubbyhole/a", "cubbyhole/a/b"]],
    ["deny", ["sys/leases", "sys/auth", "secret/a", "auth/token/lookup", "cubbyhole"]],
  ];
  for (const [want, paths] of grants)
    for (const path of paths) assert.equal(words(path), want, path);
  await policies.write(ROOT, { name: "default", text: reading("only/this") });
  assert.equal(words("only/this"), "read");
  assert.equal(words("cubbyhole/a"), "deny");
});

test("T-A12: a policy that denies beats what default grants", async () => {
  const { policies } = await madePolicies();
  const text = 'path "auth/token/lookup-self" { capabilities = ["deny"] }';
  await policies.write(ROOT, { name: "mute", text });
  assert.equal(reads(policies, caller(["mute"]), "auth/token/lookup-self"), false);
});

test("management is allowed everything at and below its namespace, and nothing above it", async () => {
  const { policies } = await madePolicies();
  const root = caller([], { type: "management" });
  const team = caller([], { type: "management", namespace: TEAM });
  assert.equal(reads(policies, root, "sys/raw", TEAM), true);
  assert.equal(reads(policies, team, "sys/raw"), true);
  assert.equal(reads(policies, team, "sys/raw", ROOT_NAMESPACE), false);
  assert.equal(reads(policies, team, "sys/raw", { id: "t2", path: "teams", created: 1n }), false);
  assert.deepEqual(policies.capabilitiesOf(root, TEAM, "a"), ["root"]); // 94
  assert.deepEqual(policies.capabilitiesOf(team, ROOT_NAMESPACE, "a"), ["deny"]);
});

test("a client's rights end at its namespace: what lies above or beside is denied", async () => {
  const { policies } = await madePolicies();
  await policies.write(TEAM.id, { name: "all", text: reading("*", "team/*") });
  const who = caller(["all"], { namespace: TEAM });
  assert.equal(reads(policies, who, "x"), true);
  assert.equal(reads(policies, who, "x", ROOT_NAMESPACE), false);
  assert.equal(reads(policies, who, "x", { id: "t3", path: "team2", created: 0n }), false);
});

test("decision 41 and T-A09: a parent's policy reaches an older child by its path, and no younger one", async () => {
  const { policies, store } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("team/+/cfg", "*") });
  const older: NamespaceRef = { id: "old", path: "team", created: store.index - 1n };
  const younger: NamespaceRef = { id: "new", path: "team", created: store.index + 1n };
  const who = caller(["p"]);
  assert.equal(reads(policies, who, "x/cfg", older), true);
  assert.equal(reads(policies, who, "x/other", older), false); // * does not reach it
  assert.equal(reads(policies, who, "x/cfg", younger), false);
  const again = await madePolicies();
  await again.policies.write(ROOT, { name: "p", text: reading("team/+/cfg") });
  const child: NamespaceRef = { ...younger, created: again.store.index + 1n };
  assert.equal(reads(again.policies, who, "x/cfg", child), false);
  await again.policies.write(ROOT, { name: "q", text: "# takes an index" });
  await again.policies.write(ROOT, { name: "p", text: reading("team/+/cfg") });
  assert.equal(reads(again.policies, who, "x/cfg", child), true); // written with the child in sight
});

test("T-D09: the same names in two namespaces are never taken for each other", async () => {
  const { policies } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("kv/root") });
  await policies.write(TEAM.id, { name: "p", text: reading("kv/team") });
  for (let i = 0; i < 20_000; i += 1) {
    const namespace = i % 2 === 0 ? ROOT_NAMESPACE : TEAM;
    const who = i % 3 === 0 ? caller(["p"], { namespace }) : { ...SHARED, namespace };
    assert.equal(reads(policies, who, "kv/root"), namespace === ROOT_NAMESPACE);
    assert.equal(reads(policies, who, "kv/team"), namespace === TEAM);
    // From above, the namespace is the same and the policies are not.
    if (namespace === ROOT_NAMESPACE) assert.equal(reads(policies, who, "kv/team", TEAM), false);
  }
});
const SHARED = caller(["p"]);

test("P5: a policy with an expiration is gone from then on, without a write", async () => {
  const { policies, world } = await madePolicies();
  const expires = world.clock.now() + 10n * SECOND;
  await policies.write(ROOT, { name: "p", text: reading("kv/*"), expires });
  const who = caller(["p"]);
  assert.equal(reads(policies, who, "kv/a"), true);
  world.clock.pass(10n * SECOND - 1n);
  assert.equal(reads(policies, who, "kv/a"), true);
  world.clock.pass(1n);
  assert.equal(reads(policies, who, "kv/a"), false);
  assert.equal(policies.read(ROOT, "p"), null);
  const late = policies.write(ROOT, { name: "p", text: reading("a"), expires });
  await assert.rejects(late, refused("expiration must lie in the future"));
});

test("P6: a rule ends at its expiration, and a clock that is set back brings it back", async () => {
  const { policies, world } = await madePolicies();
  const text = 'path "kv/*" { capabilities = ["read"] expiration = "2026-01-01T00:00:10Z" }';
  await policies.write(ROOT, { name: "p", text });
  const who = caller(["p"]);
  const start = world.clock.now();
  assert.equal(reads(policies, who, "kv/a"), true);
  world.clock.pass(10n * SECOND);
  assert.equal(reads(policies, who, "kv/a"), false);
  world.clock.jump(start);
  assert.equal(reads(policies, who, "kv/a"), true);
});

test("2.4: labels are filled in for each token, also when two hold the same policies", async () => {
  const { policies } = await madePolicies();
  await policies.write(ROOT, {
    name: "own",
    text: reading("kv/{{token.name}}/*", "id/{{token.accessor_id}}"),
  });
  const [ann, bob] = [caller(["own"], { name: "ann" }), caller(["own"], { name: "bob" })];
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(
      [reads(policies, ann, "kv/ann/x"), reads(policies, ann, "kv/bob/x")],
      [true, false],
    );
    assert.deepEqual(
      [reads(policies, bob, "kv/ann/x"), reads(policies, bob, "kv/bob/x")],
      [false, true],
    );
    assert.equal(reads(policies, ann, `id/${ann.accessor}`), true);
  }
  await policies.write(ROOT, { name: "own", text: reading("kv/*") });
  assert.equal(reads(policies, ann, "kv/bob/x"), true);
});

test("a policy that was stored and cannot be read denies its holders rather than count as empty", async () => {
  const { policies, barrier } = await madePolicies();
  const record = {
    text: "path {",
    version: 1,
    modified: 0n,
    written: 1n,
    casRequired: false,
    expires: null,
  };
  const view = barrier.view("shared/ns/root/policies/acl/");
  await view.write((tx) => tx.put("bad", record, policyCodec));
  assert.throws(
    () => reads(policies, caller(["bad"]), "cubbyhole/a"),
    /policy "bad" cannot be read/,
  );
  await policies.write(ROOT, { name: "bad", text: reading("kv/*") });
  assert.equal(reads(policies, caller(["bad"]), "kv/a"), true);
});

test("what changed while the room was closed counts once it is used again", async () => {
  const { policies, barrier, world } = await madePolicies();
  await policies.write(ROOT, { name: "p", text: reading("kv/*") });
  const who = caller(["p"]);
  assert.equal(reads(policies, who, "kv/a"), true);
  policies.close();
  const other = new Policies({ shared: barrier.view("shared/"), clock: world.clock });
  await other.write(ROOT, { name: "p", text: reading("other") });
  assert.equal(reads(policies, who, "kv/a"), false);
  assert.equal(reads(policies, who, "other"), true);
});
