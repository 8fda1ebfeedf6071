// The view of tokens that existing clients know (core contract 6.8, decision 44), through HTTP.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  aclServer,
  type AclServer,
  HOUR,
  MINUTE,
  nanosOf,
  SECOND,
  StoppableClock,
  tokenOf,
  until,
  UNKNOWN,
  UUID,
  type WireToken,
} from "../support/acl-server.ts";
import { type Answer, at, type CallOptions, errorsOf } from "../support/http-client.ts";
import { MemoryDisk } from "../../src/storage/engines/memory.ts";
import { startServer } from "../support/test-server.ts";

const MAKES = 'path "auth/token/create" { capabilities = ["update"] }';
const EVERYTHING_HERE = 'path "auth/token/*" { capabilities = ["update", "read"] }';

interface Auth {
  readonly client_token: string;
  readonly accessor: string;
  readonly policies: readonly string[];
  readonly lease_duration: number;
  readonly [name: string]: unknown;
}

function ask(
  server: AclServer,
  path: string,
  body?: object,
  options: CallOptions = {},
): Promise<Answer> {
  const method = path === "lookup-self" ? "GET" : "POST";
  return server.ask(method, `/v1/auth/token/${path}`, {
    token: server.management,
    ...(body === undefined ? {} : { body }),
    ...options,
  });
}

function authOf(answer: Answer): Auth {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "auth") as Auth;
}

async function create(
  server: AclServer,
  body: object = { policies: ["readonly"] },
  options: CallOptions = {},
): Promise<Auth> {
  return authOf(await ask(server, "create", body, options));
}

async function facts(server: AclServer, secret: string): Promise<Record<string, unknown>> {
  const answer = await ask(server, "lookup-self", undefined, { token: secret });
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as Record<string, unknown>;
}

async function isGood(server: AclServer, secret: string): Promise<boolean> {
  const { status } = await ask(server, "lookup-self", undefined, { token: secret });
  assert.ok(status === 200 || status === 403);
  return status === 200;
}

function refused(answer: Answer, status: number, ...texts: readonly string[]): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(errorsOf(answer), texts);
}

function unknownToken(answer: Answer): void {
  refused(answer, 403, "permission denied", "invalid token");
}

async function stopped(t: { after(call: () => Promise<void> | void): void }) {
  const clock = new StoppableClock();
  clock.stoppedAt = clock.now();
  const server = await aclServer(t, { world: { clock } });
  return { clock, server, pass: (time: bigint) => (clock.stoppedAt! += time) };
}

// --- making ---

test("6.8: a token that is made comes in auth, and is a token of spec 1", async (t) => {
  const { server, clock } = await stopped(t);
  const body = {
    policies: ["ReadOnly"],
    ttl: "1h",
    display_name: "ci",
    meta: { team: "blue" },
    num_uses: 5,
  };
  const answer = await ask(server, "create", body);
  const auth = authOf(answer);
  assert.match(auth.client_token, UUID);
  assert.deepEqual(auth, {
    client_token: auth.client_token,
    accessor: auth.accessor,
    policies: ["default", "readonly"],
    token_policies: ["default", "readonly"],
    metadata: { team: "blue" },
    lease_duration: 3600,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: false,
    num_uses: 5,
  });
  assert.equal(at(answer, "data"), null);
  assert.equal(at(answer, "warnings"), null);
  assert.equal(at(answer, "lease_id"), "");
  assert.equal(at(answer, "mount_type"), "token");

  const record = tokenOf(await server.manage("GET", `/acl/token/${auth.accessor}`));
  assert.equal(record.SecretID, auth.client_token);
  assert.deepEqual([record.Name, record.Type, record.Global], ["ci", "client", false]);
  assert.deepEqual(record.Policies, ["readonly"]);
  assert.equal(record.ExpirationTTL, "1h0m0s");
  assert.equal(nanosOf(record.ExpirationTime), clock.now() + HOUR);
});

