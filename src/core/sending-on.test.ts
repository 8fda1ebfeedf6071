import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY } from "@holdfast/shared/bytes";
import type { Failure } from "@holdfast/shared/failure";
import { reply } from "@holdfast/shared/endpoint/reply";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { SystemClock } from "../system/clock.ts";
import type { RequestState } from "./request-state.ts";
import type { PrimaryCluster, SentRequest } from "./seams.ts";
import { SendingOn } from "./sending-on.ts";

const CALLER: Caller = {
  accessor: "11111111-2222-4333-8444-555555555555",
  type: "client",
  name: "",
  policies: ["p"],
  namespace: ROOT_NAMESPACE,
  global: false,
  created: 0n,
  expires: null,
};

/** A request of a token that this cluster alone knows, which sends it on. */
function stage({ now = CALLER as Caller | null, signal = new AbortController().signal } = {}) {
  const sent: SentRequest[] = [];
  let watched = 0;
  const primary: PrimaryCluster = {
    isTorn: false,
    whole: async () => true,
    region: "a",
    send: async (request) => {
      sent.push(request);
      assert.equal(watched, 1);
      return { reply: reply({ done: true }), written: 9n };
    },
  };
  const sending = new SendingOn({
    elsewhere: { primary, isStale: false, lacksRoom: false },
    governance: { headers: () => [] },
    node: { index: 7n },
    tokens: {
      find: () => now,
      onChange: () => {
        watched++;
        return () => void watched--;
      },
    },
    namespaces: {},
    clock: new SystemClock(),
  } as unknown as ConstructorParameters<typeof SendingOn>[0]);
  const incoming = { credential: "x", signal, target: "/kv/s", hasBody: false, remote: {} };
  const state = {
    incoming,
    caller: CALLER,
    namespace: ROOT_NAMESPACE,
    mount: null,
    endpoint: null,
    query: new Map(),
    meant: { method: "POST" },
    recalled: false,
  } as unknown as RequestState;
  const send = () => sending.send(state, primary, {}, {} as Parameters<SendingOn["send"]>[3]);
  return { send, sent, state, watched: () => watched };
}

test("who is vouched for is watched as long as its request is with the primary", async () => {
  const { send, sent, state, watched } = stage();
  assert.deepEqual((await send()).data, { done: true });
  assert.equal(sent[0]?.attested, CALLER);
  assert.deepEqual(sent[0].body, EMPTY);
  assert.equal(state.writtenThere, 9n);
  assert.equal(watched(), 0);
});

test("a token that has ended, or has other policies, before its request goes is not vouched for", async () => {
  const gone = stage({ now: null });
  await assert.rejects(gone.send(), (error: Failure) => error.code === "invalid-token");
  const changed = stage({ now: { ...CALLER, policies: ["p", "q"] } });
  await assert.rejects(changed.send(), (error: Failure) => error.code === "vouched-rights-changed");
  for (const { sent, watched } of [gone, changed]) assert.deepEqual([sent, watched()], [[], 0]);
});

test("nothing goes for who has left", async () => {
  const { send, sent, watched } = stage({ signal: AbortSignal.abort(new Error("gone")) });
  await assert.rejects(send(), /gone/);
  assert.deepEqual([sent, watched()], [[], 0]);
});
