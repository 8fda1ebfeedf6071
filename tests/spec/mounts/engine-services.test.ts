// What a server gives its engines of what is around them, and the
// two public documents about identity tokens, through HTTP.

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import test from "node:test";
import { anyEngine, type EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { MetricDeclarations } from "@holdfast/plugin-sdk/metrics";
import { OutboundError } from "@holdfast/plugin-sdk/outbound";
import { builtInTypes, engineSettings } from "../../../src/server/engine-types.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { DAY, engineServer, type EngineServer, HOUR } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";
import { Outside } from "../../support/stores/outside.ts";

const METRICS: MetricDeclarations = {
  looks_total: { kind: "counter", help: "Looks.", labels: { at: ["you"] } },
  looked_age_seconds: { kind: "age", help: "Time since the last look." },
};

/** A counting type that shows what its mounts were given, by path. */
function observed() {
  const needs = new Map<string, EngineNeeds>();
  const type = countingEngine(new Outside(), { type: "shown" });
  const open = (all: EngineNeeds) => {
    needs.set(all.mount.namespace.path + all.mount.path(), all);
    return type.open(all);
  };
  return { given: needs, type: anyEngine({ ...type, open, metrics: METRICS }) };
}

async function mounted(
  t: Parameters<typeof engineServer>[0],
  options: Parameters<typeof engineServer>[1] = {},
) {
  const { given: needs, type } = observed();
  const server = await engineServer(t, { ...options, engineTypes: [type] });
  await server.enable("eyes", "shown");
  const found = needs.get("eyes/");
  assert.ok(found !== undefined);
  return { server, given: needs, eyes: found };
}

type Jwk = Readonly<Record<string, string>>;

const KEYS = "identity/oidc/plugins/.well-known/keys";
const ISSUER = "identity/oidc/plugins/.well-known/openid-configuration";

async function jwksOf(server: EngineServer): Promise<readonly Jwk[]> {
  const answer = await server.test.call("GET", `/v1/${KEYS}`);
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "keys") as Jwk[];
}

test("the server's environment reaches its engines; empty variables are none, nor are settings of other types", async (t) => {
  const { eyes } = await mounted(t, {
    environment: { CLOUDB_CLIENT_ID: "id-of-env", CLOUDB_TENANT_ID: "" },
    settings: {
      cloud_name_prefix: "hf-",
      api: { compat: false },
      cloudb_endpoints: { authority: "https://a", graph: "https://b", arm: "https://c" },
    },
  });
  assert.equal(eyes.environment("CLOUDB_CLIENT_ID"), "id-of-env");
  assert.equal(eyes.environment("CLOUDB_TENANT_ID"), null);
  assert.equal(eyes.environment("PATH"), null);
  assert.equal(eyes.environment("constructor"), null);
  assert.deepEqual(eyes.settings, {});
});

test("settings reach the engines of the type that they are meant for", () => {
  const endpoints = { authority: "https://a", graph: "https://b", arm: "https://c" };
  const clouds = { defaultMounts: [], namePrefix: "hf-", cloudbEndpoints: endpoints };
  const settings = engineSettings({ clouds, compat: false });
  const types = builtInTypes().map(({ type }) => [type, settings.get(type)]);
  assert.deepEqual(Object.fromEntries(types), {
    kv: undefined,
    clouda: { name_prefix: "hf-", compat: false },
    cloudb: { name_prefix: "hf-", compat: false, endpoints },
    userpass: undefined,
    approle: undefined,
    database: undefined,
  });
});

test("an engine asks for its own leases by the path that gave them", async (t) => {
  const { server, given: needs } = await mounted(t);
  await server.namespaces("team");
  await server.enable("eyes", "shown", {}, "team");
  const [own, teams] = [needs.get("eyes/"), needs.get("teameyes/")];
  assert.ok(own !== undefined && teams !== undefined);
  for (const [role, namespace] of [["a"], ["ab"], ["a", "team"]]) {
    const options = { namespace };
    await server.must("POST", `eyes/roles/${role}`, { ttl: 60 }, options);
    await server.must("GET", `eyes/creds/${role}`, undefined, options);
  }
  await server.must("GET", "eyes/creds/a");
  assert.equal(await own.leases.count("creds/a"), 2);
  assert.equal(await teams.leases.count("creds/a"), 1);
  await own.leases.revoke("creds/a");
  await until(async () => (await own.leases.count("creds/a")) === 0);
  assert.equal(await own.leases.count("creds/ab"), 1);
  assert.equal(await teams.leases.count("creds/a"), 1);
});

