// Who of many that come at once is served when.

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import test from "node:test";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { makeFront } from "../../tests/support/http-front.ts";
import { until } from "../../tests/support/until.ts";
import { Arrivals, CONNECTION_COST, HANDSHAKE_COST } from "./arrivals.ts";

/** Turns of the event loop that a test counts: who waits for one has it when the test says so. */
function stage() {
  const clock = new FakeClock();
  let waiting: (() => void)[] = [];
  const turn = () => new Promise<void>((resolve) => void waiting.push(resolve));
  const order: string[] = [];
  const arrivals = new Arrivals({ clock, timers: { turn } });
  return {
    clock,
    order,
    come: (client: string, cost = CONNECTION_COST) =>
      arrivals.add(client, { cost, serve: () => void order.push(client) }),
    goOn: (client: string) =>
      arrivals.wait(client, { cost: HANDSHAKE_COST, serve: () => void order.push(client) }),
    turn: async () => {
      const now = waiting;
      waiting = [];
      for (const resolve of now) resolve();
      for (let i = 0; i < 5; i++) await Promise.resolve();
    },
    isIdle: () => waiting.length === 0,
  };
}

test("who comes alone is served at once, and nothing is done in later turns", async () => {
  const { come, order, turn, isIdle } = stage();
  come("a");
  assert.deepEqual(order, ["a"]);
  await turn();
  await turn();
  assert.ok(isIdle());
  come("b");
  assert.deepEqual(order, ["a", "b"]);
});

test("T-N03: while others keep coming no handshake begins", async () => {
  const { come, goOn, order, turn } = stage();
  come("a");
  for (let i = 0; i < 20; i++) goOn("a");
  await turn();
  for (let i = 0; i < 50; i++) {
    come("flood");
    await turn();
  }
  assert.deepEqual(order, ["a"]);
  await turn();
  await turn();
  const begun = order.filter((client) => client === "a").length - 1;
  assert.ok(begun >= 2 && begun <= 4, `${begun}: two handshakes in a turn`);
});

test("a handshake begins at once where nobody waits, and those beside it in the next turns", async () => {
  const { goOn, order, turn, isIdle } = stage();
  for (let i = 0; i < 5; i++) goOn("a");
  assert.equal(order.length, 1);
  for (let i = 0; i < 6; i++) await turn();
  assert.equal(order.length, 5);
  await turn();
  assert.ok(isIdle());
});

test("T-N03: while they keep coming they are only taken in, and then served by address", async () => {
  const { come, order, turn, isIdle } = stage();
  come("flood");
  await turn();
  for (let i = 0; i < 100; i++) {
    come("flood");
    await turn();
  }
  come("other");
  assert.deepEqual(order, ["flood"]);
  await turn();
  assert.deepEqual(order, ["flood"], "somebody came in this turn");
  await turn();
  assert.ok(order.indexOf("other") <= 2, order.slice(0, 5).join(" "));
  assert.ok(order.length < 50, "a few in each turn");
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(order.length, 102);
  assert.ok(isIdle());
});

test("T-N03: of handshakes only two begin in a turn: each may take milliseconds of the next one", async () => {
  const { come, order, turn } = stage();
  come("flood", HANDSHAKE_COST);
  await turn();
  for (let i = 0; i < 20; i++) come("flood", HANDSHAKE_COST);
  await turn();
  for (let before = order.length, i = 0; i < 10; i++) {
    await turn();
    assert.equal(order.length - before, 2);
    before = order.length;
  }
  assert.equal(order.length, 21);
});

test("those that come without end keep nobody waiting longer than some milliseconds", async () => {
  const { clock, come, order, turn } = stage();
  come("flood");
  await turn();
  for (let ms = 0; ms < 24; ms++) {
    come("flood");
    clock.pass(MILLISECOND);
    await turn();
  }
  assert.equal(order.length, 1);
  come("flood");
  clock.pass(MILLISECOND);
  await turn();
  assert.ok(order.length > 20, `${order.length} were served`);
});

test("T-N03: a hundred connections that one address opens at once are not in front of the next one's", async () => {
  const front = await makeFront();
  const sockets: Socket[] = [];
  const open = (localAddress: string) => {
    const socket = connect({ port: front.port, host: "127.0.0.1", localAddress });
    sockets.push(socket.on("error", () => {}));
    socket.write(`GET /v1/sys/health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  };
  try {
    for (let i = 0; i < 100; i++) open("127.0.0.9");
    open("127.0.0.7");
    await until(() => front.seen.length === 101);
    const order = front.seen.map(({ remote }) => remote.address);
    const place = order.indexOf("127.0.0.7");
    assert.ok(place < 40, `${place} of the others were served before it`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await front.close();
  }
});