test("6.8: what existing clients send with every creation is understood without a warning", async (t) => {
  const server = await aclServer(t);
  const answer = await ask(server, "create", {
    policies: ["readonly"],
    ttl: "1h0m0s",
    explicit_max_ttl: "0s",
    period: "0s",
    display_name: "",
    num_uses: 0,
    renewable: true,
    type: "service",
    entity_alias: "",
    no_parent: false,
  });
  assert.equal(authOf(answer).lease_duration, 3600);
  assert.equal(at(answer, "warnings"), null);
  const batch = await ask(server, "create", { policies: ["readonly"], type: "batch" });
  assert.equal(batch.status, 400);
  const aliased = await server.ask("PUT", "/v1/auth/token/create", {
    headers: { "X-Vault-Token": server.management },
    body: { policies: ["readonly"], ttl: 60 },
  });
  assert.equal(authOf(aliased).lease_duration, 60);
});

test("6.8: management without policies makes a token with the default policy alone", async (t) => {
  const server = await aclServer(t);
  assert.deepEqual((await create(server, { ttl: 60 })).policies, ["default"]);
  const none = await ask(server, "create", { no_default_policy: true });
  assert.equal(none.status, 400);
  const root = await ask(server, "create", { policies: ["Root"] });
  assert.equal(root.status, 400, "T-B10: no client token is root");
});

test("6.8: without the default policy a token may not even look at itself", async (t) => {
  const server = await aclServer(t);
  const auth = await create(server, { policies: ["readonly"], ttl: 60, no_default_policy: true });
  assert.deepEqual(auth.policies, ["readonly"]);
  refused(
    await ask(server, "lookup-self", undefined, { token: auth.client_token }),
    403,
    "permission denied",
  );
  assert.equal((await server.self(auth.client_token)).status, 200, "decision 38");
  // Nor does what it makes have it.
  await server.writePolicy("maker", MAKES);
  const bare = { policies: ["maker"], ttl: 60, no_default_policy: true };
  const { client_token: token } = await create(server, bare);
  assert.deepEqual((await create(server, { ttl: 60 }, { token })).policies, ["maker"]);
  const grown = await ask(server, "create", { policies: ["default"] }, { token });
  refused(grown, 400, "child policies must be subset of parent");
});

test("T-B11: auth/token/create gives a caller at most its own policies", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("maker", MAKES);
  await server.writePolicy(
    "sudoer",
    'path "auth/token/create" { capabilities = ["update", "sudo"] }',
  );
  const maker = await server.create({ Policies: ["maker", "readonly"] });
  const token = maker.SecretID;
  const before = (await server.stubs()).length;
  for (const policies of [["sudoer"], ["maker", "Sudoer"], ["root"], ["not a name"]]) {
    const answer = await ask(server, "create", { policies }, { token });
    refused(answer, 400, "child policies must be subset of parent");
  }
  assert.equal((await server.stubs()).length, before, "nothing was made");
  const child = await create(server, { policies: ["MAKER", "default"] }, { token });
  assert.deepEqual(child.policies, ["default", "maker"]);
  const same = await create(server, {}, { token });
  assert.deepEqual(same.policies, ["default", "maker", "readonly"], "those of the caller");

  refused(
    await ask(server, "create", { period: "1h" }, { token }),
    403,
    "permission denied",
    "period needs the capability sudo on this path",
  );
  const orphan = await ask(server, "create", { no_parent: true }, { token });
  assert.equal(orphan.status, 403);
  const elsewhere = await ask(server, "create-orphan", {}, { token });
  refused(elsewhere, 403, "permission denied");

  const sudoer = (await server.create({ Policies: ["sudoer"] })).SecretID;
  const given = { policies: ["maker"], period: "1h", no_parent: true };
  const free = await create(server, given, { token: sudoer });
  assert.deepEqual([free.policies, free["orphan"]], [["default", "maker"], true]);
  refused(
    await ask(server, "create", {}, { token: (await server.create()).SecretID }),
    403,
    "permission denied",
  );
});

