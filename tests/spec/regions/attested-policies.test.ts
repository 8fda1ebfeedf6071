// Which policies a secondary may vouch for: its operators could claim any for a token that only it knows.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { ask } from "../../support/replication/outside-site.ts";
import {
  perf,
  regionInSync,
  startPerformancePrimary,
  startRegion,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

const RULES = 'path "secret/*" { capabilities = ["create", "update", "read"] }';

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** A region that may vouch for these; all where nothing is said. */
async function pair(t: TestContext, attest_policies?: unknown) {
  const a = await startPerformancePrimary(t);
  for (const name of ["writer", "other"]) {
    is(await ask(a, a.token, "POST", `sys/policies/acl/${name}`, { policy: RULES }), 204);
  }
  const b = await startRegion(t, "b");
  const key = await perf(b, "secondary/generate-public-key");
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const body = { id: "region-b", secondary_public_key, attest_policies };
  const made = await perf(a, "primary/secondary-token", body);
  is(made, 200);
  is(await perf(b, "secondary/enable", { token: at(made, "data", "token") }), 200);
  await regionInSync(a, b);
  await until(async () => (await ask(b, a.token, "GET", "sys/policies/acl/writer")).status === 200);
  return { a, b };
}

/** With a token that this region alone knows. */
async function writes(
  { a, b }: { readonly a: Cluster; readonly b: Cluster },
  policies: readonly string[],
): Promise<Answer> {
  const made = await ask(b, a.token, "POST", "acl/token", { Policies: policies, Type: "client" });
  is(made, 200);
  const token = String(at(made, "SecretID"));
  return await ask(b, token, "POST", "secret/data/x", { data: { n: "1" } });
}

test("a secondary vouches for the policies that its token named, and for nobody who has others beside them", async (t) => {
  const two = await pair(t, ["Writer"]);
  is(await writes(two, ["writer"]), 200);
  is(await writes(two, ["other"]), 403, "policy_not_attested");
  is(await writes(two, ["writer", "other"]), 403, "policy_not_attested");
});

test("a secondary that may vouch for nothing sends on what comes with global tokens alone", async (t) => {
  const two = await pair(t, []);
  is(await writes(two, ["writer"]), 403, "policy_not_attested");
  const { a, b } = two;
  is(await ask(b, a.token, "POST", "secret/data/x", { data: { n: "1" } }), 200);
});

test("a secondary vouches for all policies where nothing is said", async (t) => {
  is(await writes(await pair(t), ["writer", "other"]), 200);
});

test("what a secondary may vouch for are names of policies; otherwise it is admitted to nothing", async (t) => {
  const a = await startPerformancePrimary(t);
  for (const attest_policies of [["a b"], [""], ["../x"], 7]) {
    const refused = await perf(a, "primary/secondary-token", { id: "b", attest_policies });
    is(refused, 400);
    assert.match(refused.text, /attest_policies/);
  }
  is(await perf(a, "primary/secondary-token", { id: "b", attest_policies: "one,two" }), 200);
});
