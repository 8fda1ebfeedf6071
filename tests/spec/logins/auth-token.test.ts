// The view of tokens that existing clients know, through HTTP: making them, looking
// them up, listing them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  aclServer,
  HOUR,
  MINUTE,
  nanosOf,
  SECOND,
  tokenOf,
  UNKNOWN,
  UUID,
} from "../../support/servers/acl-server.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Auth,
  ask,
  authOf,
  create,
  facts,
  isGood,
  refused,
  unknownToken,
  stopped,
} from "../../support/auth-token.ts";

const MAKES = 'path "auth/token/create" { capabilities = ["update"] }';
// --- making ---

test("create-orphan takes no_parent, as a command line says it there too, and refuses its contrary", async (t) => {
  const server = await aclServer(t);
  const wanted = { policies: ["readonly"], ttl: "1h", no_parent: true };
  const made = await ask(server, "create-orphan", wanted);
  assert.equal(made.status, 200, made.text);
  assert.equal(at(made, "warnings"), null);
  const { client_token: token } = authOf(made);
  assert.equal((await facts(server, token))["orphan"], true);
  const body = { policies: ["readonly"], no_parent: false };
  const contrary = await ask(server, "create-orphan", body);
  assert.equal(contrary.status, 400);
  assert.match(contrary.text, /no_parent must be true here; auth\/token\/create makes children/);
});

test("a token that is made comes in auth, and is a token of the ACL API", async (t) => {
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
  const folded = "policy names were converted to lower case: readonly";
  assert.deepEqual(at(answer, "warnings"), [folded]);
  assert.equal(at(answer, "lease_id"), "");
  assert.equal(at(answer, "mount_type"), "token");

  const record = tokenOf(await server.manage("GET", `/acl/token/${auth.accessor}`));
  assert.equal(record.SecretID, auth.client_token);
  assert.deepEqual([record.Name, record.Type, record.Global], ["ci", "client", false]);
  assert.deepEqual(record.Policies, ["readonly"]);
  assert.equal(record.ExpirationTTL, "1h0m0s");
  assert.equal(nanosOf(record.ExpirationTime), clock.now() + HOUR);
});

