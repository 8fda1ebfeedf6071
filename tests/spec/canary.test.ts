// T-G01, T-O01, T-O03: a marker in every field and credential of every endpoint, successes and
// failures; then every secret the server gave out. None of them is found in the log, the audit trail,
// errors or metrics.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import test from "node:test";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import { mountedSurface } from "../../src/surface.ts";
import { type Answer, at } from "../support/http-client.ts";
import { startServer, type TestServer } from "../support/servers/test-server.ts";

const UUID = "6f0d5d6c-3d53-4a4e-9a0a-0f4a3c7d2b11";

class Markers {
  #next = 0;
  readonly made: { readonly text: string; readonly where: string }[] = [];

  mark(where: string): string {
    const text = `canary${String(++this.#next).padStart(6, "0")}q`;
    this.made.push({ text, where });
    return text;
  }

  /** Where each marker that the text has was put. */
  foundIn(text: string): string[] {
    const found = new Set(text.match(/canary\d{6}q/g) ?? []);
    return this.made.filter((marker) => found.has(marker.text)).map(({ where }) => where);
  }
}

/** A value of the right type with markers wherever text may stand. */
function marked(schema: Schema, mark: () => string): unknown {
  if (schema.enum !== undefined) return schema.enum.find((word) => word !== "") ?? "";
  switch (schema.type) {
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    case "array":
      return [mark(), mark()];
    case "object":
      return { a: mark(), [`k${mark()}`]: mark() };
    case "string":
    case undefined:
    default:
      return mark();
  }
}

/** Endpoints, and where they are. */
interface Swept {
  readonly endpoints: readonly Declared[];
  readonly at: string;
}

/** Who is told that there is no such plugin, or type of runtimes, is told which. */
const NAMES_OF_PLUGINS = [
  "enableMount",
  "enableAuthMethod",
  "listPluginRuntimes",
  "readPluginRuntimes",
].flatMap((name) => [`${name}.type`, `${name}.plugin_version`]);

type Declared = Pick<Served, "name" | "method" | "path" | "input">;

async function sweep(
  server: TestServer,
  markers: Markers,
  token: string,
  { endpoints, at: place }: Swept = { endpoints: server.server.endpoints, at: "" },
): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true });
  const answers: Answer[] = [];
  const ask = async (endpoint: Declared, shape: "right" | "wrong", credential: string) => {
    const mark = (field: string) => markers.mark(`${endpoint.name}.${field} (${shape})`);
    const fields = Object.values(endpoint.input);
    const body = Object.fromEntries(
      fields
        .filter(({ source }) => source === "body" || source === "param")
        .map(({ name, schema }) => [
          name,
          shape === "right" ? marked(schema, () => mark(name)) : { wrong: [mark(name)] },
        ]),
    );
    const query = fields
      .filter(({ source }) => source === "query")
      .map(({ name }) => `${name}=${mark(name)}`)
      .join("&");
    const path = place + endpoint.path.replaceAll(/:(\w+)\+?/g, "x-$1");
    const sends = !["GET", "LIST"].includes(endpoint.method);
    answers.push(
      await server.call(endpoint.method, `/v1${path}${query === "" ? "" : `?${query}`}`, {
        token: credential,
        agent,
        ...(sends ? { body } : {}),
        headers: { "X-Service-Wrap-TTL": "60", "User-Agent": markers.mark("user agent") },
      }),
    );
  };
  for (const endpoint of endpoints) {
    // These would end the sweep; their fields are none.
    if (endpoint.name === "seal" || endpoint.name === "authTokenRevokeSelf") continue;
    await ask(endpoint, "right", token);
    await ask(endpoint, "wrong", token);
    await ask(endpoint, "right", markers.mark("an unknown token"));
  }
  agent.destroy();
  return answers;
}

test("T-G01 T-O01 T-O03: no marker of any field is found where it must not be", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const markers = new Markers();
  const { token } = await server.open();
  const file = join(server.auditDirectory, "canary.log");
  const device = { type: "file", options: { file_path: file } };
  const enabled = await server.call("POST", "/v1/sys/audit/canary", { token, body: device });
  assert.equal(enabled.status, 204, enabled.text);

  const answers = await sweep(server, markers, token);
  for (const { status, text } of answers) {
    assert.ok(status < 500, `${status} ${text}`);
    if (status < 400) continue;
    const found = markers.foundIn(text).map((where) => where.replace(/ \(\w+\)$/, ""));
    assert.deepEqual(
      found.filter((where) => !NAMES_OF_PLUGINS.includes(where)),
      [],
      text,
    );
  }
  const metrics = await server.call("GET", "/v1/sys/metrics?format=prometheus", { token });
  assert.equal(metrics.status, 200);
  assert.deepEqual(markers.foundIn(metrics.text), []);
  const trail = readFileSync(file, "utf8");
  assert.ok(trail.split("\n").length > answers.length, "what is audited has two records");
  // Names of members stay readable; a marker stands in such a name too, and the
  // paths of capability queries are names of members in their answers.
  const names = /"k?(canary\d{6}q)":/g;
  assert.deepEqual(markers.foundIn(trail.replaceAll(names, "")), []);
  assert.deepEqual(markers.foundIn(server.lines.join("")), []);
  assert.ok(markers.made.length > 400);
});

