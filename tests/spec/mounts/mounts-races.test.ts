// What happens to mounts at the same time: two who want one path, a mount that goes or moves while a
// request is making something outside, writes to one key.

import assert from "node:assert/strict";
import test from "node:test";
import { dataOf, done, engineServer, MINUTE } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { type Answer, at } from "../../support/http-client.ts";

const with204 = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 204);

test("of many who mount on overlapping paths at once, those that fit together win, and no others", async (t) => {
  const server = await engineServer(t);
  const enable = (path: string) => server.ask("POST", `sys/mounts/${path}`, { type: "kv" });
  const same = await Promise.all(Array.from({ length: 16 }, () => enable("same")));
  assert.equal(with204(same).length, 1);
  for (const { status, text } of same) assert.ok(status === 204 || status === 409, text);
  const nested = await Promise.all(["n", "n/a", "n/a/b", "n", "n/a", "n/b"].map(enable));
  const paths = Object.keys(dataOf(await server.ask("GET", "sys/mounts")));
  const mounted = paths.filter((path) => path.startsWith("n/"));
  assert.equal(with204(nested).length, mounted.length);
  for (const one of mounted) {
    for (const other of mounted) assert.ok(one === other || !other.startsWith(one), mounted.join());
  }
  // A path is a mount's or a namespace's.
  const either = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      i % 2 === 0 ? enable("either") : server.ask("POST", "sys/namespaces/either", {}),
    ),
  );
  const isNamespace = (await server.ask("GET", "sys/namespaces/either")).status === 200;
  const isMount = "either/" in dataOf(await server.ask("GET", "sys/mounts"));
  assert.notEqual(isNamespace, isMount, either.map(({ status }) => status).join());
});

test("what a running request makes while its mount is disabled is not left outside", async (t) => {
  const server = await engineServer(t);
  for (const step of ["issue", "recorded", "made"] as const) {
    await server.counting("count");
    await server.issue();
    const before = server.outside.reached(step);
    const letGo = server.outside.hold(step, 1);
    const answering = server.ask("GET", "count/creds/r");
    await until(() => server.outside.reached(step) > before);
    const disabling = server.ask("DELETE", "sys/mounts/count");
    await until(async () => (await server.ask("GET", "count/roles/r")).status === 404);
    letGo();
    const answer = await answering;
    const disabled = await disabling;
    assert.ok([202, 204].includes(disabled.status), disabled.text);
    await server.passUntil(
      async () => (await server.ask("GET", "sys/mounts/count")).status === 400,
    );
    await server.passUntil(() => server.outside.objects.length === 0);
    if (answer.status === 200) {
      assert.equal(await server.isThere(String(at(answer, "lease_id"))), false, step);
    }
  }
});

test("what a running request makes while its mount moves is not left outside", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const letGo = server.outside.hold("made", 1);
  const answering = server.ask("GET", "count/creds/r");
  await until(() => server.outside.reached("made") === 1);
  await server.must("POST", "sys/remount", { from: "count", to: "moved" });
  letGo();
  await answering;
  await server.passUntil(async () => (await server.ask("GET", "moved/roles/r")).status === 200);
  await server.passUntil(() => server.outside.objects.length === 0, MINUTE);
  const { id } = await server.issue("moved/creds/r");
  assert.equal(await server.isThere(id), true);
});

test("enabled and disabled over and over, a mount ends as the last answer says", async (t) => {
  const server = await engineServer(t);
  const acts = Array.from({ length: 30 }, (_, i) =>
    i % 2 === 0
      ? server.ask("POST", "sys/mounts/kv", { type: "kv" })
      : server.ask("DELETE", "sys/mounts/kv"),
  );
  for (const { status, text } of await Promise.all(acts)) {
    assert.ok([202, 204, 409].includes(status), `${status} ${text}`);
  }
  const gone = async () => (await server.ask("DELETE", "sys/mounts/kv")).status === 204;
  await until(gone);
  await server.enable("kv", "kv");
  done(await server.ask("DELETE", "sys/mounts/kv"));
});

test("parallel writes of one key give each version once", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const put = (i: number) => server.ask("POST", "kv/data/k", { data: { i } });
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => put(i)));
  const versions = answers.map((answer) => Number(dataOf(answer)["version"]));
  assert.deepEqual(
    versions.toSorted((a, b) => a - b),
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  const last = versions.indexOf(40);
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/k"))["data"], { i: last });
});
