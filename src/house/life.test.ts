// The order in which rooms live, and what becomes of it when one of them cannot.

import assert from "node:assert/strict";
import test from "node:test";
import { HouseLife } from "./life.ts";
import type { JobTime, Room, RoomLife } from "./room.ts";

const DRAINED = { drained: async () => {} };

class Stage {
  readonly steps: string[] = [];

  /** A room that tells of every moment. */
  room(name: string, more: RoomLife = {}): Room {
    const tell = (moment: string) => async () => void this.steps.push(`${name} ${moment}`);
    const job = (when: JobTime) => ({
      name: when,
      when,
      work: {
        open: () => void this.steps.push(`${name} begins ${when}`),
        close: tell(`ends ${when}`),
      },
    });
    return {
      name,
      endpoints: [],
      open: tell("opens"),
      lead: tell("leads"),
      rest: tell("rests"),
      close: tell("closes"),
      jobs: [job("while-active"), job("while-primary"), job("always")],
      ...more,
    };
  }

  take(): string[] {
    return this.steps.splice(0);
  }
}

test("rooms open and lead in order, rest and close in the opposite one; jobs run while all of them lead", async () => {
  const stage = new Stage();
  const life = new HouseLife([stage.room("a"), stage.room("b")]);
  await life.open();
  const always = ["a begins always", "b begins always"];
  assert.deepEqual(stage.take(), ["a opens", "b opens", ...always]);
  await life.lead({ primary: true });
  assert.equal(life.leading, true);
  assert.deepEqual(stage.take(), [
    "a leads",
    "b leads",
    "a begins while-active",
    "a begins while-primary",
    "b begins while-active",
    "b begins while-primary",
  ]);
  await life.rest(DRAINED);
  assert.equal(life.leading, false);
  assert.deepEqual(stage.take(), [
    "b ends while-primary",
    "b ends while-active",
    "a ends while-primary",
    "a ends while-active",
    "b rests",
    "a rests",
  ]);
  await life.close();
  assert.deepEqual(stage.take(), ["b ends always", "a ends always", "b closes", "a closes"]);
});

test("what is for the primary of shared data does not run elsewhere", async () => {
  const stage = new Stage();
  const life = new HouseLife([stage.room("a")]);
  await life.open();
  await life.lead({ primary: false });
  assert.ok(stage.steps.includes("a begins while-active"));
  assert.ok(!stage.steps.includes("a begins while-primary"));
});

test("one that cannot open or lead: those before it go back, and its cause is told", async () => {
  const fails = async () => {
    throw new Error("no");
  };
  const stage = new Stage();
  const shut = new HouseLife([stage.room("a"), stage.room("b", { open: fails }), stage.room("c")]);
  await assert.rejects(shut.open(), /^Error: no$/);
  assert.deepEqual(stage.take(), ["a opens", "a closes"]);
  const life = new HouseLife([stage.room("a"), stage.room("b", { lead: fails, jobs: [] })]);
  await life.open();
  stage.take();
  await assert.rejects(life.lead({ primary: true }), /^Error: no$/);
  assert.equal(life.leading, false);
  assert.deepEqual(stage.take(), [
    "a leads",
    "a ends while-primary",
    "a ends while-active",
    "a rests",
  ]);
});

test("after one that cannot lead, those that did rest in the opposite order", async () => {
  const stage = new Stage();
  const fails = async () => {
    throw new Error("no");
  };
  const room = (name: string) => stage.room(name, { jobs: [] });
  const last = stage.room("c", { lead: fails, jobs: [] });
  const life = new HouseLife([room("a"), room("b"), last, room("d")]);
  await life.open();
  stage.take();
  await assert.rejects(life.lead({ primary: true }), /^Error: no$/);
  assert.deepEqual(stage.take(), ["a leads", "b leads", "b rests", "a rests"]);
});

