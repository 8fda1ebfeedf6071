import assert from "node:assert/strict";
import test from "node:test";
import { demotionWarnings } from "../../src/replication/roles/warnings.ts";
import { afterDemotion } from "../../src/cli/replication/primary.ts";

test("who has demoted a primary is not sent on to promote a secondary that lacks something", () => {
  const after = (acknowledged: string[], missing: string[]) =>
    afterDemotion(false, demotionWarnings("7", { index: 7n, acknowledged, missing, filtered: [] }));
  assert.match(
    after(["site-b"], []),
    /^Next: `holdfast replication promote -dr-token FILE` on the/,
  );
  const incomplete = after(["site-c"], ["site-b"]);
  assert.match(incomplete, /^Do not promote the secondary yet/);
  assert.match(incomplete, /`holdfast replication promote -dr-token FILE` here/);
});

test("nor is one promoted where another cluster leads already", () => {
  const next = afterDemotion(true, demotionWarnings("7", null));
  assert.doesNotMatch(next, /promote/);
  assert.match(next, /`holdfast replication update-primary /);
});