test("what existing clients send with every creation is understood without a warning", async (t) => {
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

test("management without policies makes a management token that ends with it", async (t) => {
  const server = await aclServer(t);
  // What a provisioning tool makes for the time that it runs, word for word.
  const child = await create(server, { ttl: "20m", explicit_max_ttl: "20m", renewable: false });
  assert.deepEqual([child.policies, child.lease_duration], [["root"], 1200]);
  const token = child.client_token;
  assert.equal((await server.ask("GET", "/acl/tokens", { token })).status, 200);
  const grandchild = await create(server, { policies: [] }, { token });
  assert.deepEqual(grandchild.policies, ["root"]);
  const client = await create(server, { policies: ["readonly"] }, { token });
  assert.deepEqual(client.policies, ["default", "readonly"]);
  assert.equal((await ask(server, "revoke", { token })).status, 204);
  for (const { client_token: gone } of [child, grandchild, client]) {
    assert.equal(await isGood(server, gone), false);
  }
  const refusal = async (body: Record<string, unknown>) =>
    JSON.stringify(at(await ask(server, "create", body), "warnings"));
  assert.match(await refusal({ polices: "default" }), /a management token.*no policies were given/);
  assert.doesNotMatch(await refusal({ policies: ["root"] }), /management/, "it was asked for");
  const none = await ask(server, "create", { no_default_policy: true });
  assert.equal(none.status, 400);
  await server.writePolicy("maker", MAKES);
  const maker = await create(server, { policies: ["maker"] });
  for (const policies of [["Root"], ["root", "readonly"]]) {
    const root = await ask(server, "create", { policies }, { token: maker.client_token });
    assert.equal(root.status, 400, "T-B10: no client token is root, nor makes one");
  }
});

test("management that asks for the policy root gets what it means: a management child", async (t) => {
  const server = await aclServer(t);
  const fields = { policies: ["root"], ttl: "1h", no_default_policy: false, renewable: true };
  for (const body of [fields, { policies: ["Root", "default"], ttl: "1h" }]) {
    const child = await create(server, body);
    assert.equal(child["lease_duration"], 3600);
    assert.deepEqual(child.policies, ["root"]);
    assert.equal(at(await server.self(child.client_token), "Type"), "management");
  }
  await server.writePolicy(
    "sudoer",
    'path "auth/token/create" { capabilities = ["update", "sudo"] }',
  );
  const sudoer = (await server.create({ Policies: ["sudoer"] })).SecretID;
  const refusal = await ask(server, "create", fields, { token: sudoer });
  assert.equal(refusal.status, 400, "T-B10: sudo is not everything");
});

test("a secret that somebody chooses is refused, and no other is made instead", async (t) => {
  const server = await aclServer(t);
  for (const path of ["create", "create-orphan"]) {
    const answer = await ask(server, path, { policies: ["readonly"], id: "mytoken" });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /id cannot be chosen here: leave it out/);
    assert.doesNotMatch(answer.text, /mytoken/);
  }
  const empty = await ask(server, "create", { policies: ["readonly"], ttl: "1h", id: "" });
  assert.equal(at(empty, "warnings"), null, "what existing clients send without a choice");
});

test("an alias is refused as what it is: not supported", async (t) => {
  const server = await aclServer(t);
  const answer = await ask(server, "create", { policies: ["readonly"], entity_alias: "ada" });
  const text =
    "entity_alias must be left out or empty: there are no entities, and aliases are not supported";
  refused(answer, 400, text);
});

test("who gives a token the policy of wrapping tokens is told what that is", async (t) => {
  const server = await aclServer(t);
  const policies = ["response-wrapping", "readonly"];
  const made = await ask(server, "create", { policies, ttl: "1h" });
  assert.match(String(at(made, "warnings")), /^response-wrapping is the policy of wrapping tokens/);
  const body = { Type: "client", Policies: policies };
  const other = await server.manage("POST", "/v1/acl/token", { body });
  assert.match(String(other.headers["x-service-warning"]), /policy of wrapping tokens/);
});

test("without the default policy a token may not even look at itself", async (t) => {
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
  // It can be named among the policies all the same, which is told.
  const both = { policies: ["readonly", "default"], ttl: 60, no_default_policy: true };
  assert.deepEqual(at(await ask(server, "create", both), "warnings"), [
    "no_default_policy has no effect: default is among the policies of the token",
  ]);
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
  const body = { policies: ["maker"], period: "1h", no_parent: true };
  const free = await create(server, body, { token: sudoer });
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

test("a look-up tells the same by secret, by accessor and of oneself", async (t) => {
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

test("the path of a token is where it was made, whatever becomes of its parent", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("maker", MAKES);
  const pathOf = async ({ client_token: secret }: Auth) => {
    const { path, orphan } = await facts(server, secret);
    return [path, orphan];
  };
  const parent = await create(server, { policies: ["maker"] });
  const child = await create(server, {}, { token: parent.client_token });
  assert.deepEqual(await pathOf(child), ["auth/token/create", false]);
  const { status } = await ask(server, "revoke-orphan", { token: parent.client_token });
  assert.equal(status, 204);
  assert.deepEqual(await pathOf(child), ["auth/token/create", true]);
  const alone = await create(server, { policies: ["readonly"], no_parent: true });
  assert.deepEqual(await pathOf(alone), ["auth/token/create", true]);
  const orphan = authOf(await ask(server, "create-orphan", { policies: ["readonly"] }));
  assert.deepEqual(await pathOf(orphan), ["auth/token/create-orphan", true]);
});

test("a management token is root without an end, a token of /acl/ is no renewable one", async (t) => {
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
      for (const sent of [accessor, UNKNOWN, "no uuid"]) {
        const answer = await ask(server, path, { accessor: sent }, from);
        refused(answer, 403, "permission denied", "invalid accessor");
        seenFromA.push(answer.headers["x-service-error"]);
      }
    }
    for (const path of ["lookup", "renew", "revoke", "revoke-orphan"]) {
      unknownToken(await ask(server, path, { token }, from));
    }
  }
  assert.deepEqual(new Set(seenFromA), new Set(["invalid_accessor"]));
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

test("accessors are listed in their order with what is worth knowing, for sudo alone", async (t) => {
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

// --- the trail ---

test("a token that is given out stands in the audit trail as a hash", async (t) => {
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
