// The same requests to the same engines, built in and as processes of their own: the answers are the same, to the word.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import type { Answer, CallOptions } from "../../support/http-client.ts";
import { at } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { served } from "../../support/plugins/child-type.ts";
import { thingEngine } from "../../support/plugins/thing-engine.ts";
import { ServerTime } from "../../support/servers/server-time.ts";

const MINUTE = 60_000_000_000n;
/** What is another one each time. */
const OWN = new Set([
  "accessor",
  "client_token",
  "created_time",
  "creation_time",
  "issue_time",
  "last_renewal",
  "token",
  "wrapped_accessor",
  "request_id",
  "thing",
  "id",
  "expire_time",
  "running_sha256",
  "creation_path",
  "deletion_time",
  "folder",
]);

function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, one: unknown) => {
      if (OWN.has(key)) return "*";
      if (typeof one !== "string") return one;
      return one
        .replaceAll(/thing-[0-9a-f-]{36}/g, "thing-*")
        .replaceAll(/(creds\/\w+\/)[\w.]+/g, "$1*")
        .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "uuid");
    }),
  );
}

/** What is no refusal of the engine's own is told in words of ours: nobody knows what those of another program quote. */
const OTHERWISE = new Map([
  ["POST things/crash", 'plugin "things" failed; its log says why'],
  [
    "POST sys/leases/revoke",
    'the lease could not be revoked and will be tried again: plugin "things" says that it never can',
  ],
]);

class Play {
  readonly said: unknown[] = [];
  readonly server: PluginServer;
  readonly time: ServerTime;
  readonly folder: string;

  constructor(server: PluginServer, time: ServerTime, folder: string) {
    this.server = server;
    this.time = time;
    this.folder = folder;
  }

  async ask(
    method: string,
    path: string,
    body?: object,
    options: CallOptions = {},
  ): Promise<Answer> {
    const answer = await this.server.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ...options,
    });
    this.said.push([method, path, answer.status, comparable(answer.json)]);
    return answer;
  }

  get things(): readonly string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith("thing-"));
  }

  /** Time passes until something holds. */
  async comes(holds: () => Promise<boolean> | boolean): Promise<void> {
    for (let i = 0; i < 200; i++) {
      if (await holds()) return;
      await this.time.passSlowly(MINUTE / 6n, MINUTE / 6n);
      // What a process is at takes real time, which goes by here.
      for (let times = 0; times < 3; times++) await this.server.call("GET", "things/facts");
    }
    assert.fail(`this never came: ${String(holds)}; there are ${this.things.length}`);
  }

  note(what: string, value: unknown): void {
    this.said.push([what, value]);
  }
}

async function play({
  server,
  ...rest
}: {
  server: PluginServer;
  time: ServerTime;
  folder: string;
}): Promise<unknown[]> {
  const it = new Play(server, rest.time, rest.folder);
  await engines(it);
  await leases(it);
  await rights(it);
  await logins(it);
  await secrets(it);
  return it.said;
}

async function engines(it: Play): Promise<void> {
  const { folder } = it;
  await it.ask("POST", "sys/mounts/things", { type: "things", options: { other: "x" } });
  await it.ask("POST", "sys/mounts/things", { type: "things", options: { folder } });
  await it.ask("POST", "things/roles/a", { ttl: "1h", max: "2h", unknown: 1 });
  await it.ask("POST", "things/roles/a", { ttl: "soon" });
  await it.ask("POST", "things/roles/a", { ttl: "90000s" });
  await it.ask("POST", "things/roles/b", { tags: ["a", "b", "c", "d"] });
  await it.ask("POST", "things/roles/b", { tags: "a,b", password: "dont-tell" });
  await it.ask("GET", "things/roles/a");
  await it.ask("GET", "things/roles/none");
  await it.ask("LIST", "things/roles");
  await it.ask("PATCH", "things/roles/a", {});
  await it.ask("GET", "things/nothing");
  await it.ask("GET", "things/roles/a?help=1");
  await it.ask("GET", "things/facts", undefined, { headers: { "X-Colour": "red" } });
  await it.ask("POST", "sys/mounts/things/tune", {
    default_lease_ttl: "30m",
    passthrough_request_headers: ["X-Colour"],
  });
  await it.ask("GET", "things/facts", undefined, { headers: { "X-Colour": "red" } });
  await it.ask("POST", "sys/remount", { from: "things", to: "stuff" });
  await it.comes(async () => (await it.server.call("GET", "stuff/facts")).status === 200);
  await it.ask("GET", "stuff/facts");
  await it.ask("POST", "sys/remount", { from: "stuff", to: "things" });
  await it.comes(async () => (await it.server.call("GET", "things/facts")).status === 200);
}

