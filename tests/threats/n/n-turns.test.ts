// Threats N, T-N03 where large answers and bodies are what is flooded: of an address one at a time is masked and
// recorded, others take their turns, and small requests pass by. Through HTTP; the records of large ones are held
// back in this test, so that it sees who is at it and in which order.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { AuditedAnswer, AuditedRequest } from "../../../src/endpoint/audited.ts";
import type { Answer } from "../../support/http-client.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { until } from "../../support/until.ts";
import { scene } from "../scene.ts";

const FLOOD = 12;
const SECRET = "x".repeat(100_000);
const MANY_PARTS = Array.from({ length: 3 }, () => Array.from({ length: 4900 }, () => ({})));

interface After {
  after(call: () => Promise<void> | void): void;
}

interface Held {
  readonly address: string;
  readonly release: () => void;
}

async function turnStage(t: After) {
  const stage = await scene(t, { listener: { forwardedForFrom: ["127.0.0.1"] } });
  await stage.audit();
  await stage.must("POST", "/v1/sys/mounts/kv", {
    body: { type: "kv", options: { version: "2" } },
  });
  for (const [name, value] of Object.entries({ large: SECRET, small: "1" })) {
    await stage.must("POST", `/v1/kv/data/${name}`, { body: { data: { value } } });
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 4 * FLOOD });
  t.after(() => agent.destroy());
  const held: Held[] = [];
  const hold = ({ remote }: AuditedRequest) =>
    new Promise<void>((resolve) => held.push({ address: remote.address, release: resolve }));
  const { audit } = stage.server.server;
  const request = audit.request.bind(audit);
  const response = audit.response.bind(audit);
  audit.request = async (audited: AuditedRequest, error: string) => {
    if (isLarge(audited.data)) await hold(audited);
    return request(audited, error);
  };
  audit.response = async (audited: AuditedRequest, answer: AuditedAnswer) => {
    if (isLarge(answer.data)) await hold(audited);
    return response(audited, answer);
  };
  const { auth } = (
    await stage.must("POST", "/v1/auth/token/create", { body: { policies: ["default"] } })
  ).json as { auth: { client_token: string } };
  const tokens = { mighty: stage.root, weak: auth.client_token };
  const from = (
    address: string,
    method: string,
    path: string,
    body?: object,
    who: keyof typeof tokens = "mighty",
  ): Promise<Answer> =>
    stage.server.call(method, path, {
      agent,
      token: tokens[who],
      headers: { "X-Forwarded-For": address },
      ...(body === undefined ? {} : { body }),
    });
  return { from, held };
}

function isLarge(data: unknown): boolean {
  return data !== undefined && JSON.stringify(data).length > 40_000;
}

/** Lets one after the other go, with a small request between. Gives whose it was, and how many were at it. */
async function letGo(
  count: number,
  held: Held[],
  between: () => Promise<Answer>,
): Promise<{ readonly order: string[]; readonly max: number }> {
  const order: string[] = [];
  let max = 0;
  while (order.length < count) {
    await until(() => held.length > 0);
    assert.equal((await between()).status, 200, "what is small passes by");
    max = Math.max(max, held.length);
    const next = held.shift();
    order.push(next?.address ?? "");
    next?.release();
  }
  return { order, max };
}

for (const [what, method, body] of [
  ["answers", "GET", undefined],
  ["bodies", "POST", { data: { value: SECRET } }],
  // Not long, but as much to read and to mask as one that is.
  ["bodies of many parts", "POST", { data: { value: MANY_PARTS } }],
] as const) {
  test(`T-N03: large ${what} of an address are recorded one at a time, and addresses take turns`, async (t) => {
    const { from, held } = await turnStage(t);
    const small = () => from("192.0.2.3", "GET", "/v1/kv/data/small");
    const large = (address: string) => from(address, method, "/v1/kv/data/large", body);
    const flood = Array.from({ length: FLOOD }, () => large("192.0.2.1"));
    const alone = await letGo(2, held, small);
    assert.equal(alone.max, 1, "of one address one is at it");
    const other = Array.from({ length: 2 }, () => large("192.0.2.2"));
    await until(() => held.some(({ address }) => address === "192.0.2.2"));
    const rest = await letGo(FLOOD, held, small); // what is left of the flood, and the other two
    assert.ok(rest.max <= 2, `${rest.max} at a time`);
    const last = rest.order.lastIndexOf("192.0.2.2");
    assert.ok(last <= 5, `the other address came to its end at ${last}: ${rest.order.join(" ")}`);
    for (const { status, text } of await Promise.all([...flood, ...other])) {
      assert.equal(status, 200, text.slice(0, 200));
    }
  });
}

for (const [what, value] of [
  ["long", SECRET],
  ["of many parts", MANY_PARTS],
] as const) {
  test(`T-N03: bodies ${what} that are refused are recorded one at a time too`, async (t) => {
    const { from, held } = await turnStage(t);
    const small = () => from("192.0.2.3", "GET", "/v1/kv/data/small");
    const refused = () =>
      from("192.0.2.1", "POST", "/v1/kv/data/large", { data: { value } }, "weak");
    const flood = Array.from({ length: FLOOD }, refused);
    const { max } = await letGo(FLOOD, held, small);
    assert.equal(max, 1, "of one address one is at it");
    for (const { status } of await Promise.all(flood)) assert.equal(status, 403);
  });
}

test("T-N03: a mount that goes does not wait for the records of what was refused there", async (t) => {
  const { from, held } = await turnStage(t);
  const body = { data: { value: SECRET } };
  const flood = Array.from({ length: FLOOD }, () =>
    from("192.0.2.1", "POST", "/v1/kv/data/large", body, "weak"),
  );
  await until(() => held.length === 1);
  const { status } = await from("192.0.2.3", "DELETE", "/v1/sys/mounts/kv");
  assert.equal(status, 204);
  assert.equal(held.length, 1, "none of them has been recorded yet");
  let over = false;
  const answered = Promise.all(flood).finally(() => (over = true));
  for (; !over; await nextTurn()) held.shift()?.release();
  // Those that had not been judged find it gone.
  for (const answer of await answered) assert.ok([403, 404, 409].includes(answer.status));
});

test("T-N03: what waits for its turn has not been read: it would be thirty times as much", async (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { from, held } = await turnStage(t);
  const parts = Array.from({ length: 9 }, () => Array.from({ length: 4990 }, () => ({})));
  const body = { data: { value: SECRET, parts } };
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const sent = [from("192.0.2.1", "POST", "/v1/kv/data/large", body)];
  await until(() => held.length === 1);
  const before = used();
  for (let i = 1; i < 3 * FLOOD; i++) {
    sent.push(from("192.0.2.1", "POST", "/v1/kv/data/large", body));
  }
  const inFlight = async () => {
    const { json } = await from("192.0.2.3", "GET", "/v1/sys/in-flight-req");
    return Object.keys((json as { data: object }).data).length;
  };
  while ((await inFlight()) < 3 * FLOOD) await nextTurn();
  const grown = used() - before;
  assert.ok(grown < 40, `${grown.toFixed(0)} MiB more`); // some 110 if they were read
  const small = () => from("192.0.2.3", "GET", "/v1/kv/data/small");
  await letGo(3 * FLOOD, held, small);
  for (const { status, text } of await Promise.all(sent))
    assert.equal(status, 200, text.slice(0, 200));
});
