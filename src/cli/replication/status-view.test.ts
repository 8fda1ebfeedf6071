import assert from "node:assert/strict";
import test from "node:test";
import { bothView, statusView } from "./status-view.ts";

function pairsOf(
  status: Parameters<typeof statusView>[0],
  kind: "dr" | "performance" = "dr",
): Map<string, unknown> {
  const { view } = statusView(status, 0n, kind);
  const [first] = "parts" in view ? view.parts : [view];
  assert.ok(first !== undefined && "pairs" in first);
  return new Map(first.pairs.map(([name, value]) => [name, value]));
}

test("a secondary without a primary shows no rows about one, and still what it has given up", () => {
  const status = { mode: "secondary", secondary_id: "", state: "idle", primaries: [], epoch: 2 };
  const names = [...pairsOf({ ...status, divergent_entries: 4 }).keys()];
  assert.deepEqual(names, ["This Cluster", "State", "Replication Set", "Epoch", "Given Up"]);
  const following = [...pairsOf({ ...status, secondary_id: "a", last_remote_wal: 7 }).keys()];
  for (const row of ["Behind", "Primary", "Connection", "Last Heartbeat", "Last Index"]) {
    assert.ok(following.includes(row), row);
  }
});

test("where the primary is, is where clients go, and its cluster port beside it", () => {
  const status = { mode: "secondary", secondary_id: "a", state: "idle" };
  const port = { cluster_address: "https://a.example:8201" };
  const rowOf = (primary: object) =>
    pairsOf({ ...status, primaries: [{ ...primary }] }).get("Primary");
  assert.equal(rowOf(port), "https://a.example:8201 (cluster port)");
  // Nothing was heard of it since the following began anew.
  const unheard = { ...status, primaries: [], primary_cluster_addr: port.cluster_address };
  assert.equal(pairsOf(unheard).get("Primary"), "https://a.example:8201 (cluster port)");
  const api = { api_address: "https://a.example:8200" };
  assert.equal(
    rowOf({ ...port, ...api }),
    "https://a.example:8200 (cluster port https://a.example:8201)",
  );
});

test("the last error is shown with its age, where the server tells it", () => {
  const status = { mode: "secondary", secondary_id: "a", last_sync_error: "nobody is there" };
  assert.equal(pairsOf(status).get("Last Error"), "nobody is there");
  const at = { last_sync_error_at: "1970-01-01T00:00:00Z" };
  assert.match(String(pairsOf({ ...status, ...at }).get("Last Error")), /^nobody is there \(.+\)$/);
});

test("a region says how much is withheld from it, its primary from whom, and a stand-in whose place it would take", () => {
  const region = { mode: "secondary", secondary_id: "c", state: "stream-wals" };
  const rowOf = (status: object, row: string) => {
    const { view } = statusView({ ...region, ...status }, 0n, "performance");
    assert.ok("pairs" in view);
    return new Map(view.pairs).get(row);
  };
  assert.equal(
    rowOf({ withheld: 2 }, "Withheld"),
    "2 paths not sent here, by a filter of the primary",
  );
  assert.equal(rowOf({ withheld: 0 }, "Withheld"), undefined);
  const row = { node_id: "c", connection_status: "connected", state: "stream-wals", wal_lag: 0 };
  const primary = (withheld: number) =>
    JSON.stringify(
      statusView(
        {
          mode: "primary",
          state: "running",
          known_secondaries: ["c"],
          secondaries: [{ ...row, withheld }],
        },
        0n,
        "performance",
      ).view,
    );
  assert.match(primary(1), /"Withheld"\].*"1 path"/);
  assert.doesNotMatch(primary(0), /Withheld/);
  const dr = { mode: "secondary", secondary_id: "b", state: "stream-wals" };
  const standsIn = (of: object) =>
    pairsOf({ ...dr, stands_in_for: { ...of } }).get("Stands In For");
  assert.equal(
    standsIn({ mode: "primary", name: "", region: "a" }),
    "the performance primary, region a",
  );
  assert.equal(
    standsIn({ mode: "secondary", name: "region-c", region: "c" }),
    "performance secondary region-c, region c",
  );
  assert.equal(pairsOf(dr).has("Stands In For"), false);
});

test("one entry and one lease are told as one", () => {
  const status = { mode: "secondary", secondary_id: "a", divergent_entries: 1, orphans_waiting: 1 };
  assert.match(String(pairsOf(status).get("Given Up")), /^1 entry that/);
  assert.match(String(pairsOf(status).get("Outside")), /^1 lease to be/);
});

