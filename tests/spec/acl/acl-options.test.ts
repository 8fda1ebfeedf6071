// Options of the token API: each is honoured or refused, none is taken and forgotten.

import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  aclServer,
  HeldTimers,
  indexOf,
  refused,
  SECOND,
  StoppableClock,
  succeeded,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";
import type { Answer } from "../../support/http-client.ts";

const HEADS = 16 * 1024; // what clients read of an answer before its body

function warningsOf(answer: Answer): string {
  return String(answer.headers["x-service-warning"] ?? "");
}

test("a warning about policies names some of them, and how many there are besides", async (t) => {
  const server = await aclServer(t);
  const Policies = Array.from({ length: 1024 }, (_, i) => `p${i}-${"x".repeat(110)}`);
  const headers = { "X-Nomad-Region": "a", "X-Vault-Request": "true" };
  const body = { Type: "client", Policies };
  const made = await server.manage("POST", "/acl/token", { body, headers });
  tokenOf(made);
  assert.match(warningsOf(made), /^unknown policies: p0-x+, .* and 1016 more$/);
  assert.equal(made.headers["x-nomad-warning"], warningsOf(made));
  assert.ok(JSON.stringify(made.headers).length < HEADS);
  const strict = await server.manage("POST", "/acl/token?strict_policies", { body });
  refused(strict, 400, /^unknown policies: p0-x+, .* and 1016 more$/);
});

test("names of policies that were folded are told", async (t) => {
  const server = await aclServer(t);
  const body = { Type: "client", Policies: ["ReadOnly", "readonly", "READONLY"] };
  const made = await server.manage("POST", "/acl/token", { body });
  const token = tokenOf(made);
  assert.deepEqual(token.Policies, ["readonly"]);
  assert.equal(warningsOf(made), "policy names were converted to lower case: readonly");
  const changed = await server.update(token, { Policies: ["readOnly"] });
  assert.match(warningsOf(changed), /converted to lower case/);
  assert.equal(warningsOf(await server.update(token, {})), "");
});

test("the index is never 0, also where there was no token yet", async (t) => {
  const server = await aclServer(t, { world: { timers: new HeldTimers() } });
  await server.manage("POST", "/v1/sys/namespaces/fresh");
  const ask = (query: string) =>
    server.manage("GET", `/acl/tokens${query}`, { namespace: "fresh" });
  const first = await ask("");
  assert.deepEqual(first.json, []);
  const index = indexOf(first);
  assert.ok(index > 0n);
  const waiting = ask(`?index=${index}&wait=4m`);
  const body = { Type: "client", Policies: ["p"] };
  const made = await server.manage("POST", "/acl/token", { body, namespace: "fresh" });
  assert.equal(indexOf(await waiting), indexOf(made));
  const none = await server.manage("GET", `/acl/token/${UNKNOWN}`, { namespace: "fresh" });
  assert.ok(indexOf(none) > 0n);
});

test("secret=false hides the secret of one's own token too", async (t) => {
  const server = await aclServer(t);
  const { SecretID: token, AccessorID } = await server.create();
  for (const path of ["self", AccessorID]) {
    const ask = (query: string) => server.ask("GET", `/acl/token/${path}?${query}`, { token });
    for (const no of ["secret=false", "secret=0", "secret=F"]) {
      assert.equal(tokenOf(await ask(no)).SecretID, "");
    }
    for (const yes of ["secret", "secret=true", "stale"]) {
      assert.equal(tokenOf(await ask(yes)).SecretID, token);
    }
    refused(await ask("secret=maybe"), 400, /Expect `true` or `false` for `secret`/);
  }
});

test("cas is compared by update and delete, refused where there is nothing to compare, and when empty", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const { AccessorID, ModifyIndex } = token;
  const path = `/acl/token/${AccessorID}`;
  const modified = `token was modified (index ${ModifyIndex})`;
  refused(await server.manage("DELETE", `${path}?cas=1`), 409, modified, "token_modified");
  const body = { AccessorID, Type: "client", Policies: ["readonly"] };
  refused(await server.manage("POST", "/acl/token?cas=1", { body }), 409, modified);
  const number = "Expect a number for `cas` query string parameter";
  for (const bad of ["", "=", "=x", "=-1", "=1.5"]) {
    refused(await server.manage("DELETE", `${path}?cas${bad}`), 400, number);
    refused(await server.manage("POST", `${path}?cas${bad}`, { body }), 400, number);
  }
  const fresh = { Type: "client", Policies: ["readonly"] };
  refused(
    await server.manage("POST", "/acl/token?cas=1", { body: fresh }),
    400,
    "`cas` compares what is stored; a new token has nothing to compare with",
  );
  succeeded(await server.manage("DELETE", `${path}?cas=${ModifyIndex}`));
});

