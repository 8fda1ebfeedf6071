// Lease-count quotas through HTTP: `sys/quotas/lease-count/:name`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { mountedSurface } from "../../../src/surface.ts";
import {
  absent,
  dataOf,
  done,
  engineServer,
  keysOf,
  refused,
} from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const QUOTA = "sys/quotas/lease-count/q";
const FULL = "lease count quota exceeded";

test("a lease-count quota is written, read with its count, listed and deleted", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  await server.issue();
  done(await server.ask("POST", QUOTA, { path: "count", max_leases: 2 }));
  assert.deepEqual(dataOf(await server.ask("GET", QUOTA)), {
    name: "q",
    type: "lease-count",
    path: "count/",
    max_leases: 2,
    counter: 1,
    role: "",
    inheritable: false,
  });
  assert.deepEqual(keysOf(await server.ask("LIST", "sys/quotas/lease-count")), ["q"]);
  absent(await server.ask("LIST", "sys/quotas/rate-limit"));
  done(await server.ask("DELETE", QUOTA));
  absent(await server.ask("GET", QUOTA));
});

test("what is no quota is refused with what would be one", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const write = (body: object, name = "q") =>
    server.ask("POST", `sys/quotas/lease-count/${name}`, body);
  refused(await write({ path: "count" }), 400, /max_leases is missing/);
  refused(await write({ max_leases: 0 }), 400, /max_leases/);
  refused(
    await write({ max_leases: 1, path: "nowhere/" }),
    400,
    /path names no namespace or mount/,
  );
  refused(await write({ max_leases: 1, path: "count/*/a" }), 400, /path must be empty/);
  refused(await write({ max_leases: 1, role: "r" }), 400, /role is not supported/);
  refused(
    await write({ max_leases: 1, path: "count", inheritable: true }),
    400,
    /inheritable is for/,
  );
  refused(await write({ max_leases: 1 }, "-"), 400, /name of a quota/);
  done(await write({ max_leases: 1 }));
  refused(await write({ max_leases: 1 }, "other"), 409, /quota q is on this path already/);
  const child = await server
    .namespaces("team")
    .then(() => server.ask("GET", QUOTA, undefined, { namespace: "team" }));
  assert.equal(child.status, 403, "the root namespace alone has quotas");
});

test("one lease too many is 429 before anything is made, until one has ended", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  done(await server.ask("POST", QUOTA, { path: "count/", max_leases: 2 }));
  const first = await server.issue();
  await server.issue();
  const made = server.outside.events.length;
  for (const method of ["GET", "POST"]) {
    refused(
      await server.ask(method, "count/creds/r", method === "POST" ? {} : undefined),
      429,
      FULL,
    );
  }
  assert.equal(server.outside.events.length, made, "the provider was not asked");
  assert.equal((await server.ask("GET", "count/roles/r")).status, 200, "other requests go on");
  assert.equal((await server.renew(first.id)).status, 200, "and so does what is there");
  const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(text, /^holdfast_quota_violations_total 2$/m);
  done(await server.revoke(first.id, { sync: true }));
  await server.issue();
  refused(await server.ask("GET", "count/creds/r"), 429, FULL);
});

test("requests at the same time are not one too many together, and leave nothing behind", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (const path of ["count/", "count/creds/r"]) {
    done(await server.ask("POST", QUOTA, { path, max_leases: 4 }));
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => server.ask("GET", "count/creds/r")),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    assert.deepEqual(
      statuses,
      [...Array<number>(4).fill(200), ...Array<number>(12).fill(429)],
      path,
    );
    assert.equal(server.outside.objects.length, 4, "what was made in vain is gone");
    for (const answer of answers.filter(({ status }) => status === 200)) {
      done(await server.revoke(String(at(answer, "lease_id")), { sync: true }));
    }
    assert.deepEqual(server.outside.objects, []);
  }
});

