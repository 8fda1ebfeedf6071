import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http2";
import test from "node:test";
import { DEFAULT_LIMITS } from "../listener-settings.ts";
import { OpenStreams, type StreamPlace, StreamRoom } from "./stream-room.ts";

const TOKEN = { "x-service-token": "any" };
const { streams, streamsWaiting, streamsWithoutToken } = DEFAULT_LIMITS;

/** As many as there is room for. */
function fill(
  room: StreamRoom,
  headers: IncomingHttpHeaders,
  how = { saysLater: false, inLine: true },
) {
  const places: StreamPlace[] = [];
  for (;;) {
    const place = room.enter(headers, how.saysLater, how.inLine);
    if (place === null) return places;
    places.push(place);
  }
}

function make() {
  const open = new OpenStreams();
  return { open, room: (client: string) => new StreamRoom(open, client, DEFAULT_LIMITS) };
}

test("an address has a ninth of the places of those that wait, and of those without a token", () => {
  const { open, room } = make();
  fill(room("a"), TOKEN);
  assert.equal(open.waiting.all, Math.floor(streamsWaiting / 9));
  assert.equal(open.unknown.all, Math.floor(streamsWithoutToken / 9));
});

test("T-N04: twenty connections may fill all their streams at once, and all turn out to be known", () => {
  const { open, room } = make();
  const own = room("a");
  const places = Array.from({ length: 2000 }, () => own.enter(TOKEN, false, true));
  for (const place of places) assert.equal(place?.settle(true), true);
  assert.deepEqual([open.known.all, open.waiting.all, open.unknown.all], [2000, 0, 0]);
  for (const place of places) place?.leave();
  for (const place of places) place?.leave();
  assert.equal(open.all, 0);
});

test("T-N04: seventy addresses that take all they get leave room for one with a token", () => {
  for (const [headers, floodSaysLater, saysLater] of [
    [TOKEN, false, false],
    [TOKEN, false, true],
    [TOKEN, true, false],
    [TOKEN, true, true],
    [{}, false, false],
  ] as const) {
    const { open, room } = make();
    for (let i = 0; i < 70; i++) {
      fill(room(`flood ${i}`), headers, { saysLater: floodSaysLater, inLine: true });
    }
    const own = room("a");
    for (let round = 0; round < 20; round++) {
      const places = Array.from({ length: 100 }, () => own.enter(TOKEN, saysLater, true));
      assert.ok(places.every((place) => place?.settle(true) === true));
    }
    assert.equal(open.known.all, 2000);
    assert.ok(open.waiting.all <= streamsWaiting * 1.5);
  }
});

test("T-N04: what does not say what it wants, or has no token, leaves half to those of its address that have", () => {
  for (const [headers, saysLater] of [
    [TOKEN, true],
    [{}, false],
  ] as const) {
    const { open, room } = make();
    const own = room("a");
    fill(own, headers, { saysLater, inLine: true });
    assert.equal(open.waiting.all, Math.floor(streamsWaiting / 17));
    assert.ok(fill(own, TOKEN).length > 800);
  }
});

test("without a token one waits only where there is a line, and never without saying what it wants", () => {
  for (const how of [
    { saysLater: false, inLine: false },
    { saysLater: true, inLine: true },
  ]) {
    const { open, room } = make();
    fill(room("a"), {}, how);
    assert.equal(open.waiting.all, 0);
  }
});

test("one for which there is no room stays refused; one that was let in stays", () => {
  const { open, room } = make();
  const own = room("a");
  const places = Array.from({ length: streams / 2 }, () => {
    const place = own.enter(TOKEN, false, true);
    assert.equal(place?.settle(true), true);
    return place;
  });
  const early = own.enter({}, false, true);
  assert.equal(early?.settle(false), true);
  assert.equal(early?.settle(true), true, "it was let in before");
  assert.deepEqual([open.known.all, open.unknown.all], [streams / 2, 1]);
  const late = own.enter(TOKEN, false, true);
  assert.equal(late?.settle(true), false);
  assert.equal(late?.settle(false), false);
  assert.equal(open.waiting.all, 1);
  late?.leave();
  for (const place of places) assert.equal(place?.settle(false), true);
  places[0]?.leave();
  assert.equal(early?.settle(true), true);
  assert.deepEqual([open.known.all, open.unknown.all], [streams / 2, 0]);
});
