// Secret ids with a number of uses, used in a region that does not write them: the login and its token are of that region, and the use is
// taken where they are counted.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { STRAIGHT, type Way } from "../../../src/cluster/memory-carrier.ts";
import { forwardServices } from "../../../src/forwarding/answering.ts";
import { takeUse } from "../../../src/forwarding/messages.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { type Answer, at } from "../../support/http-client.ts";
import {
  MEMBER,
  PEER,
  twoRegions,
  type TwoRegions,
} from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";
import { until } from "../../support/until.ts";

const ALARM = "storage.shared-write-refused";

interface Machines extends Pick<TwoRegions, "a" | "b" | "root"> {
  readonly regions: TwoRegions;
  readonly roleId: string;
  /** Another secret id, with so many uses; 0: any number. */
  readonly secretId: (uses: number) => Promise<string>;
  readonly login: (server: TestServer, secretId: string) => Promise<Answer>;
  /** As the region that counts has it; null: it has none. */
  readonly left: (secretId: string) => Promise<unknown>;
}

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

async function machines(t: TestContext, way: Way = STRAIGHT): Promise<Machines> {
  const regions = await twoRegions(t, { way });
  const { a, b, root: token } = regions;
  await done(a.call("POST", "/v1/sys/auth/approle", { token, body: { type: "approle" } }));
  await done(a.call("POST", "/v1/auth/approle/role/app", { token, body: {} }));
  const role = await done(a.call("GET", "/v1/auth/approle/role/app/role-id", { token }));
  const roleId = String(at(role, "data", "role_id"));
  const secrets = "/v1/auth/approle/role/app/secret-id";
  return {
    a,
    b,
    root: token,
    regions,
    roleId,
    secretId: async (uses) => {
      const made = await done(a.call("POST", secrets, { token, body: { num_uses: uses } }));
      await regions.apply();
      return String(at(made, "data", "secret_id"));
    },
    login: (server, secretId) => {
      const body = { role_id: roleId, secret_id: secretId };
      return server.call("POST", "/v1/auth/approle/login", { body });
    },
    left: async (secretId) => {
      const body = { secret_id: secretId };
      const found = await a.call("POST", `${secrets}/lookup`, { token, body });
      return found.status === 200 ? at(found, "data", "secret_id_num_uses") : null;
    },
  };
}

function code(answer: Answer): unknown {
  return answer.headers["x-service-error"];
}

test("a use is taken at the primary, and the login and its token are of the region that was asked", async (t) => {
  const { a, b, regions, secretId, login, left } = await machines(t);
  const secret = await secretId(3);
  const here = await done(login(b, secret));
  assert.equal(await left(secret), 2);
  const token = String(at(here, "auth", "client_token"));
  await done(b.call("GET", "/v1/auth/token/lookup-self", { token }));
  assert.equal((await a.call("GET", "/v1/auth/token/lookup-self", { token })).status, 403);
  await done(login(a, secret));
  await regions.apply();
  await done(login(b, secret));
  assert.equal(await left(secret), null);
  await regions.apply();
  for (const server of [a, b]) assert.equal((await login(server, secret)).status, 400);
  assert.deepEqual(
    b.lines.filter((line) => line.includes(ALARM)),
    [],
  );
});

test("of logins in both regions with the last use one gets it, also where the other has not heard yet", async (t) => {
  const { a, b, regions, secretId, login, left } = await machines(t);
  const secret = await secretId(1);
  regions.hold();
  const all = await Promise.all([b, a, b, a, b].map((server) => login(server, secret)));
  const statuses = all.map(({ status }) => String(status));
  assert.deepEqual(statuses.toSorted(), ["200", "400", "400", "400", "400"]);
  assert.equal(await left(secret), null);
  assert.equal((await login(b, secret)).status, 400);
});

test("without a number of uses nothing is asked elsewhere; with one, a login is 503 and nothing was done while the primary is not reached", async (t) => {
  const { b, regions, secretId, login, left } = await machines(t);
  const [free, counted] = [await secretId(0), await secretId(2)];
  await regions.cut();
  await done(login(b, free));
  const refused = await login(b, counted);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(code(refused), "primary_unreachable");
  assert.equal(await left(counted), 2);
});

