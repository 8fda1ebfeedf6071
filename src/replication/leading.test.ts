// A primary that was promoted, and what it hears when it tells the primary of before and those that have followed it.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { until } from "../../tests/support/until.ts";
import { type HeardFrom, Leading, type LeadingParts } from "./leading.ts";
import type { Links } from "./links/links.ts";
import { Changes } from "./roles/changes.ts";
import { StoredRole } from "./roles/stored-role.ts";
import type { Epoch } from "./roles/role.ts";
import type { MemberStatus } from "./stream/members.ts";

const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const OWN: Epoch = { number: 1, cluster: "0b8e2f3e-0000-4000-8000-000000000001", first: "1" };
const LATER: Epoch = { number: 2, cluster: "0b8e2f3e-0000-4000-8000-000000000002", first: "9" };

const FORMER = "0b8e2f3e-0000-4000-8000-000000000003";
const FORMER_AT = "https://10.1.2.3:8201";

type Heard = Parameters<Links["serving"]>[3];
type Follower = Pick<MemberStatus, "clusterId" | "isConnected" | "clusterAddresses">;

const HEARD = "has heard that this cluster leads";
const DIGEST = "a4".repeat(32);
const DENIAL = new Error("it was revoked there");

/** Leads since it was opened; the primary of before answers with what `answer` gives. */
async function leading(
  t: TestContext,
  acceptFence: boolean,
  answer: (signal: AbortSignal) => Promise<Epoch | null>,
  /** What one that has followed the primary of before says; default: there is none. */
  sibling: {
    readonly leading: Epoch;
    readonly leads: boolean;
    readonly cluster: string;
  } | null = null,
  {
    isDisowned = false,
    /** Those that have come to this cluster. */
    followers = [] as Follower[],
    /** The cluster that was revoked here. */
    revoked = "",
    /** Of the one that has followed the primary of before. */
    siblingCluster = "",
    /** That one, or the primary of before ("former"), answers and takes no word of this cluster. */
    denies = (): string => "",
    /** Those that had heard it before a start. */
    informedBefore = [] as readonly string[],
  } = {},
) {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const role = new StoredRole(view, "dr");
  const { cluster, first } = OWN;
  await role.step({ do: "enable-primary", set: SET, cluster, address: "", first });
  const fenced: Epoch[] = [];
  const from: HeardFrom[] = [];
  const calls: AbortSignal[] = [];
  const refused = { times: 0 };
  /** Which certificates a sibling may show. */
  const dialled: unknown[] = [];
  const hearing: { -readonly [K in "fenced" | "revokeFormer"]: Heard[K] } = {
    fenced: async (epoch) => epoch,
    revokeFormer: async () => false,
  };
  const stored = { members: informedBefore };
  const addresses = [FORMER_AT];
  const former = { set: SET, kind: "dr", addresses, isHeard: false, isDisowned, cluster: FORMER };
  const members = () => followers;
  const secondaries = { known: () => [] };
  const markRevoked = async () => {};
  const opened = { open: () => {}, close: async () => {}, members, secondaries, markRevoked };
  const links = {
    storedFormer: () => former,
    storedSiblings: () =>
      sibling === null
        ? []
        : [
            {
              id: "c",
              cluster: siblingCluster,
              addresses: ["https://10.1.2.4:8201"],
              serials: ["4a"],
              digests: [DIGEST],
            },
          ],
    formerHeard: () => {},
    isStoodIn: () => false,
    isRevoked: (_: unknown, cluster: string) => cluster === revoked,
    serving: (...[, , , heard]: Parameters<Links["serving"]>) => {
      hearing.fenced = heard.fenced;
      hearing.revokeFormer = heard.revokeFormer;
      return opened;
    },
    superseded: () => opened,
    beside: () => ({
      ...opened,
      refuse: () => void refused.times++,
    }),
    isDenial: (error: unknown) => error === DENIAL,
    storedInformed: () => ({ since: null, members: stored.members }),
    putInformed: (_: unknown, names: readonly string[]) => void (stored.members = names),
    disownFormer: () => false,
    revokeSiblings: () => true,
    storedFormerRevoked: () => ["4a"],
    wasRevoked: (_: unknown, cluster: string) => cluster === revoked,
    nameOf: (_: unknown, cluster: string) => (cluster === LATER.cluster ? "site-c" : ""),
    exchange: async (...[, member, , , said]: Parameters<Links["exchange"]>) => {
      const signal = said!.signal!;
      calls.push(signal);
      if (denies() === (member.beside === true ? "sibling" : "former")) {
        said!.failed!("", DENIAL);
        return null;
      }
      if (member.beside === true) {
        dialled.push([member.serials, member.digests]);
        return sibling;
      }
      const leading = await answer(signal);
      return leading === null ? null : { cluster: leading.cluster, leading };
    },
  };
  const parts = {
    options: {
      kind: "dr",
      ...world,
      view,
      store: { takeAtMost: () => {} },
      port: () => ({ serve: () => {}, revoke: () => 0, refuseOnly: () => {}, forget: () => {} }),
      acceptFence,
    },
    role,
    links: async () => links,
    status: { open: () => {}, close: async () => {} },
    changes: new Changes(world.log, () => {}),
    fence: async (epoch: Epoch, by: HeardFrom) => {
      fenced.push(epoch);
      from.push(by);
    },
  };
  const found = new Leading(parts as unknown as LeadingParts);
  await found.open();
  t.after(() => found.close("the test is over"));
  const isHeard = () => world.lines.some((line) => line.includes(HEARD));
  await until(() => calls.length > 0 || isHeard());
  const peer = { set: SET, kind: "dr", id: "site-c", serial: "4a", expires: 0n } as const;
  const hears = (epoch: Epoch) => hearing.fenced(epoch, true, peer, null);
  const { clock, timers, lines } = world;
  const revoke = () => hearing.revokeFormer(() => true);
  /** Until it has told them once more. */
  const next = async () => {
    const { length } = calls;
    await until(async () => {
      await timers.advance(SECOND);
      return calls.length > length;
    });
  };
  const heard = { found, role, fenced, from, calls, lines, clock, hears, revoke, refused };
  return { ...heard, stored, dialled, next };
}

