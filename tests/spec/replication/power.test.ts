// Power fails at every commit of every change of a role, on either side: afterwards each cluster is one of the two things
// that it could be, what was begun is finished or undone by itself, and nothing is lost that was acknowledged.

import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../support/http-client.ts";
import { type Cluster, inSync } from "../../support/replication/clusters.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { often } from "../../support/often.ts";
import {
  acquainted,
  KeptCluster,
  must,
  primaryIn,
  put,
  replicated,
  tokenFor,
} from "../../support/replication/kept-clusters.ts";
import { until } from "../../support/until.ts";

const NOW = { force: false, address: "" };
const FORCED = { force: true, address: "" };
const MANY = 80; // commits of one change: more than any has
/** In every run of all tests some of them, others each time; `npm run soak -- properties` tries all. */
const STEP = often(1) > 1 ? 1 : 3;
const DR = "core/replication/dr/";

interface Walk {
  /** All of them begin with the same disks before each failure. */
  readonly clusters: readonly KeptCluster[];
  readonly victim: KeptCluster;
  /** Before the change, each time. */
  readonly ready?: () => Promise<unknown>;
  /** The change. It may fail for want of power. */
  readonly act: () => Promise<unknown>;
  /** The victim has power again. `isDone`: the change was acknowledged. */
  readonly holds: (isDone: boolean) => Promise<string>;
  /** What it may give, in order. */
  readonly ends: readonly string[];
}

/** Every commit is the first one that does not come to the disk, once. */
async function everyCommit({ clusters, victim, ready, act, holds, ...walk }: Walk): Promise<void> {
  const ends = new Set<string>();
  const back = clusters.map((one) => one.saved());
  for (let commits = Math.floor(Math.random() * STEP); ; commits += STEP) {
    assert.ok(commits < MANY, "it never comes to its end");
    for (const one of back) await one();
    for (const one of clusters) assert.ok(await one.begin());
    await ready?.();
    victim.left = commits;
    const isDone = await act().then(
      () => true,
      () => false,
    );
    const isWhole = isDone && victim.left > 0;
    await victim.fail();
    await victim.begin();
    ends.add(await holds(isDone));
    if (isWhole) break;
  }
  const seen = walk.ends.filter((end) => ends.has(end));
  if (STEP === 1) assert.deepEqual(seen, walk.ends, "all of it was seen");
  assert.equal(seen.length, ends.size, [...ends].join());
}

async function read(cluster: Cluster, token: string, path: string): Promise<number> {
  return (await cluster.server.call("GET", `/v1/secret/data/${path}`, { token })).status;
}

function modeOf({ now }: KeptCluster): string {
  const { role } = now.replication;
  const isBetween =
    role.mode === "demoting" || (role.mode === "secondary" && role.promoting !== null);
  assert.equal(isBetween, false, JSON.stringify(role));
  return role.mode;
}

/** Everything is there, where it leads. */
async function hasAll(cluster: KeptCluster, paths: readonly string[]): Promise<void> {
  for (const path of paths) assert.equal(await read(cluster.now, cluster.token, path), 200, path);
  assert.equal(await put(cluster.now, cluster.token, "afterwards"), 200);
  const { ok } = await cluster.now.server.server.store.check();
  assert.equal(ok, true);
}

test("R-15: a token that the primary has taken is good for another try where the answer never came to the disk", async (t) => {
  const { a, b, joining } = await acquainted(t);
  for (const commits of [0, 1]) {
    b.left = commits;
    await assert.rejects(must(b.now.dr("secondary/enable", { token: joining })));
    await b.fail();
    assert.ok(await b.begin());
    assert.equal(modeOf(b), "disabled");
  }
  await until(async () => {
    const { status, text } = await b.now.dr("secondary/enable", { token: joining });
    assert.doesNotMatch(text, /another key|was used before/);
    return status === 200;
  });
  b.opened = a.opened;
  await inSync(a.now, b.now);
});

