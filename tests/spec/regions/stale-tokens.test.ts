// Global tokens of a region that has not heard of its primary: T-A20 of docs/threats.md, and R-73 of docs/cases/replication.md.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { PrimaryRegion } from "../../../src/server/primary-region.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";

const BOUND = { settings: { replication: { max_global_token_staleness: "10m" } } };
const READS = 'path "sys/mounts" { capabilities = ["read"] }';
const MOUNTS = "/v1/sys/mounts";

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

async function newToken(server: TestServer, token: string, fields: object): Promise<string> {
  const body = { Type: "client", Policies: ["p"], ...fields };
  return String(at(await done(server.call("POST", "/v1/acl/token", { token, body })), "SecretID"));
}

test("T-A20: what was granted counts in a region that is cut off for so long as its operator says, and no longer", async (t) => {
  const { a, b, root, primary } = await twoRegions(t, { b: BOUND });
  const body = { policy: READS };
  await done(a.call("POST", "/v1/sys/policies/acl/p", { token: root, body }));
  const everywhere = await newToken(a, root, { Global: true });
  const here = await newToken(b, root, {});
  const isRefused = async (token: string) => {
    const answer = await b.call("GET", MOUNTS, { token });
    if (answer.status === 200) return false;
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.headers["x-service-error"], "global_tokens_stale");
    assert.equal(answer.headers["retry-after"], "30");
    return true;
  };
  const ages: readonly [age: Nanos | null, isOver: boolean][] = [
    [0n, false],
    [10n * MINUTE, false],
    [10n * MINUTE + 1n, true],
    [null, true],
    [5n * SECOND, false],
  ];
  for (const [age, isOver] of ages) {
    primary.age = age;
    assert.equal(await isRefused(everywhere), isOver, String(age));
    assert.equal(await isRefused(root), isOver, String(age));
    assert.equal(await isRefused(here), false, "a token of this region");
    await done(a.call("GET", MOUNTS, { token: everywhere })); // whoever writes it knows
  }
});

test("R-73: without that setting a region that is cut off takes global tokens as it knows them", async (t) => {
  const { b, root, primary } = await twoRegions(t);
  for (const age of [10_000n * MINUTE, null]) {
    primary.age = age;
    await done(b.call("GET", MOUNTS, { token: root }));
  }
});

test("T-A20: data is as old as the last word of the primary, or as what is missing since", () => {
  const ageOf = (
    lastHeard: Instant | null,
    behindFor: Nanos | null,
    ledUntil: Instant | null = null,
  ): Nanos | null => {
    const upstream = { lastHeard, status: { behindFor } };
    const followed = {
      upstream,
      lastHeard,
      ledUntil,
      applied: 0n,
    } as unknown as ConstructorParameters<typeof PrimaryRegion>[0];
    const world = { clock: { now: () => 100n } } as ConstructorParameters<typeof PrimaryRegion>[1];
    return new PrimaryRegion(followed, world).age;
  };
  assert.equal(ageOf(null, null), null, "never heard of");
  assert.equal(ageOf(null, 5n), null);
  assert.equal(ageOf(90n, null), 10n);
  assert.equal(ageOf(90n, 5n), 10n);
  assert.equal(ageOf(90n, 50n), 50n);
  assert.equal(ageOf(110n, null), 0n, "a clock that was set back");
  assert.equal(ageOf(null, null, 80n), 20n, "written here until then");
  assert.equal(ageOf(90n, null, 80n), 10n);
  assert.equal(ageOf(70n, null, 80n), 20n);
});
