// Threats B, T-B05 where a request waits for its own body: whoever was let in with the head has no right that
// was taken away before the body was there. Sent byte for byte, over one connection each.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { SystemClock } from "../../../src/system/clock.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";
import { auditLines, EVERYTHING, rule, scene, type Scene } from "../scene.ts";

class MovableClock extends SystemClock {
  ahead = 0n;

  override now(): bigint {
    return super.now() + this.ahead;
  }
}

/** Sends all but the last byte of a request, does something, and gives the answer to the rest. */
async function held(
  stage: Scene,
  [method, path, token, body]: readonly [string, string, string, object],
  meanwhile: () => Promise<unknown>,
): Promise<number> {
  const text = JSON.stringify(body);
  const client = await stage.connect();
  try {
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${token}\r\n`;
    await client.send(
      `${head}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, -1)}`,
    );
    // Beside the one that asks there is one more: it was let in, and waits for its body.
    await until(async () => {
      const answer = await stage.must("GET", "/v1/sys/in-flight-req");
      return Object.keys(at(answer, "data") as object).length > 1;
    });
    await meanwhile();
    await client.send(text.slice(-1));
    return (await client.next())?.status ?? 0;
  } finally {
    client.destroy();
  }
}

test(
  "T-B05: who is revoked while its body is held back does nothing with it",
  { timeout: 300_000 },
  async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/k", {
      body: { type: "kv", options: { version: "1" } },
    });
    const management = async () => {
      const body = { Name: "m", Type: "management" };
      const { json } = await stage.must("POST", "/acl/token", { body });
      return json as { readonly AccessorID: string; readonly SecretID: string };
    };
    const another = { Name: "back", Type: "management" };
    const policy = { policy: rule("*", ["sudo"]) };
    for (const [method, path, body] of [
      ["POST", "/acl/token", another],
      ["PUT", "/v1/sys/policies/acl/evil", policy],
      ["POST", "/v1/auth/token/create-orphan", { policies: ["default"] }],
      ["POST", "/v1/k/x", { a: 1 }],
      ["POST", "/v1/cubbyhole/x", { a: 1 }],
    ] as const) {
      const { AccessorID, SecretID } = await management();
      const revoke = () => stage.must("DELETE", `/acl/token/${AccessorID}`);
      assert.equal(await held(stage, [method, path, SecretID, body], revoke), 403, path);
      const token = await management();
      const idle = () => stage.must("POST", "/v1/k/other", { body: { a: 1 } });
      const status = await held(stage, [method, path, token.SecretID, body], idle);
      assert.ok(status < 300, `${path}: ${status}`);
    }
  },
);

test(
  "T-B05: a token that ends or loses a right while its body is held back",
  { timeout: 300_000 },
  async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/k", {
      body: { type: "kv", options: { version: "1" } },
    });
    await stage.writePolicy("writes", rule("k/*", EVERYTHING));
    const made = async (body: object) => {
      const { json } = await stage.must("POST", "/acl/token", {
        body: { Name: "c", Type: "client", Policies: ["writes"], ...body },
      });
      return json as { readonly AccessorID: string; readonly SecretID: string };
    };
    const write = (token: string) => ["POST", "/v1/k/x", token, { a: 1 }] as const;

    const loses = await made({});
    const without = {
      AccessorID: loses.AccessorID,
      Name: "c",
      Type: "client",
      Policies: ["default"],
    };
    const taken = () => stage.must("POST", `/acl/token/${loses.AccessorID}`, { body: without });
    assert.equal(await held(stage, write(loses.SecretID), taken), 403);

    const changed = await made({});
    const rights = () => stage.writePolicy("writes", rule("k/other", ["read"]));
    assert.equal(await held(stage, write(changed.SecretID), rights), 403);
    await stage.writePolicy("writes", rule("k/*", EVERYTHING));

    const counted = await stage.must("POST", "/v1/auth/token/create", {
      body: { policies: ["writes"], num_uses: 1 },
    });
    const once = at(counted, "auth", "client_token") as string;
    const used = async () => {
      assert.equal(
        (await stage.server.call("POST", "/v1/k/y", { token: once, body: {} })).status,
        204,
      );
    };
    assert.equal(await held(stage, write(once), used), 403, "its one use was taken by another");
  },
);

test(
  "T-B05: a token that runs out while its body is held back",
  { timeout: 300_000 },
  async (t) => {
    const clock = new MovableClock();
    const stage = await scene(t, { world: { clock } });
    await stage.must("POST", "/v1/sys/mounts/k", {
      body: { type: "kv", options: { version: "1" } },
    });
    const body = { Name: "m", Type: "management", ExpirationTTL: "1m" };
    const { json } = await stage.must("POST", "/acl/token", { body });
    const { SecretID } = json as { readonly SecretID: string };
    const passing = async () => void (clock.ahead += 2n * MINUTE);
    assert.equal(await held(stage, ["POST", "/v1/k/x", SecretID, { a: 1 }], passing), 403);
  },
);

test(
  "T-B05: who is revoked while its request runs writes nothing more",
  { timeout: 300_000 },
  async (t) => {
    const stage = await scene(t);
    await stage.must("POST", "/v1/sys/mounts/w", {
      body: { type: "kv", options: { version: "2" } },
    });
    const names = Array.from({ length: 200 }, (_, i) => `f/${String(i).padStart(3, "0")}`);
    await Promise.all(
      names.map((name) =>
        stage.must("POST", `/v1/w/data/${name}`, { body: { data: { a: "x".repeat(20_000) } } }),
      ),
    );
    await stage.writePolicy("copies", rule("w/*", EVERYTHING));
    const body = { Name: "c", Type: "client", Policies: ["copies"] };
    const { json } = await stage.must("POST", "/acl/token", { body });
    const { AccessorID, SecretID } = json as {
      readonly AccessorID: string;
      readonly SecretID: string;
    };
    const copying = stage.server.call("POST", "/v1/w/copy", {
      token: SecretID,
      body: { from: "f", to: "g", recursive: true },
    });
    const there = async () => {
      const { server, root } = stage;
      const answer = await server.call("LIST", "/v1/w/metadata/g", { token: root });
      return answer.status === 200 ? (at(answer, "data", "keys") as string[]).length : 0;
    };
    await until(async () => (await there()) > 0);
    await stage.must("DELETE", `/acl/token/${AccessorID}`);
    const when = await there();
    const answer = await copying;
    const left = await there(); // of those that are copied at once some may be under way
    assert.ok(left <= when + 16, `${when} when it was revoked, ${left} at the end`);
    const refused = answer.status === 403 || (at(answer, "data", "refused") as number) > 0;
    assert.ok(left === names.length || refused, answer.text);
  },
);

test(
  "T-C02: a program judges a request as of when all of it is there",
  { timeout: 300_000 },
  async (t) => {
    const clock = new MovableClock();
    const stage = await scene(t, { world: { clock } });
    await stage.must("POST", "/v1/sys/mounts/k", {
      body: { type: "kv", options: { version: "1" } },
    });
    const end = new Date(Number(clock.now() / 1_000_000n) + 60_000).toISOString();
    const egp = {
      policy: `now < timestamp("${end}")`,
      enforcement_level: "hard-mandatory",
      paths: ["k/*"],
    };
    await stage.must("POST", "/v1/sys/policies/egp/hours", { body: egp });
    const token = await stage.clientWith(rule("k/*", EVERYTHING));
    const write = ["POST", "/v1/k/x", token, { a: 1 }] as const;
    assert.equal(await held(stage, write, async () => {}), 204);
    const passing = async () => void (clock.ahead += 2n * MINUTE);
    assert.equal(await held(stage, write, passing), 403);
  },
);

test(
  "a mount that goes waits for nobody's body, and what was held back finds it gone",
  { timeout: 300_000 },
  async (t) => {
    const stage = await scene(t);
    for (const path of ["k", "l"]) {
      const body = { type: "kv", options: { version: "1" } };
      await stage.must("POST", `/v1/sys/mounts/${path}`, { body });
    }
    const token = await stage.clientWith(rule("*", EVERYTHING));
    const gone = () => stage.must("DELETE", "/v1/sys/mounts/k");
    assert.equal(await held(stage, ["POST", "/v1/k/x", token, { a: 1 }], gone), 404);
    const moved = async () => {
      await stage.must("POST", "/v1/sys/remount", { body: { from: "l", to: "m" } });
      await until(
        async () =>
          (await stage.server.call("POST", "/v1/m/y", { token, body: {} })).status === 204,
      );
    };
    assert.equal(await held(stage, ["POST", "/v1/l/x", token, { a: 1 }], moved), 404);
    await stage.namespaces("ny");
    const ended = async () => {
      await stage.must("DELETE", "/v1/sys/namespaces/ny");
      await until(async () => {
        const answer = await stage.server.call("GET", "/v1/sys/namespaces/ny", {
          token: stage.root,
        });
        return answer.status === 404;
      });
    };
    const policy = { policy: rule("a", ["read"]) };
    const late = ["PUT", "/v1/ny/sys/policies/acl/late", stage.root, policy] as const;
    assert.ok([403, 404, 409].includes(await held(stage, late, ended)));
  },
);

test(
  "T-C02: what was held back is judged and recorded as of the mount that it goes to",
  { timeout: 300_000 },
  async (t) => {
    const stage = await scene(t);
    const file = await stage.audit();
    const mount = (path: string) =>
      stage.must("POST", `/v1/sys/mounts/${path}`, {
        body: { type: "kv", options: { version: "1" } },
      });
    const egp = {
      policy: 'request.mount_point != "na/nb/"',
      enforcement_level: "hard-mandatory",
      paths: ["na/*"],
    };
    await stage.must("POST", "/v1/sys/policies/egp/nothing-there", { body: egp });
    const token = await stage.clientWith(rule("na/*", EVERYTHING));
    await mount("na");
    const replaced = async () => {
      await stage.must("DELETE", "/v1/sys/mounts/na");
      await until(
        async () =>
          (await stage.server.call("GET", "/v1/sys/mounts/na", { token: stage.root })).status !==
          200,
      );
      await mount("na/nb");
    };
    assert.equal(await held(stage, ["POST", "/v1/na/nb/x", token, { a: 1 }], replaced), 403);
    const records = auditLines(file).filter(({ request }) => request.path === "na/nb/x");
    assert.deepEqual(
      records.map(({ request }) => request.mount_point),
      ["na/nb/", "na/nb/"],
    );
  },
);

test("a request that was held back while the node sealed is told that it is sealed", async (t) => {
  const stage = await scene(t);
  const sealing = () => stage.must("POST", "/v1/sys/seal", {});
  const policy = { policy: rule("a", ["read"]) };
  const write = ["PUT", "/v1/sys/policies/acl/a", stage.root, policy] as const;
  assert.equal(await held(stage, write, sealing), 503);
});