test("R-94: power fails on a primary at each commit of its demotion: it is a primary or a secondary afterwards", async (t) => {
  const { a, b } = await replicated(t);
  await everyCommit({
    clusters: [a, b],
    victim: a,
    ends: ["primary", "secondary"],
    ready: async () => assert.equal(await put(a.now, a.token, "late"), 200),
    act: () => must(a.now.dr("primary/demote")),
    holds: async (isDone) => {
      const mode = modeOf(a);
      if (isDone) assert.equal(mode, "secondary");
      if (mode === "primary") {
        await hasAll(a, ["before", "late"]);
        await inSync(a.now, b.now);
        return mode;
      }
      assert.equal(await put(a.now, a.token, "refused"), 503);
      assert.equal(await read(a.now, a.token, "before"), 503);
      assert.equal((await a.now.status())["state"], "idle");
      // It had everything, and leads again with it.
      await a.now.replication.promote(NOW);
      await hasAll(a, ["before", "late"]);
      return mode;
    },
  });
});

test("R-94: power fails on the secondary at each commit while its primary is demoted: it has what it is said to have", async (t) => {
  const { a, b } = await replicated(t);
  let said = "";
  await everyCommit({
    clusters: [a, b],
    victim: b,
    ends: ["behind", "complete"],
    ready: () => inSync(a.now, b.now),
    act: async () => {
      said = "";
      // The last ones are on their way while it is demoted.
      for (const path of ["x", "y", "z"]) assert.equal(await put(a.now, a.token, path), 200);
      const demoted = await a.now.dr("primary/demote");
      assert.equal(demoted.status, 200, demoted.text);
      said = demoted.text;
    },
    holds: async () => {
      assert.equal(modeOf(b), "secondary");
      const isComplete = /(?<!NOT )everything is on: site-b/.test(said);
      await b.now.replication.promote(FORCED);
      const all = ["before", "x", "y", "z"];
      await hasAll(b, isComplete ? all : ["before"]);
      return isComplete ? "complete" : "behind";
    },
  });
});

test("R-94: power fails on a secondary at each commit of its promotion: it is a secondary or the primary afterwards", async (t) => {
  const { a, b } = await replicated(t);
  assert.equal(await put(a.now, a.token, "late"), 200);
  await must(a.now.dr("primary/demote"));
  await everyCommit({
    clusters: [a, b],
    victim: b,
    ends: ["primary", "secondary"],
    act: () => b.now.replication.promote(NOW),
    holds: async (isDone) => {
      const mode = modeOf(b);
      if (isDone) assert.equal(mode, "primary");
      if (mode === "secondary") {
        assert.equal(await put(b.now, b.token, "refused"), 503);
        await b.now.replication.promote(NOW);
      }
      const { epoch } = await b.now.status();
      assert.equal(epoch, 2);
      await hasAll(b, ["before", "late"]);
      return mode;
    },
  });
});

test("R-94: power fails on one that has led before at each commit of its promotion: it leads with an epoch of its own, or not", async (t) => {
  const a = await primaryIn(t);
  const back = a.saved();
  const ends = new Set<string>();
  for (let commits = 0; commits < 4; commits++) {
    await back();
    assert.ok(await a.begin());
    await a.now.replication.demote();
    const last = () => a.now.server.server.store.timeline!.epochs.at(-1)!;
    const before = last().epoch;
    a.left = commits;
    await a.now.replication.promote(FORCED).catch(() => {});
    await a.fail();
    assert.ok(await a.begin());
    ends.add(modeOf(a));
    const { role } = a.now.replication;
    assert.equal(last().epoch - before, role.mode === "primary" ? 1 : 0, `${commits}`);
  }
  assert.deepEqual([...ends], ["secondary", "primary"]);
});

test("R-94: power fails on a secondary at each commit with which it leaves its set: it follows on, or stands alone", async (t) => {
  const { a, b } = await replicated(t);
  await everyCommit({
    clusters: [a, b],
    victim: b,
    ends: ["disabled", "secondary"],
    act: () => b.now.replication.disableSecondary(),
    holds: async (isDone) => {
      const mode = modeOf(b);
      if (isDone) assert.equal(mode, "disabled");
      if (mode === "disabled") await hasAll(b, ["before"]);
      else {
        assert.equal(await put(a.now, a.token, "later"), 200);
        await inSync(a.now, b.now);
      }
      return mode;
    },
  });
});

