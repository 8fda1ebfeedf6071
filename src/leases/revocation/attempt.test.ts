import assert from "node:assert/strict";
import test from "node:test";
import type { Lease } from "../lease.ts";
import { providerMount, Provider } from "../../../tests/support/made/made-leases.ts";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { attempt } from "./attempt.ts";

const LEASE: Lease = {
  namespaceId: "root",
  id: "m1/creds/r/1",
  path: "m1/creds/r",
  mountUuid: "m1",
  owner: null,
  secretType: "creds",
  internal: {},
  issued: 0n,
  expires: 1n,
  renewed: null,
  renewable: false,
  due: 1n,
  attempts: 0,
  error: "",
  irrevocable: false,
};

/** What is kept of the ids that an engine gives. */
async function kept(requestIds: readonly string[]): Promise<readonly string[]> {
  const mount = providerMount(new Provider(), "m1");
  const [secretType = ""] = Object.keys(mount.type.secrets ?? {});
  const secret = { renew: null, revoke: async () => ({ requestIds }) };
  const type = { ...mount.type, secrets: { [secretType]: secret } };
  const { timers, log } = fakeWorld();
  const mounts = { byUuid: () => ({ ...mount, type }) };
  const lease = { ...LEASE, secretType };
  const attempted = await attempt(lease, { mounts, timers, log }, new AbortController().signal);
  assert.equal(attempted.kind, "revoked");
  return attempted.kind === "revoked" ? attempted.requestIds : [];
}

test("of the ids of a provider's calls the last 16 are kept", async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `${i}`.padStart(8, "0"));
  assert.deepEqual(await kept(ids), ids.slice(4));
  assert.deepEqual(await kept(ids.slice(0, 3)), ids.slice(0, 3));
});

test("what is no id of a provider is not kept, whatever an engine gives", async () => {
  const good = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
  const bad = ["", "short", "AKIAIOSFODNN7EXAMPLE", "hunter2 hunter2", "a".repeat(65), "0123456\n"];
  assert.deepEqual(await kept([...bad, good, good.toUpperCase(), ...bad]), [
    good,
    good.toUpperCase(),
  ]);
  // Those that are none take nobody's place.
  assert.deepEqual(await kept([good, ...Array.from({ length: 16 }, () => "no id")]), [good]);
});