test("how far behind a primary that is away it is known only as of when it was heard of", () => {
  const status = { mode: "secondary", secondary_id: "a", state: "idle" };
  const away = { connection_status: "disconnected", replication_primary_canary_age_ms: "60000" };
  const behind = (lag: object, primary: object) =>
    pairsOf({ ...status, ...lag, primaries: [{ ...away, ...primary }] }).get("Behind");
  assert.match(String(behind({}, { last_heartbeat: null })), /^not known/);
  const heard = { last_heartbeat: "1970-01-01T00:00:00Z" };
  assert.equal(behind({ wal_lag: 0 }, heard), "0 entries when it was last heard of, now");
  assert.equal(behind({ wal_lag: 1 }, heard), "1 entry when it was last heard of, now");
  const there = { ...heard, connection_status: "connected" };
  assert.equal(behind({ wal_lag: 0 }, there), "0 entries");
});

test("what was made outside and is not taken over is shown, and nothing where there is none", () => {
  const secondary = { mode: "secondary", secondary_id: "a", state: "stream-wals" };
  const primary = { mode: "primary", state: "running" };
  assert.match(String(pairsOf({ ...secondary, orphans_waiting: 3 }).get("Outside")), /^3 leases/);
  assert.match(String(pairsOf({ ...primary, orphans_left: 2 }).get("Left Outside")), /^2 leases/);
  assert.ok(!pairsOf({ ...secondary, orphans_waiting: 0 }).has("Outside"));
  assert.ok(!pairsOf({ ...primary, orphans_left: 0 }).has("Left Outside"));
});

test("writes are refused since the primary is not reached, or since it was and does not take this cluster", () => {
  const status = { mode: "secondary", secondary_id: "a", state: "idle", primary_region: "x" };
  const writes = (error: string) => {
    const rows = pairsOf(
      { ...status, forwards_writes: false, last_sync_error: error },
      "performance",
    );
    return String(rows.get("Writes"));
  };
  for (const error of ["", "x.example cannot be reached: connection refused"])
    assert.match(writes(error), /REFUSED .* region x is not reached/);
  for (const error of [
    "the primary refuses: it was demoted",
    "the primary has revoked this secondary",
    "the primary has disabled replication and goes on by itself",
  ])
    assert.match(writes(error), /REFUSED .* region x does not take this cluster/, error);
});

test("where the primary is away and this cluster can take over, it says so before it speaks of networks", () => {
  const status = { mode: "secondary", secondary_id: "a", state: "idle" };
  const primaries = [{ connection_status: "disconnected", last_heartbeat: null }];
  const advice = (more: object) =>
    JSON.stringify(statusView({ ...status, primaries, ...more }, 0n));
  assert.match(advice({ promotable: true }), /this cluster can take over\. Next: .*-plan/);
  assert.match(advice({ promotable: false }), /The primary is not reached/);
});

test("where the primary has ended replication nobody is sent to a promotion beside it, or to look at networks", () => {
  const primaries = [{ connection_status: "disconnected", last_heartbeat: null }];
  const status = { mode: "secondary", secondary_id: "a", state: "idle", primaries };
  const error = "the primary has disabled replication and goes on by itself";
  const { troubled, advice } = statusView({ ...status, last_sync_error: error }, 0n);
  assert.equal(troubled, true);
  assert.match(advice.join(), /^The primary goes on by itself.*stop that one for good first/);
});

test("a primary that has stopped without its secondaries is in trouble, with what to do", () => {
  const { troubled, advice } = statusView({ mode: "primary", state: "lapsed" }, 0n);
  assert.equal(troubled, true);
  assert.match(advice.join(), /primary_lease.*`holdfast replication revoke`/);
});

