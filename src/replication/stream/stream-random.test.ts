// Whatever happens to a primary and its secondary, in whatever order: at rest both hold the same. Writes, cuts, late
// messages, power failures on either side, a log that is trimmed, damage on the secondary, sealing; from a seed.

import assert from "node:assert/strict";
import test from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { TREE_KEY } from "../../../tests/support/made/made-store.ts";
import { ReplicatedPair } from "../../../tests/support/replication/replicated-pair.ts";
import { tamper } from "../../../tests/support/stores/watched-engine.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { trimLog } from "../../storage/trimming.ts";

const SEEDS = 80;
const STEPS = 25;
const SECOND = 1_000_000_000n;

/** Numbers below a bound, from a seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

async function write(pair: ReplicatedPair, below: (below: number) => number): Promise<void> {
  const { store } = pair.primary;
  await store.write((tx) => {
    for (let i = 0; i <= below(4); i++) {
      const key = `${["shared", "local"][below(2)]}/${below(40)}`;
      if (below(4) === 0) tx.delete(key);
      else
        tx.put(
          key,
          Buffer.from(`${below(1000)}`.repeat(1 + below(30))),
          Buffer.alloc(16, below(3)),
        );
    }
  });
}

/** What a secondary with a log of its own does beside it. */
async function ownWrite(
  { secondary }: ReplicatedPair,
  below: (below: number) => number,
): Promise<void> {
  await secondary.store.write((tx) => tx.put(`local/own/${below(5)}`, Buffer.from(`${below(9)}`)));
}

/** A value, a leaf or a sum of the secondary is not what was written. */
async function damage(pair: ReplicatedPair, below: (below: number) => number): Promise<void> {
  const { engine, store } = pair.secondary;
  await store.settled();
  const isOurs = ({ key }: { key: string }) => pair.kind === "dr" || key.startsWith("shared/");
  const all = engine.leaves(null, 1000).filter(isOurs); // what is its own nobody else has
  const victim = all[below(all.length)];
  if (victim === undefined || store.adopting !== null) return;
  const { slot, key, scope } = victim;
  const inner = engine.inner;
  if (below(2) === 0) await tamper(inner, { data: [{ key, value: Buffer.from("damaged") }] });
  else await tamper(inner, { leaves: [{ slot, key, leaf: { hash: Buffer.alloc(32, 5), scope } }] });
}

async function play(seed: number, kind: ReplicationKind): Promise<void> {
  const below = numbersFrom(seed);
  const pair = await ReplicatedPair.make({
    kind,
    way: { pass: () => turns(below(3)) },
  });
  pair.primary.turns = below(3);
  pair.secondary.turns = below(3);
  let damaged = false;
  for (let i = below(30); i > 0; i--) await write(pair, below);
  pair.receiver.open();
  const writes: Promise<unknown>[] = [];
  for (let step = 0; step < STEPS; step++) {
    switch (below(12)) {
      case 0:
        pair.cut();
        break;
      case 1:
        await pair.crashSecondary();
        break;
      case 2:
        await Promise.all(writes.splice(0));
        await pair.crashPrimary();
        break;
      case 3: {
        const keep = BigInt(below(6));
        const retention = {
          ...pair.sender.retention,
          minEntries: keep,
          ...(below(2) === 0 ? { age: 0n } : {}),
        };
        await trimLog(pair.primary.store, pair.world, retention);
        break;
      }
      case 4:
        if (seed % 4 === 0) {
          await damage(pair, below);
          damaged = true;
        }
        break;
      case 5:
        await pair.world.timers.advance(SECOND * BigInt(below(20)));
        break;
      case 6:
        await pair.secondary.store.lock();
        await turns(below(6));
        pair.secondary.store.unlock(TREE_KEY);
        pair.receiver.retry();
        break;
      default:
        if (kind === "performance") await ownWrite(pair, below).catch(() => {});
        for (let i = below(6); i > 0; i--) writes.push(write(pair, below));
    }
    await turns(below(10));
  }
  await Promise.all(writes);
  if (damaged) {
    // Every key is written once more, so that whatever is wrong shows in the sums.
    for (const key of pair.primary.store.keys("shared/", { limit: 100 }))
      await pair.put(key, "last");
    for (const key of pair.primary.store.keys("local/", { limit: 100 }))
      await pair.put(key, "last");
  }
  await pair.atRest();
  const report = await pair.secondary.store.check();
  assert.ok(
    report.ok,
    JSON.stringify(report, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)),
  );
  await pair.close();
}

for (const kind of ["dr", "performance"] as const) {
  for (let from = 0; from < SEEDS; from += 20) {
    test(`${kind}: seeds ${from} to ${from + 19}`, { timeout: 300_000 }, async () => {
      for (let seed = from; seed < from + 20; seed++) {
        await play(seed, kind).catch((error: unknown) => {
          throw new Error(`seed ${seed}`, { cause: error });
        });
      }
    });
  }
}
