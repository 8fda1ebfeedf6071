// Threats B: ACL tokens, what they may do, who sees them, and how long they live. What is
// about further regions has no surface yet.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  aclServer,
  type AclServer,
  denied,
  indexOf,
  nanosOf,
  refused,
  StoppableClock,
  staysParked,
  succeeded,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
  UUID,
  type WireToken,
} from "../../support/servers/acl-server.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { startServer } from "../../support/servers/test-server.ts";
import {
  ACCESSOR,
  EXCHANGE,
  creating,
  oneTime,
  exchange,
  makeNamespaces,
} from "../token-requests.ts";

const NIL = "00000000-0000-0000-0000-000000000000";
/** A token of a namespace, made by root's management. */
async function createIn(server: AclServer, namespace: string, body: object): Promise<WireToken> {
  return tokenOf(await server.manage("POST", "/acl/token", { namespace, body }));
}

/** What a caller can see of an answer, without what differs by design. */
function visible({ status, headers, text }: Answer): unknown {
  const { "x-service-request-id": _id, date: _date, ...rest } = headers;
  return { status, headers: rest, text };
}

test("T-B01: what stands where a secret was hidden lets nobody in, and is no secret", async (t) => {
  const server = await aclServer(t);
  for (const word of ["<hidden>", "redacted", "null", "undefined", NIL, "*****"]) {
    denied(await server.list({}, word));
    denied(await server.self(word));
  }
  denied(await server.list({}, ""));
  const body = { AccessorID: ACCESSOR, SecretID: NIL, Type: "client", Policies: ["p"] };
  const upload = await server.manage("PUT", `/acl/token/${ACCESSOR}`, { body });
  refused(upload, 400, /./);
  const fresh = await unclaimedServer(t);
  refused(await fresh.bootstrap({ BootstrapSecret: NIL }), 400, "invalid acl token");
  denied(await fresh.list({}, NIL));
});

test("T-B03: a token without rights never counts as management", async (t) => {
  const server = await aclServer(t);
  for (const Type of ["Management", "MANAGEMENT", "management ", "root", "", null, 0, {}]) {
    refused(await creating(server, { Type, Policies: null }), 400, /./);
  }
  refused(await creating(server, { Type: "client", Policies: [] }), 400, /./);
  const gone = tokenOf(await creating(server, { Type: "client", Policies: ["not-there"] }));
  denied(await server.list({}, gone.SecretID));
  denied(await server.ask("POST", "/acl/token", { token: gone.SecretID, body: {} }));
  const path = "/v1/sys/namespaces/x";
  assert.equal((await server.ask("GET", path, { token: gone.SecretID })).status, 403);
});

test("T-B05: whoever waits with a token that is deleted gets no data, at once", async (t) => {
  const server = await aclServer(t);
  const token = await server.createManagement();
  const index = indexOf(await server.list());
  const waiting = server.list({ index: `${index}` }, token.SecretID);
  assert.ok(await staysParked(server, waiting));
  succeeded(await server.manage("DELETE", `/acl/token/${token.AccessorID}`));
  const start = performance.now();
  denied(await waiting);
  assert.ok(performance.now() - start < 15_000); // not by the end of its wait, after minutes
});

