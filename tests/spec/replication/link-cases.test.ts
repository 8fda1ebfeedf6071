// Cases of docs/cases/replication.md about the way between two clusters, over TLS through a proxy: it carries one direction
// only, or little, or the primary never rests while a secondary compares.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Served } from "@holdfast/shared/grpc/method";
import type { Peer } from "../../../src/cluster/verify.ts";
import type { PeerLink, Self } from "../../../src/cluster/peer-link.ts";
import { trimLog } from "../../../src/storage/trimming.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { ReplicatedPair } from "../../support/replication/replicated-pair.ts";
import { type Direction, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { ClusterStage } from "../../support/servers/cluster-stage.ts";
import { assertSameRows } from "../../support/stores/followed-store.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };
const MBIT = 125_000; // bytes in a second
const KIB = 1024;
const ARRIVES_MS = 10; // for half a second of theirs: what is sent on this machine is there by then
const HANDSHAKE_MS = 100; // the same where what is sent waits for each other

interface Scene {
  readonly pair: ReplicatedPair;
  readonly way: TcpProxy;
  /** On both sides, while what is sent on real sockets arrives. */
  readonly pass: (seconds: number, arrivesMs?: number) => Promise<void>;
}

interface SceneOptions {
  readonly served?: (real: Served<Peer>) => Served<Peer>;
  readonly self?: () => Partial<Self>;
}

async function scene(t: TestContext, { served, self }: SceneOptions = {}): Promise<Scene> {
  const stage = await ClusterStage.start();
  t.after(() => stage.close());
  const way = await TcpProxy.before(t, stage.address.port);
  stage.address = { host: "127.0.0.1", port: way.port };
  const member = await stage.member("paris");
  const open = (): PeerLink => {
    const link = stage.link("paris", member);
    const real = link.open.bind(link);
    link.open = (said, signal) => real({ ...said, ...self?.() }, signal);
    return link;
  };
  const pair = await ReplicatedPair.make({ receiver: { open } });
  t.after(() => pair.close());
  stage.greet = pair.sender.greet;
  stage.serve(Array.from(pair.sender.table.values(), (one) => served?.(one) ?? one));
  const pass = async (seconds: number, arrivesMs = ARRIVES_MS) => {
    for (let i = 0; i < seconds; i += 0.5) {
      await pair.world.timers.advance(SECOND / 2n);
      await stage.world.timers.advance(SECOND / 2n);
      const arrived = performance.now() + arrivesMs;
      await until(() => performance.now() > arrived);
    }
  };
  return { pair, way, pass };
}

function isSame({ sender, primary, secondary, receiver }: ReplicatedPair): boolean {
  const { index } = primary.store;
  return (
    sender.members()[0]?.acknowledged === index &&
    secondary.store.index === index &&
    receiver.status.isConsistent
  );
}

for (const direction of ["there", "back"] as const satisfies readonly Direction[]) {
  test(
    `R-99: a way that is cut in one direction (${direction}): both sides say so within 15 seconds, and go on`,
    BOUND,
    async (t) => {
      const { pair, way, pass } = await scene(t);
      await pair.put("shared/a");
      pair.receiver.open();
      await until(() => isSame(pair));
      await pass(6); // it has said how it is
      const states = () => ({
        primary: pair.sender.members()[0]?.isConnected,
        secondary: pair.receiver.status.connectionState === "ready",
      });
      assert.deepEqual(states(), { primary: true, secondary: true });
      way.hold(direction);
      await pair.put("shared/b");
      let seconds = 0;
      const when: string[] = [];
      for (; seconds < 30; seconds++) {
        const { primary, secondary } = states();
        when.push(`${primary} ${secondary}`);
        if (primary !== true && !secondary) break;
        await pass(1);
      }
      assert.ok(seconds <= 16, `${seconds} seconds: ${when.join()}`); // 15, and the step in which they are over
      // Neither holds on to what is gone: what comes by the healed way is another session, and it gets everything.
      await pass(30);
      assert.deepEqual(states(), { primary: false, secondary: false });
      way.heal();
      for (let i = 0; i < 120 && !isSame(pair); i++) await pass(1);
      assert.ok(isSame(pair));
      await pair.put("shared/c");
      for (let i = 0; i < 10 && !isSame(pair); i++) await pass(1); // it waits for what comes with it
      assert.ok(isSame(pair));
      assertSameRows(pair.secondary.engine, pair.primary.engine);
      assert.equal(pair.sender.members().length, 1);
      await pass(6);
      assert.deepEqual(states(), { primary: true, secondary: true });
    },
  );
}

test(
  "R-99: where packets are dropped in both directions and nobody is told, what was written meanwhile is there within five seconds of healing, however long that lasted",
  BOUND,
  async (t) => {
    const { pair, way, pass } = await scene(t);
    await pair.put("shared/a");
    pair.receiver.open();
    await until(() => isSame(pair));
    const took: number[] = [];
    // Until the connection counts as gone it is waited for; after that the primary is dialled. An echo falls into each.
    for (const seconds of [6, 8, 11, 14, 20, 20.5, 21, 21.5, 22, 22.5]) {
      way.drop();
      await pair.put(`shared/${seconds}`);
      await pass(seconds);
      assert.equal(isSame(pair), false);
      way.heal();
      let passed = 0;
      for (; passed < 8 && !isSame(pair); passed += 0.5) {
        await pass(0.5, HANDSHAKE_MS);
      }
      took.push(passed);
      await pass(16); // what is dead at the primary is gone there too
    }
    assert.ok(
      took.every((one) => one <= 5),
      took.join(),
    );
    assertSameRows(pair.secondary.engine, pair.primary.engine);
  },
);

test(
  "R-98: behind a slow line a primary writes as before, and holds little of what is to be sent",
  BOUND,
  async (t) => {
    let sent = 0;
    const served = (real: Served<Peer>): Served<Peer> => ({
      shape: real.shape,
      async *run(requests, call) {
        for await (const message of real.run(requests, call)) {
          sent += message.length;
          yield message;
        }
      },
    });
    const { pair, way } = await scene(t, { served });
    await pair.put("shared/first");
    pair.receiver.open();
    await until(() => isSame(pair));
    way.limit(MBIT);
    sent = 0;
    // 16 MB: two minutes of this line. Nothing but the disk is waited for.
    const before = performance.now();
    for (let i = 0; i < 256; i++) await pair.put(`shared/${i}`, "x".repeat(64 * KIB));
    const seconds = (performance.now() - before) / 1000;
    const behind = pair.primary.store.index - pair.secondary.store.index;
    assert.ok(behind >= 128n, `${behind} entries behind after ${seconds.toFixed(1)} s`);
    // A message at a time is made: windows and buffers of the sockets hold the rest.
    assert.ok(sent < 6 * KIB * KIB, `${sent} bytes were made to be sent`);
    way.heal();
    await until(async () => {
      await pair.world.timers.advance(25_000_000n); // an answer waits for what comes with it
      return isSame(pair);
    });
    assertSameRows(pair.secondary.engine, pair.primary.engine);
    assert.equal(pair.hellos.length, 1, "one session");
  },
);

/** Both the same, then apart until the log is gone. */
async function apart(): Promise<ReplicatedPair> {
  const pair = await ReplicatedPair.make({ way: { pass: nextTurn } });
  await pair.primary.store.write((tx) => {
    for (let i = 0; i < 2000; i++) tx.put(`shared/${i}`, Buffer.from(`value ${i}`));
  });
  pair.receiver.open();
  await pair.atRest();
  await pair.receiver.close();
  for (let i = 0; i < 2000; i += 4) await pair.put(`shared/${i}`, "new");
  await trimLog(pair.primary.store, pair.world, { minEntries: 0n });
  pair.calls.clear();
  pair.receive();
  return pair;
}

for (const [name, perRead] of [
  ["as many as the secondary takes", 1],
  ["more than it takes", 4],
] as const) {
  test(
    `R-97: a primary that writes all the time, ${name}, is compared in one round`,
    BOUND,
    async (t) => {
      const pair = await apart();
      t.after(() => pair.close());
      const { store } = pair.primary;
      let isOver = false;
      let largest = 0n;
      let writes = 0;
      // Some for each entry that the secondary has made durable, or for each turn while it compares; the log is trimmed as
      // on every primary.
      const writing = (async () => {
        for (let taken = pair.secondary.store.index; !isOver;) {
          const { index } = pair.secondary.store;
          const isStreaming = pair.receiver.status.state === "stream-wals";
          const wants = isStreaming ? Number(index - taken) : 1;
          taken = index;
          for (let i = 0; i < Math.max(1, wants) * perRead && !isOver; i++) {
            await pair.put(`shared/${(writes * 7) % 2500}`, `write ${writes}`);
            writes++;
          }
          if (writes % 50 === 0) {
            await trimLog(store, pair.world, { ...pair.sender.retention, minEntries: 0n });
          }
          const lag = store.index - index;
          if (isStreaming && lag > largest) largest = lag;
          await nextTurn();
        }
      })();
      pair.receiver.open();
      await until(
        () => pair.receiver.status.isConsistent && pair.receiver.status.state === "stream-wals",
      );
      const converged = writes;
      await until(() => writes > converged + 500);
      isOver = true;
      await writing;
      await pair.atRest();
      assert.equal(pair.calls.get("BeginDiff"), 1);
      assert.equal(pair.calls.get("CopyScope"), undefined);
      assert.ok(converged > 10, `${converged} writes while it compared`);
      t.diagnostic(
        `${converged} writes until it was of one index, ${largest} entries behind at most`,
      );
    },
  );
}

test(
  "R-106: a secondary that is older than its primary is refused with a text, and goes on once it is not",
  BOUND,
  async (t) => {
    let storageFormat = 0;
    const { pair, pass } = await scene(t, { self: () => ({ storageFormat }) });
    await pair.put("shared/a");
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /the primary is newer than this secondary/);
    assert.equal(pair.receiver.status.state, "idle");
    await pass(3);
    assert.equal(pair.secondary.store.get("shared/a"), null);
    storageFormat = 1; // it was upgraded
    const isFine = () => isSame(pair) && pair.receiver.status.lastSyncError === null;
    for (let i = 0; i < 120 && !isFine(); i++) await pass(1);
    assert.ok(isSame(pair), String(pair.receiver.status.lastSyncError));
    assert.equal(pair.receiver.status.lastSyncError, null);
    assertSameRows(pair.secondary.engine, pair.primary.engine);
  },
);