test("a secondary whose primary was superseded names the one that leads, and how it is followed", () => {
  const status = { mode: "secondary", secondary_id: "a", state: "idle", conflicting_primary: "b" };
  assert.equal(pairsOf(status).get("Primary Now"), "cluster b");
  const { troubled, advice } = statusView(status, 0n);
  assert.equal(troubled, true);
  assert.match(
    advice.join(),
    /was promoted.*`holdfast replication public-key -dr-token FILE` here.*update-primary -dr-token FILE @TOKEN` here/,
  );
  // Also where it was demoted, and follows nobody: it is not sent to a promotion of its own.
  const demoted = statusView({ ...status, secondary_id: "" }, 0n).advice.join(" ");
  assert.match(demoted, /another cluster leads the set.*update-primary/);
  assert.doesNotMatch(demoted, /failover -plan/);
});

test("who leads instead is named as people know it, with its id behind", () => {
  const fenced = { mode: "primary", state: "fenced", conflicting_primary: "3f5b" };
  assert.equal(pairsOf(fenced).get("Primary Now"), "cluster 3f5b");
  const named = { ...fenced, conflicting_primary_name: "site-b" };
  assert.equal(pairsOf(named).get("Primary Now"), "site-b (cluster 3f5b)");
  assert.match(statusView(named, 0n).advice.join(), /^site-b was promoted/);
  assert.match(statusView(fenced, 0n).advice.join(), /^Another cluster of the set was promoted/);
  const alone = { ...named, mode: "secondary", secondary_id: "", state: "idle", primaries: [] };
  assert.match(statusView(alone, 0n).advice.join(), /^It follows nobody, and site-b leads the set/);
});

test("an id that a cluster has left is no trouble, and not waited for", () => {
  const row = { node_id: "c4", connection_status: "connected", state: "stream-wals", wal_lag: 0 };
  const status = { mode: "primary", state: "running", known_secondaries: ["c", "c4"] };
  assert.equal(statusView({ ...status, secondaries: [row] }, 0n).troubled, true);
  const left = statusView({ ...status, secondaries: [row], left_secondaries: ["c"] }, 0n);
  assert.equal(left.troubled, false);
  assert.match(left.advice.join(), /came as c comes under another name.*revoke c`/);
});