test("T-B05: whoever waits with a token that expires gets no data, within a second", async (t) => {
  const server = await aclServer(t, { settings: { acl: { token_min_expiration_ttl: "1s" } } });
  const token = await server.createManagement({ ExpirationTTL: "1s" });
  const index = indexOf(await server.list());
  const start = performance.now();
  const answer = await server.list({ index: `${index}`, wait: "60s" }, token.SecretID);
  refused(answer, 403, "Permission denied", "token_expired");
  assert.ok(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});

test("T-B06: a list shows the tokens of its namespace, whatever the query says", async (t) => {
  const server = await aclServer(t);
  await makeNamespaces(server, "team");
  const inside = await createIn(server, "team", { Type: "management", Name: "inside" });
  const outside = await server.create({ Name: "outside" });
  for (const query of [{}, { namespace: "*" }, { namespace: "team" }, { global: "false" }]) {
    const names = (await server.stubs(query)).map(({ Name }) => Name);
    assert.ok(names.includes("outside") && !names.includes("inside"), names.join());
  }
  const { SecretID } = inside;
  for (const query of ["", "?namespace=*", "?namespace=root"]) {
    const path = `/acl/tokens${query}`;
    const answer = await server.ask("GET", path, { token: SecretID, namespace: "team" });
    succeeded(answer);
    assert.ok(answer.text.includes("inside") && !answer.text.includes(outside.AccessorID));
    // Its rights end where its namespace does.
    denied(await server.ask("GET", path, { token: SecretID }));
  }
  const everywhere = await server.manage("GET", "/acl/tokens", { namespace: "*" });
  assert.ok([400, 403].includes(everywhere.status), everywhere.text);
  assert.ok(!everywhere.text.includes("inside"));
});

test("T-B07: no secret is in a list, in a log or in an audit record", async (t) => {
  const server = await aclServer(t);
  const file_path = join(server.test.auditDirectory, "b07.log");
  const device = { type: "file", options: { file_path } };
  const enabled = await server.manage("POST", "/v1/sys/audit/file", { body: device });
  assert.ok(enabled.status < 300, enabled.text);
  const client = await server.create();
  const uploaded = await server.upload(ACCESSOR);
  succeeded(await server.update(client, { Name: "n2" }));
  const once = await oneTime(server, client.SecretID);
  succeeded(await exchange(server, once));
  succeeded(await server.self(uploaded.SecretID));
  const fresh = await server.createManagement();
  succeeded(await server.list({}, fresh.SecretID));
  await server.list({ filter: `Name == "${client.SecretID}"` }); // a secret in the wrong place
  await server.ask("GET", `/acl/token/${UNKNOWN}`, { token: client.SecretID });
  const lists = [await server.list(), await server.list({ global: "true" })];
  const output = [...lists.map(({ text }) => text), ...server.test.lines].join("\n");
  const audited = readFileSync(file_path, "utf8");
  assert.ok(audited.split("\n").length > 12);
  for (const secret of [client.SecretID, uploaded.SecretID, fresh.SecretID, once]) {
    assert.ok(!output.includes(secret));
    const kept = audited.split("\n").filter((line) => line.includes(secret));
    assert.deepEqual(kept, []);
  }
  assert.ok(!`${output}${audited}`.includes(server.management));
});

test("T-B08: who may not list learns nothing from prefix, filter, cursor or page", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const { AccessorID } = await server.create({ Name: "wanted" });
  const seen = new Set<string>();
  for (const query of [
    { prefix: AccessorID.slice(0, 8) },
    { prefix: "00ff00ff" },
    { prefix: "abc" },
    { filter: 'Name == "wanted"' },
    { filter: "(" },
    { per_page: "1" },
    { per_page: "x" },
    { index: "1" },
    {},
  ]) {
    const answer = await server.list(query, SecretID);
    denied(answer);
    seen.add(JSON.stringify(visible(answer)));
  }
  assert.equal(seen.size, 1);
});

test("T-B09: a filter is no oracle on what is hidden", async (t) => {
  const server = await aclServer(t);
  const first = server.management.slice(0, 1);
  for (const field of ["SecretID", "Hash", "secret", "OneTimeSecretID"]) {
    for (const filter of [
      `${field} matches "^${first}"`,
      `${field} == "${server.management}"`,
      `${field} is empty`,
      `${field} contains "${first}"`,
      `"${first}" in ${field}`,
      `"/${field}" matches "^${first}"`,
      `any ${field} as x { x == "${first}" }`,
      `Name == "none" and ${field} matches "^${first}"`,
      `not ${field} is empty`,
    ]) {
      refused(await server.list({ filter }), 400, /error finding value in datum/);
    }
  }
});

test("T-B10: no spelling of root or management gives a client token more", async (t) => {
  const server = await aclServer(t);
  const spellings = [
    "root",
    "Root",
    "ROOT",
    " root",
    "root ",
    "\troot",
    "ｒｏｏｔ",
    "root\u200b",
    "root/",
  ];
  for (const name of [...spellings, "ſudo", "../root", "", "a".repeat(257)]) {
    refused(await creating(server, { Type: "client", Policies: [name] }), 400, /./);
    refused(await creating(server, { Type: "client", Policies: ["readonly", name] }), 400, /./);
  }
  const token = await server.create();
  refused(await server.update(token, { Policies: ["Root"] }), 400, /./);
  for (const Type of ["Management", " management", "management\u200b", "ｍanagement"]) {
    refused(await creating(server, { Type, Policies: ["readonly"] }), 400, /./);
  }
  // One folded form at rest.
  assert.deepEqual(
    tokenOf(await creating(server, { Type: "client", Policies: ["ReadOnly"] })).Policies,
    ["readonly"],
  );
});