test("R-94: power fails on the old primary at each commit with which it is fenced: it is fenced in the end", async (t) => {
  const { a, b } = await replicated(t);
  await everyCommit({
    clusters: [a, b],
    victim: a,
    ends: ["fenced"],
    act: async () => {
      await b.now.replication.promote(FORCED);
      await until(() => a.left <= 0 || isFenced(a.now.replication.role));
    },
    holds: async () => {
      await until(() => isFenced(a.now.replication.role));
      assert.equal(await put(a.now, a.token, "refused"), 503);
      assert.equal(await read(a.now, a.token, "before"), 200);
      const { conflicting_primary } = await a.now.status();
      assert.equal(conflicting_primary, await b.now.clusterId());
      await hasAll(b, ["before"]);
      return "fenced";
    },
  });
});

test("R-93: power fails on a cluster at each commit with which it joins: it has its old data, or becomes equal", async (t) => {
  const { a, b, joining } = await acquainted(t);
  const own = b.opened;
  await everyCommit({
    clusters: [a, b],
    victim: b,
    ends: ["disabled", "secondary"],
    act: () => must(b.now.dr("secondary/enable", { token: joining }, own.token)),
    holds: async (isDone) => {
      // Whose shares unseal it says whose data it has.
      if (b.now.server.server.keeper.sealed) {
        await b.fail();
        b.opened = a.opened;
        assert.ok(await b.begin());
      }
      const mode = modeOf(b);
      if (isDone) assert.equal(mode, "secondary");
      if (mode === "disabled") {
        const mounts = await b.now.server.call("GET", "/v1/sys/mounts", { token: own.token });
        assert.equal(mounts.status, 200, mounts.text);
        assert.equal((await b.now.server.server.store.check()).ok, true);
      } else await inSync(a.now, b.now);
      return mode;
    },
  });
});

test("R-93: power fails on the primary at each commit while a cluster joins: that has its old data, or becomes equal", async (t) => {
  const { a, b, joining } = await acquainted(t);
  const own = b.opened;
  await everyCommit({
    clusters: [a, b],
    victim: a,
    ends: ["disabled", "secondary"],
    act: () => must(b.now.dr("secondary/enable", { token: joining }, own.token)),
    holds: async (isDone) => {
      assert.equal(modeOf(a), "primary");
      const mode = modeOf(b);
      if (isDone) assert.equal(mode, "secondary");
      await hasAll(a, ["before"]);
      if (mode === "secondary") await inSync(a.now, b.now);
      else {
        // The token counts as this cluster's, and is as good as before.
        await must(b.now.dr("secondary/enable", { token: joining }, own.token));
        await inSync(a.now, b.now);
      }
      return mode;
    },
  });
});

