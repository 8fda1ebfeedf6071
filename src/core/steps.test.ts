// Threat N, T-N03: hundreds of small requests that come at once. Each takes milliseconds between two moments at which
// it waits; another address has its turn between them, wherever on their way they are held up together.

import assert from "node:assert/strict";
import test from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { FakeClock, nextTurn } from "../../tests/support/fake-world.ts";
import { SmallHouse } from "../../tests/support/small-house.ts";
import { until } from "../../tests/support/until.ts";

const FLOOD = "192.0.2.1";
const OTHER = "192.0.2.2";
const MANY = 12;
const LONG = 16; // milliseconds; with fifteen a turn of the event loop has had its share

/** Where each takes its time. Before that all of them have waited for something, and are let go together. */
const STEPS = ["find", "decide", "record", "handle", "record the answer"] as const;
type Step = (typeof STEPS)[number];

class Stage {
  /** By address, who took its time. */
  readonly order: string[] = [];
  /** How many did in the same turn of the event loop. */
  atOnce = 0;
  waiting = 0;
  readonly house: SmallHouse;
  readonly #go = Promise.withResolvers<void>();
  #thisTurn = 0;

  constructor(step: Step) {
    const endpoint = endpointsOf<Stage>();
    const thing = endpoint({
      name: "thing",
      method: "POST",
      path: "/sys/things/:name",
      summary: "takes a while",
      access: access.capability,
      belongs: "local",
      input: { name: wire.path("name").string("name") },
      output: out.anyObject("anything"),
      handler: async (stage, { name }) => {
        if (step === "handle") stage.#work(name);
        stage.waiting += 1;
        if (step === "record the answer") await stage.#go.promise;
        return {};
      },
    });
    this.house = new SmallHouse(serve(this, [thing]));
    const { house } = this;
    for (const name of [FLOOD, OTHER]) {
      house.add(name, "client");
      house.grants.add(`update |sys/things/${name}`);
    }
    const { tokens, grants } = house;
    const find = tokens.get.bind(tokens);
    const has = grants.has.bind(grants);
    tokens.get = (secret) => {
      if (step === "find") this.#work(secret);
      return find(secret);
    };
    grants.has = (grant) => {
      if (step === "decide") this.#work(grant.slice(grant.lastIndexOf("/") + 1));
      return has(grant);
    };
    if (step === "decide") house.bodies = this.#go.promise;
    if (step === "record") {
      house.rights = this.#go.promise;
      house.recorded = ({ remote }) => this.#work(remote.address);
    }
    if (step === "handle") house.device = this.#go.promise;
    if (step === "record the answer") {
      house.recordedAnswer = ({ remote }) => this.#work(remote.address);
    }
  }

  letGo(): void {
    this.#go.resolve();
  }

  #work(address: string): void {
    if (this.#thisTurn++ === 0) void nextTurn().then(() => (this.#thisTurn = 0));
    this.atOnce = Math.max(this.atOnce, this.#thisTurn);
    this.order.push(address);
    const end = performance.now() + LONG;
    while (performance.now() < end);
  }

  send(address: string, signal?: AbortSignal) {
    return this.house.ask("POST", `/sys/things/${address}`, {
      token: address,
      address,
      body: {},
      ...(signal && { signal }),
    });
  }
}

for (const step of STEPS) {
  test(`T-N03: of many at once each has its turn of the event loop (${step}), and another address is between`, async () => {
    const stage = new Stage(step);
    const senders = [...Array.from({ length: MANY }, () => FLOOD), OTHER];
    const requests = senders.map((address) => stage.send(address));
    if (step === "record the answer") await until(() => stage.waiting === MANY + 1);
    for (let i = 0; i < 10; i++) await nextTurn();
    stage.letGo();
    for (const { result } of await Promise.all(requests)) assert.ok(result instanceof Reply);
    assert.equal(stage.order.length, MANY + 1);
    assert.ok(stage.order.indexOf(OTHER) <= 3, stage.order.join(" "));
    assert.ok(stage.atOnce <= 3, `${stage.atOnce} in one turn of the event loop`);
  });
}

test("T-N04: whoever has gone before its turn came is as one that never came", async () => {
  const stage = new Stage("find");
  const gone = new AbortController();
  const first = stage.send(FLOOD);
  const here = Array.from({ length: 3 }, () => stage.send(FLOOD));
  const left = stage.send(OTHER, gone.signal);
  gone.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  await Promise.all([first, ...here]);
  assert.ok(!stage.order.includes(OTHER));
  assert.equal(stage.house.running.count, 0);
});

test("T-N03: what waits for its turn is not waited for by the seal, and finds the node sealed", async () => {
  const stage = new Stage("find");
  const requests = Array.from({ length: 3 }, () => stage.send(FLOOD));
  stage.house.node = { ...stage.house.node, sealed: true };
  const answered = Promise.all(requests);
  const drained = stage.house.running.drained(1_000_000_000n).then((left) => ({ left }));
  assert.deepEqual(await Promise.race([drained, answered]), { left: 0 });
  for (const { result } of await answered) assert.ok(!(result instanceof Reply));
});

for (const [what, passed, ran] of [
  ["a moment", 40n, 1],
  ["long", 60n, 0],
] as const) {
  test(`T-B05: a token that is revoked while the record of its request is kept waiting for ${what}`, async () => {
    const clock = new FakeClock();
    const endpoint = endpointsOf<{ ran: number }>();
    const room = { ran: 0 };
    const thing = endpoint({
      name: "thing",
      method: "GET",
      path: "/sys/thing",
      summary: "counts",
      access: access.capability,
      input: {},
      output: out.anyObject("anything"),
      handler: (one) => (one.ran++, {}),
    });
    const house = new SmallHouse(serve(room, [thing]), clock);
    house.add("client", "client");
    house.grants.add("read |sys/thing");
    const device = Promise.withResolvers<void>();
    house.device = device.promise;
    const request = house.ask("GET", "/sys/thing", { token: "client" });
    await until(() => house.trace.includes("decide read |sys/thing"));
    house.tokens.delete("client");
    house.node = { ...house.node, index: 8n };
    clock.pass(passed * MILLISECOND);
    device.resolve();
    const { result } = await request;
    assert.equal(room.ran, ran);
    assert.equal(result instanceof Reply, ran === 1);
  });
}
