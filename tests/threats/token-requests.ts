// What the tests of tokens in this folder ask for, in short form.

import assert from "node:assert/strict";
import { type AclServer, succeeded } from "../support/servers/acl-server.ts";
import { type Answer, at } from "../support/http-client.ts";

export const ACCESSOR = "aabbccdd-1122-4334-8556-677889900aab";
export const EXCHANGE = "/acl/token/onetime/exchange";

export function creating(server: AclServer, body: unknown): Promise<Answer> {
  return server.manage("POST", "/acl/token", { body });
}

export async function oneTime(server: AclServer, token: string): Promise<string> {
  const answer = await server.ask("POST", "/acl/token/onetime", { token });
  succeeded(answer);
  return String(at(answer, "OneTimeToken", "OneTimeSecretID"));
}

export function exchange(server: AclServer, OneTimeSecretID: unknown): Promise<Answer> {
  return server.ask("POST", EXCHANGE, { body: { OneTimeSecretID } });
}

export async function makeNamespaces(
  server: AclServer,
  ...names: readonly string[]
): Promise<void> {
  for (const name of names) {
    const answer = await server.manage("POST", `/v1/sys/namespaces/${name}`);
    assert.ok(answer.status < 300, answer.text);
  }
}