test("one that a member says to lead itself is given way to; what a member has heard of another one is not", async (t) => {
  const claims = { leading: LATER, leads: true, cluster: LATER.cluster };
  const found = await leading(t, true, async () => OWN, claims);
  await until(() => found.fenced.length > 0);
  assert.deepEqual(found.fenced, [LATER]);
  assert.deepEqual(found.from, [{ name: "site-c", address: "https://10.1.2.4:8201" }]);
  for (const hearsay of [
    { ...claims, leads: false },
    { ...claims, cluster: OWN.cluster },
  ]) {
    const { fenced, lines } = await leading(t, true, async () => OWN, hearsay);
    await until(() => lines.some((line) => line.includes(HEARD)));
    assert.deepEqual(fenced, []);
  }
});

test("a primary of before that follows this cluster by now has heard of it: nobody calls it, and nobody there is given way to", async (t) => {
  const followers = [{ clusterId: FORMER, isConnected: true, clusterAddresses: [] }];
  const { calls, fenced, lines } = await leading(t, true, async () => LATER, null, { followers });
  await until(() => lines.some((line) => line.includes(HEARD)));
  assert.deepEqual([calls, fenced], [[], []]);
});

test("one that only says to be where the primary of before is, or is gone again, keeps nobody from telling that one", async (t) => {
  const clusterAddresses = [FORMER_AT];
  const others: readonly Follower[] = [
    { clusterId: LATER.cluster, isConnected: true, clusterAddresses },
    { clusterId: FORMER, isConnected: false, clusterAddresses },
  ];
  for (const follower of others) {
    const { calls } = await leading(t, true, async () => null, null, { followers: [follower] });
    assert.notEqual(calls.length, 0);
  }
});

test("one that says to be a primary of before that was revoked does not keep it from hearing who leads", async (t) => {
  const followers = [{ clusterId: FORMER, isConnected: true, clusterAddresses: [FORMER_AT] }];
  const options = { followers, isDisowned: true };
  const { calls } = await leading(t, true, async () => OWN, null, options);
  assert.notEqual(calls.length, 0);
});

test("one that is fenced is no primary for anybody, also while it still serves", async (t) => {
  const { found, role } = await leading(t, true, async () => OWN);
  assert.ok(found.primary());
  assert.deepEqual(
    found.awaited.map(({ cluster }) => cluster),
    [FORMER],
  );
  await role.step({ do: "fence", epoch: LATER, at: "2030-01-01T00:00:00Z" });
  assert.deepEqual(found.awaited, [], "they follow another one");
  assert.notEqual(found.serving, null);
  assert.throws(() => found.primary(), { code: "replication-fenced" });
});

const KEEPS_ON = "accept_fence is off";

test("one that hears of a later primary gives way to it", async (t) => {
  const { fenced, from, lines } = await leading(t, true, async () => LATER);
  await until(() => fenced.length > 0);
  assert.deepEqual(fenced, [LATER]);
  assert.deepEqual(from, [{ name: "site-c", address: "https://10.1.2.3:8201" }]);
  assert.ok(!lines.some((line) => line.includes(KEEPS_ON)));
});

