import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { Incoming, Outcome } from "../core/incoming.ts";
import type { Peer } from "../cluster/verify.ts";
import type { Method } from "@holdfast/shared/grpc/method";
import { Status, type StatusError } from "@holdfast/shared/grpc/status";
import { answerForwarded, type ForwardedRequests, forwardServices } from "./answering.ts";
import {
  ask,
  findToken,
  forward,
  type ForwardedRequest,
  MAX_SENT_BODY,
  takeUse,
} from "./messages.ts";

const { signal } = new AbortController();
const REQUEST: ForwardedRequest = {
  id: "8a04cf50-ad40-4ae9-ba6d-0822b0189662",
  verb: "POST",
  target: "/kv/s?x=1",
  namespace: "team",
  credential: "secret",
  attested: null,
  body: utf8('{"x":1}'),
  contentType: "application/json",
  headers: [{ name: "x-one", value: "1" }],
  address: "192.0.2.7",
  port: 443,
  wrapTtl: 60n,
  isWrappedAsJwt: true,
  wrapsItself: true,
  policyOverride: true,
  clusterId: "b",
};
const NOTHING = {
  namespace: "",
  credential: "",
  body: EMPTY,
  contentType: "",
  headers: [],
  wrapTtl: 0n,
  isWrappedAsJwt: false,
  policyOverride: false,
} satisfies Partial<ForwardedRequest>;

function stage(result: Outcome["result"] = new Reply({ x: 1 }, {}), index: bigint | null = 7n) {
  const seen: Incoming[] = [];
  const requests: ForwardedRequests = {
    core: {
      handle: async (incoming) => {
        seen.push(incoming);
        return { result, index } as Outcome;
      },
    },
    shared: () => 5n,
    attests: () => ["p"],
    clusterOf: () => "b",
    takeUse: async () => null,
    knows: async () => null,
  };
  const answer = (change: Partial<ForwardedRequest> = {}, namedRegion = false) =>
    answerForwarded(
      requests,
      { ...REQUEST, ...change },
      { member: "region-b", signal, namedRegion },
    );
  const incoming = async (change: Partial<ForwardedRequest> = {}, namedRegion = false) => {
    await answer(change, namedRegion);
    return seen.at(-1) ?? assert.fail();
  };
  return { answer, incoming, seen };
}

test("a request passes the pipeline as it came to the other cluster", async () => {
  const found = await stage().incoming();
  const { id, verb, target, namespace, credential, contentType, wrapTtl, wrapForm } = found;
  assert.deepEqual(
    { id, verb, target, namespace, credential, contentType, wrapTtl },
    {
      id: REQUEST.id,
      verb: "POST",
      target: "/kv/s?x=1",
      namespace: "team",
      credential: "secret",
      contentType: "application/json",
      wrapTtl: 60n,
    },
  );
  assert.equal(wrapForm, "jwt");
  assert.equal(found.policyOverride, true);
  assert.deepEqual(found.remote, { address: "192.0.2.7", port: 443, loopback: false });
  assert.deepEqual([found.header("x-one"), found.header("x-two")], ["1", undefined]);
  assert.equal(found.hasBody, true);
  assert.equal(found.signal, signal);
  assert.deepEqual(found.forwarded, {
    member: "region-b",
    clusterId: "b",
    attested: null,
    attests: ["p"],
    wrapsItself: true,
    namedRegion: false,
  });
});

test("what is not sent is not there", async () => {
  const found = await stage().incoming(NOTHING);
  const { namespace, credential, contentType, wrapTtl, wrapForm, policyOverride, hasBody } = found;
  assert.deepEqual([namespace, credential, contentType, wrapTtl], [null, null, null, null]);
  assert.deepEqual([wrapForm, policyOverride, hasBody], ["token", false, false]);
});

test("no key is handed in by another cluster, nothing is open to it, and it is never on this machine", async () => {
  for (const address of ["127.0.0.1", "::1", "unix"]) {
    const { listener, remote } = await stage().incoming({ address });
    assert.equal(listener.keyCeremonies, "off");
    assert.equal(listener.openings.metrics, false);
    assert.equal(listener.maxBody, MAX_SENT_BODY);
    assert.equal(remote.loopback, false);
  }
});

test("a body is as long as somebody reads of it, is not streamed, and is gone when it is wiped", async () => {
  const body = utf8('{"x":1}');
  const found = await stage().incoming({ body });
  await assert.rejects(found.body(6), (error: Failure) => error.kind === "too-large");
  assert.equal(Buffer.from(await found.body(7)).toString(), '{"x":1}');
  const rules = {} as Parameters<Incoming["stream"]>[0];
  assert.throws(() => found.stream(rules), /malformed/);
  found.wipe();
  assert.ok(body.every((byte) => byte === 0));
});

