import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { EMPTY } from "@holdfast/shared/bytes";
import type { Incoming } from "../core/incoming.ts";
import type { SentRequest } from "../core/seams.ts";
import { SESSION_LIMITS } from "@holdfast/shared/grpc/session-life";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { ask, findToken, forward, takeUse } from "./messages.ts";
import { Places } from "./places.ts";

interface Who {
  readonly address?: string;
  readonly credential?: string | null;
  readonly signal?: AbortSignal;
}
const WAITS = { mayWait: true, isNamed: true } as const;
const NAMES = { mayWait: false, isNamed: true } as const;
const WRITES = { mayWait: false, isNamed: false } as const;

function requestOf(
  kind: Pick<SentRequest, "mayWait" | "isNamed">,
  { address = "192.0.2.1", credential = "c", signal = new AbortController().signal }: Who,
): SentRequest {
  const incoming = { remote: { address, port: 1, loopback: false }, signal } as Incoming;
  const rest = { target: "", attested: null, body: EMPTY, headers: [] };
  return { incoming, credential, ...rest, ...kind };
}

/** Everything that is sent stays until it is let go. */
class Sent {
  readonly places = new Places();
  readonly #open: (() => void)[] = [];
  readonly refused: string[] = [];
  done = 0;

  get open(): number {
    return this.#open.length;
  }

  begin(kind: Pick<SentRequest, "mayWait" | "isNamed">, who: Who = {}): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const send = () => {
      this.#open.push(resolve);
      return promise;
    };
    this.places.run(requestOf(kind, who), send).then(
      () => this.done++,
      (error: Error & { readonly code?: string }) => this.refused.push(error.code ?? error.message),
    );
  }

  async end(count = this.#open.length): Promise<void> {
    for (const end of this.#open.splice(0, count)) end();
    await nextTurn();
  }
}

describe("what is sent on", () => {
  test("leaves streams of a session to replication, whatever is sent", () => {
    const all = [forward, ask, takeUse, findToken];
    const sent = all.reduce((sum, { atOnce }) => sum + atOnce, 0);
    // The log and the stream in its place, an echo, an answer to a question of each kind, keys, what was made outside, and rows.
    assert.ok(sent <= SESSION_LIMITS.streams - 8, `${sent} streams`);
  });

  test("waits in line for a place, addresses in turn; who leaves gives its place away", async () => {
    const sent = new Sent();
    for (let n = 0; n < 100; n++) sent.begin(WRITES);
    await nextTurn();
    assert.equal(sent.open, 18, "three quarters");
    for (let n = 0; n < 10; n++) sent.begin(WRITES, { address: "192.0.2.2" });
    await nextTurn();
    assert.equal(sent.open, forward.atOnce);
    const late = new AbortController();
    sent.begin(WRITES, { address: "192.0.2.3", signal: late.signal });
    late.abort(new Error("gone"));
    await nextTurn();
    assert.deepEqual(sent.refused, ["gone"]);
    while (sent.open > 0) await sent.end();
    assert.equal(sent.done, 110);
  });

  test("stands in no line where whoever has sent it is gone already, and keeps nothing of who had to wait", async () => {
    const sent = new Sent();
    const { signal } = new AbortController();
    for (let n = 0; n < 20; n++) sent.begin(WRITES, { signal });
    await nextTurn();
    assert.equal(sent.open, 18);
    assert.equal(getEventListeners(signal, "abort").length, 2);
    sent.begin(WRITES, { signal: AbortSignal.abort(new Error("gone")) });
    await nextTurn();
    assert.deepEqual(sent.refused, ["gone"]);
    while (sent.open > 0) await sent.end();
    assert.equal(sent.done, 20);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  test("is refused where the line is full", async () => {
    const sent = new Sent();
    for (let n = 0; n < 18 + 512 + 1; n++) sent.begin(WRITES);
    await nextTurn();
    assert.deepEqual(sent.refused, ["primary-busy"]);
    while (sent.open > 0) await sent.end();
  });

  const bounds: readonly [string, number, (n: number) => Who][] = [
    ["a credential", 8, (n) => ({ address: `192.0.2.${n}` })],
    ["nobody's credential", 8, (n) => ({ address: `192.0.2.${n}`, credential: null })],
    ["an address", 12, (n) => ({ credential: `c${n}` })],
    ["a network of one client", 12, (n) => ({ address: `2001:db8::${n}`, credential: `c${n}` })],
    ["all", 16, (n) => ({ address: `192.0.2.${n}`, credential: `c${n}` })],
  ];
  for (const [name, most, who] of bounds) {
    test(`may wait there for a change up to a bound: ${name}`, async () => {
      const sent = new Sent();
      for (let n = 0; n < 30; n++) sent.begin(WAITS, who(n));
      await nextTurn();
      assert.equal(sent.open, most);
      assert.deepEqual(new Set(sent.refused), new Set(["too-many-region-queries"]));
      // The rest has places of its own.
      sent.begin(NAMES);
      sent.begin(WRITES);
      await nextTurn();
      assert.equal(sent.open, most + 2);
      await sent.end();
      sent.begin(WAITS, who(0));
      await nextTurn();
      assert.equal(sent.open, 1, "places are given back");
      await sent.end();
    });
  }

  test("takes as many calls that name the region as the primary does, and no more", async () => {
    const sent = new Sent();
    for (let n = 0; n < 30; n++) {
      sent.begin(WAITS, { address: `192.0.2.${n}`, credential: `c${n}` });
      sent.begin(NAMES, { address: `192.0.2.${n}`, credential: `c${n}` });
    }
    await nextTurn();
    assert.equal(sent.open, ask.atOnce);
    while (sent.open > 0) await sent.end();
  });
});
