// How many calls one process of a plugin has at a time, and what becomes of those that wait.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Channel, Shape } from "@holdfast/shared/grpc/method";
import { StatusError } from "@holdfast/shared/grpc/status";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { UnsentCall } from "../ports.ts";
import { Calls, MAX_CALL_BYTES, MAX_CALLS } from "./calls.ts";

const MIB = 2 ** 20;
const MAX_WAITING = 1024;
const SHAPE: Shape = {
  path: "/of.a/Test",
  kind: "unary",
  maxRequest: MIB,
  maxResponse: MIB,
  atOnce: 1,
};

/** A plugin that answers when the test wants it to, and notes what comes. */
function plugin() {
  const begun: { readonly bytes: number; readonly answer: () => void }[] = [];
  const state = { isOpen: true };
  const channel: Channel & { readonly isOpen: boolean } = {
    get isOpen() {
      return state.isOpen;
    },
    exchange: async function* (_shape, requests) {
      let bytes = 0;
      for await (const message of requests) bytes += message.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      begun.push({ bytes, answer: resolve });
      await promise;
      yield new Uint8Array();
    },
  };
  const calls = new Calls({
    channel,
    clock: { elapsed: () => 0n },
    suspect: () => {},
    over: Promise.resolve(),
  });
  const call = async (bytes = 1, signal?: AbortSignal): Promise<string> => {
    async function* request() {
      yield new Uint8Array(bytes);
    }
    try {
      for await (const _ of calls.of(null).exchange(SHAPE, request(), signal && { signal }));
      return "answered";
    } catch (error) {
      assert.ok(error instanceof StatusError, String(error));
      return `${error instanceof UnsentCall ? "unsent" : "sent"}: ${error.message}`;
    }
  };
  return { begun, state, calls, call };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await nextTurn();
}

async function soon(answer: Promise<string>): Promise<string> {
  return await Promise.race([answer, settle().then(() => "nothing yet")]);
}

test("a process has 256 calls at a time; the others wait in their order, and so many that more are refused", async () => {
  assert.equal(MAX_CALLS, 256);
  const { begun, calls, call } = plugin();
  const all = Array.from({ length: MAX_CALLS + MAX_WAITING }, () => call());
  await settle();
  assert.deepEqual([begun.length, calls.underWay], [256, 256]);
  assert.match(await soon(call()), /^unsent: .*too many calls wait for the plugin/);
  begun[0]?.answer();
  assert.equal(await all[0], "answered");
  await settle();
  assert.deepEqual([begun.length, calls.underWay], [257, 256]);
  const gone = new AbortController();
  const last = call(1, gone.signal);
  await settle();
  gone.abort();
  assert.match(await last, /^unsent: .*cancelled/);
  for (let at = 1; at < all.length; at++) {
    begun[at]?.answer();
    if (begun.length <= at + 1) await settle();
  }
  assert.deepEqual(new Set(await Promise.all(all)), new Set(["answered"]));
  assert.equal(calls.underWay, 0);
});

test("a process has 64 MiB of calls at a time, and one that is larger by itself alone", async () => {
  assert.equal(MAX_CALL_BYTES, 64 * MIB);
  const { begun, calls, call } = plugin();
  const half = call(32 * MIB);
  const other = call(32 * MIB);
  const small = call(1);
  await settle();
  assert.equal(calls.bytes, 64 * MIB);
  assert.equal(begun.length, 2, "there is no room for another byte");
  begun[0]?.answer();
  await half;
  await settle();
  assert.deepEqual(
    begun.map(({ bytes }) => bytes),
    [32 * MIB, 32 * MIB, 1],
  );
  for (const one of begun) one.answer();
  await Promise.all([other, small]);
  const large = call(65 * MIB);
  const next = call(1);
  await settle();
  assert.equal(begun.length, 4, "nobody else is beside it");
  begun[3]?.answer();
  await large;
  await settle();
  begun[4]?.answer();
  assert.equal(await next, "answered");
});

test("whoever waits for a process that ends has sent it nothing", async () => {
  const { begun, state, calls, call } = plugin();
  const all = Array.from({ length: MAX_CALLS + 1 }, () => call());
  await settle();
  state.isOpen = false;
  calls.close();
  assert.equal(begun.length, MAX_CALLS);
  assert.match(await all.at(-1)!, /^unsent: .*the plugin has ended/);
  for (const one of begun) one.answer();
  await Promise.all(all);
});
