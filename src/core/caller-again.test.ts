import assert from "node:assert/strict";
import test from "node:test";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { callerAgain } from "./caller-again.ts";
import type { RequestState } from "./request-state.ts";

const caller: Caller = {
  accessor: "a",
  type: "client",
  name: "n",
  policies: [],
  namespace: ROOT_NAMESPACE,
  global: true,
  created: 0n,
  expires: null,
};
const team = { ...ROOT_NAMESPACE, id: "team", path: "team" };

test("T-B05: a caller is found again as at the door: there, in its namespace, and at its address", () => {
  const state = {
    incoming: { credential: "c", remote: { address: "192.0.2.1" } },
    namespace: ROOT_NAMESPACE,
    caller,
  } as unknown as RequestState;
  const again = (now: Caller | null, isStale = false, lacksRoom = false) =>
    callerAgain(state, {
      elsewhere: { isStale, lacksRoom },
      tokens: { find: () => now, underWay: () => assert.fail("it is not counted") },
      namespaces: { named: () => assert.fail("nobody vouches for it") },
      clock: { now: () => 0n },
    });
  assert.equal(again(caller), caller);
  assert.equal(again(null), null);
  assert.equal(again({ ...caller, namespace: team }), null, "of a namespace below");
  const boundTo = (has: boolean) => ({ has: () => has }) as unknown as Caller["boundTo"] & object;
  assert.notEqual(again({ ...caller, boundTo: boundTo(true) }), null);
  assert.equal(again({ ...caller, boundTo: boundTo(false) }), null, "bound to another address");
  // T-A20: also while it waits, in a region that has not heard of its primary for too long.
  assert.equal(again({ ...caller, global: true }, true), null);
  assert.notEqual(again({ ...caller, global: false }, true), null);
  // And in one that cannot apply what its primary writes.
  assert.equal(again({ ...caller, global: true }, false, true), null);
  assert.notEqual(again({ ...caller, global: false }, false, true), null);
});
