// What dry_run of enable and update-primary tells, and that neither side keeps anything of it.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { storedSecondaries } from "../../../src/replication/joining/primary-rows.ts";
import { CertificateFiles, TestAuthority } from "../../support/certificates.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  sealedToken,
  startCluster,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { freePort } from "../../support/replication/tcp-proxy.ts";

const LISTED = { settings: { outbound_allow: ["127.0.0.1"] } };
const DRY = { dry_run: true };

interface Step {
  readonly step: string;
  readonly address: string;
  readonly ok: boolean;
  readonly cause: string;
}

function trialIn(answer: Answer): { ready: unknown; steps: readonly Step[] } {
  assert.equal(answer.status, 200, answer.text);
  return { ready: at(answer, "data", "ready"), steps: at(answer, "data", "steps") as Step[] };
}

/** What a primary has written down of those that come, and the last index of both. */
async function kept(primary: Cluster, other: Cluster): Promise<JsonObject> {
  const { known_secondaries, secondaries } = await primary.status();
  const view = primary.server.server.barrier.view("core/replication/dr/");
  const rows = storedSecondaries(view).map(({ id, used, clusterId }) => ({
    id,
    isUsed: used !== null,
    clusterId,
  }));
  return {
    known_secondaries: known_secondaries ?? null,
    secondaries: (secondaries as JsonObject[]).map(({ node_id, cluster_id }) => ({
      node_id: node_id ?? "",
      cluster_id: cluster_id ?? "",
    })),
    rows,
    other: await other.status().then(({ mode, primary_cluster_addr: to }) => ({
      mode: mode ?? "",
      to: to ?? "",
    })),
    index: [String(primary.index), String(other.index)],
  };
}

test("a cluster tries to join: the primary would take it, and nothing is kept of it; then it joins with the same token", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const [b, c] = [await startCluster(t), await startCluster(t)];
  const token = await sealedToken(a, b);
  const before = await kept(a, b);
  const address = `https://127.0.0.1:${way.port}`;
  const steps = [{ step: "hello", address, ok: true, cause: "" }];
  assert.deepEqual(trialIn(await b.dr("secondary/enable", { token, ...DRY })), {
    ready: true,
    steps,
  });
  // As a part of the address it is the same.
  const queried = await b.dr("secondary/enable?dry_run=true", { token });
  assert.deepEqual(trialIn(queried), { ready: true, steps });
  assert.deepEqual(await kept(a, b), before);

  way.cut();
  const cut = trialIn(await b.dr("secondary/enable", { token, ...DRY }));
  assert.deepEqual([cut.ready, cut.steps.length, cut.steps[0]?.ok], [false, 1, false]);
  assert.match(cut.steps[0]!.step, /^(?:connect|certificate)$/);
  assert.equal(cut.steps[0]?.address, address);
  assert.notEqual(cut.steps[0]?.cause, "");
  way.heal();
  const unreadable = trialIn(await b.dr("secondary/enable", { token: "x", ...DRY }));
  assert.deepEqual([unreadable.ready, unreadable.steps[0]?.step], [false, "token"]);
  const others = trialIn(await c.dr("secondary/enable", { token, ...DRY }));
  assert.deepEqual([others.ready, others.steps[0]?.step], [false, "token"]);
  const taken = trialIn(await a.dr("secondary/enable", { token, ...DRY }));
  assert.deepEqual([taken.ready, taken.steps[0]?.step], [false, "role"]);
  assert.deepEqual(await kept(a, b), before);

  const done = await b.dr("secondary/enable", { token });
  assert.equal(done.status, 200, done.text);
  await inSync(a, b);
});

test("who was revoked, or is nobody's port, is told with the step at which it ends", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t);
  const token = await sealedToken(a, b);
  assert.ok((await a.dr("primary/revoke-secondary", { id: "site-b" })).status < 300);
  const revoked = trialIn(await b.dr("secondary/enable", { token, ...DRY }));
  assert.deepEqual([revoked.ready, revoked.steps.length], [false, 1]);
  assert.match(revoked.steps[0]!.step, /^(?:certificate|hello)$/);
  assert.equal((await b.status())["mode"], "disabled");
});

