import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { topologyView } from "./topology-view.ts";

const WELL: JsonObject = {
  name: "",
  follows: null,
  kind: null,
  leads: [],
  region: "",
  state: "stream-wals",
  connected: true,
  wal_lag: 0,
  behind_ms: 0,
  heard_ms_ago: 1000,
  withheld: 0,
  tells_stand_ins: false,
  api_address: "",
};

const A = {
  ...WELL,
  member: 0,
  this_cluster: true,
  leads: ["dr", "performance"],
  region: "eu",
  state: "running",
  wal_lag: null,
  tells_stand_ins: true,
};
const B = { ...WELL, member: 1, name: "site-b", follows: 0, kind: "dr" };
const C = {
  ...WELL,
  member: 2,
  name: "region-c",
  follows: 0,
  kind: "performance",
  leads: ["dr"],
  region: "us",
  wal_lag: 3,
  behind_ms: 2000,
  withheld: 2,
  tells_stand_ins: true,
  api_address: "http://127.0.0.1:8204",
};
const D = { ...WELL, member: 3, name: "site-d", follows: 2, kind: "dr" };

test("a set of four is a tree: who is primary of what, edges with state and lag, regions, filters, stand-ins, and where one looks from", () => {
  const { text, troubled, advice } = topologyView({ members: [A, B, C, D] });
  assert.equal(
    text,
    `eu (this cluster)  PRIMARY of performance replication and disaster recovery
|  running
|
+- site-b  stands in for eu
|     streaming, 0 entries behind
|
+- region-c  performance secondary, region us
   |  streaming, 3 entries behind (2s)
   |  2 paths withheld by a filter
   |  http://127.0.0.1:8204
   |
   +- site-d  stands in for region-c
         streaming, 0 entries behind`,
  );
  assert.equal(troubled, false);
  assert.deepEqual(advice, []);
});

test("what is not reached, does not stream, has not come over or does not lead any more is trouble, and is said", () => {
  const said = (...members: JsonObject[]) => topologyView({ members });
  const away = said(A, { ...C, connected: false, heard_ms_ago: 240_000 }, D);
  assert.equal(away.troubled, true);
  assert.match(away.text, /NOT CONNECTED, heard of 4m ago, 3 entries behind \(2s\) then/);
  assert.match(
    away.advice.join(),
    /with region-c: `holdfast replication status -address http:\/\/127\.0\.0\.1:8204`/,
  );
  const copying = said(A, { ...B, state: "merkle-sync" });
  assert.equal(copying.troubled, true);
  assert.match(copying.text, /copying from the primary, 0 entries behind/);
  for (const [state, words] of [
    ["absent", /NOT HEARD OF since/],
    ["awaited", /HAS NOT COME OVER/],
    ["doubled", /TWO CLUSTERS/],
    ["led-by-another", /A LATER PRIMARY/],
  ] as const) {
    const odd = said(A, { ...B, state });
    assert.equal(odd.troubled, true, state);
    assert.match(odd.text, words);
  }
  const fenced = said({ ...A, state: "fenced" });
  assert.equal(fenced.troubled, true);
  assert.match(fenced.text, /FENCED: another cluster was promoted/);
  const gone = said(
    { ...D, member: 0, this_cluster: true, follows: 1 },
    { ...A, member: 1, this_cluster: false, connected: false, heard_ms_ago: null },
  );
  assert.equal(gone.troubled, true);
  assert.match(gone.text, /NOT REACHED, not known since when/);
});

test("after a failover the one that led before is not named as if it led, and one that was replaced says so before all else", () => {
  const awaited = {
    ...WELL,
    member: 2,
    follows: 0,
    kind: "dr",
    state: "awaited",
    connected: false,
  };
  const after = topologyView({ members: [A, awaited] }).text;
  assert.match(after, /\+- the one before {2}is to stand in for eu\n +HAS NOT COME OVER/);
  const site = topologyView({ members: [A, { ...awaited, name: "site-a" }] }).text;
  assert.match(site, /\+- site-a {2}is to stand in for eu/);
  const replaced = { ...C, member: 0, this_cluster: true, follows: 1, state: "fenced" };
  const above = { ...A, member: 1, this_cluster: false, connected: false, heard_ms_ago: null };
  const { text } = topologyView({ members: [{ ...replaced, connected: false }, above] });
  assert.match(text, /region-c \(this cluster\).*\n +FENCED: another cluster was promoted/);
});

test("what was told long ago is told with its age, and a region without a stand-in is no trouble", () => {
  const old = topologyView({ members: [A, B, C, { ...D, heard_ms_ago: 600_000 }] });
  assert.match(old.text, /streaming, 0 entries behind, as of 10m ago/);
  assert.equal(old.troubled, false);
  const bare = topologyView({ members: [A, B, { ...C, withheld: 1 }] });
  assert.match(bare.text, /1 path withheld by a filter\n +nobody stands in for it/);
  assert.equal(bare.troubled, false);
  const untold = topologyView({ members: [A, B, { ...C, tells_stand_ins: false }] });
  assert.doesNotMatch(untold.text, /nobody stands in/);
});

test("no line is longer than 80 columns, whatever the names are, and what makes no tree is shown all the same", () => {
  const long = "n".repeat(64);
  const members = [
    { ...A, region: "r".repeat(128) },
    { ...B, name: long },
    { ...C, name: long, region: "r".repeat(128), api_address: `http://${"h".repeat(200)}:8200` },
    { ...D, name: long },
    { ...D, member: 4, name: "lost", follows: 9 },
    { ...D, member: 5, name: "round", follows: 6 },
    { ...D, member: 6, name: "about", follows: 5 },
  ];
  const { text } = topologyView({ members });
  for (const line of text.split("\n")) assert.ok(line.length <= 80, line);
  for (const name of ["lost", "round", "about"]) assert.match(text, new RegExp(`\\b${name} `));
});

test("a server that tells nobody of the set is not taken for one that has none", () => {
  const { text, advice } = topologyView(undefined);
  assert.equal(text, "");
  assert.match(advice.join(), /status_access/);
});

test("what another cluster says cannot steer a terminal", () => {
  const { text } = topologyView({ members: [A, { ...B, name: "b\u001b[2J\nx" }] });
  assert.ok(!text.includes("\u001b"));
});