test("what a type of engine declares is scraped, and an age goes with its mount", async (t) => {
  const { server, eyes } = await mounted(t);
  eyes.metrics.count("looks_total", { at: "you" });
  eyes.metrics.count("looks_total", { at: "canary" });
  eyes.metrics.since("looked_age_seconds", Number(server.time.clock.now() / 1_000_000_000n) - 7);
  const scrape = async () => (await server.must("GET", "sys/metrics?format=prometheus")).text;
  const text = await scrape();
  assert.ok(text.includes('holdfast_looks_total{mount_type="shown",at="you"} 1'));
  assert.ok(text.includes('holdfast_looks_total{mount_type="shown",at="other"} 1'));
  const age = `holdfast_looked_age_seconds{mount="${eyes.mount.accessor}"} 7`;
  assert.ok(text.includes(age), text.slice(-500));
  await server.must("DELETE", "sys/mounts/eyes");
  assert.ok(!(await scrape()).includes("holdfast_looked_age_seconds{"));
});

test("engines reach loopback in dev mode or when it is allowed, and not otherwise", async (t) => {
  const trouble = async ({ outbound }: EngineNeeds) => {
    const request = {
      method: "GET",
      url: new URL("http://127.0.0.1:9/"),
      headers: {},
      plain: true,
    };
    const sent = outbound.send({ ...request, signal: new AbortController().signal });
    const error = await sent.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof OutboundError, String(error));
    return error.trouble;
  };
  assert.equal(await trouble((await mounted(t)).eyes), "forbidden");
  const allowed = await mounted(t, { settings: { outbound_allow: ["127.0.0.1"] } });
  assert.equal(await trouble(allowed.eyes), "unreachable");
});

test("B39: anybody reads the issuer and its keys, in the form of the standard", async (t) => {
  const { server } = await mounted(t, { settings: { api_addr: "https://hf.example:8200" } });
  const document = await server.test.call("GET", `/v1/${ISSUER}`);
  assert.equal(document.status, 200, document.text);
  assert.deepEqual(document.json, {
    issuer: "https://hf.example:8200/v1/identity/oidc/plugins",
    jwks_uri: "https://hf.example:8200/v1/identity/oidc/plugins/.well-known/keys",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  });
  assert.match(String(document.headers["content-type"]), /^application\/json/);
  assert.deepEqual(await jwksOf(server), []);
});

test("B39: an engine's token is good by the listed keys, and its subject has namespace and accessor", async (t) => {
  const { server, given: needs } = await mounted(t);
  await server.namespaces("team");
  await server.enable("eyes", "shown", {}, "team");
  const teams = needs.get("teameyes/");
  assert.ok(teams !== undefined);
  const token = await teams.identity.token("api://exchange", HOUR);
  const [header = "", payload = "", signature = ""] = token.split(".");
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  const { kid } = read(header) as { kid: string };
  const { iss, sub } = read(payload) as { iss: string; sub: string };
  assert.equal(iss, `${server.test.url}/v1/identity/oidc/plugins`); // of the listener, without api_addr
  assert.equal(sub, `plugin-identity:${teams.mount.namespace.id}:secret:${teams.mount.accessor}`);
  const jwk = (await jwksOf(server)).find((one) => one["kid"] === kid);
  assert.ok(jwk !== undefined && jwk["d"] === undefined);
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${header}.${payload}`);
  assert.ok(verify("sha256", signed, key, Buffer.from(signature, "base64url")));
});

test("the key behind the barrier survives a restart; a sealed server shows nothing of it", async (t) => {
  const { server, eyes } = await mounted(t);
  await eyes.identity.token("a", DAY);
  const before = await jwksOf(server);
  assert.equal(before.length, 1);
  await server.crash();
  assert.deepEqual(await jwksOf(server), before);
  await server.must("POST", "sys/seal");
  assert.equal((await server.test.call("GET", `/v1/${KEYS}`)).status, 503);
});
