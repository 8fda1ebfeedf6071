import assert from "node:assert/strict";
import test from "node:test";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import { type MountRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Found } from "./found.ts";

const endpoint = { name: "one" } as unknown as Served;
const mount = { uuid: "u", path: "a/" } as unknown as MountRef;

function found(change: Partial<Found> = {}): Found {
  return Object.assign(new Found(), {
    endpoint,
    mount,
    namespace: ROOT_NAMESPACE,
    path: CanonicalPath.parse("/v1/a/b/c"),
    ...change,
  });
}

test("a place is the same where endpoint, mount, its path, namespace and path are", () => {
  assert.ok(found().isSamePlace(found()));
  const others: Record<string, Partial<Found>> = {
    endpoint: { endpoint: { name: "two" } as unknown as Served },
    mount: { mount: { ...mount, uuid: "v" } },
    "a mount that was moved": { mount: { ...mount, path: "a/b/" } },
    namespace: { namespace: { ...ROOT_NAMESPACE, id: "team", path: "team" } },
    path: { path: CanonicalPath.parse("/v1/a/b/d") },
  };
  for (const [what, change] of Object.entries(others)) {
    assert.ok(!found(change).isSamePlace(found()), what);
  }
});
