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

function nextAfter(
  status: number,
  code: string,
  text: string,
  path: string,
  command = SITUATION.command,
): string {
  const refusal = { method: "POST", path, status, errors: [text], code, requestId: "" };
  const situation = { ...SITUATION, command };
  return adviceFor(new ApiError({ ...refusal, body: undefined }), situation) ?? "";
}

test("who writes to a fenced cluster is sent to the one that leads, and not told to try again", () => {
  const next = nextAfter(503, "replication_fenced", "this cluster is fenced", "secret/data/x");
  assert.match(next, /^send it to the cluster that leads, which `holdfast replication status`/);
  assert.doesNotMatch(next, /in a moment/);
  const lapsed = nextAfter(503, "replication_lease_lapsed", "it reaches no secondary", "secret/x");
  assert.match(lapsed, /`holdfast replication status`/);
});

test("who lets a primary follow another one is told to demote it first", () => {
  const [path, command] = [
    "sys/replication/performance/secondary/update-primary",
    "replication update-primary",
  ];
  const next = nextAfter(400, "replication_not_secondary", "not a secondary", path, command);
  assert.match(next, /demoted first, by `holdfast replication demote -kind performance`/);
  const promoted = nextAfter(400, "replication_not_secondary", "not a secondary", path, "write");
  assert.match(promoted, /^send it to the secondary/);
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

test("who reaches no primary is told that its configuration may name another address", () => {
  const [code, path] = ["replication_primary_unreachable", "sys/replication/dr/secondary/enable"];
  const next = nextAfter(502, code, "x", path);
  assert.match(
    next,
    /^look whether the primary runs.*mend the Cluster Address .*`cluster_addr`.*another token/,
  );
  assert.match(next, /-dry-run shows the address/);
});

test("who unseals a cluster that has joined with its own shares is told whose open it", () => {
  const next = nextAfter(400, "seal_key_invalid", "invalid key", "sys/unseal");
  assert.match(next, /joined as a secondary is opened by the shares of its primary/);
});

test("who sends it to a cluster of another role is told to which it goes", () => {
  const path = "sys/replication/dr/primary/demote";
  assert.match(
    nextAfter(400, "replication_not_primary", "x", path),
    /to the primary.*`holdfast replication status`.*in no set.*`holdfast replication enable`/,
  );
  const filter = "sys/replication/performance/primary/paths-filter/nobody";
  assert.match(
    nextAfter(404, "filter_unknown", "x", filter),
    /`holdfast replication status.* lists.*`holdfast replication filter set/,
  );
  assert.match(
    nextAfter(400, "replication_not_secondary", "x", path),
    /to the secondary.*`holdfast replication status`/,
  );
});

test("who promotes a cluster again is told where it stands, and what the other kind takes", () => {
  const path = "sys/replication/dr/secondary/promote";
  const text = "this cluster is not a disaster-recovery secondary";
  const next = nextAfter(400, "not_dr_secondary", text, path, "replication promote");
  assert.match(next, /^`holdfast replication status` here .* promoted .* Add -kind performance/);
});

test("who is sent to the primary is told that its API is known when it was heard of", () => {
  for (const code of ["dr_secondary", "primary_unreachable", "primary_lost"]) {
    const next = nextAfter(503, code, "x", "secret/data/x");
    assert.match(next, /says where that is, by its cluster port alone until it was heard of/, code);
  }
});

test("who comes with a token of an earlier epoch is told whose to take, and how a later one is given up", () => {
  const path = "sys/replication/dr/secondary/update-primary";
  const next = nextAfter(400, "replication_epoch_superseded", "that primary is superseded", path);
  assert.match(
    next,
    /token of the cluster that leads.*`holdfast replication update-primary -dr-token FILE -force @TOKEN`/,
  );
});

test("who is refused for what a region may not vouch for is told of a global token, and of no policy", () => {
  const attested = nextAfter(403, "policy_not_attested", "the token has a policy", "secret/data/x");
  assert.match(
    attested,
    /^use a global token .*enabled with -option token_scope=.*-attest-policies/,
  );
  const management = nextAfter(
    403,
    "local_management",
    "a management token that is local",
    "sys/x",
  );
  assert.match(management, /^use a global management token/);
  for (const next of [attested, management]) assert.doesNotMatch(next, /a policy must allow/);
});

test("who is refused since nobody leads, or a disk is full, is not told to try again in a moment", () => {
  const codes = [
    "no_primary",
    "primary_superseded",
    "primary_refuses",
    "primary_not_serving",
    "global_tokens_stale",
    "global_tokens_unapplied",
    "shared_half",
  ];
  for (const code of codes) {
    const next = nextAfter(503, code, "x", "secret/data/x");
    assert.doesNotMatch(next, /in a moment/, code);
    assert.match(next, /`(?:holdfast replication status -kind performance|df -h)`/, code);
  }
});

test("a fenced cluster is demoted in the kind that it is fenced in, and as a whole where that is disaster recovery", () => {
  const said = (kind: string) =>
    `this cluster is fenced: demote it (sys/replication/${kind}/primary/demote)`;
  const next = nextAfter(503, "replication_fenced", said("performance"), "secret/data/x");
  assert.match(
    next,
    /`holdfast replication demote -kind performance` here.*update-primary -kind perf/,
  );
  const whole = nextAfter(503, "replication_fenced", said("dr"), "secret/data/x");
  assert.match(whole, /`holdfast replication demote` here/);
  const path = "sys/replication/performance/primary/demote";
  const altogether = nextAfter(400, "replication_fenced_altogether", "x", path);
  assert.match(altogether, /^`holdfast replication demote` here, of disaster recovery/);
  assert.doesNotMatch(altogether, /-kind performance/);
});

test("a token of the other kind is told by the flag that it takes", () => {
  const refused = (kind: string) =>
    nextAfter(400, "joining_token_kind", "x", `sys/replication/${kind}/secondary/enable`);
  assert.match(refused("dr"), /^add -kind performance/);
  assert.match(refused("performance"), /^leave -kind performance out/);
});

test("who unseals on a full disk is sent to no command that a sealed server refuses", () => {
  const full = "the storage is nearly full: 1 bytes are free";
  const unsealing = nextAfter(503, "storage_full", full, "sys/unseal");
  assert.match(unsealing, /`df -h` on its machine.*`holdfast operator unseal`/);
  assert.doesNotMatch(unsealing, /host-info/);
  assert.match(nextAfter(503, "storage_full", full, "secret/x"), /sys\/host-info/);
});

test("who names a region that nobody knows is told which are answered for, and where they are named", () => {
  const [words, path] = ["No path to region", "acl/tokens"];
  const next = nextAfter(404, "no_region_path", words, path, "acl token list");
  assert.match(next, /primary of performance replication.*`holdfast replication status -kind/);
});

/** Which of those that are for a secondary are named without what it takes. */
const bare = (text: string) =>
  [
    ...text.matchAll(
      /`holdfast replication (?:promote|failover|update-primary|recover|disable)[^`]*`/g,
    ),
  ].flatMap(([command]) => (command.includes(" -dr-token FILE") ? [] : command));

test("a command for a disaster-recovery secondary is named with its operation token, one of the other kind without", () => {
  const cases = [
    ["replication_fenced", "replication revoke"],
    ["replication_fenced_altogether", "replication demote"],
    ["replication_epoch_superseded", "replication update-primary"],
    ["replication_promotion_refused", "replication promote"],
    ["replication_promotion_early", "replication promote"],
    ["dr_secondary", "replication enable"],
    ["dr_secondary", "replication demote"],
    ["replication_secondary_already", "replication join"],
  ] as const;
  for (const [code, command] of cases) {
    const next = nextAfter(400, code, "x", "sys/replication/dr/secondary/x", command);
    assert.match(next, /-dr-token FILE/, code);
    assert.deepEqual(bare(next), [], code);
    if (code === "replication_fenced_altogether") continue;
    const other = nextAfter(400, code, "x", "sys/replication/performance/secondary/x", command);
    assert.doesNotMatch(other, /-dr-token/, code);
  }
});

test("who has a token that is unwrapped where nobody answers, or is of another set, is told what to type", () => {
  for (const code of [
    "joining_address_missing",
    "joining_primary_unreachable",
    "joining_primary_answer",
  ]) {
    const next = nextAfter(502, code, "x", "sys/replication/dr/secondary/enable");
    assert.match(next, /-primary-address URL.*-primary-ca-cert FILE.*-public-key KEY ID`/, code);
  }
  const of = (kind: string) =>
    nextAfter(
      400,
      "replication_other_set",
      "x",
      `sys/replication/${kind}/secondary/update-primary`,
    );
  assert.match(
    of("dr"),
    /`holdfast replication disable -dr-token FILE` here first, then `holdfast/,
  );
  assert.match(of("performance"), /`holdfast replication join -kind performance`/);
});

test("who has pasted a token wrongly is told how it is given, and how another one is made", () => {
  const codes = [
    "joining_token_unreadable",
    "joining_activation_damaged",
    "joining_no_activation_key",
    "joining_activation_expired",
    "joining_other_key",
    "joining_key_unusable",
  ];
  for (const code of codes) {
    const next = nextAfter(400, code, "x", "sys/replication/dr/secondary/enable");
    assert.match(next, /`holdfast replication public-key`/, code);
    const again = nextAfter(400, code, "x", "sys/replication/dr/secondary/update-primary");
    if (code !== "joining_key_unusable") {
      assert.match(again, /`holdfast replication public-key -dr-token FILE` here/, code);
    }
  }
  const missing = (command: string) =>
    nextAfter(403, "invalid_operation_token", "x", "sys/attention", command);
  assert.match(missing("attention"), /with -dr-token FILE or in HOLDFAST_DR_OPERATION_TOKEN/);
  assert.match(missing("read"), /in HOLDFAST_TOKEN, in the place of another token/);
});
