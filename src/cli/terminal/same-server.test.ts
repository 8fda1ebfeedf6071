import assert from "node:assert/strict";
import test from "node:test";
import { atSameServer } from "./same-server.ts";

const B = { address: "https://b:8200", region: null };

test("a command that is named to who has chosen a server goes to that server", () => {
  const cases: readonly (readonly [before: string, after: string])[] = [
    ["`holdfast replication status`", "`holdfast replication status -address https://b:8200`"],
    [
      "Next: `holdfast replication revoke -yes site-b` here",
      "Next: `holdfast replication revoke -address https://b:8200 -yes site-b` here",
    ],
    ["`holdfast kv get secret/x`", "`holdfast kv get -address https://b:8200 secret/x`"],
    [
      "`holdfast list FOLDER` and `-cancel`",
      "`holdfast list -address https://b:8200 FOLDER` and `-cancel`",
    ],
  ];
  for (const [before, after] of cases) assert.equal(atSameServer(before, B), after);
});

test("one for another cluster does not, nor one that asks no server or says which", () => {
  for (const text of [
    "`holdfast replication status` there says why",
    "`holdfast replication token -public-key KEY ID` on the primary",
    "`holdfast replication demote` and `promote` there",
    "`holdfast server -dev`",
    "`holdfast help acl token`",
    "`holdfast kv put -help`",
    "`holdfast login -address https://b:8200`",
    "`df -h` there",
  ]) {
    assert.equal(atSameServer(text, B), text);
  }
  const here = "`holdfast replication status`";
  assert.equal(atSameServer(here, { address: null, region: null }), here);
});

test("commands on tokens stay in the region that was named", () => {
  const named = { address: null, region: "a" };
  assert.equal(
    atSameServer("`holdfast acl token list` shows them, `holdfast policy list` too", named),
    "`holdfast acl token list -region a` shows them, `holdfast policy list` too",
  );
});
