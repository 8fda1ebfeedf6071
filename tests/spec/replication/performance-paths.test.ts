// A shared mount comes to a path that a local one of another region has: there the local one keeps it, and the shared one is listed with
// it until it is gone. Refusing to take it would part the region from its set.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";

const V1 = { options: { version: "1" } };

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

async function pair(t: TestContext) {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const root = a.token;
  const call = (cluster: Cluster, method: string, path: string, body?: object) =>
    cluster.server.call(method, `/v1/${path}`, {
      token: root,
      ...(body === undefined ? {} : { body }),
    });
  const mount = async (cluster: Cluster, path: string, more: object = {}) => {
    const isAuth = path.startsWith("auth/");
    const type = isAuth ? "userpass" : "kv";
    is(
      await call(cluster, "POST", `sys/${isAuth ? "" : "mounts/"}${path}`, {
        type,
        ...(isAuth ? {} : V1),
        ...more,
      }),
      204,
    );
    await regionInSync(a, b);
  };
  const mounts = async (cluster: Cluster, of = "mounts") =>
    at(await call(cluster, "GET", `sys/${of}`), "data") as Readonly<Record<string, ListedMount>>;
  const reopened = async () => {
    is(await call(b, "POST", "sys/seal"), 204);
    await b.server.unseal(a.opened.shares);
    await regionInSync(a, b);
  };
  return { a, b, root, call, mount, mounts, reopened };
}

interface ListedMount {
  readonly uuid: string;
  readonly local: boolean;
  readonly shadowed?: readonly { readonly path: string; readonly uuid: string }[];
}

test("a local mount keeps its path when a shared one comes there, over a start too, and the shared one is listed as shadowed", async (t) => {
  const { a, b, call, mount, mounts, reopened } = await pair(t);
  await mount(b, "dup", { local: true });
  is(await call(b, "POST", "dup/x", { where: "b" }), 204);
  await mount(a, "dup");
  is(await call(a, "POST", "dup/x", { where: "a" }), 204);
  await regionInSync(a, b);
  const shared = (await mounts(a))["dup/"]?.uuid;
  const look = async () => {
    const { "dup/": listed } = await mounts(b);
    assert.equal(listed?.local, true);
    assert.deepEqual(
      listed.shadowed?.map(({ path, uuid }) => [path, uuid]),
      [["dup/", shared]],
    );
    assert.equal(at(await call(b, "GET", "dup/x"), "data", "where"), "b");
  };
  await look();
  await reopened();
  await look();
  is(await call(b, "POST", "dup/y", { where: "b" }), 204);
  is(await call(a, "GET", "dup/y"), 404);

  // The path names the local one in everything that changes a mount.
  is(await call(b, "POST", "sys/mounts/dup/tune", { description: "of b" }), 204);
  assert.equal(at(await call(a, "GET", "sys/mounts/dup/tune"), "data", "description"), "");
  await look();
  is(await call(b, "DELETE", "sys/mounts/dup"), 204);
  assert.equal((await mounts(a))["dup/"]?.uuid, shared);
  const { "dup/": after } = await mounts(b);
  assert.deepEqual([after?.uuid, after?.local, after?.shadowed], [shared, false, undefined]);
  assert.equal(at(await call(b, "GET", "dup/x"), "data", "where"), "a");
});

test("when the shared mount goes the local one is there still; below and above a local one it is shadowed too, and so are auth methods", async (t) => {
  const { a, b, call, mount, mounts } = await pair(t);
  await mount(b, "top", { local: true });
  await mount(b, "low/deep", { local: true });
  await mount(b, "auth/people", { local: true });
  for (const path of ["top", "low/deep"])
    is(await call(b, "POST", `${path}/x`, { where: "b" }), 204);
  await mount(a, "top/deep");
  await mount(a, "low");
  await mount(a, "auth/people");
  const shadowedBy = async (path: string, of?: string) =>
    (await mounts(b, of))[path]?.shadowed?.map((one) => one.path);
  assert.deepEqual(await shadowedBy("top/"), ["top/deep/"]);
  assert.deepEqual(await shadowedBy("low/deep/"), ["low/"]);
  assert.deepEqual(await shadowedBy("people/", "auth"), ["auth/people/"]);
  assert.equal((await mounts(b, "auth"))["people/"]?.local, true);
  assert.equal(at(await call(b, "GET", "top/x"), "data", "where"), "b");
  assert.equal(at(await call(b, "GET", "low/deep/x"), "data", "where"), "b");
  is(await call(a, "DELETE", "sys/mounts/low"), 204);
  is(await call(a, "DELETE", "sys/auth/people"), 204);
  await regionInSync(a, b);
  assert.equal(await shadowedBy("low/deep/"), undefined);
  assert.equal((await mounts(b, "auth"))["people/"]?.local, true);
  assert.equal(at(await call(b, "GET", "low/deep/x"), "data", "where"), "b");

  // Who takes over has both, and a local one that moves away lets the other be found.
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, a.token), 200);
  assert.deepEqual(await shadowedBy("top/"), ["top/deep/"]);
  is(await call(b, "DELETE", "sys/mounts/top"), 204);
  is(await call(b, "POST", "top/deep/x", { where: "taken over" }), 204);
});
