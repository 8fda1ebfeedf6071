// Which step leads from where to where, and that every other one is refused.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import type { ReplicationKind } from "../../cluster/names.ts";
import {
  after as afterOf,
  DISABLED,
  type Epoch,
  follows,
  forksOf,
  isNext,
  isOlder,
  latestOf,
  ledUntil,
  type Role,
  type Step,
  surplusOf,
} from "./role.ts";

const AT = "2030-01-01T00:00:00Z";
const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const epoch = (number: number, cluster = "a", first = "1"): Epoch => ({ number, cluster, first });
const joining = (number: number, set = SET) => ({
  set,
  id: "site-b",
  address: "https://a:8201",
  epoch: epoch(number),
});
const after = (role: Role, step: Step, kind: ReplicationKind = "dr") => afterOf(role, step, kind);
const STEPS: readonly Step[] = [
  { do: "enable-primary", set: SET, cluster: "a", address: "", first: "7" },
  { do: "demote" },
  { do: "demoted", final: "9", at: AT },
  { do: "disable-primary" },
  { do: "fence", epoch: epoch(9, "b", "8"), at: AT },
  { do: "join", joined: joining(1) },
  { do: "promoting", promoting: { address: "", logEpoch: 1 } },
  { do: "stay" },
  { do: "promote", cluster: "b", first: "10" },
  { do: "update-primary", joined: joining(9) },
  { do: "move-primary", address: "https://a2:8201" },
  { do: "forget-primary" },
  { do: "disable-secondary" },
  { do: "copied" },
  { do: "rewound" },
  { do: "ended", final: "12" },
  { do: "superseded", epoch: epoch(9, "c", "8") },
  { do: "heard", epoch: epoch(9), known: ["https://a2:8201"] },
];
const PRIMARY = after(DISABLED, STEPS[0]!);
const SECONDARY = after(DISABLED, { do: "join", joined: joining(1) });

function codeOf(role: Role, step: Step): string {
  try {
    return after(role, step).mode;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error.code;
  }
}

test("what only a cluster has written of what is shared begins where the next epoch did, and not before it led itself", () => {
  const run = (from: Role, ...steps: readonly Step[]) =>
    steps.reduce((now, step) => after(now, step, "performance"), from);
  const surplus = (role: Role) => {
    assert.ok(role.mode === "secondary");
    return surplusOf(role);
  };
  const follow = (next: Epoch): Step => ({
    do: "update-primary",
    joined: { ...joining(0), epoch: next },
    isForced: true,
  });
  const leave: readonly Step[] = [{ do: "demote" }, { do: "demoted", final: "90", at: AT }];
  const led = { epoch: 1, since: "7", until: "90", at: AT };
  const demoted = run(PRIMARY, { do: "fence", epoch: epoch(2, "b", "50"), at: AT }, ...leave);
  assert.deepEqual(surplus(demoted), { fork: 49n, led });
  const joined = run(demoted, { do: "forget-primary" }, follow(epoch(3, "c", "60")));
  assert.deepEqual(surplus(joined), { fork: 49n, led }); // the next one, not the last
  assert.equal(surplus(run(joined, { do: "rewound" })), null);
  const unheard = run(PRIMARY, ...leave, follow(epoch(3, "c", "60")));
  assert.deepEqual(surplus(unheard), { fork: null, led });
  const promoting: Step = { do: "promoting", promoting: { address: "", logEpoch: 0 } };
  const promoted = run(SECONDARY, promoting, {
    do: "promote",
    cluster: "b",
    first: "10",
    own: "30",
  });
  const own = { epoch: 2, since: "30", until: "90", at: AT };
  // Who was promoted with less of the log than this one had then.
  assert.deepEqual(surplus(run(promoted, ...leave, follow(epoch(3, "c", "12")))), {
    fork: 29n,
    led: own,
  });
  // Nobody has followed it: the other one goes on in an epoch that is not later.
  assert.deepEqual(surplus(run(promoted, ...leave, follow(epoch(1, "a")))), {
    fork: 29n,
    led: own,
  });
  const again = run(promoted, ...leave, promoting, {
    do: "promote",
    cluster: "b",
    first: "91",
    own: "91",
  });
  assert.deepEqual(surplus(run(again, ...leave))?.led.since, "30");
  assert.equal(surplus(after(after(PRIMARY, leave[0]!), leave[1]!)), null); // of disaster recovery the log tells
});