test("T-B11: a name means another policy in another namespace, and is not the caller's there", async (t) => {
  const server = await aclServer(t);
  await server.manage("POST", "/v1/sys/namespaces/team");
  await server.writePolicy("maker", 'path "team/auth/token/create" { capabilities = ["update"] }');
  const { SecretID: token } = await server.create({ Policies: ["maker"] });
  for (const body of [{}, { policies: ["maker"] }, { policies: ["default"] }]) {
    const answer = await ask(server, "create", body, { token, namespace: "team" });
    refused(answer, 400, "child policies must be subset of parent");
  }
  const made = await create(server, { ttl: 60 }, { namespace: "team" });
  assert.equal(await isGood(server, made.client_token), false, "it is none of the root namespace");
  const own = { token: made.client_token, namespace: "team" };
  assert.equal((await ask(server, "lookup-self", undefined, own)).status, 200);
});

// --- looking ---

test("6.8: a look-up tells the same by secret, by accessor and of oneself", async (t) => {
  const { server, clock, pass } = await stopped(t);
  const made = await create(server, { policies: ["readonly"], ttl: "90m", explicit_max_ttl: "2h" });
  const issued = clock.now();
  pass(30n * MINUTE - 1n);
  const own = await facts(server, made.client_token);
  assert.deepEqual(own, {
    id: made.client_token,
    accessor: made.accessor,
    display_name: "",
    policies: ["default", "readonly"],
    creation_time: Number(issued / SECOND),
    creation_ttl: 5400,
    expire_time: own["expire_time"],
    explicit_max_ttl: 7200,
    issue_time: own["issue_time"],
    num_uses: 0,
    orphan: false,
    path: "auth/token/create",
    renewable: true,
    ttl: 3601,
    type: "service",
    meta: {},
    entity_id: "",
  });
  assert.equal(nanosOf(String(own["issue_time"])), issued);
  assert.equal(nanosOf(String(own["expire_time"])), issued + 90n * MINUTE);
  const bySecret = await ask(server, "lookup", { token: made.client_token });
  assert.deepEqual(at(bySecret, "data"), own);
  const byAccessor = await ask(server, "lookup-accessor", {
    accessor: made.accessor.toUpperCase(),
  });
  assert.deepEqual(at(byAccessor, "data"), { ...own, id: "" });
  assert.equal(byAccessor.text.includes(made.client_token), false);
});

test("6.8: a management token is root without an end, a token of /acl/ is no renewable one", async (t) => {
  const server = await aclServer(t);
  const root = await facts(server, server.management);
  assert.deepEqual(root["policies"], ["root"]);
  assert.deepEqual(
    [root["ttl"], root["expire_time"], root["orphan"], root["meta"], root["renewable"]],
    [0, null, true, null, false],
  );
  const { SecretID } = await server.create({ ExpirationTTL: "1h" });
  const client = await facts(server, SecretID);
  assert.equal(client["path"], "acl/token");
  assert.deepEqual([client["creation_ttl"], client["renewable"]], [3600, false]);
});

test("T-A12: what a policy denies is denied, whatever the default policy grants", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("never", 'path "auth/token/lookup-self" { capabilities = ["deny"] }');
  const { SecretID: token } = await server.create({ Policies: ["never"] });
  refused(await ask(server, "lookup-self", undefined, { token }), 403, "permission denied");
  assert.equal(await isGood(server, (await server.create()).SecretID), true);
});

