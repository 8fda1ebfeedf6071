import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import type { Failure } from "@holdfast/shared/failure";
import { reply } from "@holdfast/shared/endpoint/reply";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { MINUTE } from "@holdfast/shared/text/duration";
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
function stage({
  now = CALLER as Caller | null,
  signal = new AbortController().signal,
  index = null as bigint | null,
} = {}) {
  const sent: SentRequest[] = [];
  const allowed: bigint[] = [];
  let watched = 0;
  const primary: PrimaryCluster = {
    isTorn: false,
    whole: async () => true,
    region: "a",
    send: async (request) => {
      sent.push(request);
      assert.equal(watched, request.isNamed ? 0 : 1);
      return { reply: reply({ done: true }, index === null ? {} : { index }), written: 9n, by: 2 };
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
  const allow = (time: bigint) => void allowed.push(time);
  const incoming = { credential: "x", signal, target: "/kv/s", hasBody: false, remote: {}, allow };
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
  const pass = (query: ReadonlyMap<string, string>) =>
    sending.pass(Object.assign(state, { query }));
  return { send, pass, sent, allowed, state, watched: () => watched };
}

test("who is vouched for is watched as long as its request is with the primary", async () => {
  const { send, sent, state, watched } = stage();
  assert.deepEqual((await send()).data, { done: true });
  assert.equal(sent[0]?.attested, CALLER);
  assert.deepEqual(sent[0].body, EMPTY);
  assert.deepEqual([state.writtenThere, state.writtenBy], [9n, 2]);
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

test("what names the other region goes as it came, and has time to wait there for a change where it asks for one", async () => {
  for (const [index, mayWait] of [
    ["7", true],
    ["0", false],
    [null, false],
  ] as const) {
    const { pass, sent, allowed } = stage();
    await pass(new Map([["region", "a"], ...(index === null ? [] : [["index", index] as const])]));
    const [{ isNamed, credential, attested, mayWait: waits } = {}] = sent;
    assert.deepEqual([isNamed, credential, attested, waits], [true, "x", null, mayWait]);
    assert.ok(allowed[0]! > 5n * MINUTE);
  }
});

test("lists that wait are told the index of this cluster, and not that of the other", async () => {
  const own = stage({ index: 99n });
  assert.equal((await own.send()).index, 7n);
  assert.equal((await stage().send()).index, null);
});

test("what was put in from a snapshot that is loaded here goes in the place of what came", async () => {
  const { send, sent, state } = stage();
  Object.assign(state, { recalled: true, body: { data: { n: 1 } } });
  await send();
  assert.deepEqual(sent[0]?.body, utf8('{"data":{"n":1}}'));
});

const NOT_HERE = (error: Failure) => error.code === "not-in-region";

/** What is withheld: of whom this primary is asked by, or here, where another cluster writes. */
function withholding(
  { mounts = [], namespaces = [] }: { mounts?: string[]; namespaces?: string[] },
  isPrimary: boolean,
) {
  const sent: SentRequest[] = [];
  const places = {
    mounts: new Map(mounts.map((path) => [`id of ${path}`, path])),
    namespaces: new Map(namespaces.map((path) => [`id of ${path}`, path])),
  };
  const primary = {
    region: "a",
    send: async (request: SentRequest) => {
      sent.push(request);
      return { reply: reply({}), written: 1n };
    },
  };
  const elsewhere = isPrimary
    ? { primary: null, withheldFrom: async () => places }
    : { primary, withheld: places };
  const parts = { elsewhere, governance: { headers: () => [] }, node: { index: 7n } };
  const sending = new SendingOn(parts as unknown as ConstructorParameters<typeof SendingOn>[0]);
  const leaving = new AbortController();
  const forwarded = { member: "b", attested: null, attests: null, namedRegion: false };
  const context = { namespace: ROOT_NAMESPACE, mount: null } as unknown as Parameters<
    SendingOn["send"]
  >[3];
  const stateOf = (method: string) =>
    ({
      incoming: { forwarded: isPrimary ? forwarded : null, signal: leaving.signal, target: "/x" },
      caller: { ...CALLER, global: true },
      query: new Map(),
      meant: { method },
      endpoint: endpointAt("kv"),
    }) as unknown as RequestState;
  const endpointAt = (path: string) =>
    ({ belongs: () => "shared", places: () => [path] }) as unknown as Parameters<
      SendingOn["to"]
    >[1];
  const to = (path: string) => sending.to(stateOf("POST"), endpointAt(path), {}, context);
  const after = (method: string, path: string) =>
    sending.after(stateOf(method), endpointAt(path), {}, context);
  const sendAfterAll = (path: string, error: unknown) => {
    const state = Object.assign(stateOf("GET"), { endpoint: endpointAt(path) });
    return sending.sendAfterAll(state, {}, context, error);
  };
  return { to, after, sendAfterAll, sent, leave: () => leaving.abort() };
}

test("a place is withheld by its own path, and by that of a namespace above it", async () => {
  const { to } = withholding({ mounts: ["kv/"], namespaces: ["team/"] }, true);
  for (const path of ["kv", "team", "team/kv"]) await assert.rejects(to(path)!, NOT_HERE, path);
  for (const path of ["kv2", "kv/below", "teams"]) assert.equal(await to(path), null, path);
});

test("whose sender has left, or is no member any more, is not begun", async () => {
  const { to, leave } = withholding({}, true);
  assert.equal(await to("kv"), null);
  leave();
  await assert.rejects(to("kv")!, (error: Failure) => error.code === "place-changed");
});

test("what was read for another cluster is looked at again before it goes; what was written is done", async () => {
  const { after } = withholding({ mounts: ["kv/"] }, true);
  for (const method of ["GET", "LIST"]) await assert.rejects(after(method, "kv"), NOT_HERE, method);
  for (const method of ["POST", "DELETE"]) await after(method, "kv");
  await after("GET", "other");
});

test("a read that turns out to write goes to the primary, unless it is withheld here, or nobody else writes", async () => {
  const here = new Error("written elsewhere");
  const { sendAfterAll, sent } = withholding({ mounts: ["kv/"] }, false);
  await assert.rejects(sendAfterAll("kv", here), NOT_HERE);
  assert.equal(sent.length, 0);
  await sendAfterAll("other", here);
  assert.equal(sent.length, 1);
  await assert.rejects(withholding({}, true).sendAfterAll("other", here), here);
});

test("what one cluster has sent on another one does not", () => {
  const parts = { elsewhere: { primary: { region: "a" } } };
  const sending = new SendingOn(parts as unknown as ConstructorParameters<typeof SendingOn>[0]);
  const incoming = { forwarded: { namedRegion: false } };
  const state = { incoming, endpoint: null } as unknown as RequestState;
  assert.throws(
    () => sending.check(state),
    (error: Failure) => error.code === "forwarded-twice",
  );
});
