// Who sees a mount: listing visibility, sys/internal/ui/mounts, which members audit shows in clear, and
// the table of auth mounts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  dataOf,
  done,
  engineServer,
  grants,
  refused,
} from "../../support/servers/engine-server.ts";
import { at, type Answer } from "../../support/http-client.ts";

function visible(answer: Answer, kind: "secret" | "auth"): string[] {
  return Object.keys(dataOf(answer)[kind] as object).toSorted();
}

test("without a token only mounts that say so are shown; with one, those that its policies reach", async (t) => {
  const server = await engineServer(t);
  await server.enable("open", "kv", { config: { listing_visibility: "unauth" } });
  await server.enable("reached", "kv");
  await server.enable("deep/er", "kv");
  await server.enable("other", "kv");
  const people = { type: "userpass", config: { listing_visibility: "unauth" } };
  done(await server.ask("POST", "sys/auth/people", people));
  done(await server.ask("POST", "sys/auth/staff", { type: "userpass" }));
  const anonymous = await server.test.call("GET", "/v1/sys/internal/ui/mounts");
  assert.deepEqual(visible(anonymous, "secret"), ["open/"]);
  assert.deepEqual(visible(anonymous, "auth"), ["people/"]);
  const token = await server.client(
    grants("reached/data/app/*", "read") + grants("deep/+/x", "update") + grants("other/*", "deny"),
  );
  const client = await server.ask("GET", "sys/internal/ui/mounts", undefined, { token });
  const seen = visible(client, "secret");
  for (const path of ["open/", "reached/", "deep/er/"]) assert.ok(seen.includes(path), path);
  assert.ok(!seen.includes("other/"), "denied");
  const root = visible(await server.ask("GET", "sys/internal/ui/mounts"), "secret");
  for (const path of ["deep/er/", "open/", "other/", "reached/"])
    assert.ok(root.includes(path), path);
  // A token that is none is as nobody.
  const wrong = await server.ask("GET", "sys/internal/ui/mounts", undefined, { token: "wrong" });
  assert.deepEqual(visible(wrong, "secret"), ["open/"]);
});

test("the mount of a path is told to who may do something there", async (t) => {
  const server = await engineServer(t);
  await server.enable("team/kv", "kv", { description: "ours" });
  const token = await server.client(grants("team/kv/data/app", "read"));
  for (const path of ["team/kv", "team/kv/app", "team/kv/some/where"]) {
    const data = dataOf(
      await server.ask("GET", `sys/internal/ui/mounts/${path}`, undefined, { token }),
    );
    assert.equal(data["path"], "team/kv/");
    assert.equal(data["type"], "kv");
    assert.deepEqual(data["options"], { version: "2" });
  }
  const stranger = await server.client(grants("elsewhere/*", "read"));
  // No difference between what is not there and what one may not see.
  for (const path of ["team/kv/app", "none/app"]) {
    const answer = await server.ask("GET", `sys/internal/ui/mounts/${path}`, undefined, {
      token: stranger,
    });
    refused(answer, 403, /permission denied/);
  }
});

test("audit shows in clear what the mount names, and nothing else", async (t) => {
  const server = await engineServer(t);
  const file_path = join(server.test.auditDirectory, "file.log");
  await server.must("POST", "sys/audit/file", { type: "file", options: { file_path } });
  await server.enable("kv", "kv", { options: { version: "1" } });
  const written = () => {
    const lines = readFileSync(file_path, "utf8").trimEnd().split("\n");
    return lines.filter((line) => line.includes('"kv/key"'));
  };
  const body = { shown: "in-clear-1", hidden: "in-secret-1" };
  await server.must("POST", "kv/key", body);
  await server.must("GET", "kv/key");
  assert.ok(written().length >= 4);
  for (const line of written()) assert.doesNotMatch(line, /in-clear-1|in-secret-1/);
  done(
    await server.ask("POST", "sys/mounts/kv/tune", {
      audit_non_hmac_request_keys: ["shown"],
      audit_non_hmac_response_keys: ["shown"],
    }),
  );
  const before = written().length;
  await server.must("POST", "kv/key", body);
  await server.must("GET", "kv/key");
  const [wrote, , , read] = written().slice(before);
  assert.match(wrote ?? "", /in-clear-1/);
  assert.match(read ?? "", /in-clear-1/);
  for (const line of written()) assert.doesNotMatch(line, /in-secret-1/);
});

test("auth mounts have the same shapes; token/ is there and stays", async (t) => {
  const server = await engineServer(t);
  const table = dataOf(await server.ask("GET", "sys/auth"));
  assert.equal((table["token/"] as { type: string }).type, "token");
  const removed = await server.ask("DELETE", "sys/auth/token");
  assert.ok([400, 403].includes(removed.status), removed.text);
  done(await server.ask("POST", "sys/auth/people", { type: "userpass", description: "staff" }));
  const mount = dataOf(await server.ask("GET", "sys/auth/people"));
  assert.match(String(mount["accessor"]), /^userpass_[0-9a-f]{8}$/);
  assert.equal(mount["type"], "userpass");
  assert.equal(mount["description"], "staff");
  for (const [path, body] of [
    ["people", { type: "userpass" }],
    ["people/x", { type: "userpass" }],
    ["token", { type: "userpass" }],
  ] as const) {
    const answer = await server.ask("POST", `sys/auth/${path}`, body);
    assert.ok([403, 409].includes(answer.status), `${path}: ${answer.text}`);
  }
  assert.equal((await server.ask("POST", "sys/auth/x", { type: "kv" })).status, 400);
  done(await server.ask("POST", "sys/auth/people/tune", { default_lease_ttl: "5m" }));
  assert.equal(dataOf(await server.ask("GET", "sys/auth/people/tune"))["default_lease_ttl"], 300);
  // The other door to the same tuning needs no sudo.
  const every = ["read", "update"];
  const token = await server.client(grants("sys/mounts/auth/people/tune", ...every));
  const tune = { token };
  done(await server.ask("POST", "sys/mounts/auth/people/tune", { max_lease_ttl: "1h" }, tune));
  const read = await server.ask("GET", "sys/mounts/auth/people/tune", undefined, tune);
  assert.equal(dataOf(read)["max_lease_ttl"], 3600);
});

test("a login makes a client token with the method's policies and the mount's times", async (t) => {
  const server = await engineServer(t);
  done(await server.ask("POST", "sys/auth/people", { type: "userpass" }));
  done(await server.ask("POST", "sys/auth/people/tune", { default_lease_ttl: "5m" }));
  await server.must("POST", "sys/policies/acl/app", { policy: grants("cubbyhole/none", "read") });
  const user = { password: "correct horse battery", token_policies: ["app"] };
  await server.must("POST", "auth/people/users/ann", user);
  const login = (password: string) =>
    server.test.call("POST", "/v1/auth/people/login/ann", { body: { password } });
  const auth = at(await login("correct horse battery"), "auth") as Record<string, unknown>;
  assert.deepEqual((auth["policies"] as string[]).toSorted(), ["app", "default"]);
  assert.equal(auth["lease_duration"], 300);
  assert.equal(auth["orphan"], true);
  const token = String(auth["client_token"]);
  const self = dataOf(await server.ask("GET", "auth/token/lookup-self", undefined, { token }));
  assert.match(String(self["display_name"]), /ann$/);
  const wrong = await login("wrong");
  assert.ok([400, 403].includes(wrong.status), wrong.text);
  // Disabling the method ends what it let in.
  done(await server.ask("DELETE", "sys/auth/people"));
  assert.equal((await login("correct horse battery")).status, 403);
});