test("T-B13: an accessor or a secret leads nowhere from another namespace", async (t) => {
  const server = await aclServer(t);
  for (const name of ["a", "b"]) await server.manage("POST", `/v1/sys/namespaces/${name}`);
  const { client_token: token, accessor } = await create(server, { ttl: 60 }, { namespace: "b" });
  const management = { Type: "management", Policies: null };
  const inA = { namespace: "a", body: management };
  const { SecretID } = tokenOf(await server.manage("POST", "/acl/token", inA));
  const seenFromA: unknown[] = [];
  for (const credential of [SecretID, server.management]) {
    const from = { token: credential, namespace: "a" };
    for (const path of ["lookup-accessor", "renew-accessor", "revoke-accessor"]) {
      for (const given of [accessor, UNKNOWN, "no uuid"]) {
        const answer = await ask(server, path, { accessor: given }, from);
        refused(answer, 403, "permission denied", "invalid accessor");
        seenFromA.push(answer.headers["x-service-error"]);
      }
    }
    for (const path of ["lookup", "renew", "revoke", "revoke-orphan"]) {
      unknownToken(await ask(server, path, { token }, from));
    }
  }
  assert.deepEqual(new Set(seenFromA), new Set(["invalid-accessor"]));
  const inB = await ask(server, "lookup-self", undefined, { token, namespace: "b" });
  assert.equal(inB.status, 200, "it is untouched");
});

test("T-B22: unknown, expired and deleted secrets get the same answer", async (t) => {
  const { server, pass } = await stopped(t);
  const expired = await create(server, { ttl: 60 });
  const deleted = await create(server, { ttl: "10h" });
  assert.equal((await ask(server, "revoke", { token: deleted.client_token })).status, 204);
  pass(61n * SECOND);
  const visible = ({ status, text, headers }: Answer) => ({
    status,
    text: text.replaceAll(/"request_id":"[^"]*"/g, ""),
    code: headers["x-service-error"],
    names: Object.keys(headers).toSorted(),
  });
  const secrets = [UNKNOWN, expired.client_token, deleted.client_token];
  for (const path of ["lookup", "renew", "revoke", "revoke-orphan", "lookup-self"]) {
    const own = path === "lookup-self";
    const answers = await Promise.all(
      secrets.map((token) => ask(server, path, own ? undefined : { token }, own ? { token } : {})),
    );
    const [first, ...rest] = answers.map(visible);
    for (const other of rest) assert.deepEqual(other, first, path);
    assert.equal(first?.status, path.startsWith("revoke") ? 204 : 403);
  }
});

test("6.8: accessors are listed in their order with what is worth knowing, for sudo alone", async (t) => {
  const { server, pass } = await stopped(t);
  await server.writePolicy("lists", 'path "auth/token/accessors/" { capabilities = ["list"] }');
  const { SecretID: token } = await server.create({ Policies: ["lists"] });
  refused(
    await server.ask("LIST", "/v1/auth/token/accessors", { token }),
    403,
    "permission denied",
  );
  const made = await create(server, { policies: ["readonly"], ttl: "1h", display_name: "ci" });
  const short = await create(server, { policies: ["readonly"], ttl: "1m" });
  for (let i = 0; i < 3; i++) await create(server, { policies: ["readonly"] });
  pass(2n * MINUTE);
  const list = (query = "") => server.manage("LIST", `/v1/auth/token/accessors${query}`);
  const all = await list();
  const keys = at(all, "data", "keys") as string[];
  assert.deepEqual(keys, keys.toSorted());
  assert.equal(keys.length, 6, "what has expired is left out");
  assert.equal(keys.includes(short.accessor), false);
  assert.deepEqual(at(all, "data", "key_info", made.accessor), {
    display_name: "ci",
    policies: ["default", "readonly"],
    ttl: 3480,
    type: "service",
  });
  assert.equal(all.text.includes(made.client_token), false);

  const pages: string[] = [];
  for (let after = ""; ;) {
    const page = await list(`?limit=2${after === "" ? "" : `&after=${after}`}`);
    const found = at(page, "data", "keys") as string[];
    pages.push(...found);
    after = found.at(-1) ?? "";
    const more = at(page, "warnings") !== null;
    assert.equal(more, pages.length < 6);
    if (!more) break;
  }
  assert.deepEqual(pages, keys);
  assert.equal((await list("?after=x")).status, 400);
});

// --- time ---

