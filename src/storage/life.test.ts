// Every step from every state: where it leads, what stays held, and how it is refused.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import { assertLeads, assertUp, begin, changeRole, type Event, heldOf } from "./life.ts";
import { isInitialised, isLocked, Life, type State, step } from "./life.ts";

type H = "held";
const done = Promise.resolve();
const cause = new Error("the disk is gone");

const STATES = {
  absent: { at: "absent" },
  creating: { at: "creating", held: "held" },
  locked: { at: "locked", held: null },
  unlocked: { at: "unlocked", held: "held" },
  locking: { at: "locking", held: "held", done },
  lost: { at: "lost", cause, initialised: true, held: "held" },
  closed: { at: "closed", initialised: true, held: "held" },
} as const satisfies Record<string, State<H>>;
type Name = keyof typeof STATES;

const EVENTS = {
  create: { do: "create", held: "held" },
  created: { do: "created" },
  abandon: { do: "abandon" },
  find: { do: "find" },
  unlock: { do: "unlock", held: "held" },
  load: { do: "load", held: "held" },
  lock: { do: "lock", done },
  forget: { do: "forget" },
  lose: { do: "lose", cause },
  close: { do: "close" },
} as const satisfies Record<string, Event<H>>;

const bug = "our own mistake";
const same = "same";
const empty = "without what was held";

/** For each event what becomes of each state: another one, the same, or a refusal by its code. */
const TABLE: Record<keyof typeof EVENTS, Record<Name, string>> = {
  create: {
    absent: "creating",
    creating: "already-initialised",
    locked: "already-initialised",
    unlocked: "already-initialised",
    locking: "already-initialised",
    lost: "storage-failed",
    closed: "store-closed",
  },
  created: {
    absent: bug,
    creating: "unlocked",
    locked: bug,
    unlocked: bug,
    locking: bug,
    lost: same,
    closed: same,
  },
  abandon: {
    absent: same,
    creating: "absent",
    locked: same,
    unlocked: same,
    locking: same,
    lost: empty,
    closed: empty,
  },
  find: {
    absent: "locked",
    creating: "locked",
    locked: same,
    unlocked: same,
    locking: same,
    lost: same,
    closed: same,
  },
  unlock: {
    absent: "store-uninitialised",
    creating: "store-uninitialised",
    locked: "unlocked",
    unlocked: bug,
    locking: bug,
    lost: "storage-failed",
    closed: "store-closed",
  },
  load: {
    absent: bug,
    creating: bug,
    locked: "locked",
    unlocked: "unlocked",
    locking: bug,
    lost: bug,
    closed: bug,
  },
  lock: {
    absent: same,
    creating: same,
    locked: same,
    unlocked: "locking",
    locking: same,
    lost: same,
    closed: same,
  },
  forget: {
    absent: same,
    creating: same,
    locked: same,
    unlocked: same,
    locking: "locked",
    lost: empty,
    closed: empty,
  },
  lose: {
    absent: "lost",
    creating: "lost",
    locked: "lost",
    unlocked: "lost",
    locking: "lost",
    lost: same,
    closed: "lost",
  },
  close: {
    absent: "closed",
    creating: "closed",
    locked: "closed",
    unlocked: "closed",
    locking: "closed",
    lost: same,
    closed: same,
  },
};

const names = Object.keys(STATES) as Name[];

for (const [does, row] of Object.entries(TABLE)) {
  for (const name of names) {
    const expected = row[name];
    test(`${does} of what is ${name}: ${expected}`, () => {
      const before: State<H> = STATES[name];
      const take = () => step(before, EVENTS[does as keyof typeof EVENTS]);
      if (expected === bug) return assert.throws(take, InvariantError);
      if (expected === same) return assert.deepEqual(take(), before);
      if (expected === empty) return assert.deepEqual(take(), { ...before, held: null });
      if (!Object.hasOwn(STATES, expected)) {
        return assert.throws(take, (error) => error instanceof Failure && error.code === expected);
      }
      const after = take();
      assert.equal(after.at, expected);
      // What was held stays until it is forgotten or the creation came to nothing.
      const holds = !["absent", "locked"].includes(expected) || does === "load";
      const had = heldOf(before) !== null || ["create", "unlock", "load"].includes(does);
      assert.equal(heldOf(after), holds && had ? "held" : null);
    });
  }
}