test("what no secondary sends is malformed, and passes no pipeline", async () => {
  const { answer, seen } = stage();
  const attested = {
    accessor: "",
    name: "",
    policies: [],
    namespaceId: "",
    namespacePath: "",
    created: 0n,
    expires: 0n,
    isWithoutDefault: false,
    origin: null,
    terms: null,
  };
  for (const change of [
    { id: "x" },
    { port: 65_536 },
    { attested },
    { wrapsItself: false },
    { address: "somewhere" },
    { address: "fe80::1%\u001b[2J" },
    { address: "192.0.2.7\n" },
    { clusterId: "c" },
  ]) {
    await assert.rejects(answer(change), /malformed/);
  }
  await assert.rejects(answer({ attested, credential: "" }, true), /malformed/);
  assert.deepEqual(seen, []);
  await answer({ port: 65_535 });
  await answer({ wrapsItself: false }, true);
  assert.equal(seen.length, 2);
});

test("an answer says as of which index it is, its own before that of the pipeline, and up to where all is shared", async () => {
  const index = async (result: Outcome["result"], asOf: bigint | null) => {
    const { done, shared } = await stage(result, asOf).answer();
    assert.equal(shared, 5n);
    return done?.index;
  };
  assert.equal(await index(new Reply({}, {}), 7n), 7n);
  assert.equal(await index(new Reply({}, { index: 3n }), 7n), 3n);
  assert.equal(await index(new Reply({}, {}), null), 0n);
  const { refused } = await stage(new Failure("denied", "x", "no")).answer();
  assert.equal(refused?.kind, "denied");
});

/** What the primary says to a call of a member of the set. */
function serving(change: Partial<ForwardedRequests> = {}) {
  const reached: unknown[] = [];
  const requests: ForwardedRequests = {
    core: {
      handle: async () => {
        reached.push("core");
        return { result: new Reply({ x: 1 }, {}), index: 7n } as Partial<Outcome> as Outcome;
      },
    },
    shared: () => 5n,
    attests: () => null,
    clusterOf: () => "b",
    takeUse: async (...use) => {
      reached.push(use);
      return true;
    },
    knows: async (hash) => {
      reached.push(hash);
      return true;
    },
    ...change,
  };
  const call = async <Q, A>(of: Method<"unary", Q, A>, request: Q, over = signal): Promise<A> => {
    const served = forwardServices(requests).find(({ shape }) => shape.path === of.path)!;
    const sent = async function* () {
      yield of.request.encode(request);
    };
    const peer = { id: "region-b" } as Peer;
    for await (const bytes of served.run(sent(), { peer, signal: over, metadata: () => undefined }))
      return of.response.decode(bytes);
    return assert.fail();
  };
  return { call, reached };
}

const HASH = "a4".repeat(32);
const USE = { mount: "m", what: '{"id":"r"}' };

function says(status: number) {
  return (error: StatusError) => error.status === status;
}

test("a member is answered by each method, as whom its certificate proves", async () => {
  const { call, reached } = serving();
  assert.notEqual((await call(forward, REQUEST)).done, null);
  const request = { ...REQUEST, wrapsItself: false };
  assert.notEqual((await call(ask, request)).done, null);
  assert.deepEqual(await call(takeUse, USE), { isTaken: true });
  assert.deepEqual(await call(findToken, { hash: HASH }), { isKnown: true, shared: 5n });
  const sender = { member: "region-b", clusterId: "b" };
  assert.deepEqual(reached, ["core", "core", ["m", { id: "r" }, sender], HASH]);
  const without = serving({ clusterOf: () => null });
  await without.call(takeUse, USE);
  assert.deepEqual(without.reached, [["m", { id: "r" }, { ...sender, clusterId: "" }]]);
});

test("one that was revoked, also between its call and its turn, is answered by none of them", async () => {
  const gone = AbortSignal.abort();
  const revoked = serving({ clusterOf: () => "" });
  const cut = serving();
  for (const [{ call }, over] of [
    [revoked, signal],
    [cut, gone],
  ] as const) {
    const denied = says(Status.permissionDenied);
    // It may say that it is no cluster, as which it is known by then.
    for (const clusterId of ["b", ""]) {
      await assert.rejects(call(forward, { ...REQUEST, clusterId }, over), denied);
      await assert.rejects(call(ask, { ...REQUEST, clusterId, wrapsItself: false }, over), denied);
    }
    await assert.rejects(call(takeUse, USE, over), denied);
    await assert.rejects(call(findToken, { hash: HASH }, over), denied);
  }
  assert.deepEqual([revoked.reached, cut.reached], [[], []]);
});

test("what is no use or no hash, and what others count or know, is refused before anything is done", async () => {
  const { call, reached } = serving();
  const invalid = says(Status.invalidArgument);
  await assert.rejects(call(takeUse, { ...USE, what: "[" }), invalid);
  for (const hash of ["", HASH.slice(1), `${HASH}0`, HASH.toUpperCase(), `${HASH}\n`]) {
    await assert.rejects(call(findToken, { hash }), invalid);
  }
  assert.deepEqual(reached, []);
  const elsewhere = serving({ takeUse: async () => null, knows: async () => null });
  const notHere = says(Status.failedPrecondition);
  await assert.rejects(elsewhere.call(takeUse, USE), notHere);
  await assert.rejects(elsewhere.call(findToken, { hash: HASH }), notHere);
  const none = serving({ takeUse: async () => false, knows: async () => false });
  assert.deepEqual(await none.call(takeUse, USE), { isTaken: false });
  assert.deepEqual(await none.call(findToken, { hash: HASH }), { isKnown: false, shared: 5n });
});