test("decision 44: a lifetime is cut to the longest, with a warning", async (t) => {
  const { server, clock } = await stopped(t);
  for (const ttl of [undefined, 0, "0s", "25h"]) {
    const answer = await ask(server, "create", { policies: ["readonly"], ttl });
    const auth = authOf(answer);
    assert.equal(auth.lease_duration, 86_400);
    assert.match(String(at(answer, "warnings", 0)), /cut to 24h0m0s/);
    const until_ = (await facts(server, auth.client_token))["expire_time"];
    assert.equal(nanosOf(String(until_)), clock.now() + 24n * HOUR);
  }
  const bounded = await ask(server, "create", { ttl: "2h", explicit_max_ttl: "1h" });
  assert.equal(authOf(bounded).lease_duration, 3600);
  assert.match(String(at(bounded, "warnings", 0)), /2h0m0s was cut to 1h0m0s, explicit_max_ttl/);
});

test("decision 44: without a ttl it is default_lease_ttl", async (t) => {
  const server = await aclServer(t, { settings: { default_lease_ttl: "2h" } });
  const answer = await ask(server, "create", { policies: ["readonly"] });
  assert.equal(authOf(answer).lease_duration, 7200);
  assert.equal(at(answer, "warnings"), null);
});

test("T-B14: no lifetime is for ever, and none that makes no sense is taken", async (t) => {
  const { server, pass } = await stopped(t);
  for (const ttl of [-1, "-1s", "NaN", "∞", "1e400", 0.4, "275761-09-13T00:00:00Z", {}, [1]]) {
    for (const field of ["ttl", "explicit_max_ttl", "period"]) {
      const answer = await ask(server, "create", { [field]: ttl });
      assert.equal(answer.status, 400, `${field} ${JSON.stringify(ttl)} ${answer.text}`);
    }
  }
  const raw = await ask(server, "create", '{"ttl":1e400}' as unknown as object);
  assert.equal(raw.status, 400);
  const short = await create(server, { ttl: "400ms" });
  assert.equal(short.lease_duration, 1, "0 would read as never");
  pass(SECOND / 2n);
  assert.equal(await isGood(server, short.client_token), false);

  // In the last moment before the longest lifetime ends, a renewal gives what is left of it.
  const { client_token: token } = await create(server, { ttl: "23h59m59s" });
  pass(24n * HOUR - SECOND - 1_000_000n);
  const renewed = await ask(server, "renew-self", { increment: 0 }, { token });
  assert.equal(authOf(renewed).lease_duration, 2);
  pass(SECOND);
  const again = await ask(server, "renew-self", { increment: "1h" }, { token });
  assert.equal(authOf(again).lease_duration, 1);
  assert.match(String(at(again, "warnings", 0)), /cannot live longer/);
  pass(SECOND);
  unknownToken(await ask(server, "renew-self", {}, { token }));
});

test("decision 44: a renewal moves ExpirationTime and ModifyIndex, never past the maximum", async (t) => {
  const { server, clock, pass } = await stopped(t);
  const made = await create(server, { policies: ["readonly"], ttl: "1h" });
  const issued = clock.now();
  const { client_token: token, accessor } = made;
  const record = async (): Promise<WireToken> =>
    tokenOf(await server.manage("GET", `/acl/token/${accessor}`));
  const first = await record();
  pass(30n * MINUTE);
  const self = authOf(await ask(server, "renew-self", undefined, { token }));
  assert.equal(self.client_token, token);
  assert.equal(self.lease_duration, 3600, "as long as it was made for");
  const second = await record();
  assert.equal(nanosOf(second.ExpirationTime), issued + 90n * MINUTE);
  assert.ok(second.ModifyIndex > first.ModifyIndex);
  assert.equal(second.CreateIndex, first.CreateIndex);

  const bySecret = authOf(await ask(server, "renew", { token, increment: "2h" }));
  assert.equal(bySecret.lease_duration, 7200);
  const shorter = authOf(await ask(server, "renew", { token, increment: 60 }));
  assert.equal(shorter.lease_duration, 7200, "a renewal takes nothing away");
  const most = await ask(server, "renew-accessor", { accessor, increment: "100h" });
  assert.equal(authOf(most).client_token, "", "the accessor does not buy the secret");
  assert.equal(nanosOf((await record()).ExpirationTime), issued + 24n * HOUR);
  assert.match(String(at(most, "warnings", 0)), /cannot live longer/);
  pass(20n * HOUR);
  assert.equal(await isGood(server, token), true);
  pass(4n * HOUR);
  assert.equal(await isGood(server, token), false);
});

