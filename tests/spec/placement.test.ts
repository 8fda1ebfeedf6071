// On which node each endpoint of the server and of its engines runs, as the pipeline decides it.

import assert from "node:assert/strict";
import test from "node:test";
import { type Served, serveMounted } from "@holdfast/shared/endpoint/endpoint";
import { runsHere } from "../../src/core/judging.ts";
import type { NodeRole } from "../../src/seal/health.ts";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";

const all: readonly Served[] = serveMounted([
  ...everyEndpoint,
  ...mountedSurface.flatMap(({ endpoints }) => endpoints),
]);

function here(role: NodeRole, endpoint: Served, wrapTtl: bigint | null = null): boolean {
  const route = { methods: new Map([[endpoint.method, endpoint]]), segments: [], values: [] };
  return runsHere(role, { endpoint, route, incoming: { wrapTtl } });
}

test("the active node answers everything", () => {
  assert.ok(all.length > 200);
  assert.ok(all.every((endpoint) => here("active", endpoint, 1n)));
});

test("a standby answers what is about the node itself, and nothing else", () => {
  const answered = all.filter((endpoint) => here("standby", endpoint));
  assert.ok(answered.every(({ runs }) => runs === "here"));
  const paths = new Set(answered.map(({ path }) => path));
  for (const path of ["/sys/health", "/sys/seal-status", "/sys/leader", "/sys/unseal"]) {
    assert.ok(paths.has(path), path);
  }
  // Where it cannot be forwarded it must be answered: a sealed node knows nobody to ask.
  for (const { answers, runs, path } of all)
    if (answers === "always") assert.equal(runs, "here", path);
});

test("a standby that answers reads gives out no secret that ends, no token and no wrapping", () => {
  const answered = all.filter((endpoint) => here("performance-standby", endpoint));
  for (const { issues, login, unwraps, name } of answered) {
    assert.ok(!issues && !login && !unwraps, name);
  }
  for (const endpoint of all) {
    assert.equal(
      here("performance-standby", endpoint, 1n),
      endpoint.runs === "here",
      endpoint.name,
    );
  }
});

test("a standby that answers reads runs no other operation but those declared for it", () => {
  const writes = all.filter(({ method }) => method !== "GET" && method !== "LIST");
  const answered = writes.filter((endpoint) => here("performance-standby", endpoint));
  assert.ok(answered.length < 20, answered.map(({ name }) => name).join());
  assert.ok(answered.every(({ runs }) => runs !== "active"));
});
