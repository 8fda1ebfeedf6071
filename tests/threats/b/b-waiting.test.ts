// Threats B, T-B05 where a request waits for its turn after it was judged: in a line, at a lock, for work that is
// done in slices. Whoever was revoked, ran out or lost a right meanwhile does nothing with its turn.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { SystemClock } from "../../../src/system/clock.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { until } from "../../support/until.ts";
import { EVERYTHING, rule, scene, type Scene } from "../scene.ts";

class MovableClock extends SystemClock {
  ahead = 0n;

  override now(): bigint {
    return super.now() + this.ahead;
  }
}

const LONG = { timeout: 300_000 };

/** How many of them got through; the others were refused with this status. */
async function served(all: readonly Promise<Answer>[], refusal: number): Promise<number> {
  const answers = await Promise.all(all);
  const through = answers.filter(({ status }) => status < 300);
  const other = answers.filter(({ status }) => status >= 300 && status !== refusal);
  assert.deepEqual(
    other.map(({ status, text }) => `${status} ${text}`),
    [],
  );
  return through.length;
}

async function names(stage: Scene, path: string): Promise<readonly string[]> {
  const answer = await stage.server.call("LIST", path, { token: stage.root });
  return answer.status === 200 ? (at(answer, "data", "keys") as string[]) : [];
}

/** Twelve passwords that are set one after the other, for a token with the policy "people". */
async function people(stage: Scene, more: object = {}) {
  await stage.must("POST", "/v1/sys/auth/userpass", { body: { type: "userpass" } });
  await stage.writePolicy("people", rule("auth/userpass/users/*", EVERYTHING));
  const { json } = await stage.must("POST", "/acl/token", {
    body: { Name: "c", Type: "client", Policies: ["people"], ...more },
  });
  const { AccessorID, SecretID } = json as {
    readonly AccessorID: string;
    readonly SecretID: string;
  };
  const all = Array.from({ length: 12 }, (_, i) =>
    stage.server.call("POST", `/v1/auth/userpass/users/u${i}`, {
      token: SecretID,
      body: { password: `a long password ${i}` },
    }),
  );
  await until(async () => (await names(stage, "/v1/auth/userpass/users")).length > 0);
  return { all, accessor: AccessorID };
}

for (const [what, take] of [
  [
    "is revoked",
    (stage: Scene, accessor: string) => stage.must("DELETE", `/acl/token/${accessor}`),
  ],
  ["loses its policy", (stage: Scene) => stage.must("DELETE", "/v1/sys/policies/acl/people")],
] as const) {
  test(`T-B05: who ${what} while it waits to set a password sets none`, LONG, async (t) => {
    const stage = await scene(t);
    const { all, accessor } = await people(stage);
    await take(stage, accessor);
    const when = (await names(stage, "/v1/auth/userpass/users")).length;
    const through = await served(all, 403);
    assert.ok(through <= when + 1, `${when} when it was taken away, ${through} in the end`);
    assert.equal((await names(stage, "/v1/auth/userpass/users")).length, through);
  });
}

test("T-B05: a token that runs out while it waits to set a password sets none", LONG, async (t) => {
  const clock = new MovableClock();
  const stage = await scene(t, { world: { clock } });
  const { all } = await people(stage, { ExpirationTTL: "1m" });
  clock.ahead += 2n * MINUTE;
  const when = (await names(stage, "/v1/auth/userpass/users")).length;
  const through = await served(all, 403);
  assert.ok(through <= when + 1, `${when} when it ran out, ${through} in the end`);
});

test(
  "who waits for its turn when the node seals is refused, and not waited for",
  LONG,
  async (t) => {
    const stage = await scene(t);
    const { all } = await people(stage);
    const when = (await names(stage, "/v1/auth/userpass/users")).length;
    await stage.must("POST", "/v1/sys/seal", {});
    const through = await served(all, 503);
    assert.ok(through <= when + 1, `${when} when it sealed, ${through} in the end`);
  },
);

/** Logins of one user, side by side, of which the first is through: they are checked one after the other. */
async function logins(stage: Scene, count: number) {
  await stage.must("POST", "/v1/sys/auth/userpass", { body: { type: "userpass" } });
  const body = { password: "a long password" };
  await stage.must("POST", "/v1/auth/userpass/users/ann", { body });
  const logIn = () => stage.server.call("POST", "/v1/auth/userpass/login/ann", { body });
  let ended = 0;
  const all = Array.from({ length: count }, () =>
    logIn().then((answer) => {
      ended += 1;
      return answer;
    }),
  );
  await until(() => ended > 0);
  return { all, logIn, ended: () => ended };
}

