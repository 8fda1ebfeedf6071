// Threat N, T-N03: hundreds of small requests that come at once. Each takes milliseconds between two moments at which
// it waits; another address has its turn between them, wherever on their way they are held up together.

import assert from "node:assert/strict";
import test from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { SmallHouse } from "../../tests/support/small-house.ts";
import { until } from "../../tests/support/until.ts";

const FLOOD = "192.0.2.1";
const OTHER = "192.0.2.2";
const MANY = 12;
const LONG = 16; // milliseconds; with fifteen a turn of the event loop has had its share

type Step = "find" | "handle" | "record";

/** Where the time goes, by address and in order. */
class Stage {
  readonly order: string[] = [];
  /** How many had their step in the same turn of the event loop. */
  atOnce = 0;
  gate: Promise<void> | null = null;
  waiting = 0;
  readonly house: SmallHouse;
  #thisTurn = 0;

  constructor(step: Step) {
    const endpoint = endpointsOf<Stage>();
    const thing = endpoint({
      name: "thing",
      method: "GET",
      path: "/sys/thing",
      summary: "takes a while",
      access: access.capability,
      input: {},
      output: out.anyObject("anything"),
      handler: async (stage, _, { remote }) => {
        if (step === "handle") stage.work(remote.address);
        stage.waiting += 1;
        if (stage.gate !== null && step === "record") await stage.gate;
        return {};
      },
    });
    this.house = new SmallHouse(serve(this, [thing]));
    this.house.add("client", "client");
    this.house.grants.add("read |sys/thing");
    const { tokens } = this.house;
    const find = tokens.get.bind(tokens);
    tokens.get = (secret) => {
      if (step === "find") this.work(secret === "client" ? FLOOD : OTHER);
      return find(secret);
    };
    this.house.add("other", "client");
    if (step === "record") this.house.recordedAnswer = ({ remote }) => this.work(remote.address);
  }

  work(address: string): void {
    if (this.#thisTurn++ === 0) void nextTurn().then(() => (this.#thisTurn = 0));
    this.atOnce = Math.max(this.atOnce, this.#thisTurn);
    this.order.push(address);
    const end = performance.now() + LONG;
    while (performance.now() < end);
  }

  send(address: string, signal?: AbortSignal) {
    const token = address === FLOOD ? "client" : "other";
    return this.house.ask("GET", "/sys/thing", { token, address, ...(signal && { signal }) });
  }
}

for (const step of ["find", "handle", "record"] as const) {
  test(`T-N03: of many at once each has its turn of the event loop (${step}), and another address is between`, async () => {
    const stage = new Stage(step);
    // All of them are let go in one moment, as by a device that takes their records together.
    const { promise, resolve } = Promise.withResolvers<void>();
    if (step === "handle") stage.house.device = promise;
    if (step === "record") stage.gate = promise;
    const requests = [...Array.from({ length: MANY }, () => FLOOD), OTHER].map((address) =>
      stage.send(address),
    );
    if (step === "record") await until(() => stage.waiting === MANY + 1);
    for (let i = 0; i < 10; i++) await nextTurn();
    resolve();
    for (const { result } of await Promise.all(requests)) assert.ok(result instanceof Reply);
    assert.equal(stage.order.length, MANY + 1);
    assert.ok(stage.order.indexOf(OTHER) <= 3, stage.order.join(" "));
    assert.ok(stage.atOnce <= 3, `${stage.atOnce} in one turn of the event loop`);
  });
}

test("T-N04: whoever has gone before its turn came is as one that never came", async () => {
  const stage = new Stage("handle");
  const gone = new AbortController();
  const first = stage.send(FLOOD);
  await until(() => stage.order.length === 1);
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
  const drained = stage.house.running.drained(1_000_000_000n);
  const answers = await Promise.all(requests);
  assert.equal(await drained, 0);
  const refused = answers.filter(({ result }) => !(result instanceof Reply));
  assert.equal(refused.length, 2, "all but the first, which had begun");
});
