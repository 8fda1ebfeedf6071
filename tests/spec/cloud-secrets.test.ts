// Case X1 of docs/cases/cloud-engines.md: after all that the engines of clouds do, some of it in vain, no secret of a
// provider is in the log, the audit trail, the metrics, or an answer that is not made to show it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  type CloudAServer,
  cloudaServer,
  DEPLOY_ROLE,
  READ_ONLY,
} from "../support/servers/cloud-server.ts";
import { type CloudBServer, cloudbServer } from "../support/servers/cloudb-server.ts";
import { type EngineServer, MINUTE, SECOND } from "../support/servers/engine-server.ts";
import { at } from "../support/http-client.ts";

/** The only ones whose good answers hold secrets. */
const SHOWING = /^cloud[ab]\/(?:creds|sts|static-creds)\//;

/** What a server shows to anybody. */
class Watched {
  /** Answers that must be without secrets. */
  readonly answers: string[] = [];
  /** Answers that are made to show some. */
  readonly visible: string[] = [];
  refused = 0;
  readonly #server: EngineServer;
  readonly #trail: string;

  private constructor(server: EngineServer) {
    this.#server = server;
    this.#trail = join(server.test.auditDirectory, "trail.log");
    const ask = server.ask.bind(server);
    server.ask = async (method, path, body, options) => {
      const answer = await ask(method, path, body, options);
      const isGood = answer.status === 200;
      const list = isGood && SHOWING.test(path) ? this.visible : this.answers;
      list.push(`${answer.text}\n${JSON.stringify(answer.headers)}`);
      if (answer.status >= 400) this.refused++;
      return answer;
    };
  }