test("one whose operators decide that themselves hears of a later primary, says so, and leads on", async (t) => {
  const { found, fenced, lines } = await leading(t, false, async () => LATER);
  await until(() => fenced.length > 0 || lines.some((line) => line.includes(KEEPS_ON)));
  await found.close("the test is over"); // waits for the call
  assert.deepEqual(fenced, []);
  const line = lines.find((text) => text.includes(KEEPS_ON)) ?? "";
  assert.ok(line.includes(LATER.cluster), line);
});

test("one that leads on is told of it by a line a minute, and one that is fenced takes an epoch a minute of each that names later ones", async (t) => {
  const { lines, hears, clock } = await leading(t, false, async () => OWN);
  const said = () => lines.filter((line) => line.includes(KEEPS_ON)).length;
  for (let i = 0; i < 3; i++) assert.deepEqual(await hears(LATER), OWN);
  assert.equal(said(), 1);
  clock.pass(MINUTE);
  await hears(LATER);
  assert.equal(said(), 2);

  const other = await leading(t, true, async () => OWN);
  await other.role.step({ do: "fence", epoch: LATER, at: "2030-01-01T00:00:00Z" });
  const [third, fourth] = [3, 4].map((number) => ({ ...LATER, number }));
  assert.deepEqual(await other.hears(third!), third);
  assert.deepEqual(await other.hears(fourth!), LATER);
  const elsewhere = { ...third!, cluster: FORMER };
  assert.deepEqual(await other.hears(elsewhere), elsewhere, "of another");
  other.clock.pass(MINUTE);
  assert.deepEqual(await other.hears(fourth!), fourth);
  assert.deepEqual(other.fenced, [third, elsewhere, fourth]);
});

test("whom a new primary revokes of those beside it is refused by its port at once", async (t) => {
  const options = { informedBefore: ["4a"] };
  const { revoke, refused, stored } = await leading(t, true, async () => OWN, null, options);
  assert.equal(refused.times, 0);
  assert.equal(await revoke(), true);
  assert.equal(refused.times, 1);
  assert.deepEqual(stored.members, [], "the others are to hear it too");
});

const BEFORE: Epoch = { number: 0, cluster: FORMER, first: "1" };

function informed(found: Leading) {
  return found.awaited.flatMap(({ was, hasHeard, follows, refuses }) =>
    was === "secondary" ? [{ hasHeard, follows, refuses }] : [],
  );
}

test("one that has heard who leads, and then takes another one for the primary, is not informed any more, and the log says so", async (t) => {
  const says = { leading: OWN, leads: false, cluster: LATER.cluster };
  let denies = "";
  const siblingCluster = LATER.cluster;
  const options = { siblingCluster, denies: () => denies };
  const { found, lines, stored, dialled, next, clock } = await leading(
    t,
    true,
    async () => OWN,
    says,
    options,
  );
  await until(() => informed(found)[0]?.hasHeard === true);
  assert.deepEqual(dialled, [[["4a"], [DIGEST]]], "and nobody else is believed in its place");
  await until(() => stored.members.length > 0);
  assert.deepEqual(stored.members, ["4a"]);
  const lost = () => lines.filter((line) => line.includes("replication.member-lost"));
  says.leading = BEFORE;
  await next(); // the primary of before is asked alone
  assert.deepEqual([informed(found)[0]?.hasHeard, lost().length], [true, 0]);
  clock.pass(MINUTE);
  await next();
  await until(() => informed(found)[0]?.hasHeard === false);
  const elsewhere = { hasHeard: false, follows: FORMER, refuses: false };
  assert.deepEqual(informed(found), [elsewhere]);
  await until(() => stored.members.length === 0);
  assert.equal(lost().length, 1);
  assert.ok(lost()[0]!.includes(FORMER), lost()[0]!);
  denies = "sibling";
  await next();
  await until(() => informed(found)[0]?.refuses === true);
  assert.equal(lost().length, 1, "it was lost already");
  denies = "";
  says.leading = OWN;
  await next();
  await until(() => informed(found)[0]?.hasHeard === true);
  assert.deepEqual(informed(found), [{ hasHeard: true, follows: "", refuses: false }]);
});