test("what is shared was a cluster's own until it was demoted, or heard of another before that; and as long as nothing of another's is compared", () => {
  const run = (from: Role, ...steps: readonly Step[]) =>
    steps.reduce((now, step) => after(now, step, "performance"), from);
  const later = "2030-01-02T00:00:00Z";
  const leave = (at: string): readonly Step[] => [
    { do: "demote" },
    { do: "demoted", final: "90", at },
  ];
  assert.equal(ledUntil(PRIMARY), "now");
  assert.equal(ledUntil(run(PRIMARY, { do: "demote" })), "now");
  const demoted = run(PRIMARY, ...leave(later));
  assert.equal(ledUntil(demoted), later);
  const follow: Step = { do: "update-primary", joined: joining(2) };
  assert.equal(ledUntil(run(demoted, follow, { do: "forget-primary" })), later);
  assert.equal(ledUntil(run(demoted, follow, { do: "rewound" })), null);
  const fenced = run(PRIMARY, { do: "fence", epoch: epoch(2, "b", "50"), at: AT });
  assert.equal(ledUntil(fenced), AT);
  const again = run(fenced, { do: "fence", epoch: epoch(3, "c", "60"), at: later });
  assert.equal(ledUntil(again), AT); // the first time
  assert.equal(ledUntil(run(again, ...leave(later))), AT);
  assert.equal(ledUntil(SECONDARY), null);
  assert.equal(ledUntil(DISABLED), null);
});

test("where epochs of what is shared began is known of all that were heard of, and of none that was refuted", () => {
  const steps: readonly Step[] = [
    { do: "heard", epoch: epoch(2, "b", "10"), known: [] },
    { do: "update-primary", joined: { ...joining(3), epoch: epoch(3, "c", "20") } },
    { do: "promoting", promoting: { address: "", logEpoch: 0 } },
    { do: "promote", cluster: "d", first: "30" },
    { do: "demote" },
    { do: "demoted", final: "40", at: AT },
    { do: "superseded", epoch: epoch(9, "e", "35") },
  ];
  const known = steps.map((_, i) => {
    const role = steps
      .slice(0, i + 1)
      .reduce((now, step) => after(now, step, "performance"), SECONDARY);
    assert.ok(role.mode !== "disabled");
    return forksOf(role)
      .map(({ number, first }) => `${number}:${first}`)
      .join(" ");
  });
  const promoted = "2:10 3:20 4:30";
  assert.deepEqual(known, [
    "2:10",
    "2:10 3:20",
    "2:10 3:20",
    promoted,
    promoted,
    promoted,
    `${promoted} 9:35`,
  ]);
  const misled = after(SECONDARY, { do: "superseded", epoch: epoch(9, "e", "35") }, "performance");
  const back = after(misled, { do: "refuted", epoch: epoch(1) }, "performance");
  assert.ok(back.mode !== "disabled");
  assert.deepEqual(forksOf(back), []);
});

test("a restore begins an epoch for who leads, with the log that it begins, and for nobody else", () => {
  const step: Step = { do: "restored", first: "50" };
  const led: Role = {
    mode: "primary",
    set: "set",
    epoch: epoch(2, "a", "10"),
    address: "",
    own: "5",
    fenced: null,
  };
  const { own: _, ...rest } = led;
  assert.deepEqual(after(led, step, "performance"), {
    ...rest,
    epoch: epoch(3, "a", "50"),
    forks: [{ number: 2, first: "10" }],
  });
  const others: Role[] = [{ mode: "disabled" }, SECONDARY, { ...led, fenced: epoch(4, "b", "20") }];
  for (const role of others) assert.deepEqual(after(role, step, "performance"), role);
});

test("every step from every role: where it leads, or why it leads nowhere", () => {
  const table = (role: Role) =>
    Object.fromEntries(STEPS.map((step) => [step.do, codeOf(role, step)]));
  const primary = "replication-not-primary";
  const secondary = "replication-not-secondary";
  assert.deepEqual(table(DISABLED), {
    "enable-primary": "primary",
    demote: primary,
    demoted: primary,
    "disable-primary": primary,
    fence: primary,
    join: "secondary",
    promoting: secondary,
    stay: secondary,
    promote: secondary,
    "update-primary": secondary,
    "move-primary": secondary,
    "forget-primary": secondary,
    "disable-secondary": secondary,
    copied: secondary,
    rewound: secondary,
    ended: secondary,
    superseded: secondary,
    heard: secondary,
  });
  assert.deepEqual(table(PRIMARY), {
    ...table(DISABLED),
    "enable-primary": "replication-primary-already",
    demote: "demoting",
    "disable-primary": "disabled",
    fence: "primary",
    join: "replication-role-taken",
  });
  assert.deepEqual(table(SECONDARY), {
    "enable-primary": "replication-promote-instead",
    demote: primary,
    demoted: primary,
    "disable-primary": primary,
    fence: primary,
    join: "replication-role-taken",
    promoting: "secondary",
    stay: "secondary",
    promote: "replication-role-changing", // it is said before, so that a crash in between is known for what it is
    "update-primary": "secondary",
    "move-primary": "secondary",
    "forget-primary": "secondary",
    "disable-secondary": "disabled",
    copied: "secondary",
    rewound: "secondary",
    ended: "secondary",
    superseded: "secondary",
    heard: "secondary",
  });
  const demoting = table(after(PRIMARY, { do: "demote" }));
  const { demoted, join, "enable-primary": enabled, ...others } = demoting;
  assert.deepEqual(
    [demoted, join, enabled],
    ["secondary", "replication-role-taken", "replication-primary-already"],
  );
  assert.deepEqual(new Set(Object.values(others)), new Set(["replication-role-changing"]));
});

