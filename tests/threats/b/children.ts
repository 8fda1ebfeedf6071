// Tokens that tokens make: what the tests of their rights and of their lifetimes have in common.

import { showTime } from "@holdfast/shared/text/time";
import { StoppableClock } from "../../support/servers/acl-server.ts";
import assert from "node:assert/strict";
import { at } from "../../support/http-client.ts";
import { loggedIn, type LoginServer, loginServer } from "../../support/servers/login-server.ts";
import { EVERYTHING, rule } from "../scene.ts";

export const HARD = "hard-mandatory";
export const TIMEOUT = { timeout: 60_000 };
export const MAKES = rule("auth/token/create", ["update"]);
export const KV = rule("kv/*", EVERYTHING);

export async function withKv(t: Parameters<typeof loginServer>[0]): Promise<LoginServer> {
  const logins = await loginServer(t);
  const body = { type: "kv", options: { version: "1" } };
  await logins.server.must("POST", "/v1/sys/mounts/kv", { body });
  return logins;
}

export const statusOf = async (logins: LoginServer, token: string, path: string, method = "GET") =>
  (await logins.server.call(method, `/v1/${path}`, { token, ...bodyOf(method) })).status;

export function bodyOf(method: string): object {
  return method === "POST" ? { body: { v: 1 } } : {};
}

export async function childOf(
  logins: LoginServer,
  token: string,
  body: object = {},
): Promise<string> {
  return loggedIn(await logins.server.call("POST", "/v1/auth/token/create", { token, body }))
    .secret;
}

export async function policiesOf(logins: LoginServer, token: string): Promise<unknown> {
  return at(await logins.self(token), "data", "policies");
}

export async function sortedPoliciesOf(logins: LoginServer, token: string): Promise<string[]> {
  const policies = await policiesOf(logins, token);
  assert.ok(Array.isArray(policies));
  return policies.map(String).toSorted();
}

export const MAKES_BOTH = rule("auth/token/create*", ["update"]);

export async function stoppedLogins(t: Parameters<typeof loginServer>[0]) {
  const clock = new StoppableClock();
  clock.stoppedAt = clock.now();
  const logins = await loginServer(t, { world: { clock } });
  await logins.server.acl("makes", MAKES_BOTH);
  const { root } = logins.server;
  const ask = (path: string, token: string, body: object = {}) =>
    logins.server.call("POST", `/v1/auth/token/${path}`, { token, body });
  const make = async (path: string, body: object = {}, token = root) =>
    loggedIn(await ask(path, token, body)).secret;
  const facts = async (token: string) =>
    at(await logins.self(token), "data") as Record<string, unknown>;
  const pass = (time: bigint) => (clock.stoppedAt = clock.now() + time);
  const timeIn = (time: bigint) => showTime(clock.now() + time);
  return { logins, ask, make, facts, pass, timeIn };
}
