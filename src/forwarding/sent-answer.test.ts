import assert from "node:assert/strict";
import test from "node:test";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { JSON_TYPE, TextBody } from "@holdfast/shared/endpoint/output";
import { type Leased, Reply, type WrapInfo } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { rawNumber } from "@holdfast/shared/json/json";
import { forward, MAX_SENT_ANSWER } from "./messages.ts";
import { replyIn, sentAnswer } from "./sent-answer.ts";

/** As the cluster that was asked gives it. */
async function here(result: Reply | Failure): Promise<Reply | Failure> {
  const answer = await sentAnswer(result, () => 5n);
  const sent = forward.response.decode(forward.response.encode(answer));
  assert.equal(sent.shared, 5n);
  try {
    return replyIn(sent);
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error;
  }
}

async function refusalOf(result: Reply | Failure): Promise<Failure> {
  const found = await here(result);
  assert.ok(found instanceof Failure);
  return found;
}

test("an answer comes back with everything that it has", async () => {
  const auth = { accessor: "a", policies: ["p"] } as unknown as AuthBlock;
  const leased = { id: "kv/1", renewable: true, seconds: 60 } as unknown as Leased;
  const wrapInfo = { token: "t", ttl: 60 } as unknown as WrapInfo;
  const all = { warnings: ["w"], headers: { "X-One": "1" }, status: 202, index: 7n };
  const reply = new Reply({ x: 1 }, { ...all, auth, leased, wrapInfo });
  const found = await here(reply);
  assert.ok(found instanceof Reply);
  const { data, warnings, headers, status, index } = found;
  assert.deepEqual({ data, warnings, headers, status, index }, { data: { x: 1 }, ...all });
  assert.deepEqual([found.auth, found.leased, found.wrapInfo], [auth, leased, wrapInfo]);
});

test("an answer has nothing that it had not", async () => {
  const found = await here(new Reply(undefined, {}));
  assert.ok(found instanceof Reply);
  const { data, status, index, auth, leased, wrapInfo, warnings } = found;
  const none = new Reply(undefined, {});
  assert.deepEqual([data, status, index], [none.data, none.status, none.index]);
  assert.deepEqual([auth, leased, wrapInfo, warnings], [null, null, null, []]);
});

test("a text comes back as one, with its type", async () => {
  const found = await here(new Reply(new TextBody(JSON_TYPE, '{"x":1}'), {}));
  assert.ok(found instanceof Reply && found.data instanceof TextBody);
  assert.deepEqual([found.data.text, found.data.contentType], ['{"x":1}', JSON_TYPE]);
});

test("numbers come back with every digit", async () => {
  const data = { id: rawNumber("12345678901234567890"), list: [rawNumber("0.10")], n: 1 };
  const found = await here(new Reply(data, {}));
  assert.ok(found instanceof Reply);
  assert.equal(JSON.stringify(found.data), '{"id":12345678901234567890,"list":[0.10],"n":1}');
});

async function* bytesOf(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

test("an answer that is no JSON comes back with its bytes and its type", async () => {
  const body = new StreamBody("application/pkix-crl", bytesOf("a\u0000", "b"), { length: 3 });
  const found = await here(new Reply<Reply["data"]>(body, { status: 203 }));
  assert.ok(found instanceof Reply && found.data instanceof StreamBody);
  assert.deepEqual(
    [found.data.contentType, found.data.length, found.status],
    [body.contentType, 3, 203],
  );
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.data.chunks()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), "a\u0000b");
});

test("one that is too long for a message is refused, and no more of it is read", async () => {
  let read = 0;
  const long = async function* () {
    for (;;) yield ((read++, Buffer.alloc(MAX_SENT_ANSWER / 2)));
  };
  const body = new StreamBody("application/octet-stream", long());
  const { code } = await refusalOf(new Reply<Reply["data"]>(body, {}));
  assert.deepEqual([code, read], ["forward-answer-too-large", 3]);
});

const KINDS = {
  invalid: 0,
  denied: 0,
  "not-found": 0,
  conflict: 0,
  "too-large": 0,
  unavailable: 0,
  damaged: 0,
  unsupported: 0,
  "media-type": 0,
  "headers-too-large": 0,
  misdirected: 0,
  "rate-limited": 0,
  behind: 0,
  late: 0,
  "timed-out": 0,
  looping: 0,
  upstream: 0,
  internal: 0,
} satisfies Record<Exclude<FailureKind, "sealed" | "uninitialised">, 0>;

test("a refusal of any kind is the same here, in its words", async () => {
  for (const kind of Object.keys(KINDS) as FailureKind[]) {
    const more = { texts: ["one"], headers: { Allow: "GET" }, retryAfter: 1.5 };
    const { code, message, texts, headers, retryAfter, ...found } = await refusalOf(
      new Failure(kind, "some-code", "what it says", more),
    );
    assert.equal(found.kind, kind);
    assert.deepEqual([code, message], ["some-code", "what it says"]);
    assert.deepEqual([texts, headers, retryAfter], [["one"], { Allow: "GET" }, 2]);
  }
});

test("nobody is told when to try again where it is of no use, and as usual where nothing is said", async () => {
  for (const retryAfter of [Infinity, 7]) {
    const sent = new Failure("unavailable", "x", "", { retryAfter });
    assert.equal((await refusalOf(sent)).retryAfter, retryAfter);
  }
  assert.equal((await refusalOf(new Failure("unavailable", "x", ""))).retryAfter, null);
});

test("that the primary is sealed, or was never opened, is not said of the cluster that was asked", async () => {
  for (const kind of ["sealed", "uninitialised"] as const) {
    const { kind: found, code } = await refusalOf(new Failure(kind, kind, ""));
    assert.deepEqual([found, code], ["unavailable", "primary-not-serving"]);
  }
});

test("a kind that is not known here is a fault of the other side's", () => {
  const refused = {
    code: "x",
    message: "",
    texts: [],
    retryAfter: 0,
    headers: [],
    isOfNoUse: false,
  };
  for (const kind of ["astonished", "toString", "constructor", ""]) {
    const sent = { done: null, refused: { ...refused, kind }, shared: 0n };
    assert.throws(
      () => replyIn(sent),
      (error: Failure) => error.kind === "internal",
    );
  }
});

test("an answer with neither is one that was lost", () => {
  const nothing = { done: null, refused: null, shared: 0n };
  assert.throws(
    () => replyIn(nothing),
    (error: Failure) => error.code === "primary-lost",
  );
});
