// The root application of a fake of cloud B, as tests of its rotation look at it.

import assert from "node:assert/strict";
import type { CloudBServer } from "./cloudb-server.ts";
import type { Answer } from "../http-client.ts";

export function rotate(server: CloudBServer): Promise<Answer> {
  return server.timed(server.ask("POST", "cloudb/rotate-root"));
}

/** Ids of the passwords of the root application. */
export function passwords(server: CloudBServer): readonly string[] {
  const { applications } = server.fake.control.state();
  const root = applications.find(({ id }) => id === server.fake.objectId);
  return root?.passwords.map(({ keyId }) => keyId) ?? [];
}

/** With which password the engine gets its tokens now. */
export async function keyInUse(server: CloudBServer): Promise<string> {
  const { control } = server.fake;
  control.expireTokens();
  const before = control.calls().length;
  const answer = await server.writeRole("probe");
  assert.ok(answer.status < 300, answer.text);
  const tokens = control
    .calls()
    .slice(before)
    .filter(({ action }) => action === "token");
  assert.ok(tokens.length > 0);
  assert.ok(tokens.every(({ status }) => status === 200));
  return tokens[0]?.keyId ?? "";
}
