import assert from "node:assert/strict";
import test from "node:test";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { attestedCaller, mayVouch } from "./attested.ts";
import type { AttestedCaller, ForwardedFrom } from "./incoming.ts";

const attested: AttestedCaller = {
  accessor: "a",
  name: "n",
  policies: ["App"],
  created: 0n,
  expires: 10n,
  namespace: { id: "first", path: "team" },
};

test("whoever is vouched for is somebody while it lasts, and in the namespace that it was in: not in a later one of its path", () => {
  const found = (id: string | null, now = 0n) =>
    attestedCaller(
      attested,
      { named: () => (id === null ? null : { ...ROOT_NAMESPACE, id, path: "team" }) },
      now,
    );
  assert.deepEqual(
    [found("first")?.type, found("first")?.global, found("first")?.namespace.id],
    ["client", false, "first"],
  );
  assert.equal(found("second"), null, "the namespace was deleted, and made again");
  assert.equal(found(null), null);
  assert.equal(found("first", 10n), null, "it has run out");
});

test("a cluster vouches for none or all of the policies of a caller, whatever case they are written in", () => {
  const from = (attests: readonly string[] | null) =>
    mayVouch({ attested, attests } as unknown as ForwardedFrom);
  assert.equal(from(null), true);
  assert.equal(from(["app", "ci"]), true);
  assert.equal(from(["ci"]), false);
  assert.equal(from([]), false);
  assert.equal(mayVouch(null), true);
});
