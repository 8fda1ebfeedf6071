// Section K, what filters withhold, by name: everything in a mount and in a namespace has one word in it. When both are withheld no row of the region and of who
// stands in for it has that word, decrypted; nothing has it that either answers; and nothing that the primary says from then on, whatever is done there.

import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { asBuffer } from "@holdfast/shared/bytes";
import { standInOf } from "../../support/replication/cascade.ts";
import { type Cluster, inSync } from "../../support/replication/clusters.ts";
import {
  deny,
  makeNamespace,
  mountSecret,
  request,
  secretAt,
} from "../../support/replication/filtered.ts";
import {
  joinedRegion,
  performanceOf,
  regionInSync,
  startPerformancePrimary,
  withRoot,
} from "../../support/replication/performance.ts";
import { captured } from "../../support/replication/regions/said.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";

const WORD = "quetzal";
const NS = "quetzal-team";
const POLICY = { policy: 'path "quetzal-path/*" { capabilities = ["read"] }' };
const RULE = { policy: "true", enforcement_level: "advisory" };
/** What root says of places belongs to the set, whatever is withheld; and what is withheld is told, with its paths. */
const MAY_NAME =
  /^(?:shared\/(?:ns\/root\/policies|quotas)\/|local\/replication\/performance\/withheld-places\/)/;

/** Every row whose key or decrypted value has the word. */
function naming({ server: { server } }: Cluster): string[] {
  const classes = ["shared/", "local/", "core/"].map((prefix) => ({
    prefix,
    view: server.barrier.view(prefix),
  }));
  return classes.flatMap(({ prefix, view }) => {
    const keys = server.store.rows(prefix, { limit: 100_000 }).map(({ key }) => key);
    return keys.filter(
      (key) => key.includes(WORD) || textOf(view, key.slice(prefix.length)).includes(WORD),
    );
  });
}

function textOf(
  view: ReturnType<Cluster["server"]["server"]["barrier"]["view"]>,
  key: string,
): string {
  try {
    return asBuffer(view.get(key, bytesCodec)!).toString("latin1");
  } catch {
    return ""; // keys themselves are sealed otherwise
  }
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const { status, text } = await answer;
  assert.ok(status < 300, text);
  return await answer;
}

test("T-K01 no name of what is in a mount or a namespace is left in a region from which they are withheld, in no answer of it, and none is sent again", async (t) => {
  const a = await startPerformancePrimary(t);
  const doAt = (method: string, path: string, namespace = "", body?: object) =>
    done(request(a, method, path, { namespace, ...(body && { body }) }));
  await mountSecret(a, "quetzal-kv");
  await doAt("POST", "quetzal-kv/quetzal-key", "", { field: WORD });
  await doAt("POST", "sys/mounts/quetzal-kv/tune", "", { description: WORD });
  await doAt("POST", "sys/quotas/rate-limit/of-root", "", { path: "quetzal-kv/", rate: 1000 });
  await doAt("PUT", "sys/policies/egp/of-root", "", { ...RULE, paths: ["quetzal-kv/*"] });
  await makeNamespace(a, NS);
  await mountSecret(a, "quetzal-in", NS);
  await doAt("POST", "sys/namespaces/quetzal-inner", NS, {});
  await doAt("PUT", "sys/policies/acl/quetzal-policy", NS, POLICY);
  await doAt("PUT", "sys/policies/egp/quetzal-egp", NS, { ...RULE, paths: ["*"] });
  await doAt("POST", "sys/auth/quetzal-people", NS, { type: "userpass" });
  const user = { password: "long enough 1", policies: "quetzal-policy" };
  await doAt("POST", "auth/quetzal-people/users/quetzal-user", NS, user);
  const token = { Type: "client", Policies: ["quetzal-policy"], Global: true };
  await doAt("POST", "acl/token", NS, { ...token, Name: "quetzal-token" });
  await mountSecret(a, "us");
  const b = withRoot(await joinedRegion(t, a, "b"), a.token);
  await regionInSync(a, b);
  const d = await standInOf(t, b, a.token);
  await until(async () => (await secretAt(b, "quetzal-kv")) === "quetzal-kv");
  for (const one of [b, d]) {
    const left = naming(one).filter((key) => !MAY_NAME.test(key));
    assert.ok(left.length >= 12, left.join()); // it would be found
  }

  await deny(a, "quetzal-kv/", `${NS}/`);
  const caughtUp = async () => {
    const { index } = a;
    await until(() => performanceOf(b).applied >= index);
    await inSync(b, d);
  };
  const isGone = (one: Cluster) => naming(one).every((key) => MAY_NAME.test(key));
  await until(() => isGone(b));
  await caughtUp();
  await until(() => isGone(d));

  const said = captured(t);
  await doAt("POST", "quetzal-kv/quetzal-more", "", { field: WORD });
  await mountSecret(a, "quetzal-later", NS);
  await doAt("POST", "sys/remount", "", { from: "quetzal-kv", to: "quetzal-moved" });
  await doAt("POST", "acl/token", NS, { ...token, Name: "quetzal-other" });
  await doAt("DELETE", "sys/namespaces/quetzal-inner", NS);
  await doAt("PUT", "sys/policies/acl/quetzal-policy", NS, POLICY);
  await doAt("DELETE", "sys/policies/egp/quetzal-egp", NS);
  await doAt("POST", "us/two", "", { a: 1 });
  await until(async () => (await request(b, "GET", "us/two")).status === 200);
  // What it is asked for by name it does not say either.
  const questions: readonly [string, string, string, object?][] = [
    ["GET", "acl/tokens?region=a", NS],
    ["GET", "acl/tokens?region=a", ""],
    ["GET", "acl/policies?region=a", ""],
    ["POST", "sys/remount", "", { from: "us", to: `${NS}/quetzal-in` }],
    ["DELETE", `sys/namespaces/${NS}`, ""],
    ["POST", `${NS}/quetzal-in/one`, "", {}],
  ];
  for (const [method, path, namespace, body] of questions) {
    const { status, text } = await request(b, method, path, { namespace, ...(body && { body }) });
    assert.ok(path.startsWith("acl") || status === 404, `${method} ${path}: ${status} ${text}`);
  }
  await doAt("POST", "us/three", "", { a: 1 });
  await until(async () => (await request(b, "GET", "us/three")).status === 200);
  await caughtUp();
  assert.equal(said.has("/mounts/"), true); // it would be heard
  assert.equal(said.has(WORD), false);
  assert.ok(isGone(b) && isGone(d));

  const answers = await Promise.all(
    [
      "sys/metrics?format=prometheus",
      "sys/attention",
      "sys/mounts",
      "sys/auth",
      "sys/replication/status",
      "acl/tokens",
      "acl/policies",
    ].map(async (path) => ({ path, answer: await request(b, "GET", path) })),
  );
  for (const { path, answer } of answers) {
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    assert.equal(answer.text.includes(WORD), false, path);
  }
  const listed = await request(
    b,
    "GET",
    `sys/replication/performance/secondary/dynamic-filter/region-b`,
  );
  assert.match(JSON.stringify(at(listed, "data")), /quetzal-moved/); // there alone
});