test("a demoted primary has no primary, keeps its set, and knows where its log ended", () => {
  const demoted = after(after(PRIMARY, { do: "demote" }), { do: "demoted", final: "9", at: AT });
  assert.deepEqual(demoted, {
    mode: "secondary",
    set: SET,
    epoch: epoch(1, "a", "7"),
    id: "",
    address: "",
    known: null,
    copied: true,
    final: "9",
    led: true,
    mayRewind: false,
    promoting: null,
  });
  assert.equal(
    codeOf(demoted, { do: "move-primary", address: "x" }),
    "replication-primary-unknown",
  );
});

test("a token of the primary lets a secondary give up what only it has; a connection does not", () => {
  const moved = after(SECONDARY, { do: "update-primary", joined: joining(2) });
  assert.equal(moved.mode === "secondary" && moved.mayRewind, true);
  const heard = after(SECONDARY, { do: "heard", epoch: epoch(2), known: [] });
  assert.equal(heard.mode === "secondary" && heard.mayRewind, false);
  for (const step of [{ do: "copied" }, { do: "rewound" }] as const) {
    const done = after(moved, step);
    assert.equal(done.mode === "secondary" && done.mayRewind, false, step.do);
  }
});

test("a primary that was superseded, or one of another set, is refused", () => {
  const heard = after(SECONDARY, { do: "heard", epoch: epoch(3), known: [] });
  for (const step of [
    { do: "update-primary", joined: joining(2) },
    { do: "heard", epoch: epoch(2), known: [] },
  ] as const) {
    assert.equal(codeOf(heard, step), "replication-epoch-superseded", step.do);
  }
  const other = joining(4, "5f3d2c10-0000-4000-8000-0000000000bb");
  assert.equal(codeOf(heard, { do: "update-primary", joined: other }), "replication-other-set");
});

test("a secondary that was promoted begins the next epoch of its set", () => {
  const heard = after(SECONDARY, { do: "heard", epoch: epoch(3, "a", "4"), known: [] });
  const promoting = after(heard, {
    do: "promoting",
    promoting: { address: "https://b:8201", logEpoch: 3 },
  });
  assert.deepEqual(after(promoting, { do: "promote", cluster: "b", first: "10" }), {
    mode: "primary",
    set: SET,
    epoch: epoch(4, "b", "10"),
    address: "https://b:8201",
    fenced: null,
  });
  const step = { do: "promote", cluster: "b", first: "10" } as const;
  const refused = after(promoting, { ...step, isRefused: true });
  assert.ok(refused.mode === "primary" && refused.rival === "a", "it may go on beside this one");
  const demoted = after(after(refused, { do: "demote" }), { do: "demoted", final: "12", at: AT });
  assert.ok(!("rival" in demoted));
  assert.deepEqual(after(promoting, { do: "stay" }), heard);
});

test("a fenced primary follows, hears of no earlier epoch, and takes the later one along when it is demoted", () => {
  const fenced = after(PRIMARY, { do: "fence", epoch: epoch(2, "b", "8"), at: AT });
  assert.equal(follows(PRIMARY), false);
  assert.equal(follows(fenced), true);
  assert.equal(
    codeOf(fenced, { do: "fence", epoch: epoch(2, "b", "8"), at: AT }),
    "replication-epoch-superseded",
  );
  assert.equal(
    codeOf(fenced, { do: "fence", epoch: epoch(1, "b", "8"), at: AT }),
    "replication-epoch-superseded",
  );
  const demoted = after(after(fenced, { do: "demote" }), { do: "demoted", final: "9", at: AT });
  assert.deepEqual(demoted.mode === "secondary" && demoted.epoch, epoch(2, "b", "8"));
  assert.ok(demoted.mode === "secondary" && demoted.final === null, "the log of the other goes on");
});

