// The same over TLS and sockets that are real: a copy, the log, a cut, and a certificate that is revoked.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { ClusterStage, SET } from "../../../tests/support/servers/cluster-stage.ts";
import { assertSameRows } from "../../../tests/support/stores/followed-store.ts";
import { until } from "../../../tests/support/until.ts";
import { trimLog } from "../../storage/trimming.ts";

const SECOND = 1_000_000_000n;

test(
  "a secondary over TLS: copy, log, large entries, a comparison, and the end",
  { timeout: 300_000 },
  async (t) => {
    const stage = await ClusterStage.start();
    t.after(() => stage.close());
    const member = await stage.member("paris");
    const pair = await ReplicatedPair.make({
      receiver: { open: () => stage.link("paris", member) },
    });
    t.after(() => pair.close());
    stage.greet = pair.sender.greet;
    stage.serve([...pair.sender.table.values()]);
    const { store } = pair.primary;
    await store.write((tx) => {
      for (let i = 0; i < 3000; i++) tx.put(`shared/${i}`, Buffer.from(`value ${i}`));
    });
    const same = () =>
      pair.secondary.store.index === store.index &&
      pair.sender.members()[0]?.acknowledged === store.index &&
      pair.receiver.status.isConsistent;
    pair.receiver.open();
    await until(same);
    assertSameRows(pair.secondary.engine, pair.primary.engine);
    await Promise.all(Array.from({ length: 500 }, (_, i) => pair.put(`shared/${i}`, `again ${i}`)));
    for (let i = 0; i < 12; i++) {
      await store.write((tx) =>
        tx.put(`shared/large/${i}`, new Uint8Array(1024 * 1024 - 100).fill(i)),
      );
    }
    await until(same);
    assertSameRows(pair.secondary.engine, pair.primary.engine);
    // Cut, and behind the log.
    await pair.receiver.close();
    for (let i = 0; i < 20; i++) await pair.put(`shared/${i * 100}`, "later");
    await trimLog(store, pair.world, { minEntries: 0n });
    pair.receive();
    pair.receiver.open();
    await until(same);
    assertSameRows(pair.secondary.engine, pair.primary.engine);
    // Revoked: it is told, and gets nothing any more.
    await pair.sender.drop("paris", "revoked");
    stage.port.revoke(SET, member.serial);
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(
      pair.receiver.status.lastSyncError!,
      /revoked/,
      "it was told before it was cut off",
    );
    await pair.put("shared/secret");
    pair.receiver.retry();
    for (let i = 0; i < 20; i++) await nextTurn();
    await until(() => pair.receiver.status.connectionState === "transient_failure");
    await pair.world.timers.advance(5n * SECOND);
    assert.equal(pair.secondary.store.get("shared/secret"), null);
  },
);

test("a session outlives a disk that is full for minutes", { timeout: 300_000 }, async (t) => {
  const stage = await ClusterStage.start();
  t.after(() => stage.close());
  const member = await stage.member("paris");
  const pair = await ReplicatedPair.make({ receiver: { open: () => stage.link("paris", member) } });
  t.after(() => pair.close());
  stage.greet = pair.sender.greet;
  stage.serve([...pair.sender.table.values()]);
  const { store } = pair.primary;
  const same = () => pair.sender.members()[0]?.acknowledged === store.index;
  await pair.put("shared/first");
  pair.receiver.open();
  await until(same);
  pair.secondary.engine.free = 1000;
  await pair.world.timers.advance(SECOND);
  for (let i = 0; i < 24; i++) {
    await store.write((tx) => tx.put(`shared/large/${i}`, new Uint8Array(1024 * 1024 - 100)));
  }
  await until(() => /nearly full/.test(pair.receiver.status.lastSyncError ?? ""));
  // Both ends look whether the other gets on: the sender waits for credit, and not for a socket.
  for (let i = 0; i < 60; i++) {
    await stage.world.timers.advance(2n * SECOND);
    for (let turn = 0; turn < 100; turn++) await nextTurn(); // what was sent on real sockets arrives
  }
  assert.equal(pair.receiver.status.connectionState, "ready");
  pair.secondary.engine.free = null;
  await pair.world.timers.advance(11n * SECOND);
  await until(same);
  assert.equal(pair.hellos.length, 1, "one session");
  assertSameRows(pair.secondary.engine, pair.primary.engine);
});