test("a token that has ended unused is no trouble, and two that come as one are", () => {
  const primary = { mode: "primary", state: "running", known_secondaries: ["site-b"] };
  assert.equal(statusView(primary, 0n).troubled, true);
  const ended = statusView({ ...primary, expired_tokens: ["site-b"] }, 0n);
  assert.equal(ended.troubled, false);
  assert.match(
    ended.advice.join(),
    /token for site-b has ended.*`holdfast replication revoke site-b`/,
  );
  assert.doesNotMatch(ended.advice.join(), /join` there with its token/);
  const member = {
    node_id: "site-b",
    connection_status: "connected",
    state: "stream-wals",
    wal_lag: 0,
  };
  const well = statusView({ ...primary, secondaries: [member] }, 0n);
  assert.equal(well.troubled, false);
  const twice = statusView({ ...primary, secondaries: [{ ...member, duplicated: true }] }, 0n);
  assert.equal(twice.troubled, true);
  assert.match(twice.advice.join(), /^Two clusters come as site-b: .*stop the copy/);
  const places = { ...member, duplicated: true, duplicated_from: ["10.0.0.1", "10.0.0.9"] };
  const { advice } = statusView({ ...primary, secondaries: [places] }, 0n);
  assert.match(advice.join(), /^Two clusters come as site-b, from 10\.0\.0\.1 and 10\.0\.0\.9: /);
});

test("both of a doubled secondary say what it is, and not that the primary is not reached", () => {
  const status = {
    mode: "secondary",
    secondary_id: "site-b",
    state: "idle",
    last_sync_error: "the primary has ended it: another stream has begun",
    promotable: true,
  };
  const said = statusView(status, 0n).advice.join();
  assert.match(said, /^Somebody else comes to the primary as this secondary.*stop the copy/);
  assert.doesNotMatch(said, /not reached/);
});

test("who was in the set before a failover and does not follow is named, with what to do, and is trouble", () => {
  const row = { node_id: "c", connection_status: "connected", state: "stream-wals", wal_lag: 0 };
  const status = { mode: "primary", state: "running", known_secondaries: ["c"] };
  const since = "1970-01-01T00:00:00Z";
  const awaited = [
    { node_id: "3f5b", cluster_id: "3f5b", was: "primary", informed: false, since },
    { node_id: "site-d", cluster_id: "77aa", was: "secondary", informed: true, since: null },
  ];
  assert.equal(statusView({ ...status, secondaries: [row] }, 0n).troubled, false);
  const found = statusView({ ...status, secondaries: [row], awaited_members: awaited }, 0n);
  assert.equal(found.troubled, true);
  assert.match(JSON.stringify(found.view), /"3f5b","<none>","NOT COME OVER".*"site-d"/);
  const [primary = "", secondary = ""] = found.advice;
  assert.match(
    primary,
    /^The primary of before \(3f5b\) .* now, and was not reached.*demote` there/,
  );
  assert.match(primary, /`holdfast replication revoke 3f5b`/);
  assert.match(
    secondary,
    /^site-d has not come over .*, and knows who leads\. Next: `holdfast repl/,
  );
  const said = (more: object) => {
    const members = [{ ...awaited[1], informed: false, ...more }];
    return statusView({ ...status, secondaries: [row], awaited_members: members }, 0n).advice[0];
  };
  assert.match(said({ follows: "3f5b" }) ?? "", /promoted, and takes cluster 3f5b for the primary/);
  assert.match(said({ refuses: true }) ?? "", /promoted, and refuses this cluster/);
  // Also where nobody follows: it is not sent to look for a first secondary.
  const alone = statusView({ ...status, known_secondaries: [], awaited_members: awaited }, 0n);
  assert.doesNotMatch(alone.advice.join(), /Nobody follows this primary/);
  assert.match(JSON.stringify(alone.view), /NOT COME OVER/);
});

test("a secondary that has no room for what comes is in trouble, and says that revocations do not arrive", () => {
  const primaries = [{ connection_status: "connected" }];
  const status = {
    mode: "secondary",
    secondary_id: "b",
    state: "idle",
    connection_state: "ready",
    primaries,
    last_sync_error:
      "the storage of this secondary is nearly full, and what the primary writes is not applied, also what it revokes: 100 bytes are free",
  };
  const region = statusView(status, 0n, "performance");
  assert.equal(region.troubled, true);
  assert.match(region.advice.join(), /also what it revokes: so no global tokens.*Next: make room/);
  const whole = statusView(status, 0n);
  assert.equal(whole.troubled, true);
  assert.match(whole.advice.join(), /taking over now would lose it\. Next: make room/);
  assert.doesNotMatch(whole.advice.join(), /not reached/);
  const member = { node_id: "b", connection_status: "connected", state: "idle", wal_lag: 3 };
  const primary = { mode: "primary", state: "running", known_secondaries: ["b"] };
  const seen = statusView({ ...primary, secondaries: [member] }, 0n);
  assert.equal(seen.troubled, true);
  assert.match(
    seen.advice.join(),
    /^b is connected, and applies nothing\. Next: .* there says why/,
  );
});

test("who was replaced with all of its data is sent to disaster recovery alone, whatever it was in the set", () => {
  const primary = { mode: "primary", state: "fenced", replaced: true, conflicting_primary: "b" };
  const secondary = {
    mode: "secondary",
    secondary_id: "c",
    state: "idle",
    primaries: [],
    promotable: false,
    last_sync_error:
      "another cluster was promoted in the place of this secondary, and the primary sends to that one",
  };
  const replaced = { ...secondary, replaced: true, last_sync_error: "" };
  for (const status of [primary, secondary, replaced]) {
    const { advice, troubled } = statusView(status, 0n, "performance");
    assert.equal(troubled, true);
    assert.match(
      advice.join(),
      /nothing is to be done in the performance set\. Next: `holdfast replication demote` here/,
    );
    assert.match(advice.join(), /`holdfast replication ticket .*` on the cluster that leads/);
    assert.doesNotMatch(advice.join(), /-kind performance|failover -plan|not reached/);
  }
  const dr = { mode: "primary", state: "fenced", conflicting_primary: "b" };
  const both = bothView({ dr, performance: primary }, 0n).advice;
  assert.equal(both.length, 1, both.join("\n"));
  assert.match(both[0]!, /`holdfast replication demote` here/);
  const running = { mode: "primary", state: "running" };
  assert.match(
    bothView({ dr: running, performance: secondary }, 0n).advice.join(),
    /in the performance set/,
  );
});

test("a region whose primary has others that stand in for it is not sent to a promotion of its own first", () => {
  const status = {
    mode: "secondary",
    secondary_id: "c",
    state: "idle",
    primaries: [{ connection_status: "disconnected", last_heartbeat: null }],
    failover_cluster_addrs: ["https://b.example:8201"],
  };
  const demoted =
    "a server answers there that does not lead this set: it follows another cluster by now, has left the set, or is another server";
  for (const more of [{ last_sync_error: demoted }, { promotable: true }, { promotable: false }]) {
    const said = statusView({ ...status, ...more }, 0n, "performance").advice.join();
    assert.match(said, /stand in for it.*`holdfast replication status` there.*finds it by itself/);
    assert.match(said, /`holdfast replication update-primary -kind performance -at URL`/);
    assert.doesNotMatch(said, /can take over|Something else/);
  }
  const alone = { ...status, failover_cluster_addrs: [], promotable: true };
  assert.match(statusView(alone, 0n, "performance").advice.join(), /can take over/);
});

test("who has to follow is told of the ticket that it takes, where it takes one", () => {
  const superseded = {
    mode: "secondary",
    secondary_id: "a",
    state: "idle",
    conflicting_primary: "b",
  };
  const fenced = { mode: "primary", state: "fenced", conflicting_primary: "b" };
  const TICKET =
    /`holdfast replication ticket -field ticket generate-public-key update-primary > FILE` on/;
  for (const status of [superseded, fenced]) {
    assert.match(statusView(status, 0n).advice.join(), TICKET);
    const region = statusView(status, 0n, "performance").advice.join();
    assert.doesNotMatch(region, /ticket|-dr-token/);
    assert.match(region, /`holdfast replication public-key -kind performance` here/);
  }
});

test("what is to be typed on a disaster-recovery secondary is named with its operation token, and whole", () => {
  const errors = [
    "",
    "revoked",
    "has disabled replication",
    "another stream has begun",
    "the cluster there is sealed",
    "something else answers there",
    "nearly full, and what the primary writes is not applied",
  ];
  const secondary = { mode: "secondary", secondary_id: "b", state: "idle", primaries: [] };
  const all = [
    ...errors.map((error) => ({ ...secondary, last_sync_error: error })),
    ...[{ promotable: true }, { corrupted_merkle_tree: true }, { divergent_entries: 3 }].map(
      (more) => ({ ...secondary, ...more }),
    ),
    { ...secondary, secondary_id: "" },
    { ...secondary, conflicting_primary: "c" },
    { mode: "primary", state: "running", conflicting_primary: "c", known_secondaries: ["b"] },
    { mode: "primary", state: "fenced", conflicting_primary: "c" },
  ];
  for (const status of all) {
    const text = statusView(status, 0n).advice.join("\n");
    for (const [command] of text.matchAll(/`[^`]*`/g)) {
      assert.match(command, /^`(?:holdfast |df |primary_lease)/, command);
      const needs =
        /^`holdfast replication (?:promote|failover|update-primary|recover|disable|divergent)/;
      if (needs.test(command)) assert.match(command, / -dr-token FILE/, command);
    }
  }
});