async function leases(it: Play): Promise<void> {
  const made = await it.ask("GET", "things/creds/a");
  it.note("made", it.things.length);
  const lease = { lease_id: at(made, "lease_id") };
  await it.ask("POST", "sys/leases/lookup", lease);
  await it.ask("POST", "sys/leases/renew", { ...lease, increment: 600 });
  await it.ask("POST", "sys/leases/revoke", { ...lease, sync: true });
  it.note("revoked", it.things.length);
  const fixed = await it.ask("GET", "things/creds/a?fixed=true");
  await it.ask("POST", "sys/leases/renew", { lease_id: at(fixed, "lease_id") });
  await it.ask("GET", "things/creds/none");
  const wrapped = await it.ask("GET", "things/creds/a", undefined, {
    headers: { "X-Service-Wrap-TTL": "60s" },
  });
  await it.ask("POST", "sys/wrapping/unwrap", { token: at(wrapped, "wrap_info", "token") });
  await it.ask("DELETE", "things/roles/b");
  await it.ask("DELETE", "things/roles/a");
  await it.ask("POST", "sys/leases/renew", { lease_id: at(made, "lease_id") });
  await it.ask("POST", "things/roles/a", {});
  await it.ask("POST", "things/crash");
  it.note("left behind", it.things.length);
  await it.comes(() => it.things.length === 2);
  const { data } = (await it.server.call("GET", "things/facts")).json as {
    data: { ticks: number };
  };
  it.note("ticks", data.ticks > 0);
  writeFileSync(join(it.folder, "stuck"), "");
  await it.ask("POST", "sys/leases/revoke", { lease_id: at(fixed, "lease_id"), sync: true });
  rmSync(join(it.folder, "stuck"));
  writeFileSync(join(it.folder, "kept"), "");
  await it.ask("GET", "sys/mounts/things");
  rmSync(join(it.folder, "kept"));
  await it.ask("DELETE", "sys/mounts/things");
  await it.comes(() => it.things.length === 0);
}

async function rights(it: Play): Promise<void> {
  const { folder } = it;
  await it.ask("POST", "sys/mounts/things", { type: "things", options: { folder } });
  await it.ask("POST", "sys/policies/acl/makes", {
    policy: `
path "things/roles/*" { capabilities = ["create", "read", "delete"] denied_parameters = { ttl = ["3600"] } }
path "things/facts" { capabilities = ["read"] }
`,
  });
  const made = await it.server.call("POST", "auth/token/create", { body: { policies: ["makes"] } });
  const token = String(at(made, "auth", "client_token"));
  await it.ask("POST", "things/roles/new", { ttl: "10m" }, { token });
  await it.ask("POST", "things/roles/new", { ttl: "10m" }, { token });
  await it.ask("POST", "things/roles/other", { ttl: "1h" }, { token });
  await it.ask("POST", "things/roles/other", { ttl: 3600 }, { token });
  await it.ask("DELETE", "things/roles/new", undefined, { token });
  await it.ask("GET", "things/facts", undefined, { token });
  await it.ask("LIST", "things/roles", undefined, { token });
  await it.ask("GET", "things/creds/new", undefined, { token });
  await it.ask("GET", "things/facts", undefined, { token: "none" });
}

async function logins(it: Play): Promise<void> {
  await it.ask("POST", "sys/auth/people", { type: "userpass" });
  await it.ask("POST", "auth/people/users/ada", { password: "x" });
  const password = "correct horse battery staple";
  await it.ask("POST", "auth/people/users/ada", {
    password,
    token_policies: ["makes"],
    token_ttl: "1h",
  });
  await it.ask("GET", "auth/people/users/ada");
  await it.ask("LIST", "auth/people/users");
  const none = { token: undefined };
  await it.ask("POST", "auth/people/login/ada", { password: "wrong" }, none);
  const login = await it.ask("POST", "auth/people/login/ada", { password }, none);
  const token = String(at(login, "auth", "client_token"));
  await it.ask("GET", "auth/token/lookup-self", undefined, { token });
  await it.ask("POST", "auth/token/renew-self", {}, { token });
  await it.ask("GET", "things/facts", undefined, { token });
  await it.ask("DELETE", "auth/people/users/ada");
  await it.ask("POST", "auth/token/renew-self", {}, { token });
  await it.ask("POST", "auth/people/login/ada", { password }, none);
  await it.ask("DELETE", "sys/auth/people");
  await it.ask("GET", "auth/token/lookup-self", undefined, { token });
}