test("a wrapped token is looked up at the API of the primary, and can be used afterwards", async (t) => {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("localhost"));
  const { certFile, keyFile } = files;
  const plain = { address: "127.0.0.1:0", tls_disable: true };
  const secure = { address: "127.0.0.1:0", tls_cert_file: certFile, tls_key_file: keyFile };
  const a = await startPrimary(t, { settings: { listener: [{ tcp: plain }, { tcp: secure }] } });
  const api = a.server.server.addresses.find((one) => one.startsWith("https:")) ?? "";
  const b = await startCluster(t, LISTED);
  const made = await a.dr("primary/secondary-token", { id: "site-b" });
  assert.equal(made.status, 200, made.text);
  const token = String(at(made, "wrap_info", "token"));
  const named = { token, primary_api_addr: "https://127.0.0.1:1", ...DRY };
  const missing = trialIn(await b.dr("secondary/enable", { token, ...DRY }));
  assert.deepEqual([missing.ready, missing.steps[0]?.step], [false, "api"]);
  const nobody = trialIn(await b.dr("secondary/enable", named));
  assert.deepEqual(
    [nobody.ready, nobody.steps[0]?.step, nobody.steps[0]?.address],
    [false, "api", "https://127.0.0.1:1"],
  );
  const [own = ""] = b.server.server.addresses;
  const itself = trialIn(await b.dr("secondary/enable", { ...named, primary_api_addr: own }));
  assert.deepEqual([itself.steps[0]?.step, itself.steps[0]?.address], ["api", own]);
  assert.match(itself.steps[0]?.cause ?? "", /of this cluster itself/);
  const how = { token, primary_api_addr: api, ca_pem: authority.pem };
  const found = await b.dr("secondary/enable", { ...how, ...DRY });
  assert.deepEqual(trialIn(found), {
    ready: true,
    steps: [{ step: "api", address: api, ok: true, cause: "" }],
  });
  assert.match(String(at(found, "warnings")), /was not tried/);
  const done = await b.dr("secondary/enable", how);
  assert.equal(done.status, 200, done.text);
  await inSync(a, b);
  const used = trialIn(await a.dr("secondary/enable", { ...how, ...DRY }));
  assert.deepEqual([used.ready, used.steps[0]?.step], [false, "role"]);
});

test("a secondary tries addresses and a token of its primary, and follows the one that it has", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a, "site-b", LISTED);
  await inSync(a, b);
  const operator = await b.operationToken(a.opened.shares);
  const update = (body: object) =>
    b.dr("secondary/update-primary", { dr_operation_token: operator, ...DRY, ...body }, "");
  const before = await kept(a, b);
  const [dead, there] = [`https://127.0.0.1:${await freePort()}`, `https://127.0.0.1:${way.port}`];
  const found = trialIn(await update({ update_primary_addrs: [dead, there] }));
  assert.deepEqual(
    [found.ready, found.steps.map(({ step, address, ok }) => ({ step, address, ok }))],
    [
      true,
      [
        { step: "connect", address: dead, ok: false },
        { step: "hello", address: there, ok: true },
      ],
    ],
  );
  const none = trialIn(await update({ update_primary_addrs: [dead] }));
  assert.equal(none.ready, false);
  assert.deepEqual(trialIn(await update({ token: "" })).ready, true);
  assert.equal((await update({})).status, 400);
  assert.equal((await update({ token: "", update_primary_addrs: [dead] })).status, 400);
  assert.deepEqual(await kept(a, b), before);
  assert.equal((await b.status())["state"], "stream-wals");

  const key = await b.dr("secondary/generate-public-key", {}, operator);
  const again = await a.dr("primary/secondary-token", {
    id: "site-b2",
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  assert.equal(again.status, 200, again.text);
  const token = at(again, "data", "token");
  const tried = trialIn(await update({ token }));
  assert.deepEqual(
    [tried.ready, tried.steps],
    [true, [{ step: "hello", address: there, ok: true, cause: "" }]],
  );
  assert.equal((await b.status())["secondary_id"], "site-b");

  const moved = await b.dr("secondary/update-primary", { token }, operator);
  assert.equal(moved.status, 200, moved.text);
  await inSync(a, b);
  const used = trialIn(await update({ token }));
  assert.deepEqual([used.ready, used.steps.length, used.steps[0]?.step], [false, 1, "hello"]);
  assert.match(used.steps[0]!.cause, /this token was used before/);
  assert.equal((await b.dr("secondary/update-primary", { token }, operator)).status, 502);
  const addressed = trialIn(await update({ update_primary_addrs: [there] }));
  assert.equal(addressed.ready, true, "as who it is already");
});