test("a store begins absent, or locked if it is there", () => {
  assert.equal(begin(false).at, "absent");
  assert.equal(begin(true).at, "locked");
  assert.equal(new Life<H>(true).state.at, "locked");
});

test("what exists, and what is locked", () => {
  assert.deepEqual(
    names.filter((name) => isInitialised<H>(STATES[name])),
    ["locked", "unlocked", "locking", "lost", "closed"],
  );
  assert.deepEqual(
    names.filter((name) => isLocked<H>(STATES[name])),
    ["absent", "creating", "locked", "locking"],
  );
  for (const at of ["lose", "close"] as const) {
    const begun = step<H>(STATES.creating, EVENTS[at]);
    assert.equal(isInitialised(begun), false, "a creation that is not durable is none");
    assert.equal(isInitialised(step(begun, EVENTS.created)), true);
    assert.equal(isInitialised(step(begun, EVENTS.find)), true);
    assert.equal(isLocked(step(begun, EVENTS.forget)), true);
  }
});

test("only what has ended is not in use, and the first cause is the one told", () => {
  for (const name of names) {
    const use = () => assertUp<H>(STATES[name]);
    if (name === "lost") assert.throws(use, { code: "storage-failed", cause });
    else if (name === "closed") assert.throws(use, { code: "store-closed" });
    else use();
  }
  const again = step<H>(STATES.lost, { do: "lose", cause: new Error("later") });
  assert.throws(() => assertUp(again), { cause });
});

test("a refused step changes nothing", () => {
  const life = new Life<H>(false);
  assert.throws(() => life.step(EVENTS.unlock));
  assert.equal(life.state.at, "absent");
  life.step(EVENTS.create);
  assert.throws(() => life.step(EVENTS.create));
  assert.equal(life.state.at, "creating");
});

test("a locked store that follows holds what it needs, until it does not, or ends", () => {
  const following = step<H>(STATES.locked, EVENTS.load);
  assert.deepEqual(following, { at: "locked", held: "held" });
  assert.ok(isLocked(following));
  assert.equal(heldOf(step<H>(following, { do: "load", held: null })), null);
  assert.equal(heldOf(step(following, EVENTS.unlock)), "held");
  for (const end of [EVENTS.lose, EVENTS.close]) assert.equal(heldOf(step(following, end)), null);
  assert.throws(() => step<H>(STATES.unlocked, { do: "load", held: null }), InvariantError);
});

test("the role changes in every state but creating and the last two", () => {
  for (const name of names) {
    for (const role of ["leading", "following"] as const) {
      const change = () => changeRole<H>(STATES[name], role);
      if (name === "creating") assert.throws(change, { code: "store-uninitialised" });
      else if (name === "lost") assert.throws(change, { code: "storage-failed" });
      else if (name === "closed") assert.throws(change, { code: "store-closed" });
      else assert.equal(change(), role);
    }
  }
});

test("entries of its own are made by who leads and has the key", () => {
  for (const name of names) {
    const open = name === "unlocked" || name === "creating";
    const leads = () => assertLeads<H>(STATES[name], "leading");
    if (open) leads();
    else assert.throws(leads, { code: "store-locked" });
    const code = open ? "store-following" : "store-locked";
    assert.throws(() => assertLeads<H>(STATES[name], "following"), { code });
  }
});

test("who follows creates nothing, and who changes the role keeps the state", () => {
  const life = new Life<H>(false);
  assert.equal(life.role, "leading");
  life.change("following");
  assert.ok(life.following);
  assert.throws(() => life.step(EVENTS.create), { code: "store-following" });
  life.step(EVENTS.find);
  life.step(EVENTS.unlock);
  life.change("leading");
  assert.equal(life.state.at, "unlocked");
  assert.ok(!life.following);
});
