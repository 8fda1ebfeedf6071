// Who is taken and who is not, what each side knows of the other, how a secondary tries again; and what becomes of
// a peer that sends what it should not.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { until } from "../../../tests/support/until.ts";
import type { Hello } from "../../cluster/hello.ts";
import type { Peer } from "../../cluster/verify.ts";
import { serveStream, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { trimLog } from "../../storage/trimming.ts";
import { decide, type Decision, factsOf, forkOf } from "./decision.ts";
import { measure } from "./echo-times.ts";
import * as messages from "./messages.ts";

const BOUND = { timeout: 300_000 };
const SECOND = 1_000_000_000n;

async function turns(count = 40): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

async function filled(options?: Parameters<typeof ReplicatedPair.make>[0]) {
  const pair = await ReplicatedPair.make(options);
  for (let i = 0; i < 10; i++) await pair.put(`shared/${i}`, `value ${i}`);
  return pair;
}

function refused(status: number): (error: unknown) => boolean {
  return (error) => error instanceof StatusError && error.status === status;
}

describe("a secondary and its primary", BOUND, () => {
  let pair: ReplicatedPair;
  afterEach(() => pair.close());

  test("the book of the primary, and what the secondary knows of it", async () => {
    pair = await filled({ ahead: 3n * SECOND });
    pair.receiver.open();
    await pair.atRest();
    await pair.world.timers.advance(11n * SECOND);
    await turns();
    const [member] = pair.sender.members();
    assert.deepEqual(
      { ...member, connectedSince: 0n, lastHeartbeat: 0n },
      {
        id: "paris",
        clusterId: "0b8e2f3e-0000-4000-8000-00000000000b",
        version: "0.1.0",
        apiAddress: "https://b:8200",
        clusterAddresses: ["https://b:8201"],
        transactionBytes: 64n * 1024n * 1024n,
        isConnected: true,
        isDoubled: false,
        doubledFrom: [],
        connectedSince: 0n,
        lastHeartbeat: 0n,
        echoDuration: 0n,
        clockSkew: 3n * SECOND,
        acknowledged: 10n,
        lag: 0n,
        behindFor: null,
        state: "stream-wals",
        keysVersion: "1",
        encryptions: 7n,
        evacuations: [],
        standIns: null,
      },
    );
    const { clockSkew, echoDuration, highestAnnounced } = pair.receiver.status;
    assert.deepEqual([clockSkew, echoDuration, highestAnnounced], [3n * SECOND, 0n, 10n]);
    assert.ok(pair.world.lines.some((line) => line.includes("the clock of a secondary")));
    await pair.receiver.close();
    await pair.world.timers.advance(16n * SECOND);
    assert.equal(pair.sender.members()[0]!.isConnected, false);
  });

  test("the primary hears at once that a secondary streams, and for how long it lacks what it lacks", async () => {
    pair = await filled();
    pair.receiver.open();
    await pair.atRest();
    await turns();
    assert.equal(pair.sender.members()[0]!.state, "stream-wals"); // and no time has passed
    await pair.receiver.close();
    await pair.world.timers.advance(SECOND);
    await pair.put("shared/later", "1");
    await pair.world.timers.advance(7n * SECOND);
    await pair.put("shared/later", "2");
    assert.deepEqual(
      pair.sender.members().map(({ lag, behindFor }) => ({ lag, behindFor })),
      [{ lag: 2n, behindFor: 7n * SECOND }],
    );
    await pair.world.timers.advance(16n * SECOND);
    pair.sender.tellNews();
    pair.sender.tellNews();
    const gone = pair.world.lines.filter((line) => line.includes("secondary-disconnected"));
    assert.equal(gone.length, 1);
  });

  test("who has not come yet needs the whole log; a hello for something else changes nothing in the book", async () => {
    pair = await filled();
    assert.equal(pair.sender.needed(), 1n);
    pair.receiver.open();
    await pair.atRest();
    assert.deepEqual(pair.sender.retention, { acknowledged: 10n, pinned: null });
    pair.known.push("rome");
    assert.equal(pair.sender.needed(), 1n);
    pair.known = [];
    assert.equal(pair.sender.needed(), null);
    pair.known = ["paris"];
    const link = pair.link("primary");
    const before = pair.sender.members();
    await link.open({ clusterId: "", version: "", epoch: 1 });
    assert.deepEqual(pair.sender.members(), before);
    await link.close();
  });

  test("who is revoked while it is looked at is not taken", async () => {
    pair = await filled({
      sender: {
        confirm: async () => {
          pair.known = [];
        },
      },
    });
    const link = pair.link("primary");
    await assert.rejects(
      link.open({ clusterId: "0b8e2f3e-0000-4000-8000-00000000000b", version: "", epoch: 1 }),
      refused(Status.permissionDenied),
    );
    assert.deepEqual(pair.sender.members(), [], "nothing of it is in the book");
  });

  test("a member causes a line of a kind in a minute, however often it says what is worth one", async () => {
    pair = await filled({ ahead: 3n * SECOND });
    pair.receiver.open();
    await pair.atRest();
    for (let i = 0; i < 60; i++) {
      await pair.world.timers.advance(5n * SECOND);
      await turns(5);
    }
    const lines = pair.world.lines.filter((line) => line.includes("the clock of a secondary"));
    assert.ok(lines.length >= 4 && lines.length <= 6, `${lines.length} lines in five minutes`);
    const link = pair.link("primary");
    const later = () =>
      link.open({ clusterId: "0b8e2f3e-0000-4000-8000-00000000000b", version: "", epoch: 9 });
    for (let i = 0; i < 10; i++) await assert.rejects(later());
    assert.deepEqual(pair.superseded, [9]);
    await pair.world.timers.advance(60n * SECOND);
    await assert.rejects(later());
    assert.deepEqual(pair.superseded, [9, 9]);
  });

  test("four times of two clocks", () => {
    // One way takes 10, the other 30, the answer 5; the other clock is 100 ahead.
    const times = { t0: 1000n, t1: 1110n, t2: 1115n, t3: 1045n };
    assert.deepEqual(measure(times), { duration: 40n, skew: 90n });
  });

  test("one that is revoked calls once in a minute, and follows when it is a member again; one that is dropped for another reason comes again", async () => {
    pair = await filled();
    pair.receiver.open();
    await pair.atRest();
    void pair.sender.drop("paris", "too slow\u001b[2J\n");
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /too slow\?\[2J\?/, "it is printable");
    await pair.atRest();
    void pair.sender.drop("paris", "revoked");
    pair.known = [];
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /revoked/);
    await turns();
    const at: bigint[] = [];
    const open = pair.link.bind(pair);
    pair.link = (address) => {
      at.push(pair.world.clock.elapsed());
      return open(address);
    };
    pair.revoked = true;
    await pair.world.timers.advance(47n * SECOND);
    await turns();
    assert.deepEqual(at, [], "it does not hurry");
    for (let i = 0; i < 500 && at.length < 4; i++) {
      await pair.world.timers.advance(SECOND);
      await turns(3);
    }
    const waited = at.slice(1).map((time, i) => Number(time - at[i]!) / 1e9);
    assert.ok(waited.length === 3 && waited.every((one) => one > 47 && one < 75), String(waited));
    pair.revoked = false;
    pair.known = ["paris"];
    await pair.world.timers.advance(75n * SECOND);
    await pair.atRest();
  });

  test("one that does not listen is told for half a second, and no longer", async () => {
    pair = await filled({
      way: {
        pass: (to) => (to === "client" && isDeaf ? new Promise(() => {}) : Promise.resolve()),
      },
    });
    let isDeaf = false;
    pair.receiver.open();
    await pair.atRest();
    isDeaf = true;
    await pair.put("shared/x");
    await turns();
    let isOver = false;
    const dismissed = pair.sender.drop("paris", "revoked").then(() => (isOver = true));
    await turns();
    assert.equal(isOver, false);
    await pair.world.timers.advance(SECOND);
    await dismissed;
    await pair.sender.drop("paris", "revoked");
  });

  test("attempts where nobody answers come after a second, and at most two, each a fifth more or less; at once when somebody says so", async () => {
    pair = await filled();
    pair.addresses = ["nowhere", "elsewhere"];
    let attempts = 0;
    const at: bigint[] = [];
    const open = pair.link.bind(pair);
    pair.link = (address) => {
      if (address === "nowhere") at.push(pair.world.clock.elapsed());
      attempts++;
      return open(address);
    };
    pair.receiver.open();
    for (let i = 0; i < 100; i++) {
      await turns(3);
      await pair.world.timers.advance(SECOND / 2n);
    }
    assert.equal(attempts, 2 * at.length, "every address is tried");
    for (const [i, expected] of [1, 2, 2, 2, 2, 2].entries()) {
      const waited = Number(at[i + 1]! - at[i]!) / 1e9;
      const [least, most] = [expected * 0.8 - 0.5, expected * 1.2 + 1];
      assert.ok(waited >= least && waited <= most, `${waited} s instead of ${expected}`);
    }
    assert.match(pair.receiver.status.connectionState, /transient_failure/);
    pair.addresses = ["nowhere", "primary"];
    pair.receiver.retry();
    await until(() => pair.receiver.status.state === "stream-wals");
    await pair.atRest();
  });

  test("attempts where the primary answers and refuses come after a second, two, and at most a minute", async () => {
    const at: bigint[] = [];
    pair = await filled({
      sender: {
        confirm: async () => {
          at.push(pair.world.clock.elapsed());
          throw new StatusError(Status.permissionDenied, "not now");
        },
      },
    });
    pair.receiver.open();
    for (let i = 0; i < 400; i++) {
      await turns(3);
      await pair.world.timers.advance(SECOND / 2n);
    }
    for (const [i, expected] of [1, 2, 4, 8, 16, 32, 60].entries()) {
      const waited = Number(at[i + 1]! - at[i]!) / 1e9;
      const [least, most] = [expected * 0.8 - 0.5, expected * 1.2 + 1];
      assert.ok(waited >= least && waited <= most, `${waited} s instead of ${expected}`);
    }
  });

  test("a connection that ends at once has not stood: attempts come ever later", async () => {
    const at: bigint[] = [];
    pair = await filled({
      receiver: {
        keys: async () => {
          at.push(pair.world.clock.elapsed());
          throw new Error("they are not handed over");
        },
      },
    });
    pair.keysVersion.primary = "2";
    pair.receiver.open();
    for (let i = 0; i < 80; i++) {
      await turns(10);
      await pair.world.timers.advance(SECOND / 2n);
    }
    for (const [i, expected] of [1, 2, 4, 8].entries()) {
      const waited = Number(at[i + 1]! - at[i]!) / 1e9;
      const [least, most] = [expected * 0.8 - 0.5, expected * 1.2 + 1];
      assert.ok(waited >= least && waited <= most, `${waited} s instead of ${expected}`);
    }
  });

  test("after a connection that stood, and when the primary says that it is there, attempts begin again at the first pause", async () => {
    let isDeaf = false;
    pair = await filled({
      way: {
        pass: (to) => (to === "client" && isDeaf ? new Promise(() => {}) : Promise.resolve()),
      },
      receiver: { accept: async () => void (isDeaf = true) },
    });
    const { clock, timers } = pair.world;
    const at: bigint[] = [];
    const open = pair.link.bind(pair);
    pair.link = (address) => {
      at.push(clock.elapsed());
      return open(address);
    };
    const untilAttempts = async (count: number) => {
      const before = at.length;
      for (let i = 0; i < 400 && at.length < before + count; i++) {
        await timers.advance(SECOND / 4n);
        await turns(3);
      }
      assert.equal(at.length, before + count);
    };
    const waited = () => Number(at.at(-1)! - at.at(-2)!) / 1e9;
    pair.addresses = ["nowhere"];
    pair.receiver.open();
    await turns();
    await untilAttempts(5);
    assert.ok(waited() > 1.5, `${waited()}`);

    pair.addresses = ["primary"];
    await untilAttempts(1);
    pair.addresses = ["nowhere"];
    const connected = clock.elapsed();
    await untilAttempts(1); // nobody answered the first echo for ten seconds
    assert.ok(clock.elapsed() - connected < 13n * SECOND, String(clock.elapsed() - connected));

    await untilAttempts(5);
    assert.ok(waited() > 1.5, `${waited()}`);
    const { length } = at;
    pair.receiver.expect();
    await turns();
    assert.equal(at.length, length + 1);
    await untilAttempts(1);
    assert.ok(waited() < 1.5, `${waited()}`);
  });

  test("a later epoch at a member is told to whoever leads, and it is sent nothing", async () => {
    pair = await filled();
    pair.epoch.secondary = 2;
    pair.receiver.open();
    await until(() => pair.superseded.length > 0);
    assert.deepEqual(pair.superseded, [2]);
    await turns();
    assert.equal(pair.secondary.store.index, 0n);
    assert.equal(pair.hellos.length, 0);
  });

  test("another epoch of the primary ends the session, and the next hello tells of it", async () => {
    pair = await filled();
    pair.receiver.open();
    await pair.atRest();
    pair.epoch.primary = 2;
    await pair.world.timers.advance(6n * SECOND);
    await pair.atRest();
    assert.equal(pair.epoch.secondary, 2);
    assert.equal(pair.hellos.length, 2);
  });

  test("a primary that is sealed sends nothing, and goes on when it is unsealed", async () => {
    pair = await filled();
    await pair.primary.store.lock();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.equal(pair.hellos.length, 0);
    pair.primary.store.unlock(TREE_KEY);
    await pair.atRest();
  });

  test("an address that is not followed is refused by whoever decides that", async () => {
    pair = await filled({
      receiver: {
        accept: async ({ epochProof }) => {
          assert.equal(Buffer.from(epochProof).toString(), "proof");
          throw new Failure("conflict", "replication-stranger", "this is a stranger");
        },
      },
    });
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /stranger/);
    assert.equal(pair.calls.size, 0, "nothing is asked of it");
  });

  test("what is asked of a primary has bounds, and nothing of a node's own leaves it", async () => {
    pair = await filled();
    const link = pair.link("primary");
    const open = (self: object) => link.open({ clusterId: "b", version: "1", epoch: 1, ...self });
    const { decision } = await open({});
    assert.deepEqual(decision?.kind, "refuse");
    const epoch = 1;
    for (const call of [
      () => link.call(messages.subpages, { epoch, pages: Buffer.from([2, 0]) }),
      () => link.call(messages.subpages, { epoch, pages: Buffer.alloc(34) }),
      () => link.call(messages.subpages, { epoch, pages: Buffer.alloc(1) }),
      () => first(link.stream(messages.leaves, { epoch, slots: Buffer.from([0, 2, 0, 0]) })),
      () => first(link.stream(messages.leaves, { epoch, slots: Buffer.alloc(4 * 1025) })),
      () => first(link.stream(messages.fetchKeys, { epoch, keys: ["core/own"] })),
      () => first(link.stream(messages.fetchKeys, { epoch, keys: ["shared//x"] })),
      () => first(link.stream(messages.streamLog, only({ start: null, ack: null }))),
    ]) {
      await assert.rejects(call, refused(Status.invalidArgument));
    }
    const ahead = link.call(messages.copyScope, { epoch: 2, after: "" });
    await assert.rejects(ahead, /somebody else leads/);
    const stale = link.call(messages.copyScope, { epoch: 0, after: "" });
    await assert.rejects(stale, refused(Status.aborted));
    const chunk = await link.call(messages.copyScope, { epoch, after: "" });
    assert.deepEqual(
      chunk.rows.map(({ key }) => key),
      Array.from({ length: 10 }, (_, i) => `shared/${i}`),
    );
    pair.known = [];
    const gone = link.call(messages.copyScope, { epoch, after: "" });
    await assert.rejects(gone, refused(Status.permissionDenied));
    await assert.rejects(open({}), refused(Status.permissionDenied));
    await link.close();
  });

  test("an acknowledgement of what was not sent ends the stream, and counts for nothing", async () => {
    pair = await filled();
    const link = pair.link("primary");
    await link.open({ clusterId: "b", version: "1", epoch: 1 });
    const { lineage, epoch, index, chain } = pair.primary.store.head!;
    async function* says() {
      yield {
        start: { epoch: 1, cursor: { lineage, epoch, index, chain }, filter: "" },
        ack: null,
      };
      yield { start: null, ack: { received: 999n, durable: 999n, credit: 0n } };
    }
    let count = 0;
    for await (const _ of link.stream(messages.streamLog, says())) count++;
    assert.ok(count <= 1);
    assert.equal(pair.sender.members()[0]!.acknowledged, 10n);
    await link.close();
  });

  const rows = (...keys: string[]) => ({
    rows: keys.map((key) => ({
      key,
      scope: Buffer.alloc(16),
      value: Buffer.from("x"),
      isAbsent: false,
    })),
    index: 10n,
  });
  for (const [what, says, answer] of [
    ["rows out of order", /out of order/, { ...rows("shared/b", "shared/a"), isDone: true }],
    ["rows of before", /out of order/, { ...rows("shared/a", "shared/a"), isDone: true }],
    ["no rows at all, without an end", /without rows/, { ...rows(), isDone: false }],
    ["a node's own rows", /leaves a cluster/, { ...rows("core/own"), isDone: true }],
    ["a key that is none", /leaves a cluster/, { ...rows("shared//a"), isDone: true }],
  ] as const) {
    test(`a primary that copies ${what} is not believed`, async () => {
      pair = await filled();
      pair.instead.set("CopyScope", () =>
        serveUnary<Peer, { epoch: number; after: string }, messages.CopiedChunk>(
          messages.copyScope,
          async () => answer,
        ),
      );
      pair.receiver.open();
      await until(() => says.test(pair.receiver.status.lastSyncError ?? ""));
      assert.equal(pair.secondary.store.get("core/own"), null);
      assert.equal(pair.secondary.store.index, 0n);
      pair.instead.clear();
      pair.receiver.retry();
      await pair.atRest();
    });
  }

  for (const [method, what, says, instead] of [
    [
      "Leaves",
      "leaves of another place",
      /another place/,
      serveStream(messages.leaves, async function* () {
        yield { leaves: [{ slot: 1, key: "shared/1", hash: Buffer.alloc(32) }], index: 1n };
      }),
    ],
    [
      "FetchKeys",
      "rows of other keys",
      /other keys/,
      serveStream(messages.fetchKeys, async function* () {
        yield rows("shared/unasked");
      }),
    ],
    ["FetchKeys", "no rows", /fewer rows/, serveStream(messages.fetchKeys, async function* () {})],
    [
      "Subpages",
      "fewer sums",
      /other sums/,
      serveUnary(messages.subpages, async () => ({ sums: Buffer.alloc(36) })),
    ],
    [
      "BeginDiff",
      "a head of its own",
      /MAC does not match/,
      serveUnary(messages.beginDiff, async () => ({
        head: Buffer.alloc(197, 1),
        timeline: Buffer.from('{"lineage":"x","epochs":[]}'),
        pages: Buffer.alloc(0),
        shared: null,
      })),
    ],
  ] as const) {
    test(`a primary that answers ${method} with ${what} is not believed`, async () => {
      pair = await filled();
      pair.receiver.open();
      await pair.atRest();
      await pair.receiver.close();
      for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, "new");
      await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
      pair.instead.set(method, () => instead);
      pair.receive();
      pair.receiver.open();
      await until(() => says.test(pair.receiver.status.lastSyncError ?? ""));
      assert.equal(pair.secondary.store.get("shared/unasked"), null);
      pair.instead.clear();
      pair.receiver.retry();
      await pair.atRest();
    });
  }
});

