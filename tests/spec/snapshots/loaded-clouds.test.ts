// Roles of cloud engines from a loaded snapshot: read without a call to the cloud, and recovered as any role is written.

import assert from "node:assert/strict";
import test from "node:test";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import { absent, dataOf, keysOf, refused } from "../../support/servers/engine-server.ts";
import { LoadedServer, loadedServer } from "../../support/snapshots/loaded-server.ts";

const BOUND = { timeout: 300_000 };

test("a role of cloud A is read, listed and recovered as it was", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  const role = {
    credential_type: "assumed_role",
    role_arns: ["arn:aws:iam::123456789012:role/deploy"],
    default_sts_ttl: 900,
    session_tags: { team: "shop" },
  };
  await server.must("POST", "clouda/roles/deploy", role);
  const before = dataOf(await server.ask("GET", "clouda/roles/deploy"));
  const id = await loaded.load();
  await server.must("POST", "clouda/roles/deploy", { session_tags: { team: "other" } });
  await server.must("DELETE", "clouda/roles/deploy");
  assert.deepEqual(dataOf(await loaded.read(id, "clouda/roles/deploy")), before);
  assert.deepEqual(keysOf(await loaded.list(id, "clouda/roles")), ["deploy"]);
  const recovered = await loaded.recover(id, "clouda/roles/deploy");
  assert.ok(recovered.status < 300, recovered.text);
  assert.deepEqual(dataOf(await server.ask("GET", "clouda/roles/deploy")), before);
  // Credentials are made outside: no snapshot has them.
  for (const path of ["clouda/creds/deploy", "clouda/config/root", "clouda/static-roles/a"]) {
    refused(await loaded.read(id, path), 400, /nothing is answered from a snapshot here/);
  }
});

test(
  "a role of cloud B is read while the cloud is not asked, and recovered with a new application",
  BOUND,
  async (t) => {
    const server = await cloudbServer(t);
    const loaded = new LoadedServer(server);
    await server.makeRole("app", { persist_app: true, ttl: 3600, tags: ["shop"] });
    const before = dataOf(await server.ask("GET", "cloudb/roles/app"));
    assert.notEqual(before["application_object_id"], "");
    const id = await loaded.load();
    await server.timed(server.ask("DELETE", "cloudb/roles/app"));
    absent(await server.ask("GET", "cloudb/roles/app"));
    server.fake.control.clearCalls();
    assert.deepEqual(dataOf(await loaded.read(id, "cloudb/roles/app")), before);
    assert.deepEqual(keysOf(await loaded.list(id, "cloudb/roles")), ["app"]);
    assert.deepEqual(server.fake.control.calls(), []);
    const recovered = await server.timed(loaded.recover(id, "cloudb/roles/app"));
    assert.ok(recovered.status < 300, recovered.text);
    const { application_object_id: made, ...after } = dataOf(
      await server.ask("GET", "cloudb/roles/app"),
    );
    const { application_object_id: kept, ...rest } = before;
    assert.deepEqual(after, rest);
    assert.ok(typeof made === "string" && made !== "" && made !== kept);
  },
);