test("R-94: power fails at each commit with which an old primary gives up what it wrote alone: all of it is kept, once", async (t) => {
  const { a, b } = await replicated(t);
  const { token } = a;
  const fork = b.now.index;
  await b.fail();
  for (let i = 0; i < 5; i++) assert.equal(await put(a.now, token, `alone-${i}`), 200);
  const lost = Number(a.now.index - fork);
  await a.fail(); // so that it cannot send them
  assert.ok(await b.begin());
  await b.now.replication.promote(FORCED);
  assert.equal(await put(b.now, token, "later"), 200);
  assert.ok(await a.begin());
  await until(() => isFenced(a.now.replication.role));
  await must(a.now.dr("primary/demote"));
  const operator = await a.now.operationToken(a.opened.shares);
  const key = await a.now.dr("secondary/generate-public-key", {}, operator);
  const secondary_public_key = at(key, "data", "secondary_public_key");
  const tokens = await Promise.all(
    ["site-a", "again"].map((id) => tokenFor(b.now, token, secondary_public_key, id)),
  );
  const follow = (token: string | undefined) =>
    must(a.now.dr("secondary/update-primary", { token, dr_operation_token: operator }));
  await everyCommit({
    clusters: [a, b],
    victim: a,
    ends: ["alone", "follows"],
    act: async () => {
      await follow(tokens[0]);
      await until(
        () => a.left <= 0 || (a.now.index >= b.now.index && a.now.replication.divergent.count > 0),
      );
      // Its status is told from memory: it says nothing of a disk that is gone.
      await until(async () => a.left <= 0 || (await a.now.status())["state"] === "stream-wals");
      assert.ok(a.left > 0, "the power failed");
      await inSync(b.now, a.now);
    },
    holds: async () => {
      const { role } = a.now.replication;
      assert.ok(role.mode === "secondary");
      const isAlone = role.id === "";
      if (isAlone) {
        // Nothing was given up. The certificate of its first token may be lost: it cannot prove that it is the same.
        await must(b.now.dr("primary/revoke-secondary", { id: "site-a" }));
        await follow(tokens[1]);
      }
      await inSync(b.now, a.now);
      assert.equal((await a.now.status())["divergent_entries"], lost);
      const [tail, ...more] = a.now.replication.divergent.tails();
      assert.equal(more.length, 0);
      assert.equal(
        [...a.now.replication.divergent.entries(tail!.id, { after: 0n, max: 100 })].length,
        lost,
      );
      assert.equal((await a.now.server.server.store.check()).ok, true);
      return isAlone ? "alone" : "follows";
    },
  });
});

test("R-94: power fails on a primary at each commit of a revocation: the secondary is known, or refused for good", async (t) => {
  const { a, b } = await replicated(t);
  await everyCommit({
    clusters: [a, b],
    victim: a,
    ends: ["known", "refused"],
    act: () => must(a.now.dr("primary/revoke-secondary", { id: "site-b" })),
    holds: async (isDone) => {
      const { known_secondaries: known } = await a.now.status();
      const isKnown = Array.isArray(known) && known.includes("site-b");
      if (isDone) assert.equal(isKnown, false);
      if (isKnown) {
        await b.now.replication.recover();
        await inSync(a.now, b.now);
      } else {
        await b.now.replication.recover();
        await until(async () => (await b.now.status())["state"] === "idle");
        const before = b.now.index;
        assert.equal(await put(a.now, a.token, "later"), 200);
        assert.equal(b.now.index, before);
      }
      return isKnown ? "known" : "refused";
    },
  });
});

test("R-94: power fails on a cluster at each commit with which it becomes a primary, or stops being one", async (t) => {
  const a = await KeptCluster.start(t);
  for (const [path, mode] of [
    ["primary/enable", "primary"],
    ["primary/disable", "disabled"],
  ] as const) {
    await everyCommit({
      clusters: [a],
      victim: a,
      ends: ["disabled", "primary"],
      act: () => must(a.now.dr(path)),
      holds: async (isDone) => {
        const end = modeOf(a);
        if (isDone) assert.equal(end, mode);
        const rows = a.now.server.server.barrier.view(DR).keys("", { limit: 100 });
        if (end === "disabled") assert.deepEqual(rows, []);
        return end;
      },
    });
  }
});

test("power fails in the promotion of one that was revoked: when it leads, it still says that there may be two", async (t) => {
  const { a, b } = await replicated(t);
  await must(a.now.dr("primary/revoke-secondary", { id: "site-b" }));
  await until(async () => /revoked/.test(JSON.stringify(await b.now.status())));
  const { store } = b.now.server.server;
  const begin = store.startEpoch.bind(store);
  t.mock.method(store, "startEpoch", async (cluster: string) => {
    await begin(cluster);
    b.left = 0;
  });
  await assert.rejects(b.now.replication.promote(FORCED));
  await b.fail();
  assert.ok(await b.begin());
  assert.equal(modeOf(b), "primary");
  assert.equal((await b.now.status())["conflicting_primary"], await a.now.clusterId());
});
