// Leases and records that do not say what they are about: nothing at the provider is touched by a guess.

import assert from "node:assert/strict";
import test from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { isPermanent } from "@holdfast/plugin-sdk/failure";
import type { OutboundRequest } from "@holdfast/plugin-sdk/outbound";
import { openEngine } from "../../../tests/support/engine-host.ts";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { cloudbType } from "../cloudb.ts";

const { signal } = new AbortController();

/** A provider with one application, which has no name, nor has its password. */
async function opened() {
  const changes: string[] = [];
  const nameless = {
    id: "theirs",
    appId: "app",
    displayName: null,
    passwordCredentials: [{ keyId: "key", displayName: null, hint: "abc" }],
  };
  const answer = ({ url }: OutboundRequest): JsonObject => {
    if (url.pathname.endsWith("/token")) return { access_token: "t0ken", expires_in: 3599 };
    return url.pathname.endsWith("/applications") ? { value: [nameless] } : nameless;
  };
  const outbound = {
    endpoint: (_field: string, text: string) => new URL(text),
    send: async (request: OutboundRequest) => {
      const { method, url } = request;
      if (method !== "GET" && !url.pathname.endsWith("/token")) changes.push(url.pathname);
      return { status: 200, headers: {}, body: utf8(JSON.stringify(answer(request))) };
    },
  };
  const tested = await openEngine(cloudbType, fakeWorld(), { around: { outbound } });
  const body = { subscription_id: "s", tenant_id: "t", client_id: "id", client_secret: "secret" };
  await tested.ask("POST", "config", { body });
  const { engine } = tested;
  const undo = async (kind: string, data: JsonObject) =>
    cloudbType.undo?.[kind]?.(engine, { id: "r", kind, data, created: 0n }, signal);
  return { engine, changes, undo };
}

test("a record without a name is not undone by looking for things without one", async () => {
  const { changes, undo } = await opened();
  for (const kind of ["app", "appPassword", "rootPassword"]) {
    await assert.rejects(undo(kind, { appObjectId: "" }), /^Failure: /, kind);
    await assert.rejects(undo(kind, {}), /^Failure: /, kind);
  }
  for (const kind of ["appPassword", "rootPassword"]) {
    await assert.rejects(undo(kind, { appObjectId: "theirs" }), /does not say the name/, kind);
  }
  assert.deepEqual(changes, []);
});

test("a lease that does not say what it is about cannot be revoked, ever", async () => {
  const { engine, changes } = await opened();
  for (const type of ["principal", "password"]) {
    const lease = { leaseId: "l", internal: {}, issued: 0n, expires: 0n };
    const revoked = async () => cloudbType.secrets?.[type]?.revoke(engine, lease, signal);
    await assert.rejects(revoked, (error) => isPermanent(error));
  }
  assert.deepEqual(changes, []);
});