test(
  "T-B05: a login that waits is refused by an EGP that is there when its turn comes",
  LONG,
  async (t) => {
    const stage = await scene(t);
    const { all, ended, logIn } = await logins(stage, 16);
    await stage.must("PUT", "/v1/sys/policies/egp/nologin", {
      body: {
        policy: "false",
        enforcement_level: "hard-mandatory",
        paths: ["auth/userpass/login/*"],
      },
    });
    const when = ended();
    assert.equal((await logIn()).status, 403);
    const through = await served(all, 403);
    // One was being checked, and one may have been on its way back.
    assert.ok(through <= when + 2, `${when} when it was written, ${through} in the end`);
  },
);

test("T-B05: who is revoked while its policy is read writes none", LONG, async (t) => {
  const stage = await scene(t);
  const token = await stage.clientWith(rule("sys/policies/acl/*", EVERYTHING));
  const lines = Array.from(
    { length: 2500 },
    (_, i) =>
      `path "a${i}/*" { capabilities = ["read"] allowed_parameters = { "x" = ["a*", "b${i}"] } }`,
  );
  const before = await names(stage, "/v1/sys/policies/acl");
  const late = async () => (await names(stage, "/v1/sys/policies/acl")).length - before.length;
  const all = Array.from({ length: 12 }, (_, i) =>
    stage.server.call("PUT", `/v1/sys/policies/acl/late-${i}`, {
      token,
      body: { policy: lines.join("\n") },
    }),
  );
  await until(async () => {
    const answer = await stage.must("GET", "/v1/sys/in-flight-req");
    return Object.keys(at(answer, "data") as object).length > 12;
  });
  await stage.must("POST", "/v1/auth/token/revoke", { body: { token } });
  const when = await late();
  const through = await served(all, 403);
  assert.ok(through <= when + 1, `${when} when it was revoked, ${through} in the end`);
  assert.equal(await late(), through);
});

test(
  "T-B05: who is revoked while its large body waits for its record writes nothing",
  LONG,
  async (t) => {
    const stage = await scene(t);
    await stage.audit();
    await stage.must("POST", "/v1/sys/mounts/k", {
      body: { type: "kv", options: { version: "1" } },
    });
    const token = await stage.clientWith(rule("k/*", EVERYTHING));
    const part = Array.from({ length: 900 }, (_, i) => [`k${i}`, `v${i} ${"x".repeat(20)}`]);
    const value = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`g${i}`, Object.fromEntries(part) as object]),
    );
    const all = Array.from({ length: 16 }, (_, i) =>
      stage.server.call("POST", `/v1/k/${i}`, { token, body: value }),
    );
    await until(async () => (await names(stage, "/v1/k")).length > 0);
    await stage.must("POST", "/v1/auth/token/revoke", { body: { token } });
    const when = (await names(stage, "/v1/k")).length;
    const through = await served(all, 403);
    assert.ok(through <= when + 1, `${when} when it was revoked, ${through} in the end`);
  },
);

test("T-B05: the last use of a token ends with the token that made it", LONG, async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/w", { body: { type: "kv", options: { version: "2" } } });
  const secrets = Array.from({ length: 200 }, (_, i) => `f/${String(i).padStart(3, "0")}`);
  const body = { data: { a: "x".repeat(20_000) } };
  await Promise.all(secrets.map((name) => stage.must("POST", `/v1/w/data/${name}`, { body })));
  await stage.writePolicy(
    "copies",
    `${rule("w/*", EVERYTHING)}${rule("auth/token/create", ["update"])}`,
  );
  const parent = await stage.client(["copies"]);
  const made = await stage.must("POST", "/v1/auth/token/create", {
    token: parent,
    body: { policies: ["copies"], num_uses: 1 },
  });
  const copying = stage.server.call("POST", "/v1/w/copy", {
    token: at(made, "auth", "client_token") as string,
    body: { from: "f", to: "g", recursive: true },
  });
  await until(async () => (await names(stage, "/v1/w/metadata/g")).length > 0);
  await stage.must("POST", "/v1/auth/token/revoke", { body: { token: parent } });
  const when = (await names(stage, "/v1/w/metadata/g")).length;
  const answer = await copying;
  const left = (await names(stage, "/v1/w/metadata/g")).length;
  assert.ok(left <= when + 16, `${when} when it was revoked, ${left} at the end`);
  assert.ok(left < secrets.length, "it was fast: more secrets are needed");
  const refused = answer.status === 403 || (at(answer, "data", "refused") as number) > 0;
  assert.ok(refused, answer.text);
});