  static async begin(server: EngineServer): Promise<Watched> {
    const watched = new Watched(server);
    const device = { type: "file", options: { file_path: watched.#trail } };
    await server.must("POST", "sys/audit/file", device);
    return watched;
  }

  /** `logged`: what must be in the log, so that it is known to tell of failures. */
  async hides(
    secrets: readonly string[],
    mount: string,
    logged: readonly string[] = [],
  ): Promise<void> {
    for (const path of ["sys/mounts", "sys/leases?type=irrevocable", `sys/mounts/${mount}`]) {
      await this.#server.ask("GET", path);
    }
    const metrics = await this.#server.must("GET", "sys/metrics?format=prometheus");
    assert.match(metrics.text, /cloud_call_seconds/);
    const trail = readFileSync(this.#trail, "utf8");
    assert.ok(trail.includes(`"${mount}/creds/`), "requests are in the trail");
    const places = {
      log: this.#server.test.lines.join("\n"),
      trail,
      metrics: metrics.text,
      answers: this.answers.join("\n"),
    };
    for (const line of logged) assert.ok(places.log.includes(line), line);
    for (const [place, text] of Object.entries(places)) {
      for (const secret of secrets) {
        const forms = [
          secret,
          encodeURIComponent(secret),
          Buffer.from(secret).toString("base64"),
          Buffer.from(secret).toString("hex"),
        ];
        for (const form of forms) {
          // Without the text: a failure must not show it either.
          assert.equal(text.indexOf(form), -1, `a secret is in the ${place}`);
        }
      }
    }
  }
}

const ECHO_A = { kind: "error", status: 400, code: "Bad", echo: true, times: null } as const;

async function useCloudA(server: CloudAServer): Promise<void> {
  const { control } = server.fake;
  await server.ask("POST", "clouda/config/check", {});
  await server.makeRole("user", { iam_groups: ["developers"], iam_tags: { team: "a" } });
  const sessions = { policy_arns: [], role_arns: [DEPLOY_ROLE] };
  await server.makeRole("session", { credential_type: "assumed_role", ...sessions });
  await server.makeRole("federated", {
    credential_type: "federation_token",
    policy_arns: [READ_ONLY],
  });
  const places = ["creds/user", "sts/session", "sts/federated"];
  const leases: string[] = [];
  for (const place of places) leases.push((await server.creds(`clouda/${place}`)).lease);
  for (const lease of leases) {
    await server.lookup(lease);
    await server.timed(server.renew(lease));
  }
  control.makeUser("app");
  const adopted = { username: "app", rotation_period: 60 };
  await server.timed(server.ask("POST", "clouda/static-roles/app", adopted));
  await server.must("GET", "clouda/static-creds/app");
  await server.timed(server.ask("POST", "clouda/static-roles/app/rotate", {}));

  const inVain = [
    ["CreateUser", "GET", "creds/user"],
    ["AttachUserPolicy", "GET", "creds/user"],
    ["CreateAccessKey", "GET", "creds/user"],
    ["AssumeRole", "GET", "sts/session"],
    ["GetFederationToken", "GET", "sts/federated"],
    ["CreateAccessKey", "POST", "static-roles/app/rotate"],
    ["CreateAccessKey", "POST", "config/rotate-root"],
  ] as const;
  for (const [action, method, path] of inVain) {
    for (const fault of [ECHO_A, { kind: "lost", times: 1 }] as const) {
      const id = control.fault({ ...fault, action });
      const body = method === "POST" ? {} : undefined;
      await server.timed(server.ask(method, `clouda/${path}`, body));
      control.faults.remove(id);
    }
  }
  const faults = ["DeleteUser", "CreateAccessKey"].map((action) =>
    control.fault({ ...ECHO_A, action }),
  );
  await server.askCreds("clouda/creds/user");
  for (const lease of leases) await server.revokeNow(lease);
  await server.revoke(leases[0] ?? "");
  await server.time.passSlowly(2n * MINUTE, 5n * SECOND); // queued ones and static keys, in vain
  for (const id of faults) control.faults.remove(id);
  for (const lease of leases) await server.revokeNow(lease);
  await server.time.passSlowly(15n * MINUTE, 10n * SECOND); // what was half made is undone
  await server.timed(server.must("POST", "clouda/config/rotate-root", {}));
  await server.creds("clouda/creds/user"); // with the new key
  for (const path of ["config/root", "static-roles/app", "roles/user", "orphans"]) {
    await server.ask("GET", `clouda/${path}`);
  }
}

test("X1: no secret of cloud A is in logs, audit, metrics or refusals", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const watched = await Watched.begin(server);
  await server.configure();
  await useCloudA(server);
  const secrets = server.fake.control.secrets();
  assert.ok(secrets.length > 10, `${secrets.length} secrets`);
  const text = watched.visible.join("\n");
  assert.ok(secrets.filter((secret) => text.includes(secret)).length > 5, "callers get theirs");
  assert.ok(watched.refused >= 10, `${watched.refused} refusals`);
  await watched.hides(secrets, "clouda", [
    "a user that came to nothing is removed later",
    "a static role could not be rotated",
  ]);
});

async function useCloudB(server: CloudBServer): Promise<void> {
  const { control } = server.fake;
  const { id } = control.makeApplication("existing");
  await server.makeRole("dynamic", { permanently_delete: true });
  await server.makeRole("existing", { application_object_id: id, cloudb_roles: "" });
  await server.makeRole("kept", { persist_app: true });
  const leases: string[] = [];
  for (const role of ["dynamic", "existing", "kept"]) leases.push((await server.creds(role)).lease);
  for (const lease of leases) {
    await server.lookup(lease);
    await server.timed(server.renew(lease));
  }
  const effects = [{ kind: "echo", status: 400 }, { kind: "lost" }] as const;
  for (const action of ["addServicePrincipalPassword", "putRoleAssignment", "token"]) {
    for (const effect of effects) {
      control.fault({ action, effect });
      if (action === "token") control.expireTokens();
      const answer = await server.askCreds("dynamic");
      if (answer.status === 200) leases.push(String(at(answer, "lease_id")));
      control.clearFaults();
    }
  }
  for (const [action, path] of [
    ["addApplicationPassword", "rotate-root"],
    ["listRoleDefinitions", "roles/other"],
  ] as const) {
    control.fault({ action, effect: { kind: "echo", status: 400 }, times: 0 });
    const cloudb_roles = [{ role_name: "Reader", scope: server.scope }];
    await server.timed(server.ask("POST", `cloudb/${path}`, { cloudb_roles }));
    control.clearFaults();
  }
  control.fault({ action: "deleteApplication", effect: { kind: "echo", status: 409 }, times: 0 });
  control.fault({ action: "addServicePrincipalPassword", effect: effects[0], times: 0 });
  await server.askCreds("dynamic");
  for (const lease of leases) await server.revokeNow(lease);
  await server.revoke(leases[0] ?? "");
  await server.pass(MINUTE);
  control.clearFaults();
  for (const lease of leases) await server.revokeNow(lease);
  control.fault({ action: "removeApplicationPassword", effect: effects[0], times: 0 });
  await server.timed(server.ask("POST", "cloudb/rotate-root"));
  await server.pass(10n * MINUTE, 10n * SECOND); // the new one is proved and used
  control.clearFaults();
  await server.creds("dynamic");
  for (const path of ["config", "roles/kept", "orphans"]) await server.ask("GET", `cloudb/${path}`);
  await server.timed(server.ask("DELETE", "cloudb/roles/kept"));
}

test("X1, T-I06: no secret of cloud B is in logs, audit, metrics or refusals", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  const watched = await Watched.begin(server);
  await server.configure();
  await useCloudB(server);
  const secrets = server.fake.control.secrets();
  assert.ok(secrets.length > 5, `${secrets.length} secrets`);
  const text = watched.visible.join("\n");
  assert.ok(secrets.filter((secret) => text.includes(secret)).length > 3, "callers get theirs");
  assert.ok(watched.refused >= 8, `${watched.refused} refusals`);
  // Of access tokens the fake keeps no list: all of them begin like this.
  await watched.hides([...secrets, "eyJ0eXAi."], "cloudb", [
    "what a failed request has made is still there",
    "the replaced password could not be removed",
  ]);
});

test("X1: what shows a mount's identity to cloud B is nowhere either", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  const watched = await Watched.begin(server);
  const { fake } = server;
  const issuer = `${server.test.url}/v1/identity/oidc/plugins`;
  const accessor = String(
    at(await server.must("GET", "sys/mounts"), "data", "cloudb/", "accessor"),
  );
  const audience = "api://AzureADTokenExchange";
  const subject = `plugin-identity:root:secret:${accessor}`;
  fake.control.federate(fake.clientId, { issuer, subject, audience, discovery: issuer });
  await server.configure({ client_secret: "", identity_token_audience: audience });
  await server.makeRole("r");
  await server.revokeNow((await server.creds("r")).lease);
  fake.control.expireTokens();
  fake.control.fault({ action: "token", effect: { kind: "echo", status: 400 }, times: 0 });
  assert.equal((await server.askCreds("r")).status, 400);
  const { assertions } = fake.control.tenant;
  assert.ok(assertions.length > 0);
  // Those that were repeated and not looked at begin like the others, which have the same key.
  const heads = assertions.map((text) => text.slice(0, text.indexOf(".") + 1));
  const secrets = [...assertions, ...heads, ...fake.control.secrets(), "eyJ0eXAi."];
  await watched.hides(secrets, "cloudb");
});