async function secrets(it: Play): Promise<void> {
  await it.ask("POST", "sys/mounts/safe", { type: "kv", options: { version: "2" } });
  await it.ask("POST", "safe/data/a", { data: { big: 1 }, options: { cas: 0 } });
  await it.ask("POST", "safe/data/a", { data: { big: 2 }, options: { cas: 0 } });
  await it.ask(
    "POST",
    "safe/data/a",
    '{"data":{"big":12345678901234567890.10}}' as unknown as object,
  );
  const exact = await it.server.call("GET", "safe/data/a");
  it.note("digits", exact.text.includes("12345678901234567890.10"));
  await it.ask("PATCH", "safe/data/a", { data: { more: true } });
  await it.ask("LIST", "safe/metadata");
  await it.ask("GET", "safe/data/a?version=1");
  await it.ask("DELETE", "safe/data/a");
  await it.ask("GET", "safe/data/a");
  await it.ask("POST", "safe/undelete/a", { versions: [3] });
  await it.ask("DELETE", "safe/metadata/a");
  await it.ask("GET", "safe/metadata/a");
  await it.ask("POST", "sys/mounts/plain", { type: "kv", options: { version: "3" } });
  await it.ask("POST", "sys/mounts/plain", { type: "kv", options: { version: "1" } });
  await it.ask("POST", "plain/a/b", { x: 1, contentType: "text/html", text: "<b>" });
  await it.ask("GET", "plain/a/b");
}

const CHILDREN = [
  {
    name: "things",
    type: "secret",
    file: "tests/support/plugins/thing-engine.ts",
    exported: "thingEngine",
  },
  { name: "kv", type: "secret", file: "engines/kv/kv.ts", exported: "kvEngine" },
  {
    name: "userpass",
    type: "auth",
    file: "engines/userpass/userpass.ts",
    exported: "userpassType()",
  },
] as const;

test("kv, userpass and an engine with leases say the same built in and as processes: mounts, rights, leases, wrapping, rollback, logins", async (t) => {
  const played: unknown[][] = [];
  for (const isChild of [false, true]) {
    const folder = mkdtempSync(join(tmpdir(), "hf-things-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const time = new ServerTime();
    const server = await PluginServer.start(t, {
      world: { clock: time.clock, timers: time },
      ...(isChild ? {} : { engineTypes: [anyEngine(thingEngine)] }),
    });
    const audit = join(server.test.auditDirectory, "audit.log");
    await server.ok("POST", "sys/audit/file", { type: "file", options: { file_path: audit } });
    if (isChild) {
      for (const { name, type, ...child } of CHILDREN) {
        const command = `${name}.mjs`;
        const sha256 = server.place.put(command, served(child));
        await server.register({ name, type, command, sha256, args: [] });
        server.place.put(command, served(child)); // registering puts another one there
      }
    }
    played.push(await play({ server, time, folder }));
    const recorded = readFileSync(audit, "utf8");
    for (const hidden of ["dont-tell", "correct horse"]) {
      assert.ok(!recorded.includes(hidden), `${hidden} is in the audit file`);
    }
    if (isChild) assert.ok(server.test.server.plugins.processes.reports().length > 0);
    const logged = server.test.lines.join("");
    assert.ok(!/a secret in an error/.test(logged), "what an error quotes is in the log");
  }
  const [builtIn = [], child = []] = played;
  for (const [i, said] of builtIn.entries()) {
    const place = (said as unknown[]).slice(0, 2).join(" ");
    const [, , status, answer] = (child[i] ?? []) as unknown[];
    const other = OTHERWISE.get(place);
    if (other !== undefined && status === 502) {
      assert.deepEqual(answer, { errors: [other] });
      continue;
    }
    assert.deepEqual(child[i], said, place);
  }
  assert.equal(child.length, builtIn.length);
});
