import assert from "node:assert/strict";
import test from "node:test";
import { LargeBodies } from "./large-bodies.ts";

/** Turns of the event loop that come when they are told to. */
class Turns {
  readonly #waiting: (() => void)[] = [];

  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async next(): Promise<void> {
    assert.ok(this.#waiting.length <= 1, "one at a time");
    this.#waiting.shift()?.();
    await followed();
  }
}

async function followed(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

test("T-N02: of large bodies that come together one goes on in a turn, and small ones at once", async () => {
  const turns = new Turns();
  const bodies = new LargeBodies(turns);
  const gone: string[] = [];
  const send = async (name: string, size: number) => {
    const { length } = await bodies.inTurn(Buffer.alloc(size), "192.0.2.1");
    gone.push(`${name} ${length}`);
  };
  void send("first", 8193);
  void send("second", 1_000_000);
  void send("small", 8192);
  await followed();
  assert.deepEqual(gone, ["small 8192"]);
  await turns.next();
  assert.deepEqual(gone, ["small 8192", "first 8193"]);
  await turns.next();
  assert.deepEqual(gone, ["small 8192", "first 8193", "second 1000000"]);
});

test("T-N03: addresses take turns: of a thousand large bodies of one, another's is behind one", async () => {
  const turns = new Turns();
  const bodies = new LargeBodies(turns);
  const gone: string[] = [];
  const send = async (address: string) => {
    await bodies.inTurn(Buffer.alloc(9000), address);
    gone.push(address);
  };
  for (let i = 0; i < 1000; i++) void send(i % 2 === 0 ? "2001:db8::1" : `2001:db8::${i}`);
  void send("192.0.2.1");
  void send("192.0.2.1");
  await followed();
  for (let i = 0; i < 4; i++) await turns.next();
  assert.deepEqual(gone, ["2001:db8::1", "192.0.2.1", "2001:db8::1", "192.0.2.1"]);
  for (let i = 4; i < 1002; i++) await turns.next();
  assert.equal(gone.length, 1002);
});
