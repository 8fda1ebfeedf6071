import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { FakeClock, FakeTimers, nextTurn } from "../../../tests/support/fake-world.ts";
import { Evacuations, type Heard } from "./evacuated.ts";
import type { Evacuation } from "./messages.ts";

const LEAVING = { mount: "m", move: "" };

function said(left: number, more: Partial<Evacuation> = {}): Evacuation[] {
  return [{ ...LEAVING, left, isDone: left === 0, ...more }];
}

function stage(...members: Heard[]) {
  const timers = new FakeTimers(new FakeClock());
  const heard = new Map(members.map((one) => [one.id, one]));
  const evacuations = new Evacuations(() => [...heard.values()], timers);
  const tell = (id: string, change: Partial<Heard>) => {
    heard.set(id, { ...heard.get(id)!, ...change });
    evacuations.heard();
  };
  const state = { missing: null as readonly string[] | null };
  const wait = async (signal = new AbortController().signal) => {
    const { missing } = await evacuations.done(LEAVING, signal);
    state.missing = missing;
  };
  return { timers, evacuations, tell, wait, state };
}

const at = (id: string, evacuations: Heard["evacuations"] = [], isConnected = true): Heard => ({
  id,
  isConnected,
  evacuations,
});

async function turns(): Promise<void> {
  for (let i = 0; i < 10; i++) await nextTurn();
}

test("it waits for everyone that is connected, and counts what they have left", async () => {
  const { evacuations, tell, wait, state } = stage(at("b"), at("c"));
  const waiting = wait();
  tell("b", { evacuations: said(3) });
  tell("c", { evacuations: said(2) });
  assert.equal(evacuations.leftOf(LEAVING), 5);
  tell("b", { evacuations: said(0) });
  await turns();
  assert.equal(state.missing, null);
  tell("c", { evacuations: said(0) });
  await waiting;
  assert.deepEqual(state.missing, []);
});

test("that another move of the mount, or another mount, is done says nothing of this one", async () => {
  const { tell, wait, state } = stage(at("b"));
  const waiting = wait();
  tell("b", { evacuations: said(0, { move: "earlier" }) });
  tell("b", { evacuations: said(0, { mount: "other" }) });
  await turns();
  assert.equal(state.missing, null);
  tell("b", { evacuations: said(0) });
  await waiting;
  assert.deepEqual(state.missing, []);
});

test("nobody waits for one that is away, goes away meanwhile, or has its first copy before it; who may have something is named", async () => {
  const { timers, tell, wait, state } = stage(at("away", [], false), at("new", null), at("b"));
  const waiting = wait();
  await turns();
  assert.equal(state.missing, null);
  tell("b", { isConnected: false });
  await timers.advance(SECOND);
  await waiting;
  assert.deepEqual(state.missing, ["away", "b"]);
});

test("that one is not heard of any more is seen without a word from anybody", async () => {
  const timers = new FakeTimers(new FakeClock());
  let isConnected = true;
  const evacuations = new Evacuations(() => [at("b", [], isConnected)], timers);
  const waiting = evacuations.done(LEAVING, new AbortController().signal);
  await timers.advance(3n * SECOND);
  isConnected = false;
  await timers.advance(SECOND);
  assert.deepEqual(await waiting, { missing: ["b"] });
});

test("after five minutes it goes on, and names who is not done", async () => {
  const { timers, tell, wait, state } = stage(at("b"));
  const waiting = wait();
  tell("b", { evacuations: said(1) });
  await timers.advance(5n * MINUTE - SECOND);
  await turns();
  assert.equal(state.missing, null);
  await timers.advance(SECOND);
  await waiting;
  assert.deepEqual(state.missing, ["b"]);
});

test("it ends with the work that waits for it", async () => {
  const { wait, state } = stage(at("b"));
  const stop = new AbortController();
  const waiting = wait(stop.signal);
  stop.abort();
  await waiting;
  assert.deepEqual(state.missing, ["b"]);
});
