// What RGPs and EGPs are told of replication: properties `replication.*.mode` of docs/policies/programs.md.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";

test("programs see what the cluster is that judges, in both kinds of replication", async (t) => {
  const a = await startPerformancePrimary(t);
  const { token: root } = a;
  const write = async (path: string, body: object) => {
    const answer = await a.server.call("POST", `/v1/${path}`, { token: root, body });
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  for (const [kind, mode] of [
    ["performance", "primary"],
    ["performance", "secondary"],
    ["performance", "disabled"],
    ["dr", "primary"],
    ["dr", "disabled"],
  ]) {
    await write(`secret/data/${kind}-${mode}`, { data: { n: 1 } });
    await write(`sys/policies/egp/${kind}-${mode}`, {
      policy: `main { replication.${kind}.mode == "${mode}" }`,
      enforcement_level: "hard-mandatory",
      paths: [`secret/data/${kind}-${mode}`],
    });
  }
  const policy = 'path "secret/*" { capabilities = ["create", "read", "update"] }';
  await write("sys/policies/acl/all", { policy });
  const body = { Type: "client", Policies: ["all"], Global: true };
  const token = String(at(await write("acl/token", body), "SecretID"));
  const allowed = async ({ server }: Cluster) => {
    const names = ["performance-primary", "performance-secondary", "performance-disabled"];
    const found: string[] = [];
    for (const name of [...names, "dr-primary", "dr-disabled"]) {
      const { status } = await server.call("GET", `/v1/secret/data/${name}`, { token });
      if (status === 200) found.push(name);
      else assert.equal(status, 403);
    }
    return found;
  };
  assert.deepEqual(await allowed(a), ["performance-primary", "dr-disabled"]);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  assert.deepEqual(await allowed(b), ["performance-secondary", "dr-disabled"]);
  await write("sys/replication/dr/primary/enable", {});
  assert.deepEqual(await allowed(a), ["performance-primary", "dr-primary"]);

  // A write is judged where it was asked and where it is written.
  const sent = { token, body: { data: { n: 2 } } };
  const path = "/v1/secret/data/performance-secondary";
  assert.equal((await b.server.call("POST", path, sent)).status, 403);
});