test("decision 44: only what was made here as renewable can be renewed", async (t) => {
  const server = await aclServer(t);
  const fixed = await create(server, { policies: ["readonly"], ttl: 60, renewable: false });
  const { SecretID } = await server.create({ ExpirationTTL: "1h" });
  for (const token of [fixed.client_token, SecretID, server.management]) {
    const answer = await ask(server, "renew-self", {}, { token });
    assert.equal(answer.status, 400);
    assert.match(String(at(answer, "errors", 0)), /^lease is not renewable/);
  }
});

test("6.8: explicit_max_ttl bounds renewals, and a period is what each of them gives", async (t) => {
  const { server, clock, pass } = await stopped(t);
  const issued = clock.now();
  const bounded = await create(server, { ttl: "1h", explicit_max_ttl: "90m" });
  const periodic = await create(server, { ttl: "5h", period: "1h" });
  assert.equal(periodic.lease_duration, 3600);
  pass(50n * MINUTE);
  await ask(server, "renew", { token: bounded.client_token, increment: "1h" });
  const { expire_time: end } = await facts(server, bounded.client_token);
  assert.equal(nanosOf(String(end)), issued + 90n * MINUTE);
  const renewed = await ask(server, "renew", { token: periodic.client_token, increment: "9h" });
  assert.equal(authOf(renewed).lease_duration, 3600);
  assert.equal((await facts(server, periodic.client_token))["period"], 3600);
});

// --- the end ---

test("6.8: a token that is revoked takes along what it made, by whichever door", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  const family = async () => {
    const parent = await create(server, { policies: ["makes"], ttl: "1h" });
    const by = { token: parent.client_token };
    const child = await create(server, {}, by);
    const grandchild = await create(server, {}, { token: child.client_token });
    const { client_token: orphan } = authOf(await ask(server, "create-orphan", {}, by));
    return { parent, child, grandchild, orphan };
  };
  const ends = {
    "revoke-self": (_: string, token: string) => ask(server, "revoke-self", {}, { token }),
    revoke: (_: string, token: string) => ask(server, "revoke", { token }),
    accessor: (accessor: string) => ask(server, "revoke-accessor", { accessor }),
  };
  for (const [name, end] of Object.entries(ends)) {
    const { orphan, ...tree } = await family();
    const { accessor, client_token: secret } = tree.parent;
    assert.equal((await end(accessor, secret)).status, 204, name);
    for (const { client_token: token } of Object.values(tree)) {
      unknownToken(await ask(server, "lookup-self", undefined, { token }));
    }
    assert.equal(await isGood(server, orphan), true, name);
  }
  // A deletion on /acl/ does the same; its answer does not wait for it.
  const { parent, grandchild, orphan } = await family();
  const gone = await server.manage("DELETE", `/acl/token/${parent.accessor}`);
  assert.equal(gone.status, 200);
  await until(async () => !(await isGood(server, grandchild.client_token)));
  assert.equal(await isGood(server, orphan), true);
});