test("a bare name is true; a region that is not there is none for a collection either", async (t) => {
  const server = await aclServer(t);
  await server.create({ Name: "here" });
  const everywhere = await server.create({ Name: "everywhere", Global: true });
  const names = async (query: string) =>
    ((await server.manage("GET", `/acl/tokens?${query}`)).json as { Name: string }[]).map(
      ({ Name }) => Name,
    );
  for (const query of ["global", "global=", "global=T"]) {
    const found = await names(query);
    assert.ok(found.includes(everywhere.Name) && !found.includes("here"), query);
  }
  assert.deepEqual(await names("reverse"), (await names("reverse=false")).toReversed());
  refused(await server.manage("GET", "/acl/tokens?global=yes"), 400, /`global`/);
  refused(await server.manage("POST", "/acl/gc?region=nowhere"), 404, "No path to region");
  succeeded(await server.manage("POST", "/acl/gc?region=global"));
});

test("a list of what has expired is as new as the clock", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const start = clock.now();
  clock.stoppedAt = start;
  await server.create({ Name: "short", ExpirationTTL: "60s" });
  const expired = async (filter: string) => (await server.stubs({ filter })).length;
  assert.equal(await expired("Expired == true"), 0);
  assert.equal(await expired("not Expired == false and Name == short"), 0);
  clock.stoppedAt = start + 61n * SECOND;
  assert.equal(await expired("Expired == true"), 1);
  assert.equal(await expired("not Expired == false and Name == short"), 1);
});

test("GET /acl/replication: short for all, whole for management", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const short = { Enabled: false, Running: false };
  for (const token of [undefined, SecretID, UNKNOWN]) {
    const answer = await server.ask("GET", "/v1/acl/replication", { token });
    succeeded(answer);
    assert.deepEqual(answer.json, short);
  }
  assert.deepEqual((await server.manage("GET", "/acl/replication")).json, {
    ...short,
    SourceRegion: "",
    ReplicatedPolicyIndex: 0,
    ReplicatedTokenIndex: 0,
    LastSuccess: null,
    LastError: null,
    LastErrorMessage: "",
  });
});

test("no accessor is a secret, and no secret an accessor", async (t) => {
  const server = await aclServer(t);
  const first = await server.create();
  const text = "SecretID must not be the accessor of a token, nor AccessorID the secret of one";
  for (const [AccessorID, SecretID] of [
    [UNKNOWN, UNKNOWN],
    [UNKNOWN.toUpperCase(), UNKNOWN],
    [UNKNOWN, first.AccessorID],
    [first.SecretID, UNKNOWN],
  ] as const) {
    const body = { AccessorID, SecretID, Type: "client", Policies: ["readonly"] };
    refused(await server.manage("PUT", `/acl/token/${AccessorID}`, { body }), 400, text);
  }
});

test("an accessor of any length is not told back whole", async (t) => {
  const server = await aclServer(t);
  const AccessorID = "a".repeat(900_000);
  const body = { AccessorID, Type: "client", Policies: ["readonly"] };
  const answer = await server.manage("POST", "/acl/token", { body });
  refused(answer, 400, /^AccessorID must be a string of at most \d+ characters$/);
  assert.ok(answer.text.length < 1000);
});

test("the directory of the reset file is there from the start, and the log names the file", async (t) => {
  const server = await unclaimedServer(t);
  const folder = join(server.test.directory, "server");
  assert.ok(existsSync(folder));
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  const first = tokenOf(await server.bootstrap());
  const file = join(folder, "acl-bootstrap-reset");
  const logged = () => server.test.lines.join("\n");
  assert.ok(!logged().includes(file));
  for (let i = 0; i < 3; i++) refused(await server.bootstrap(), 400, /already done/);
  assert.equal(logged().split(file).length, 2, "once, however often anybody asks");
  server.writeResetFile(`${first.CreateIndex}\n`);
  tokenOf(await server.bootstrap());
  refused(await server.bootstrap(), 400, /already done/);
  assert.equal(logged().split(file).length, 3, "another number is told again");
});
