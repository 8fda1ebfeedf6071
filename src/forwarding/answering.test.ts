import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { Incoming, Outcome } from "../core/incoming.ts";
import { answerForwarded, type ForwardedRequests } from "./answering.ts";
import { type ForwardedRequest, MAX_SENT_BODY } from "./messages.ts";

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
    knows: () => null,
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