test("a use of which nobody knows whether it was taken is asked for once, and lets nobody in", async (t) => {
  let isHeld = false;
  let held = 0;
  let sent = 0;
  const way: Way = {
    ...STRAIGHT,
    pass: async (to) => {
      if (isHeld && to === "server") sent++;
      if (!isHeld || to === "server") return;
      held++;
      await new Promise(() => {}); // its answer never comes
    },
  };
  const { b, regions, secretId, login, left } = await machines(t, way);
  const secret = await secretId(2);
  isHeld = true;
  const trying = login(b, secret);
  await until(() => held === 1);
  await regions.cut();
  const lost = await trying;
  assert.equal(lost.status, 503, lost.text);
  assert.equal(code(lost), "primary_lost");
  assert.equal(sent, 1);
  assert.equal(await left(secret), 1);
});

test("what a region says of a use is looked at like what anybody says", async (t) => {
  const { a, b, regions, root, secretId, left, login } = await machines(t);
  const secret = await secretId(2);
  const mount = at(
    await done(a.call("GET", "/v1/sys/auth/approle", { token: root })),
    "data",
    "uuid",
  );
  const take = (what: object, uuid = String(mount)) =>
    regions.primary.takeUse(uuid, what as Parameters<typeof regions.primary.takeUse>[1]);
  const right = { id: "x", name: "app", hash: "0".repeat(64), address: "127.0.0.1" };
  for (const what of [{}, right, { ...right, hash: "../x" }, { ...right, name: "a/b" }]) {
    assert.equal(await take(what), false);
  }
  const unreachable = (error: { readonly code?: string }) => error.code === "primary-unreachable";
  await assert.rejects(take(right, "no such mount"), unreachable);
  const local = { type: "approle", local: true };
  await done(a.call("POST", "/v1/sys/auth/own", { token: root, body: local }));
  const own = at(await done(a.call("GET", "/v1/sys/auth/own", { token: root })), "data", "uuid");
  await assert.rejects(take(right, String(own)), unreachable);
  assert.equal(await left(secret), 2);
  await done(login(b, secret));
});

test("a use that a region takes stands in the records of the primary, taken or not, with the region", async (t) => {
  const { a, regions, root: token, roleId, secretId, login } = await machines(t);
  const path = join(a.auditDirectory, "log");
  const device = { type: "file", local: true, options: { file_path: path } };
  await done(a.call("POST", "/v1/sys/audit/file", { token, body: device }));
  const secret = await secretId(1);
  regions.hold();
  await done(login(regions.b, secret));
  assert.equal((await login(regions.b, secret)).status, 400);
  const lines = readFileSync(path, "utf8").split("\n");
  const records = lines
    .filter((line) => line.includes('"path":"auth/approle/take-use"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    records.map(({ type, forwarded_from: from, error }) => [type, from, error]),
    [
      ["request", MEMBER, ""],
      ["response", MEMBER, ""],
      ["request", MEMBER, ""],
      ["response", MEMBER, "there is no such use"],
    ],
  );
  assert.ok(lines.every((line) => !line.includes(secret) && !line.includes(roleId)));
});

test("a use is not taken for who was revoked, nor for who has gone before its turn", async (t) => {
  const { a, root, secretId, left } = await machines(t);
  const secret = await secretId(2);
  const mount = at(
    await done(a.call("GET", "/v1/sys/auth/approle", { token: root })),
    "data",
    "uuid",
  );
  const request = takeUse.request.encode({ mount: String(mount), what: "{}" });
  const take = async (cluster: string | null, signal: AbortSignal) => {
    const takers: string[] = [];
    const services = forwardServices({
      ...a.server.forwarded,
      clusterOf: () => cluster,
      takeUse: async (_mount, _what, { clusterId }) => {
        takers.push(clusterId);
        return true;
      },
    });
    const served = services.find(({ shape }) => shape.path === takeUse.path);
    assert.ok(served !== undefined);
    const only = async function* () {
      yield request;
    };
    try {
      for await (const answer of served.run(only(), {
        peer: PEER,
        signal,
        metadata: () => undefined,
      })) {
        assert.equal(takeUse.response.decode(answer).isTaken, true);
      }
      return takers;
    } catch (error) {
      assert.ok(error instanceof StatusError);
      assert.deepEqual(takers, []);
      return error.status;
    }
  };
  const { signal } = new AbortController();
  assert.deepEqual(await take("b", signal), ["b"]);
  assert.deepEqual(await take(null, signal), [""]);
  assert.equal(await take("", signal), Status.permissionDenied);
  assert.equal(await take("b", AbortSignal.abort()), Status.permissionDenied);
  assert.equal(await left(secret), 2);
});
