// What keeps a request from the primary of what is shared, as the ACL API says it.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { globalTokensStale, sharedHalf } from "../../../src/core/failures.ts";
import { inAclWords } from "../../../src/core/recording.ts";
import type { RequestState } from "../../../src/core/request-state.ts";
import type { TokenLookup } from "../../../src/core/seams.ts";
import * as forwarding from "../../../src/forwarding/failures.ts";

test("what keeps a request from the primary of what is shared is told by one word on every path, /acl/ too", () => {
  const failures: unknown[] = [...Object.values(forwarding), sharedHalf, globalTokensStale].map(
    (make) => (make as (word: string) => unknown)("4"),
  );
  assert.ok(failures.length > 8);
  for (const failure of failures) {
    assert.ok(failure instanceof Failure);
    const state = { incoming: { credential: null }, endpoint: null } as unknown as RequestState;
    const tokens = { hasExpired: () => false } as unknown as TokenLookup;
    assert.equal(inAclWords(failure, state, { tokens }), failure, failure.code);
  }
});
