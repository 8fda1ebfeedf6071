// Threats N, T-N03 and T-N04 where streams of HTTP/2 are what is flooded. Over real sockets, with a clock that stands still.

import assert from "node:assert/strict";
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import test from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { ask, dribble, endsOf, http2Stage } from "../../support/servers/http2-stage.ts";
import { until } from "../../support/until.ts";

const PATH = { ":path": "/v1/sys/a" };
const RIGHT = { "x-service-token": "right" };
const WRONG = { "x-service-token": "wrong" };

test("T-N04: streams that only dribble are few, keep out nobody with a token and no other address", async (t) => {
  const { front, session } = await http2Stage(t, { streamsWithoutToken: 180, streams: 40 });
  front.knows = ({ credential }) => credential === "right";
  const flood = session();
  const open = Array.from({ length: 60 }, () => dribble(flood));
  const ends = endsOf(open);
  await until(() => ends.length >= 40);
  assert.deepEqual(new Set(ends), new Set(["refused"]), "nothing was done for them");
  assert.deepEqual([front.server.openStreams, front.seen.length], [20, 20], "it has a ninth");
  const right = { "x-service-token": "right" };
  assert.equal(await ask(flood, right), 200, "a token is let in, on the same connection");
  const wrong = { "x-service-token": "wrong" };
  assert.equal(await ask(flood, wrong), "refused", "one that is none is not");
  const other = session(undefined, "127.0.0.2");
  assert.equal(await ask(other), 200, "another address has room of its own");
  const more = Array.from({ length: 60 }, () => dribble(other));
  const otherEnds = endsOf(more);
  await until(() => otherEnds.length >= 43);
  assert.equal(front.server.openStreams, 37);
  const known = Array.from({ length: 40 }, () => dribble(flood, right));
  const knownEnds = endsOf(known);
  await until(() => knownEnds.length >= 20);
  assert.equal(front.server.openStreams, 57, "with a token an address has half");
  for (const one of [flood, other]) one.destroy();
  await until(() => front.server.openStreams === 0);
  assert.equal(await ask(session()), 200);
  await until(() => front.server.openStreams === 0);
});

test("T-N04: one that never says whether a body comes counts as well", async (t) => {
  const limits = { streamsPerConnection: 30, streamsWithoutToken: 45, streamsWaiting: 1700 };
  const { front, session } = await http2Stage(t, limits);
  const list = { ":path": "/v1/sys/a", ":method": "LIST" };
  const openMany = (flood: ClientHttp2Session, headers: OutgoingHttpHeaders) =>
    Array.from({ length: 30 }, () => flood.request(headers, { endStream: false }));
  const flood = session();
  const ends = endsOf(openMany(flood, list));
  await until(() => ends.length >= 25);
  assert.equal(front.server.openStreams, 5);
  // What is sent as a token is not looked at before it is known what is wanted.
  const others = Array.from({ length: 5 }, () => session());
  const claiming = endsOf(others.flatMap((one) => openMany(one, { ...list, ...WRONG })));
  await until(() => claiming.length >= 50);
  assert.equal(front.server.openStreams, 105);
  assert.deepEqual(new Set([...ends, ...claiming]), new Set(["refused"]));
  assert.equal(front.seen.length, 0);
  assert.equal(await ask(flood, RIGHT), 200, "one that says what it wants is looked at");
});

test("T-N03: a connection on which all streams only dribble makes room for one that asks something", async (t) => {
  const { front, session } = await http2Stage(t, { connectionsPerLocalAddress: 2 });
  const idlers = [session(), session()];
  for (const idler of idlers) endsOf([dribble(idler), dribble(idler)]);
  await until(() => front.seen.length === 4);
  assert.equal(await ask(session()), 200);
  assert.equal(front.server.connections, 2);
  await until(() => idlers.filter(({ destroyed }) => destroyed).length === 1);
});

/** Every request takes more than a turn should: all that come with it wait for theirs. */
async function busyStage(
  t: Parameters<typeof http2Stage>[0],
  limits: Parameters<typeof http2Stage>[1],
) {
  const stage = await http2Stage(t, limits);
  const { front } = stage;
  front.knows = ({ credential }) => {
    front.world.clock.pass(16n * MILLISECOND);
    return credential === "right";
  };
  front.script = () => ({});
  return stage;
}

test("T-N04: a token that waits to be looked at does not count as none", async (t) => {
  const { front, session } = await busyStage(t, { streamsWithoutToken: 18 });
  const sessions = [session(), session(), session()];
  const asking = sessions.flatMap((one) => Array.from({ length: 50 }, () => ask(one, RIGHT)));
  assert.deepEqual(await Promise.all(asking), Array<number>(150).fill(204));
  await until(() => front.server.openStreams === 0);
});

test("T-N04: nor is one without a token refused that only waits for its turn", async (t) => {
  const { front, session } = await busyStage(t, { streamsWithoutToken: 90 });
  const sessions = [session(), session()];
  await Promise.all(sessions.map((one) => ask(one, RIGHT)));
  const asking = sessions.flatMap((one) => Array.from({ length: 50 }, () => ask(one)));
  assert.deepEqual(await Promise.all(asking), Array<number>(100).fill(204));
  await until(() => front.server.openStreams === 0);
});

test("T-N04: where there is no place for a stream once it was looked at, nothing is done and it may try again", async (t) => {
  const limits = { streams: 20, streamsWithoutToken: 18 };
  const { front, session } = await busyStage(t, limits);
  const held = Promise.withResolvers<object>();
  front.script = () => held.promise;
  const flood = session();
  const known = endsOf(Array.from({ length: 30 }, () => flood.request({ ...PATH, ...RIGHT })));
  await until(() => known.length === 20);
  assert.deepEqual(new Set(known), new Set(["refused"]));
  const unknown = endsOf(Array.from({ length: 30 }, () => flood.request({ ...PATH, ...WRONG })));
  await until(() => unknown.length === 28);
  assert.deepEqual(new Set(unknown), new Set(["refused"]));
  assert.equal(front.seen.length, 12, "ten with a token, two without");
  held.resolve({});
  await until(() => known.length === 30 && unknown.length === 30);
  assert.equal(known.filter((end) => end === 204).length, 10);
  assert.equal(front.seen.length, 12);
  await until(() => front.server.openStreams === 0 && front.server.inFlight === 0);
});

test("T-N03: streams that are over together end a few at a time, of whatever connections", async (t) => {
  const { front, session } = await http2Stage(t);
  const sessions = Array.from({ length: 10 }, () => session());
  const ends = endsOf(
    sessions.flatMap((one): ClientHttp2Stream[] => Array.from({ length: 60 }, () => dribble(one))),
  );
  await until(() => front.seen.length === 600);
  const { timers } = front.world;
  await timers.advance(29n * SECOND);
  let most = 0;
  for (let passed = 0n; passed < 3000n; passed += 5n) {
    const before = front.facts.length;
    await timers.advance(5n * MILLISECOND);
    most = Math.max(most, front.facts.length - before);
  }
  assert.equal(front.facts.length, 600, "all within two seconds");
  assert.ok(most > 0 && most <= 64, `${most} at once`);
  await until(() => ends.length === 600);
  assert.deepEqual(new Set(ends), new Set([408]));
});
