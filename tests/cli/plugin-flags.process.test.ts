// Flags of `holdfast plugin …` as they are sent: each of them says something to the server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { enveloped, type FakeServer } from "./fakes/fake-server.ts";
import { eachWithServer } from "./fakes/each-with-server.ts";

let server: FakeServer;
const cli = eachWithServer((began) => (server = began));

/** What was sent of the one request of a kind; the answer to it has nothing. */
async function sent(line: string, method: string, path: string) {
  server.opened();
  server.instead.set(`${method} ${path}`, { status: 200, body: enveloped({ reload_id: "1" }) });
  const { code, all } = await cli(line.split(" "));
  assert.equal(code, 0, `${line}: ${all}`);
  const found = server.seen.find((one) => one.method === method && one.path === path);
  assert.ok(found !== undefined, `${line}: ${all}`);
  return { ...found.body, ...Object.fromEntries(found.query) };
}

const SUM = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

test("plugin register sends image, runtime, network and arguments", async () => {
  const line = `plugin register -oci-image team/totp -runtime small -network host -args --one -args two -version v1.2.0 -sha256 ${SUM} -verify secret totp`;
  const { sha256, ...said } = await sent(line, "POST", "sys/plugins/catalog/secret/totp");
  assert.equal(sha256, SUM);
  assert.deepEqual(said, {
    oci_image: "team/totp",
    runtime: "small",
    network: "host",
    args: ["--one", "two"],
    version: "v1.2.0",
    verify: "true",
  });
});

test("plugin runtime register sends every limit", async () => {
  const line =
    "plugin runtime register -oci-runtime runc -rootless -cgroup-parent /plugins -cpu-nanos 500000000 -memory-bytes 268435456 small";
  const path = "sys/plugins/runtimes/catalog/container/small";
  assert.deepEqual(await sent(line, "POST", path), {
    oci_runtime: "runc",
    rootless: true,
    cgroup_parent: "/plugins",
    cpu_nanos: 500_000_000,
    memory_bytes: 268_435_456,
  });
});

test("plugin reload sends mounts, or a name, and how far it goes", async () => {
  const line = "plugin reload -mounts one-time/,team/one-time/ -scope global";
  assert.deepEqual(await sent(line, "POST", "sys/plugins/reload/backend"), {
    mounts: ["one-time/", "team/one-time/"],
    scope: "global",
  });
});
