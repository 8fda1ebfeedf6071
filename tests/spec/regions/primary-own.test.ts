// What the first region has alone is not reached from the second, whatever rights a token has: there nobody knows of it.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";

const KV = { type: "kv", options: { version: "1" } };

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

function refused({ status, text }: Answer, what: string): void {
  assert.equal(status, 403, `${what}: ${text}`);
  assert.match(text, /something of its own/);
}

test("R-69: local mounts and audit devices of the first region are neither changed, moved nor disabled through the second", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  await done(a.call("POST", "/v1/sys/mounts/own", { token, body: { ...KV, local: true } }));
  await done(a.call("POST", "/v1/own/s", { token, body: { x: 1 } }));
  await done(
    a.call("POST", "/v1/sys/auth/people", { token, body: { type: "userpass", local: true } }),
  );
  const options = { file_path: join(a.auditDirectory, "own") };
  await done(
    a.call("POST", "/v1/sys/audit/own", { token, body: { type: "file", local: true, options } }),
  );
  const before = await Promise.all([
    a.call("GET", "/v1/sys/mounts/own", { token }),
    a.call("GET", "/v1/sys/auth/people", { token }),
    a.call("GET", "/v1/sys/audit", { token }),
  ]);
  const tried = [
    ["POST", "sys/mounts/own/tune", { description: "changed" }],
    ["POST", "sys/remount", { from: "own", to: "moved" }],
    ["DELETE", "sys/mounts/own", undefined],
    ["POST", "sys/auth/people/tune", { description: "changed" }],
    ["DELETE", "sys/auth/people", undefined],
    ["DELETE", "sys/audit/own", undefined],
  ] as const;
  for (const [verb, path, body] of tried) {
    refused(await b.call(verb, `/v1/${path}`, { token, body }), path);
  }
  const after = await Promise.all([
    a.call("GET", "/v1/sys/mounts/own", { token }),
    a.call("GET", "/v1/sys/auth/people", { token }),
    a.call("GET", "/v1/sys/audit", { token }),
  ]);
  const data = (answers: readonly Answer[]) => answers.map((one) => at(one, "data"));
  assert.deepEqual(data(after), data(before));
  await done(a.call("GET", "/v1/own/s", { token }));
});

test("what is written through the second region does not land in a local mount that has taken the place of a shared one", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root: token } = regions;
  await done(a.call("POST", "/v1/sys/mounts/kv", { token, body: KV }));
  await done(b.call("POST", "/v1/kv/before", { token, body: { x: 1 } }));
  regions.hold(); // the second does not hear of it
  await done(a.call("DELETE", "/v1/sys/mounts/kv", { token }));
  await done(a.call("POST", "/v1/sys/mounts/kv", { token, body: { ...KV, local: true } }));
  refused(await b.call("POST", "/v1/kv/s", { token, body: { x: 1 } }), "kv/s");
  assert.equal((await a.call("GET", "/v1/kv/s", { token })).status, 404);
});