test("T-B11: nobody gives what it does not have", async (t) => {
  const server = await aclServer(t);
  await makeNamespaces(server, "team");
  const client = await server.create();
  const grown = { AccessorID: client.AccessorID, Type: "management", Policies: null };
  const { SecretID: token } = client;
  denied(await server.ask("POST", "/acl/token", { token, body: { Type: "management" } }));
  denied(await server.ask("POST", `/acl/token/${client.AccessorID}`, { token, body: grown }));
  // A policy of the root namespace means nothing on a token of another.
  await server.writePolicy("everything", 'path "*" { capabilities = ["read", "list", "sudo"] }');
  const admin = await createIn(server, "team", { Type: "management" });
  const body = { Type: "client", Policies: ["everything"] };
  const options = { token: admin.SecretID, namespace: "team", body };
  const made = tokenOf(await server.ask("POST", "/acl/token", options));
  for (const namespace of [undefined, "team"]) {
    const path = "/v1/sys/namespaces/x";
    const answer = await server.ask("GET", path, { token: made.SecretID, namespace });
    assert.equal(answer.status, 403, answer.text);
  }
});

test("T-B12 T-B13: an accessor leads nowhere from another namespace", async (t) => {
  const server = await aclServer(t);
  await makeNamespaces(server, "a", "b");
  const admin = await createIn(server, "a", { Type: "management" });
  const victim = await createIn(server, "b", { Type: "client", Policies: ["p"], Name: "victim" });
  const path = `/acl/token/${victim.AccessorID}`;
  const body = { AccessorID: victim.AccessorID, Type: "client", Policies: ["p"], Name: "taken" };
  for (const namespace of ["b", ""]) {
    const options = { token: admin.SecretID, namespace };
    denied(await server.ask("GET", path, options));
    denied(await server.ask("DELETE", path, options));
    denied(await server.ask("POST", path, { ...options, body }));
  }
  // In its own namespace there is no such token.
  const own = { token: admin.SecretID, namespace: "a" };
  refused(await server.ask("GET", path, own), 404, "ACL token not found");
  refused(await server.ask("DELETE", path, own), 400, /^Cannot delete nonexistent tokens/);
  refused(await server.ask("POST", path, { ...own, body }), 400, /^cannot find token/);
  // Nor does root reach it without naming the namespace.
  refused(await server.manage("GET", path), 404, "ACL token not found");
  refused(await server.manage("DELETE", path), 400, /^Cannot delete nonexistent tokens/);
  assert.deepEqual(tokenOf(await server.manage("GET", path, { namespace: "b" })), victim);
  const once = { token: victim.SecretID, namespace: "b" };
  const made = await server.ask("POST", "/acl/token/onetime", once);
  const exchanged = { OneTimeSecretID: at(made, "OneTimeToken", "OneTimeSecretID") };
  denied(await server.ask("POST", EXCHANGE, { namespace: "a", body: exchanged }));
  succeeded(await server.ask("POST", EXCHANGE, { namespace: "b", body: exchanged }));
});

test("T-B14: no lifetime means for ever but the one that says nothing", async (t) => {
  const server = await aclServer(t);
  const bad = [
    "0.4s",
    -1,
    "-1s",
    "NaN",
    "∞",
    "Infinity",
    "1e400s",
    "1e9s",
    "9223372037s",
    1,
    "1ns",
    0.5,
    0.9,
    -0.4,
    1e-300,
    "0.4ns",
    "-0.4ns",
    "0.0000000001s",
    "0.00000000000001h",
  ];
  for (const ExpirationTTL of bad) {
    refused(await creating(server, { Type: "client", Policies: ["p"], ExpirationTTL }), 400, /./);
  }
  const huge = '{"Type":"client","Policies":["p"],"ExpirationTTL":1e400}';
  refused(await creating(server, huge), 400, /./);
  // Numbers of which a double keeps nothing, and those that it rounds.
  for (const digits of ["1e-400", "-1e-999", "0.00000000000000000000000001", "0.50"]) {
    const text = `{"Type":"client","Policies":["p"],"ExpirationTTL":${digits}}`;
    refused(await creating(server, text), 400, /below one nanosecond/);
  }
  for (const ExpirationTime of [
    "+275761-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "1969-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "tomorrow",
    0,
    true,
  ]) {
    refused(await creating(server, { Type: "client", Policies: ["p"], ExpirationTime }), 400, /./);
  }
  // The same as not given.
  for (const ExpirationTTL of [0, "0", "0s", "", null]) {
    const token = await server.create({ ExpirationTTL });
    assert.deepEqual([token.ExpirationTime, token.ExpirationTTL], [null, ""]);
  }
});