test("requests that wait are answered first, then waited for, and one that rests badly keeps nobody from it", async () => {
  const stage = new Stage();
  const interrupt = () => void stage.steps.push("a interrupts");
  const rest = async () => {
    throw new Error("no");
  };
  const life = new HouseLife([
    stage.room("a", { interrupt, jobs: [] }),
    stage.room("b", { rest, jobs: [] }),
  ]);
  await life.open();
  await life.lead({ primary: true });
  stage.take();
  const drained = async () => void stage.steps.push("drained");
  await assert.rejects(life.rest({ drained }), /^Error: no$/);
  assert.deepEqual(stage.take(), ["a interrupts", "drained", "a rests"]);
  await life.rest({ drained });
  assert.deepEqual(stage.take(), ["a interrupts", "drained"], "it rests already");
});

test("where the data is another cluster's, those live that have something to do there", async () => {
  const stage = new Stage();
  const life = new HouseLife([
    stage.room("a", { whileFollowing: "leads" }),
    stage.room("b"),
    stage.room("c", { whileFollowing: "opens" }),
  ]);
  await life.open({ following: true });
  assert.deepEqual(stage.take(), ["a opens", "c opens", "a begins always", "c begins always"]);
  await life.lead({ primary: true, following: true });
  assert.deepEqual(stage.take(), ["a leads", "a begins while-active"]);
  await life.rest(DRAINED);
  assert.deepEqual(stage.take(), ["a ends while-primary", "a ends while-active", "a rests"]);
  await life.close();
  const closed = ["c ends always", "a ends always", "c closes", "a closes"];
  assert.deepEqual(stage.take(), closed);
});

test("when the data is no longer to be changed, those rest that would, and everything stays open", async () => {
  const stage = new Stage();
  const life = new HouseLife([
    stage.room("a", { whileFollowing: "leads" }),
    stage.room("b"),
    stage.room("c", { whileFollowing: "opens" }),
  ]);
  await life.open();
  await life.lead({ primary: true });
  stage.take();
  await life.yield();
  assert.equal(life.leading, true);
  assert.deepEqual(stage.take(), [
    "c ends while-primary",
    "c ends while-active",
    "b ends while-primary",
    "b ends while-active",
    "a ends while-primary",
    "c rests",
    "b rests",
  ]);
  await life.yield();
  await life.rest(DRAINED);
  const rested = stage.take().filter((step) => step.endsWith("rests"));
  assert.deepEqual(rested, ["a rests"], "each rests once");
});

test("from following to leading: the others open and lead, what was looked at is loaded anew; and back", async () => {
  const stage = new Stage();
  const room = (name: string, more: RoomLife) => stage.room(name, { jobs: [], ...more });
  const life = new HouseLife([
    stage.room("a", { whileFollowing: "leads" }),
    room("b", {}),
    room("c", { whileFollowing: "opens" }),
  ]);
  await life.open({ following: true });
  await life.lead({ primary: true, following: true });
  stage.take();
  await life.takeOver({ primary: true });
  assert.deepEqual(stage.take(), [
    "c closes",
    "b opens",
    "c opens",
    "b leads",
    "c leads",
    "a begins while-primary",
  ]);
  await life.yield();
  assert.deepEqual(stage.take(), ["a ends while-primary", "c rests", "b rests"]);
  await life.leave();
  assert.deepEqual(stage.take(), ["b closes"]);
  await life.rest(DRAINED);
  await life.close();
  const ends = stage.take().filter((step) => /(rests|closes)$/.test(step));
  assert.deepEqual(ends, ["a rests", "c closes", "a closes"]);
});

test("one that cannot take over: all of them go back, and those that led go on", async () => {
  const stage = new Stage();
  const fails = async () => {
    throw new Error("no");
  };
  const life = new HouseLife([
    stage.room("a", { whileFollowing: "leads", jobs: [] }),
    stage.room("b", { jobs: [] }),
    stage.room("c", { jobs: [], lead: fails }),
  ]);
  await life.open({ following: true });
  await life.lead({ primary: true, following: true });
  stage.take();
  await assert.rejects(life.takeOver({ primary: true }), /^Error: no$/);
  assert.deepEqual(stage.take(), [
    "b opens",
    "c opens",
    "b leads",
    "b rests",
    "c closes",
    "b closes",
  ]);
  assert.equal(life.leading, true);
  await life.rest(DRAINED);
  await life.close();
  assert.deepEqual(stage.take(), ["a rests", "a closes"]);
});
