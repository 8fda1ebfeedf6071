// Section K about what clusters send each other: entries that are none, programs of another age, and writes that would make
// others without end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { serveBidirectional } from "@holdfast/shared/grpc/method";
import { NO_WORDS, streamLog } from "../../../src/replication/stream/messages.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { inSync, joined, startPrimary } from "../../support/replication/clusters.ts";
import { ReplicatedPair } from "../../support/replication/replicated-pair.ts";
import { until } from "../../support/until.ts";
import { Dice } from "../dice.ts";

/** One of the ways in which bytes are not what they were. */
function damaged(entry: Uint8Array, dice: Dice): Uint8Array {
  const bytes = Buffer.from(entry);
  const at = dice.below(bytes.length);
  switch (dice.below(5)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes, bytes.subarray(at)]);
    case 2:
      return bytes.fill(dice.below(256), at, at + 1 + dice.below(16));
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    default:
      bytes[at]! ^= 1 << dice.below(8);
      return bytes;
  }
}

test("T-K05: a bad entry stops replication where it is: nothing is skipped, and nobody ends for it", async (t) => {
  const pair = await ReplicatedPair.make();
  t.after(() => pair.close());
  for (let i = 0; i < 5; i++) await pair.put(`shared/${i}`, `value ${i}`);
  pair.receiver.open();
  await pair.atRest();
  await pair.receiver.close();
  const { index } = pair.secondary.store;
  for (let i = 0; i < 3; i++) await pair.put(`shared/next/${i}`, `next ${i}`);
  const real = pair.primary.store.logs(index + 1n, 3).map(({ entry }) => entry);
  const dice = new Dice(5);
  for (let i = 0; i < 200; i++) {
    const bad = damaged(real[0]!, dice);
    if (Buffer.from(real[0]!).equals(bad)) continue;
    // The good ones behind it are not taken in its place.
    const batch = { entries: [bad, ...real.slice(1)] };
    pair.instead.set("StreamLog", () =>
      serveBidirectional(streamLog, async function* () {
        yield { ...NO_WORDS, batch };
      }),
    );
    pair.receive();
    pair.receiver.open();
    await until(() => pair.receiver.status.lastSyncError !== null);
    assert.match(pair.receiver.status.lastSyncError!, /entry/, "it says which");
    assert.equal(pair.secondary.store.index, index);
    await pair.receiver.close();
  }
  pair.instead.clear();
  pair.receive();
  pair.receiver.open();
  await pair.atRest();
});

test("T-K09: a primary sends nothing to a secondary that is older, and says why", async (t) => {
  const pair: ReplicatedPair = await ReplicatedPair.make({
    receiver: {
      open: (address) => {
        const link = pair.link(address);
        const open = link.open.bind(link);
        link.open = (self, signal) => open({ ...self, storageFormat: 0 }, signal);
        return link;
      },
    },
  });
  t.after(() => pair.close());
  await pair.put("shared/a");
  pair.receiver.open();
  await until(() => pair.receiver.status.lastSyncError !== null);
  assert.match(pair.receiver.status.lastSyncError!, /the primary is newer than this secondary/);
  const sent = [...pair.calls.keys()].filter((name) => name !== "Echo");
  assert.deepEqual(sent, []);
  assert.equal(pair.receiver.status.state, "idle");
  assert.equal(pair.secondary.store.get("shared/a"), null);
});

test("T-K06: one write makes a few entries on either side, and a pair at rest none", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const { token } = a;
  const writes: readonly (readonly [string, object])[] = [
    ["/v1/secret/data/x", { data: { a: "1" } }],
    ["/v1/sys/policies/acl/p", { policy: 'path "secret/*" { capabilities = ["read"] }' }],
    ["/v1/auth/token/create", { policies: ["default"] }],
    ["/v1/sys/mounts/other", { type: "kv" }],
    ["/v1/sys/namespaces/team", {}],
    ["/v1/sys/replication/dr/primary/secondary-token", { id: "unused" }],
  ];
  for (const [path, body] of writes) {
    const before = a.index;
    const answer = await a.server.call("POST", path, { token, body });
    assert.ok(answer.status < 300, `${path}: ${answer.text}`);
    await inSync(a, b);
    assert.ok(a.index - before <= 6n, `${path}: ${a.index - before} entries`);
  }
  // Heartbeats, certificates and what else goes between them are in no log.
  const rest = a.index;
  const until10 = HURRIED.clock.now() + 12n * SECOND;
  await until(() => HURRIED.clock.now() > until10);
  assert.deepEqual([a.index, b.index], [rest, rest]);
});