test("that there are no secondaries is a row of a primary alone that leads and lists none below", () => {
  const primary = { mode: "primary", state: "running", known_secondaries: [] };
  const awaited_members = [{ node_id: "c", cluster_id: "3f5b", was: "secondary" }];
  const secondary = { mode: "secondary", secondary_id: "b", state: "stream-wals", primaries: [] };
  const cases = [
    [primary, "none"],
    [{ ...primary, awaited_members }, undefined],
    [{ ...primary, cluster_port: false }, "none can come"],
    [{ ...primary, awaited_members, cluster_port: false }, "none can come"],
    [{ ...primary, state: "fenced", conflicting_primary: "c" }, undefined],
    [{ ...primary, known_secondaries: ["b"] }, undefined],
    [secondary, undefined],
    [{ ...secondary, secondary_id: "", state: "idle" }, undefined],
    [{ mode: "disabled" }, undefined],
  ] as const;
  for (const [status, expected] of cases) {
    for (const kind of ["dr", "performance"] as const) {
      const { view } = statusView({ ...status }, 0n, kind);
      const [first] = "parts" in view ? view.parts : [view];
      assert.ok(first !== undefined && "pairs" in first);
      const said = new Map(first.pairs).get("Secondaries");
      assert.equal(said, expected, `${kind} ${JSON.stringify(status)}`);
    }
  }
});

test("what was given up is told with the commands that list and export it, on a primary too, and nobody is to discard it", () => {
  const status = { state: "running", secondary_id: "b", known_secondaries: ["b"] };
  const surplus = { ...status, divergent_entries: 3 };
  const cases = [
    ["primary", "dr", ""],
    ["primary", "performance", ""],
    ["secondary", "dr", " -dr-token FILE"],
    ["secondary", "performance", ""],
  ] as const;
  for (const [mode, kind, how] of cases) {
    const { view, advice } = statusView({ ...surplus, mode }, 0n, kind);
    assert.match(JSON.stringify(view), /"Given Up","3 entries that only this cluster had"/);
    const said = advice.filter((text) => text.includes("divergent"));
    assert.equal(said.length, 1, `${mode} ${kind}`);
    const [list, exported] = [...said[0]!.matchAll(/`([^`]*)`/g)].map(([, command]) => command);
    assert.equal(list, `holdfast replication divergent list${how}`);
    assert.equal(exported, `holdfast replication divergent export${how} TAIL > lost.jsonl`);
    assert.match(said[0]!, /goes by itself then, and nobody has to discard it/);
    const none = statusView({ ...status, mode }, 0n, kind);
    assert.doesNotMatch(JSON.stringify([none.view, none.advice]), /Given Up|divergent/);
  }
});