test("T-G01 T-I06: nor is a marker of any field of the engines of clouds, whose providers are out of reach", async (t) => {
  // Loopback is not allowed here, and the name stands for nothing: every call ends before it begins.
  const nowhere = "http://127.0.0.1:9";
  const settings = { cloudb_endpoints: { authority: nowhere, graph: nowhere, arm: nowhere } };
  const server = await startServer({ settings });
  t.after(() => server.stop());
  const markers = new Markers();
  const { token } = await server.open();
  const file = join(server.auditDirectory, "canary.log");
  const device = { type: "file", options: { file_path: file } };
  await server.call("POST", "/v1/sys/audit/canary", { token, body: device });
  const secret = (where: string) => markers.mark(where);
  const written: readonly (readonly [string, object])[] = [
    [
      "clouda/config/root",
      {
        access_key: "AKIAAAAAAAAAAAAAAAAA",
        secret_key: secret("secret_key"),
        region: "us-east-1",
        iam_endpoint: "http://nowhere.invalid",
        sts_endpoint: "http://nowhere.invalid",
        max_retries: 0,
      },
    ],
    [
      "clouda/roles/x-name",
      { credential_type: "iam_user", policy_arns: ["arn:aws:iam::aws:policy/A"] },
    ],
    [
      "cloudb/config",
      {
        tenant_id: UUID,
        subscription_id: UUID,
        client_id: UUID,
        client_secret: secret("client_secret"),
      },
    ],
  ];
  for (const [path, body] of written) {
    const answer = await server.call("POST", `/v1/${path}`, { token, body });
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${answer.text}`);
  }
  const roles = JSON.stringify([{ role_name: secret("role"), scope: "/subscriptions/x" }]);
  const calling: readonly (readonly [string, string, object?])[] = [
    ["GET", "clouda/creds/x-name"],
    ["POST", "cloudb/roles/x-name", { cloudb_roles: roles }],
  ];
  for (const [method, path, body] of calling) {
    const answer = await server.call(method, `/v1/${path}`, { token, body });
    assert.ok([400, 502].includes(answer.status), answer.text);
    assert.deepEqual(markers.foundIn(answer.text), []);
  }
  for (const type of ["clouda", "cloudb"]) {
    const found = mountedSurface.find(({ title }) => title === type);
    assert.ok(found !== undefined);
    const answers = await sweep(server, markers, token, {
      endpoints: found.endpoints,
      at: `/${type}`,
    });
    const known = new Set([200, 204, 400, 403, 404, 405, 502]);
    for (const { status, text } of answers) {
      assert.ok(known.has(status), `${type}: ${status} ${text}`);
      if (status >= 400) assert.deepEqual(markers.foundIn(text), [], text);
    }
  }
  const names = /"k?(canary\d{6}q)":/g;
  const metrics = await server.call("GET", "/v1/sys/metrics?format=prometheus", { token });
  for (const text of [
    readFileSync(file, "utf8").replaceAll(names, ""),
    server.lines.join(""),
    metrics.text,
  ]) {
    assert.deepEqual(markers.foundIn(text), []);
  }
});

test("T-F06: no share, token or one-time password is found where it must not be", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const secrets: string[] = [];
  const keep = (answer: Answer, ...names: readonly string[]) => {
    for (const name of names) {
      const value = at(answer, name);
      secrets.push(...[value].flat().map(String));
    }
    return answer;
  };
  const body = { secret_shares: 3, secret_threshold: 2 };
  const made = keep(
    await server.call("POST", "/v1/sys/init", { body }),
    "keys",
    "keys_base64",
    "root_token",
  );
  const [one, two, three] = at(made, "keys") as string[];
  const token = String(at(made, "root_token"));
  await server.unseal([one ?? "", three ?? ""]);
  const file = join(server.auditDirectory, "canary.log");
  await server.call("POST", "/v1/sys/audit/canary", {
    token,
    body: { type: "file", options: { file_path: file } },
  });

  // Shares and tokens in the wrong places as well.
  await server.call("POST", "/v1/sys/unseal", { body: { key: `${one}00` } });
  await server.call("POST", "/v1/sys/init", { body: { secret_shares: one, pgp_keys: [two] } });
  await server.call("POST", `/v1/sys/namespaces/ns`, {
    token,
    body: { custom_metadata: { k: token } },
  });
  await server.call("GET", "/v1/sys/key-status", {
    headers: { Authorization: `Bearer ${token}x` },
  });
  const attempt = keep(await server.call("POST", "/v1/sys/generate-root/attempt"), "otp");
  const nonce = at(attempt, "nonce");
  await server.call("POST", "/v1/sys/generate-root/update", { body: { key: one, nonce: two } });
  for (const key of [one, two]) {
    keep(
      await server.call("POST", "/v1/sys/generate-root/update", { body: { key, nonce } }),
      "encoded_token",
    );
  }
  const rekey = at(await server.call("POST", "/v1/sys/rekey/init", { body }), "nonce");
  for (const key of [two, three]) {
    const answer = await server.call("POST", "/v1/sys/rekey/update", {
      body: { key, nonce: rekey },
    });
    if (at(answer, "keys") !== undefined) keep(answer, "keys", "keys_base64");
  }

  const metrics = await server.call("GET", "/v1/sys/metrics?format=prometheus", { token });
  const places = [readFileSync(file, "utf8"), server.lines.join(""), metrics.text];
  const real = secrets.filter((secret) => secret.length > 8);
  assert.ok(real.length >= 15, `${real.length} secrets`);
  for (const secret of real) {
    for (const place of places) assert.equal(place.includes(secret), false, "a secret was found");
  }
  assert.match(places[0] ?? "", /hmac-sha256:[0-9a-f]{64}/);
});