test("T-B15: a token that expired while the server was down or sealed is refused", async (t) => {
  const disk = new MemoryDisk();
  const clock = new StoppableClock();
  const server = await aclServer(t, { disk, world: { clock } });
  const token = await server.createManagement({ ExpirationTTL: "1m" });
  succeeded(await server.self(token.SecretID));
  await server.test.crash();
  clock.stoppedAt = nanosOf(token.ExpirationTime) + 1n;
  const restarted = await startServer({ disk, world: { clock } });
  t.after(() => restarted.stop());
  await restarted.unseal(server.shares);
  const options = { token: token.SecretID };
  denied(await restarted.call("GET", "/acl/token/self", options), "ACL token expired");
  const list = await restarted.call("GET", "/acl/tokens", options);
  refused(list, 403, "Permission denied", "token_expired");
});

test("T-B22: an unknown and a deleted secret get the same answer", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const spent = await oneTime(server, token.SecretID);
  const replaced = await oneTime(server, token.SecretID);
  succeeded(await exchange(server, replaced));
  succeeded(await server.manage("DELETE", `/acl/token/${token.AccessorID}`));
  for (const [verb, path] of [
    ["GET", "/acl/tokens"],
    ["GET", "/acl/token/self"],
    ["GET", `/acl/token/${token.AccessorID}`],
    ["GET", `/acl/token/${UNKNOWN}`],
    ["POST", "/acl/token/onetime"],
    ["DELETE", `/acl/token/${token.AccessorID}`],
  ] as const) {
    const unknown = await server.ask(verb, path, { token: UNKNOWN });
    denied(unknown);
    assert.deepEqual(
      visible(await server.ask(verb, path, { token: token.SecretID })),
      visible(unknown),
    );
  }
  const none = visible(await exchange(server, UNKNOWN));
  for (const secret of [spent, replaced])
    assert.deepEqual(visible(await exchange(server, secret)), none);
});

test("T-B26: rights that were taken away are gone with the next request", async (t) => {
  const server = await aclServer(t);
  await makeNamespaces(server, "team");
  const path = "/v1/sys/namespaces/team";
  const token = await server.create();
  const look = async (secret: string) => (await server.ask("GET", path, { token: secret })).status;
  assert.equal(await look(token.SecretID), 200);
  succeeded(await server.update(token, { Policies: ["other"] }));
  assert.equal(await look(token.SecretID), 403);
  const manager = await server.createManagement();
  succeeded(await server.list({}, manager.SecretID));
  succeeded(await server.update(manager, { Type: "client", Policies: ["other"] }));
  denied(await server.list({}, manager.SecretID));
  assert.equal(await look(manager.SecretID), 403);
});

test("T-B28: other case names the same token, and nothing usable is left of it", async (t) => {
  const server = await aclServer(t);
  const upper = ACCESSOR.toUpperCase();
  const SecretID = "0F8FAD5B-D9CB-469F-A165-70867728950E";
  const body = { AccessorID: upper, SecretID, Type: "client", Policies: ["p"] };
  const token = tokenOf(await server.manage("PUT", `/acl/token/${upper}`, { body }));
  assert.match(token.AccessorID, UUID);
  assert.match(token.SecretID, UUID);
  for (const secret of [SecretID, token.SecretID]) succeeded(await server.self(secret));
  succeeded(await server.manage("DELETE", `/acl/token/${token.AccessorID}`));
  for (const secret of [SecretID, token.SecretID]) denied(await server.self(secret));
  const other = await server.create();
  succeeded(await server.manage("DELETE", `/acl/token/${other.AccessorID.toUpperCase()}`));
  denied(await server.self(other.SecretID));
  assert.equal((await server.stubs()).length, 1);
});
