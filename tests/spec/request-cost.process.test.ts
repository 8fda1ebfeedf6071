// What an ordinary request must not do. The prototypes of the language are sealed in a server, and without
// the runtime's shortcuts for untouched ones an expression that replaces, splits or matches costs a
// microsecond and more.

import assert from "node:assert/strict";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { startServer, type TestServer } from "../support/servers/test-server.ts";

const DEAR = ["replace", "split", "match", "matchAll"] as const;
const OURS = /\/(?:src|shared|engines|plugin-sdk)\/[^)\n]*/;

/** Where code of ours called one of them from now on. For good: the process is this test's own. */
function dearCalls(): string[] {
  const calls: string[] = [];
  for (const name of DEAR) {
    const original: unknown = Reflect.get(RegExp.prototype, Symbol[name]);
    assert.ok(typeof original === "function");
    const value = function (this: RegExp, ...args: unknown[]): unknown {
      const [place] = OURS.exec(new Error().stack ?? "") ?? [];
      if (place !== undefined) calls.push(`${name} at ${place}`);
      return Reflect.apply(original, this, args);
    };
    Object.defineProperty(RegExp.prototype, Symbol[name], { value });
  }
  return calls;
}

async function opened(t: TestContext): Promise<{ server: TestServer; token: string }> {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const options = { file_path: join(server.auditDirectory, "audit.log") };
  const made = await server.call("POST", "/v1/sys/audit/file", {
    token,
    body: { type: "file", options },
  });
  assert.equal(made.status, 204, made.text);
  const mount = { type: "kv", options: { version: "2" } };
  await server.call("POST", "/v1/sys/mounts/kv", { token, body: mount });
  return { server, token };
}

const REQUESTS = [
  ["POST", "kv/data/app/db", { data: { user: "u", password: "p" } }],
  ["GET", "kv/data/app/db", undefined],
  ["LIST", "kv/metadata/app", undefined],
  [
    "POST",
    "acl/token",
    { Name: "service", Type: "client", Policies: ["default"], ExpirationTTL: "12h" },
  ],
  ["GET", "acl/token/self", undefined],
  ["POST", "auth/token/create", { policies: ["default"], ttl: "1h", display_name: "service" }],
  ["GET", "auth/token/lookup-self", undefined],
  ["POST", "sys/namespaces/team", { custom_metadata: { owner: "bench" } }],
  ["GET", "sys/namespaces/team", undefined],
] as const;

test("no ordinary request replaces, splits or matches by a regular expression", async (t) => {
  const { server, token } = await opened(t);
  const send = async ([method, path, body]: (typeof REQUESTS)[number]) => {
    const answer = await server.call(method, `/v1/${path}`, { token, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  };
  for (const request of REQUESTS) await send(request); // what is opened at its first use is, then
  const calls = dearCalls();
  for (const request of REQUESTS) {
    await send(request);
    assert.deepEqual(calls, [], `${request[0]} ${request[1]}`);
  }
});
