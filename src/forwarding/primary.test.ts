import assert from "node:assert/strict";
import test from "node:test";
import type { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { PeerLink } from "../cluster/peer-link.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { noPrimary } from "./failures.ts";
import { ask, findToken, type ForwardedRequest, forward, takeUse } from "./messages.ts";
import { callsOver } from "./primary.ts";

const { signal } = new AbortController();
const REQUEST = { id: "x" } as ForwardedRequest;

type Called = readonly [path: string, request: unknown, options: unknown];

function over(answer: () => Promise<unknown> = async () => ({ isTaken: true })) {
  const called: Called[] = [];
  const link = {
    closed: new Promise<void>(() => {}),
    call: (method: { readonly path: string }, request: unknown, options: unknown) => {
      called.push([method.path, request, options]);
      return answer();
    },
  } as unknown as PeerLink;
  return { called, ...callsOver(() => link) };
}

const failing = (status: number, isSaid: boolean) => async () => {
  throw new StatusError(status, "", { isSaid });
};

function code(expected: string) {
  return (error: Failure) => error.code === expected;
}

test("what names the region goes by one method, what is written there by the other", async () => {
  const { call, called } = over();
  await call(REQUEST, signal, false);
  await call(REQUEST, signal, true);
  assert.deepEqual(called, [
    [forward.path, REQUEST, { signal }],
    [ask.path, REQUEST, { signal }],
  ]);
});

test("a use is asked for with what the engine says, for ten seconds; a token by its hash, as long as somebody waits", async () => {
  const { takeUse: take, called } = over();
  assert.equal(await take("m", { id: "r" }), true);
  const knowing = over(async () => ({ isKnown: true, shared: 7n }));
  assert.equal(await knowing.knows("h", "192.0.2.7", signal), 7n);
  const unknown = over(async () => ({ isKnown: false, shared: 7n }));
  assert.equal(await unknown.knows("h", "192.0.2.7", signal), null);
  assert.deepEqual(called, [
    [takeUse.path, { mount: "m", what: '{"id":"r"}' }, { timeout: 10n * SECOND }],
  ]);
  assert.deepEqual(knowing.called, [[findToken.path, { hash: "h" }, { signal }]]);
});

test("what was refused before anybody looked at it was not done; of anything else nobody knows", async () => {
  const notTaken: readonly number[] = [
    Status.unimplemented,
    Status.permissionDenied,
    Status.unauthenticated,
    Status.resourceExhausted,
    Status.invalidArgument,
    Status.failedPrecondition,
  ];
  for (const status of Object.values(Status)) {
    if (status === Status.ok) continue;
    for (const isSaid of [true, false]) {
      const isNotTaken = isSaid && notTaken.includes(status);
      const expected = code(isNotTaken ? "primary-unreachable" : "primary-lost");
      const { call, takeUse: take, knows } = over(failing(status, isSaid));
      await assert.rejects(call(REQUEST, signal, false), expected);
      await assert.rejects(take("m", {}), expected);
      await assert.rejects(knows("h", "192.0.2.7", signal), expected);
    }
  }
});

test("without a link nothing is sent, and what is known of the reason is told", async () => {
  const closed = { closed: null } as unknown as PeerLink;
  for (const link of [null, closed]) {
    const { call, takeUse: take } = callsOver(() => link);
    await assert.rejects(call(REQUEST, signal, false), code("primary-unreachable"));
    await assert.rejects(take("m", {}), code("primary-unreachable"));
    const explained = callsOver(() => link, noPrimary);
    await assert.rejects(explained.call(REQUEST, signal, true), code("no-primary"));
  }
});

test("who has gone hears its own reason, and nothing of the primary", async () => {
  const leaving = new AbortController();
  const { call } = over(async () => {
    leaving.abort(new Error("gone"));
    throw new StatusError(Status.cancelled, "");
  });
  await assert.rejects(call(REQUEST, leaving.signal, false), /^Error: gone$/);
});

test("nobody who shows tokens that nobody knows has all the places of those questions", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { knows, called } = over(() => promise);
  const all = ["192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.7", "198.51.100.9"].map(
    (address, i) => knows(`h${i}`, address, signal),
  );
  await new Promise(setImmediate);
  const hashes = called.map(([, request]) => (request as { readonly hash: string }).hash);
  assert.deepEqual(hashes, ["h0", "h1", "h2", "h4"]);
  resolve({ isKnown: false, shared: 1n });
  assert.deepEqual(await Promise.all(all), [null, null, null, null, null]);
});

test("who leaves the line of those questions hears its own reason at once, and nothing is asked for it", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { knows, called } = over(() => promise);
  const places = [1, 2, 3].map((n) => knows(`h${n}`, "192.0.2.7", signal));
  const leaving = new AbortController();
  const waiting = knows("h4", "192.0.2.7", leaving.signal);
  leaving.abort(new Error("gone"));
  await assert.rejects(waiting, /^Error: gone$/);
  resolve({ isKnown: false, shared: 1n });
  await Promise.all(places);
  await new Promise(setImmediate);
  assert.equal(called.length, 3);
});