test("a later epoch has no end yet", () => {
  const ended = after(SECONDARY, { do: "ended", final: "12" });
  const same = after(ended, { do: "heard", epoch: epoch(1), known: [] });
  assert.equal(same.mode === "secondary" && same.final, "12");
  const next = after(ended, { do: "heard", epoch: epoch(2), known: [] });
  assert.equal(next.mode === "secondary" && next.final, null);
  const other = after(ended, { do: "superseded", epoch: epoch(2, "c") });
  assert.equal(other.mode === "secondary" && other.final, null);
});

test("an epoch comes next that is later, and by no more than promotions may have gone by unheard", () => {
  assert.ok(isNext(epoch(2), epoch(3)) && isNext(epoch(2, "b"), epoch(2, "a")));
  assert.ok(isNext(epoch(2), epoch(1002)));
  assert.ok(!isNext(epoch(2), epoch(1003)), "nothing could come after a forgery");
  assert.ok(!isNext(epoch(2), epoch(2)) && !isNext(epoch(3), epoch(2)));
});

test("the latest epoch is the same in whatever order they are heard of, and none that is too far ahead of one's own", () => {
  const all: fc.Arbitrary<Epoch | null> = fc.oneof(
    fc.constant(null),
    fc
      .tuple(
        fc.integer({ min: 1, max: 2200 }),
        fc.constantFrom("a", "b"),
        fc.constantFrom("1", "9"),
      )
      .map(([number, cluster, first]) => epoch(number, cluster, first)),
  );
  fc.assert(
    fc.property(fc.array(all, { maxLength: 6 }), (known) => {
      const own = epoch(1);
      const found = latestOf(own, known);
      assert.deepEqual(latestOf(own, known.toReversed()), found);
      const next = known.filter((one) => one !== null && isNext(own, one));
      assert.equal(found === null, next.length === 0);
      assert.ok(next.every((one) => found === null || !isOlder(found, one!)));
    }),
  );
  const [near, far] = [epoch(2), epoch(1002)];
  assert.deepEqual(latestOf(epoch(1), [near, far]), near);
  assert.deepEqual(latestOf(epoch(1), [far, near]), near);
});

test("of two epochs that are not the same, one is older: all clusters agree which", () => {
  const some = fc.record({
    number: fc.integer({ min: 1, max: 3 }),
    cluster: fc.constantFrom("a", "b", "c"),
    first: fc.constantFrom("2", "10", "11"),
  });
  fc.assert(
    fc.property(some, some, some, (x, y, z) => {
      const same = x.number === y.number && x.first === y.first && x.cluster === y.cluster;
      assert.equal(Number(isOlder(x, y)) + Number(isOlder(y, x)), same ? 0 : 1);
      if (isOlder(x, y) && isOlder(y, z)) assert.ok(isOlder(x, z));
    }),
  );
  assert.ok(isOlder(epoch(2, "a", "9"), epoch(2, "b", "10")), "who knew more of the log wins");
  assert.ok(isOlder(epoch(2, "b", "9"), epoch(2, "a", "9")), "then the name");
});

test("one that has heard of a later primary takes nothing from its own any more, until that leads later still or another is followed", () => {
  const later = epoch(2, "c", "8");
  const heardOf = after(SECONDARY, { do: "superseded", epoch: later });
  assert.deepEqual(heardOf, { ...SECONDARY, epoch: later, superseded: true });
  const known = ["https://a2:8201"];
  const heard = (number: number, cluster = "a") =>
    ({ do: "heard", epoch: epoch(number, cluster, "8"), known }) as const;
  assert.equal(codeOf(heardOf, heard(1)), "replication-epoch-superseded");
  assert.equal(codeOf(heardOf, { do: "superseded", epoch: later }), "replication-epoch-superseded");
  const token = { do: "update-primary", joined: joining(1) } as const;
  assert.equal(codeOf(heardOf, token), "replication-epoch-superseded");
  assert.deepEqual(after(heardOf, heard(2, "c")), { ...heardOf, known }); // where it is, and nothing else
  assert.deepEqual(after(heardOf, heard(3)), { ...SECONDARY, epoch: epoch(3, "a", "8"), known });
  const alone = after(heardOf, { do: "forget-primary" });
  assert.ok(alone.mode === "secondary" && alone.superseded === true, "it knows it still");
  const moved = after(heardOf, { do: "update-primary", joined: joining(9) });
  assert.ok(moved.mode === "secondary" && moved.superseded === undefined);
  const promoted = after(
    after(heardOf, { do: "promoting", promoting: { address: "", logEpoch: 1 } }),
    { do: "promote", cluster: "b", first: "10" },
  );
  assert.ok(promoted.mode === "primary" && promoted.epoch.number === 3);
});