describe("the decision", () => {
  const LIMITS = { operations: 8192, bytes: 64n * 1024n * 1024n };

  async function decided(
    change: (hello: Hello, pair: ReplicatedPair) => object,
  ): Promise<Decision> {
    const pair = await filled();
    await trimLog(pair.primary.store, pair.world, { minEntries: 5n });
    const { head, timeline } = pair.primary.store;
    const { lineage, epoch, index, chain } = head!;
    const theirs = {
      cursor: { lineage, epoch, index, chain },
      timeline: Buffer.from(JSON.stringify(timeline)),
      storageFormat: 1,
      limits: LIMITS,
      half: null,
      isEmpty: false,
    };
    const hello = { ...theirs, ...change(theirs as unknown as Hello, pair) };
    const decision = decide(hello, factsOf(pair.primary.store));
    await pair.close();
    return decision;
  }

  const at = (index: bigint) => (hello: Hello, pair: ReplicatedPair) => {
    const [row] = pair.primary.store.logs(index, 1);
    const chain = row === undefined ? Buffer.alloc(32) : row.entry.subarray(85, 117);
    return { cursor: { ...hello.cursor, index, chain } };
  };

  for (const [what, kind, change] of [
    ["the same place", "resume", () => ({})],
    ["a place before", "resume", at(7n)],
    ["the last place that is not kept", "diff", at(4n)],
    [
      "nothing",
      "copy",
      (hello) => ({ isEmpty: true, cursor: { ...hello.cursor, lineage: Buffer.alloc(16) } }),
    ],
    ["no rows, and the log", "resume", () => ({ isEmpty: true })],
    [
      "no rows, and another chain",
      "refuse",
      (hello) => ({ isEmpty: true, cursor: { ...hello.cursor, chain: Buffer.alloc(32) } }),
    ],
    [
      "no rows, and the last place that is not kept",
      "copy",
      (hello, pair) => ({ isEmpty: true, ...at(4n)(hello, pair) }),
    ],
    [
      "another lineage",
      "diff",
      (hello) => ({ cursor: { ...hello.cursor, lineage: Buffer.alloc(16) } }),
    ],
    [
      "another chain",
      "refuse",
      (hello) => ({ cursor: { ...hello.cursor, chain: Buffer.alloc(32) } }),
    ],
    ["more than we have", "rewind", (hello) => ({ cursor: { ...hello.cursor, index: 12n } })],
    ["an older form", "refuse", () => ({ storageFormat: 0 })],
    ["a small storage", "refuse", () => ({ limits: { ...LIMITS, bytes: 1000n } })],
    ["a timeline that is none", "refuse", () => ({ timeline: Buffer.from("x") })],
    ["no cursor", "refuse", () => ({ cursor: null })],
    [
      "a comparison that was cut off",
      "diff",
      (_, { primary }) => ({ half: { isCopy: false, head: primary.store.headBytes! } }),
    ],
    [
      "a copy that was cut off",
      "copy",
      (_, { primary }) => ({ half: { isCopy: true, head: primary.store.headBytes! } }),
    ],
    [
      "a copy of another log",
      "diff",
      (_, { secondary }) => ({ half: { isCopy: true, head: secondary.store.headBytes! } }),
    ],
    ["a copy of nothing", "diff", () => ({ half: { isCopy: true, head: Buffer.from("x") } })],
  ] as readonly [string, string, (hello: Hello, pair: ReplicatedPair) => object][]) {
    test(`one that has ${what}: ${kind}`, async () => {
      assert.equal((await decided(change)).kind, kind);
    });
  }

  test("one that is older than its primary is refused", async () => {
    const reason = "the primary is newer than this secondary";
    assert.deepEqual(await decided(() => ({ storageFormat: 0 })), { kind: "refuse", reason });
    assert.deepEqual(await decided(() => ({ storageFormat: 1 })), { kind: "resume" });
  });

  test("the fork is where the timelines part, or where the shorter log ends", () => {
    const row = (epoch: number, first: string, cluster = "a") => ({
      epoch,
      first,
      chain: "00",
      cluster,
    });
    const timeline = (...epochs: ReturnType<typeof row>[]) => ({ lineage: "x", epochs });
    const [one, two, other] = [row(1, "1"), row(2, "10"), row(2, "8", "b")];
    const fork = (a: (typeof one)[], ai: bigint, b: (typeof one)[], bi: bigint) =>
      forkOf({ timeline: timeline(...a), index: ai }, { timeline: timeline(...b), index: bi });
    assert.equal(fork([one], 5n, [one], 9n), 5n);
    assert.equal(fork([one, two], 20n, [one], 15n), 9n);
    assert.equal(fork([one, two], 20n, [one], 7n), 7n);
    assert.equal(fork([one, two], 20n, [one, other], 20n), 7n);
    assert.equal(fork([one, two], 20n, [one, two], 12n), 12n);
    assert.equal(fork([one], 5n, [row(1, "1", "z")], 5n), null);
  });
});

async function first<T>(answers: AsyncIterable<T>): Promise<T | null> {
  for await (const answer of answers) return answer;
  return null;
}

async function* only<T>(value: T): AsyncGenerator<T> {
  yield value;
}
