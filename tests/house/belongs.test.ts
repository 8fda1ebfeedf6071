// Every endpoint that is no plain read says where what it writes belongs; and none that says it is in a mount is
// declared where no mount is.

import assert from "node:assert/strict";
import test from "node:test";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";

type Declared = Pick<
  Endpoint<never>,
  "name" | "method" | "login" | "issues" | "unwraps" | "belongs"
>;

const mounted = mountedSurface.flatMap(({ endpoints }) => endpoints);

/** Names of those that write and do not say where. */
function unplaced(endpoints: readonly Declared[]): string[] {
  return endpoints
    .filter(({ method, login, issues, unwraps }) => {
      const reads = method === "GET" || method === "LIST";
      return !reads || login || issues || unwraps;
    })
    .filter(({ belongs }) => belongs === null)
    .map(({ name }) => name);
}

const planted = { name: "planted", login: false, issues: false, unwraps: false, belongs: null };

test("an endpoint that does not say where its writes belong is found by its name", () => {
  const get = { ...planted, method: "GET" as const };
  for (const wrong of [
    { ...planted, method: "POST" as const },
    { ...planted, method: "DELETE" as const },
    { ...get, issues: true },
    { ...get, login: true },
    { ...get, unwraps: true },
  ]) {
    assert.deepEqual(unplaced([wrong]), ["planted"]);
    assert.deepEqual(unplaced([{ ...wrong, belongs: "local" }]), []);
  }
  assert.deepEqual(unplaced([get]), []);
});

test("every endpoint that is no plain read says where its writes belong", () => {
  assert.ok(everyEndpoint.length > 200 && mounted.length > 50);
  assert.deepEqual(unplaced([...everyEndpoint, ...mounted]), []);
});

test("what belongs where its mount does is reached through a mount", () => {
  const lost = everyEndpoint.filter(({ belongs }) => belongs === "mount");
  assert.deepEqual(
    lost.map(({ name }) => name),
    [],
  );
});

/** Names of those that may be sent on, and answer with an index of the cluster that did it. */
function ofAnotherIndex(
  endpoints: readonly Pick<Endpoint<never>, "name" | "belongs" | "output" | "sentOn">[],
): string[] {
  return endpoints
    .filter(({ belongs, output, sentOn }) => {
      const isSent = belongs !== null && belongs !== "local" && sentOn === null;
      return isSent && /"(?:CreateIndex|ModifyIndex)"/.test(JSON.stringify(output.schema));
    })
    .map(({ name }) => name);
}

test("what may be sent on and answers with indexes answers with those of the cluster that was asked", () => {
  assert.deepEqual(ofAnotherIndex(everyEndpoint), []);
  const bare = everyEndpoint.map((endpoint) => ({ ...endpoint, sentOn: null }));
  assert.deepEqual(ofAnotherIndex(bare), ["bootstrapAcl", "createToken", "updateToken"]);
});