test("who had heard it before a start counts as informed, and is asked at once", async (t) => {
  const says = { leading: BEFORE, leads: false, cluster: LATER.cluster };
  const options = { siblingCluster: LATER.cluster, informedBefore: ["4a"] };
  const { lines, found } = await leading(t, true, async () => OWN, says, options);
  await until(() => lines.some((line) => line.includes("replication.member-lost")));
  await until(() => informed(found)[0]?.hasHeard === false);
  const silent = await leading(t, true, async () => OWN, null, { ...options, denies: () => "" });
  assert.deepEqual(silent.stored.members, ["4a"], "who does not answer knows what it knew");
});

test("a primary of before that answers, and refuses this cluster, is told of once by the log, and counts as not informed", async (t) => {
  let denies = "former";
  const options = { denies: () => denies };
  const { lines, found, next } = await leading(t, true, async () => OWN, null, options);
  const refusals = () => lines.filter((line) => line.includes("replication.former-refuses"));
  await until(() => refusals().length > 0);
  await next();
  await until(() => found.awaited[0]?.refuses === true);
  assert.equal(refusals().length, 1);
  assert.equal(found.awaited[0]?.hasHeard, false);
  assert.ok(!lines.some((line) => line.includes("does not answer at any")), "it does answer");
  denies = "";
  await next();
  await until(() => lines.some((line) => line.includes(HEARD)));
  await until(() => found.awaited[0]?.refuses === false);
});

test("a primary of before that is not reached is tried every five seconds, with a line a minute; when it has heard it, every fifteen", async (t) => {
  let isThere = false;
  const answer = async () => (isThere ? OWN : null);
  const { lines, clock, next } = await leading(t, true, answer);
  const unreached = () => lines.filter((line) => line.includes("has not heard yet")).length;
  const waits: number[] = [];
  const waited = async () => {
    const before = clock.elapsed();
    await next();
    waits.push(Math.round(Number(clock.elapsed() - before) / 1e9));
  };
  await until(() => unreached() === 1);
  for (let i = 0; i < 14; i++) await waited();
  assert.deepEqual(waits, Array(14).fill(5));
  assert.equal(unreached(), 2, "of seventy seconds");
  isThere = true;
  await next();
  await until(() => lines.some((line) => line.includes(HEARD)));
  await waited();
  assert.equal(waits.at(-1), 15);
});

test("one that has revoked the primary of before gives way to nobody that answers in its name, and says so once in a minute", async (t) => {
  const disowned = { isDisowned: true };
  const later = await leading(t, true, async () => LATER, null, disowned);
  const { found, fenced, lines, next } = later;
  const said = () =>
    lines.filter((line) => line.includes("known by a primary that was revoked")).length;
  await until(() => fenced.length > 0 || said() > 0);
  for (let i = 0; i < 3; i++) await next(); // of 45 seconds
  assert.equal(said(), 1);
  for (let i = 0; i < 2; i++) await next();
  await until(() => said() === 2);
  await found.close("the test is over"); // waits for the call
  assert.deepEqual(fenced, []);
});

test("nobody gives way to a cluster that was revoked here, whoever says that it leads", async (t) => {
  const revoked = LATER.cluster;
  const claims = { leading: LATER, leads: true, cluster: LATER.cluster };
  const misled = await leading(t, true, async () => LATER, null, { revoked });
  const isSaid = () => misled.lines.some((line) => line.includes("that was revoked here"));
  await until(() => misled.fenced.length > 0 || isSaid());
  const claimed = await leading(t, true, async () => OWN, claims, { revoked });
  await until(
    () => claimed.fenced.length > 0 || claimed.lines.some((line) => line.includes(HEARD)),
  );
  assert.deepEqual([misled.fenced, claimed.fenced], [[], []]);
});

test("nobody gives way to a cluster that was revoked here and comes by itself, whatever it proves", async (t) => {
  const { hears, fenced } = await leading(t, true, async () => OWN, null, {
    revoked: LATER.cluster,
  });
  assert.deepEqual(await hears(LATER), OWN);
  assert.deepEqual(fenced, []);
  const elsewhere = { ...LATER, cluster: FORMER };
  assert.deepEqual(await hears(elsewhere), elsewhere, "of another");
  assert.deepEqual(fenced, [elsewhere]);
});

for (const by of ["close", "forgetFormer"] as const) {
  test(
    `${by} ends a call that nobody answers, and nothing is taken from it`,
    { timeout: 20_000 },
    async (t) => {
      const { found, fenced, calls } = await leading(
        t,
        true,
        (signal) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => resolve(LATER), { once: true });
          }),
      );
      assert.equal(calls[0]!.aborted, false);
      await (by === "close" ? found.close("it ends") : found.forgetFormer());
      assert.equal(calls[0]!.aborted, true);
      assert.deepEqual(fenced, [], "it came too late");
    },
  );
}
