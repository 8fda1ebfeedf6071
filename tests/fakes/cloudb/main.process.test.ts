import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import test from "node:test";
import { call } from "../../support/http-client.ts";
import type { FakeAccess } from "./fake.ts";

test("as a process it says what it accepts in one line, and ends with whoever started it", async (t) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const access = JSON.parse(line) as FakeAccess & { readonly url: string };
  const { authority, graph, arm } = access.endpoints;
  assert.equal(new Set([authority, graph, arm]).size, 3);
  const fields = {
    grant_type: "client_credentials",
    client_id: access.clientId,
    client_secret: access.clientSecret,
    scope: `${graph}/.default`,
  };
  const token = await call(authority, "POST", `/${access.tenantId}/oauth2/v2.0/token`, {
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  assert.equal(token.status, 200, token.text);
  const state = await call(access.url, "GET", "/_fake/state");
  assert.ok(state.text.includes(access.objectId));
  assert.ok(!state.text.includes(access.clientSecret));
  child.stdin.end();
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0);
});
