// What the tests of auth/token/ ask for, in short form.

import assert from "node:assert/strict";
import { aclServer, type AclServer, StoppableClock } from "./servers/acl-server.ts";
import { type Answer, at, type CallOptions, errorsOf } from "./http-client.ts";

export interface Auth {
  readonly client_token: string;
  readonly accessor: string;
  readonly policies: readonly string[];
  readonly lease_duration: number;
  readonly [name: string]: unknown;
}

export function ask(
  server: AclServer,
  path: string,
  body?: object,
  options: CallOptions = {},
): Promise<Answer> {
  const method = path === "lookup-self" ? "GET" : "POST";
  return server.ask(method, `/v1/auth/token/${path}`, {
    token: server.management,
    ...(body === undefined ? {} : { body }),
    ...options,
  });
}

export function authOf(answer: Answer): Auth {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "auth") as Auth;
}

export async function create(
  server: AclServer,
  body: object = { policies: ["readonly"] },
  options: CallOptions = {},
): Promise<Auth> {
  return authOf(await ask(server, "create", body, options));
}

export async function facts(server: AclServer, secret: string): Promise<Record<string, unknown>> {
  const answer = await ask(server, "lookup-self", undefined, { token: secret });
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "data") as Record<string, unknown>;
}

export async function isGood(server: AclServer, secret: string): Promise<boolean> {
  const { status } = await ask(server, "lookup-self", undefined, { token: secret });
  assert.ok(status === 200 || status === 403);
  return status === 200;
}

export function refused(answer: Answer, status: number, ...texts: readonly string[]): void {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(errorsOf(answer), texts);
}

export function unknownToken(answer: Answer): void {
  refused(answer, 403, "permission denied", "invalid token");
}

export async function stopped(t: { after(call: () => Promise<void> | void): void }) {
  const clock = new StoppableClock();
  clock.stoppedAt = clock.now();
  const server = await aclServer(t, { world: { clock } });
  return { clock, server, pass: (time: bigint) => (clock.stoppedAt! += time) };
}