test("the most specific quota applies alone: path, pattern, mount, namespace, all", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team", "team/sub");
  for (const namespace of [undefined, "team", "team/sub"])
    await server.counting("count", {}, namespace);
  await server.counting("other");
  done(await server.ask("POST", "count/roles/r2", {}));
  done(await server.ask("POST", "count/roles/s", {}));
  const limit = async (name: string, path: string, max: number, more: object = {}) =>
    done(
      await server.ask("POST", `sys/quotas/lease-count/${name}`, {
        path,
        max_leases: max,
        ...more,
      }),
    );
  await limit("exact", "count/creds/r", 1);
  await limit("begins", "count/creds/r*", 3);
  await limit("mount", "count/", 5);
  await limit("space", "team", 2, { inheritable: true });
  await limit("all", "", 100);
  const leasesUntilFull = async (path: string, namespace?: string) => {
    for (let made = 0; made < 9; made++) {
      const answer = await server.ask("GET", path, undefined, { namespace });
      if (answer.status === 429) return made;
      assert.equal(answer.status, 200, answer.text);
    }
    return 9;
  };
  assert.equal(await leasesUntilFull("count/creds/r"), 1);
  assert.equal(await leasesUntilFull("count/creds/r2"), 2, "those of r begin so too, and count");
  assert.equal(await leasesUntilFull("count/creds/s"), 2, "all of the mount count");
  assert.equal(await leasesUntilFull("other/creds/r"), 9, "far from the quota on all");
  assert.equal(await leasesUntilFull("count/creds/r", "team/sub"), 2, "inherited");
  assert.equal(
    await leasesUntilFull("count/creds/r", "team"),
    0,
    "and counted together with those below",
  );
  const counter = async (name: string) =>
    dataOf(await server.ask("GET", `sys/quotas/lease-count/${name}`))["counter"];
  assert.deepEqual(
    await Promise.all(["exact", "begins", "mount", "space", "all"].map(counter)),
    [1, 3, 5, 2, 16],
  );
  done(await server.ask("DELETE", "sys/quotas/lease-count/exact"));
  assert.equal(await leasesUntilFull("count/creds/r"), 0, "now the pattern's, which is full");
  await limit("begins", "count/creds/r*", 4);
  assert.equal(await leasesUntilFull("count/creds/r"), 1);
});

test("leases are counted from what is stored: also after a restart, also those given before", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const first = await server.issue();
  await server.issue();
  done(await server.ask("POST", QUOTA, { path: "count/creds/r", max_leases: 2 }));
  refused(await server.ask("GET", "count/creds/r"), 429, FULL);
  await server.crash();
  refused(await server.ask("GET", "count/creds/r"), 429, FULL);
  done(await server.revoke(first.id, { sync: true }));
  await server.issue();
  refused(await server.ask("GET", "count/creds/r"), 429, FULL);
});

test("a refusal has both of its audit records", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { auditDirectory } = server.test;
  const file = join(auditDirectory, "audit.log");
  done(await server.ask("POST", "sys/audit/file", { type: "file", options: { file_path: file } }));
  done(await server.ask("POST", QUOTA, { path: "count/", max_leases: 1 }));
  await server.issue();
  refused(await server.ask("GET", "count/creds/r"), 429, FULL);
  const records = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.includes('"count/creds/r"'))
    .map((line) => JSON.parse(line) as { readonly type: string; readonly error?: string });
  assert.deepEqual(
    records.map(({ type }) => type),
    ["request", "response", "request", "response"],
  );
  assert.equal(records.at(-1)?.error, FULL);
});

test("whatever gives secrets of a cloud is counted before it calls the cloud", () => {
  const giving = mountedSurface
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ path }) => /^\/(creds|sts)\//.test(path));
  assert.ok(giving.length >= 5);
  assert.deepEqual(
    giving.filter(({ issues }) => !issues).map(({ name }) => name),
    [],
  );
});
