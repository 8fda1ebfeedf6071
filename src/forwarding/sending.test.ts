import assert from "node:assert/strict";
import test from "node:test";
import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Incoming } from "../core/incoming.ts";
import type { SentRequest } from "../core/seams.ts";
import { type ForwardedRequest, MAX_SENT_BODY } from "./messages.ts";
import type { Primary } from "./primary.ts";
import { SendingToPrimary } from "./sending.ts";
import { sentAnswer } from "./sent-answer.ts";

const WAIT = 2n * SECOND;
const { signal } = new AbortController();
const INCOMING = {
  id: "8a04cf50-ad40-4ae9-ba6d-0822b0189662",
  verb: "POST",
  namespace: "team",
  contentType: "application/json",
  wrapTtl: 60n,
  wrapForm: "jwt",
  policyOverride: true,
  remote: { address: "192.0.2.7", port: 443, loopback: false },
  header: (name: string) => (name === "x-one" ? "1" : undefined),
  signal,
} as unknown as Incoming;
const REQUEST: SentRequest = {
  incoming: INCOMING,
  target: "/kv/s?x=1",
  credential: "secret",
  attested: null,
  body: utf8('{"x":1}'),
  headers: ["x-one", "x-other"],
  isNamed: false,
  mayWait: false,
};

function stage({ isSeen = true } = {}) {
  const sent: ForwardedRequest[] = [];
  const signals: AbortSignal[] = [];
  const waited: unknown[] = [];
  const primary = {
    epoch: 3,
    call: async (request: ForwardedRequest, over: AbortSignal) => {
      sent.push(request);
      signals.push(over);
      return await sentAnswer(new Reply({ done: true }, { warnings: ["of there"] }), () => 9n);
    },
    appliedUpTo: async (...how: unknown[]) => {
      waited.push(how);
      return isSeen;
    },
  } as unknown as Primary;
  return {
    primary,
    sent,
    waited,
    signals,
    sending: new SendingToPrimary(primary, () => "cluster b", WAIT),
  };
}

test("a request goes as it came: from whom, from where, with the headers that somebody there looks at, and how its answer is wanted", async () => {
  const { sent, sending } = stage();
  await sending.send(REQUEST);
  const whole: ForwardedRequest = {
    id: INCOMING.id,
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
    clusterId: "cluster b",
  };
  assert.deepEqual(sent, [whole]);
  const bare = { namespace: null, contentType: null, wrapTtl: null, policyOverride: false };
  const incoming = { ...INCOMING, ...bare, wrapForm: "token" } as unknown as Incoming;
  await sending.send({ ...REQUEST, incoming, credential: null, body: EMPTY, headers: [] });
  assert.deepEqual(sent[1], {
    ...whole,
    namespace: "",
    contentType: "",
    credential: "",
    body: EMPTY,
    headers: [],
    wrapTtl: 0n,
    isWrappedAsJwt: false,
    policyOverride: false,
  });
});

test("its answer waits until what was written there is here, and says where it did not come", async () => {
  const { waited, sending } = stage();
  const { reply, written } = await sending.send(REQUEST);
  assert.deepEqual([reply.data, reply.warnings, written], [{ done: true }, ["of there"], 9n]);
  assert.deepEqual(waited, [[9n, WAIT, signal]]);
  const late = await stage({ isSeen: false }).sending.send(REQUEST);
  assert.equal(late.reply.warnings[0], "of there");
  assert.match(late.reply.warnings[1] ?? "", /done by the primary.*not to be seen here yet/);
  assert.equal(late.written, 9n);
  const moved = stage();
  const appliedUpTo = async () => {
    Object.assign(moved.primary, { epoch: 4 });
    return true;
  };
  Object.assign(moved.primary, { appliedUpTo });
  const unsure = await moved.sending.send(REQUEST);
  assert.equal(unsure.by, 3, "the one that has done it");
  assert.match(unsure.reply.warnings[1] ?? "", /not to be seen here yet/, "by another's indexes");
});

test("who waits less long than the client is waited for by its own signal, there and here", async () => {
  const { waited, signals, sending } = stage();
  const { signal: own } = new AbortController();
  await sending.send({ ...REQUEST, signal: own });
  await sending.send(REQUEST);
  assert.deepEqual(
    signals.map((one) => [one === own, one === signal]),
    [
      [true, false],
      [false, true],
    ],
  );
  assert.equal((waited[0] as unknown[])[2], own);
});

test("a body that is longer than what can be sent is refused, and nothing goes", async () => {
  const { sent, sending } = stage();
  await sending.send({ ...REQUEST, body: new Uint8Array(MAX_SENT_BODY) });
  const over = sending.send({ ...REQUEST, body: new Uint8Array(MAX_SENT_BODY + 1) });
  await assert.rejects(over, (error: Failure) => error.code === "forward-too-large");
  assert.equal(sent.length, 1);
});