test("6.8: more children than one transaction takes go with their parent, or stay without it", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  for (const [path, stay] of [
    ["revoke", false],
    ["revoke-orphan", true],
  ] as const) {
    const { client_token: token } = await create(server, { policies: ["makes"], ttl: "1h" });
    const children: Auth[] = [];
    for (let i = 0; i < 40; i++) children.push(await create(server, {}, { token }));
    assert.equal((await ask(server, path, { token })).status, 204);
    assert.equal(await isGood(server, token), false);
    for (const child of children) assert.equal(await isGood(server, child.client_token), stay);
    if (!stay) continue;
    const [first] = children;
    assert.equal((await facts(server, first?.client_token ?? ""))["orphan"], true);
  }
});

test("6.8: children of a token that has expired go within a minute, also after a crash", async (t) => {
  const disk = new MemoryDisk();
  const clock = new StoppableClock();
  clock.stoppedAt = clock.now();
  const first = await startServer({ disk, world: { clock } });
  const { token: management, shares } = await first.open();
  const make = async (token: string, body: object) =>
    authOf(await first.call("POST", "/v1/auth/token/create", { token, body }));
  await first.server.policies.write("root", { name: "makes", text: EVERYTHING_HERE });
  const parent = await make(management, { policies: ["makes"], ttl: "1m" });
  const child = await make(parent.client_token, { ttl: "10h" });
  await first.crash();
  clock.stoppedAt += 2n * MINUTE;

  const second = await startServer({ disk, world: { clock } });
  t.after(() => second.stop());
  await second.unseal(shares);
  await until(async () => {
    const token = child.client_token;
    return (await second.call("GET", "/v1/auth/token/lookup-self", { token })).status === 403;
  });
});

test("6.8: a token may be used as often as its number says, also by many at once", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  const made = await create(server, { policies: ["makes"], ttl: "1h", num_uses: 3 });
  const { client_token: token, accessor } = made;
  assert.equal((await facts(server, token))["num_uses"], 2);
  refused(
    await ask(server, "create", {}, { token }),
    400,
    "a token with a number of uses cannot make others",
  );
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ask(server, "lookup-self", undefined, { token })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array(7).fill(403)],
  );
  unknownToken(await ask(server, "lookup-self", undefined, { token }));
  const found = await server.manage("GET", `/acl/token/${accessor}`);
  assert.equal(found.status, 404, "after its last use it is gone");
});

test("6.8: a use counts whether or not the request succeeds", async (t) => {
  const server = await aclServer(t);
  const { client_token: token } = await create(server, { ttl: "1h", num_uses: 1 });
  refused(await server.ask("GET", "/v1/sys/namespaces/x", { token }), 403, "permission denied");
  assert.equal(await isGood(server, token), false);
});

// --- the trail ---

test("11.2: a token that is given out stands in the audit trail as a hash", async (t) => {
  const server = await aclServer(t);
  const file = join(server.test.auditDirectory, "trail.log");
  const device = { type: "file", options: { file_path: file } };
  const enabled = await server.manage("POST", "/v1/sys/audit/trail", { body: device });
  assert.equal(enabled.status, 204, enabled.text);
  const body = { policies: ["readonly"], ttl: 60, meta: { note: "meant for ci" } };
  const { client_token: token, accessor } = await create(server, body);
  await ask(server, "renew", { token });
  await ask(server, "lookup", { token });
  await ask(server, "revoke", { token });
  const trail = readFileSync(file, "utf8");
  for (const secret of [token, accessor, server.management, "meant for ci"]) {
    assert.equal(trail.includes(secret), false);
  }
  const hashOf = async (input: string) =>
    at(
      await server.manage("POST", "/v1/sys/audit-hash/trail", { body: { input } }),
      "data",
      "hash",
    );
  const lines = trail
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, never>);
  const made = lines.find(
    ({ type, request }) => type === "response" && request?.["path"] === "auth/token/create",
  );
  assert.ok(made !== undefined);
  const { auth } = made["response"] as unknown as { auth: Record<string, unknown> };
  assert.equal(auth["client_token"], await hashOf(token));
  assert.equal(auth["accessor"], await hashOf(accessor));
  assert.deepEqual(auth["policies"], ["default", "readonly"]);
  assert.equal(auth["token_ttl"], 60);
});
