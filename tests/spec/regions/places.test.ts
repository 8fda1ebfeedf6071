// What waits in the region of the primary holds up neither what is written there nor replication.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  joinedRegion,
  performanceOf,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

const MANY = 40;
const NEVER = 10_000_000;

test("queries of a token without any rights that wait in the other region are bounded: writes are sent on, and the link lives", async (t) => {
  const primary = await startPerformancePrimary(t);
  const secondary = await joinedRegion(t, primary);
  await regionInSync(primary, secondary);
  const root = primary.token;
  const [a, b] = [primary.server, secondary.server];
  const body = { Type: "client", Policies: ["nothing"], Global: true };
  const made = await a.call("POST", "/v1/acl/token", { token: root, body });
  const weak = { token: String(at(made, "SecretID")), agent: false } as const;
  await regionInSync(primary, secondary);

  const query = `/v1/acl/token/self?region=a&index=${NEVER}&wait=5m`;
  const ended: { readonly status: number; readonly code: unknown; readonly again: unknown }[] = [];
  const asking = Array.from({ length: MANY }, async () => {
    const { status, headers } = await b.call("GET", query, weak);
    ended.push({ status, code: headers["x-service-error"], again: headers["retry-after"] });
  });
  const accessor = String(at(made, "AccessorID"));
  const end = () => a.call("DELETE", `/v1/acl/token/${accessor}`, { token: root });
  t.after(() => Promise.allSettled([end(), ...asking]));
  await until(() => ended.length === MANY - 8);
  assert.deepEqual(
    new Set(ended.map(({ status, code }) => `${status} ${String(code)}`)),
    new Set(["429 too_many_region_queries"]),
  );
  assert.ok(ended.every(({ again }) => Number(again) > 0));

  // What does not wait, with the same token, what others write, and the echoes of replication.
  const self = await b.call("GET", "/v1/acl/token/self?region=a", weak);
  assert.equal(self.status, 200, self.text);
  const beat = () => performanceOf(secondary).upstream?.lastHeard;
  const before = beat();
  const policy = { policy: 'path "secret/*" { capabilities = ["read"] }' };
  const writes = Array.from({ length: MANY }, (_, n) =>
    b.call("POST", `/v1/sys/policies/acl/p${n}`, { token: root, body: policy, agent: false }),
  );
  for (const { status, text } of await Promise.all(writes)) assert.ok(status < 300, text);
  await until(() => beat() !== before);
  assert.equal(ended.length, MANY - 8, "the others still wait");

  await end();
  await Promise.all(asking);
  assert.equal(ended.filter(({ status }) => status === 403).length, 8);
});
