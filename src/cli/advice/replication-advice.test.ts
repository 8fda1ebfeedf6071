// What is said next to whoever is refused by a cluster among others.

import assert from "node:assert/strict";
import test from "node:test";
import { ApiError } from "@holdfast/client/api-error";
import { adviceFor } from "./advice.ts";

const SITUATION = {
  command: "kv put",
  tokenFrom: "HOLDFAST_TOKEN",
  login: "holdfast login",
  namespace: null,
  base: null,
};

function nextAfter(status: number, code: string, text: string, path: string): string {
  const refusal = { method: "POST", path, status, errors: [text], code, requestId: "" };
  return adviceFor(new ApiError({ ...refusal, body: undefined }), SITUATION) ?? "";
}

test("who writes to a fenced cluster is sent to the one that leads, and not told to try again", () => {
  const next = nextAfter(503, "replication_fenced", "this cluster is fenced", "secret/data/x");
  assert.match(next, /^send it to the cluster that leads, which `holdfast replication status`/);
  assert.doesNotMatch(next, /in a moment/);
  const lapsed = nextAfter(503, "replication_lease_lapsed", "it reaches no secondary", "secret/x");
  assert.match(lapsed, /`holdfast replication status`/);
});

test("who has a token that is not taken is told how another one is made", () => {
  for (const code of [
    "joining_token_expired",
    "joining_token_refused",
    "joining_token_other_key",
    "replication_primary_refuses",
  ]) {
    const next = nextAfter(400, code, "x", "sys/replication/dr/secondary/enable");
    assert.match(next, /`holdfast replication token -public-key KEY ID`/, code);
  }
});

test("who unseals a cluster that has joined with its own shares is told whose open it", () => {
  const next = nextAfter(400, "seal_key_invalid", "invalid key", "sys/unseal");
  assert.match(next, /joined as a secondary is opened by the shares of its primary/);
});

test("who sends it to a cluster of another role is told to which it goes", () => {
  const path = "sys/replication/dr/primary/demote";
  assert.match(
    nextAfter(400, "replication_not_primary", "x", path),
    /to the primary.*`holdfast replication enable`/,
  );
  assert.match(
    nextAfter(400, "replication_not_secondary", "x", path),
    /to the secondary.*`holdfast replication status`/,
  );
});

test("who comes with a token of an earlier epoch is told whose to take, and how a later one is given up", () => {
  const path = "sys/replication/dr/secondary/update-primary";
  const next = nextAfter(400, "replication_epoch_superseded", "that primary is superseded", path);
  assert.match(
    next,
    /token of the cluster that leads.*`holdfast replication update-primary -force`/,
  );
});
