// Namespaces and mounts that another cluster writes: the tables in memory are those of the one that wrote them, and
// what this cluster has of its own in a namespace or for a mount goes with it. One cluster changes them; a second one
// applies its shared rows, a whole entry at once, or row by row in the opposite order as after a comparison.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec } from "@holdfast/shared/codec";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type Follower, Followers } from "../src/barrier/followers.ts";
import type { MountRecord } from "../src/mounts/table/mount-record.ts";
import type { NamespaceRecord } from "../src/namespaces/record.ts";
import { MemoryDisk } from "../src/storage/engines/memory.ts";
import { decodeEntry, type LogEntry, type LogOperation } from "../src/storage/rows/log-entry.ts";
import { stopJobs } from "./support/jobs.ts";
import { ROOT_KEY, sealedBarrier, unsealed } from "./support/made/made-barrier.ts";
import { type MadeMounts, mountsOver } from "./support/made/made-mounts.ts";
import { bytes, IDENTITY, TREE_KEY } from "./support/made/made-store.ts";
import { turns } from "./support/made/made-tokens.ts";
import { until } from "./support/until.ts";

type Planted = (follower: Follower<unknown>) => Follower<unknown>;

class Pair {
  readonly here: MadeMounts;
  readonly there: MadeMounts;
  readonly #followers: Followers;
  #entries: LogEntry[] = [];

  private constructor(here: MadeMounts, there: MadeMounts, planted: Planted) {
    this.here = here;
    this.there = there;
    const followers = [there.namespaces.follower, there.mounts.rows.follower];
    this.#followers = new Followers(there.barrier.view("shared/"), followers.map(planted));
    here.store.onLog((rows) => {
      for (const { entry } of rows) this.#entries.push(decodeEntry(entry));
    });
  }

  static async made(planted: Planted): Promise<Pair> {
    const first = sealedBarrier(new MemoryDisk());
    await first.barrier.create({ rootKey: ROOT_KEY, treeKey: TREE_KEY }, IDENTITY, () => {});
    const disk = new MemoryDisk();
    for (const batch of first.engine.batches) disk.rows.apply(batch);
    const second = sealedBarrier(disk);
    assert.equal(unsealed(second.barrier), true);
    second.store.leaveShared(true);
    const here = await mountsOver(first);
    const there = await mountsOver(second, { leads: false });
    there.mounts.lead();
    for (const { when, work } of [...there.namespaces.jobs, ...there.mounts.jobs]) {
      if (when === "while-active") work.open();
    }
    return new Pair(here, there, planted);
  }

  async apply(
    apart: boolean,
    comes: (operation: LogOperation) => boolean = () => true,
  ): Promise<void> {
    for (let next = this.#entries.shift(); next !== undefined; next = this.#entries.shift()) {
      const all = next.operations.filter((operation) => operation.class === "shared");
      const shared = all.filter(comes);
      const parts: LogOperation[][] = apart ? shared.toReversed().map((one) => [one]) : [shared];
      for (const part of parts) {
        await this.there.store.writeApplied((tx) => {
          for (const operation of part) this.#followers.apply(tx, operation);
        });
      }
    }
  }

  /** Everything that has begun in the background has come to its end. */
  async settle(): Promise<void> {
    await this.here.namespaces.idle();
    await this.here.mounts.moves.settled("root");
    await turns(10);
  }

  async compare(): Promise<void> {
    assert.deepEqual(tables(this.there), tables(this.here));
    await until(
      () => this.there.barrier.view("local/").keys("remains/", { limit: 1 }).length === 0,
    );
    assert.deepEqual(strays(this.there), []);
    const alarms = this.there.world.lines.filter((line) =>
      /shared-write-refused|"error"/.test(line),
    );
    assert.deepEqual(alarms, []);
  }

  async close(): Promise<void> {
    for (const { mounts, namespaces } of [this.here, this.there]) {
      await stopJobs(namespaces, mounts);
      await mounts.close();
      namespaces.close();
    }
  }
}

function spacesOf({ namespaces }: MadeMounts, base = ROOT_NAMESPACE): NamespaceRef[] {
  return [
    base,
    ...namespaces.childrenOf(base).flatMap((one) => spacesOf({ namespaces } as MadeMounts, one)),
  ];
}

/** Both tables, as requests see them. */
function tables(made: MadeMounts): (NamespaceRecord | MountRecord)[] {
  const spaces = spacesOf(made);
  const records = spaces.flatMap((one) => [...made.namespaces.list(one, { limit: 100 }).records]);
  const mounts = spaces.flatMap((one) => made.mounts.list(one, "secret"));
  return [...records, ...mounts.map(({ record }) => record).filter(({ local }) => !local)];
}

/** Rows of this cluster's own, of namespaces and mounts that are nowhere. */
function strays(made: MadeMounts): string[] {
  const ids = new Set(spacesOf(made).map(({ id }) => id));
  return made.barrier
    .view("local/")
    .keys("ns/", { limit: 10_000 })
    .filter((key) => {
      const [, id = "", folder, uuid = ""] = key.split("/");
      if (!ids.has(id)) return true;
      return folder === "mounts" && made.mounts.recordOf(uuid)?.namespaceId !== id;
    });
}

const anyStep = fc.record({
  act: fc.constantFrom(
    ..."space space patch drop drop mount mount mount tune move disable".split(" "),
  ),
  which: fc.nat(20),
  other: fc.nat(20),
  name: fc.constantFrom("a", "b", "c"),
  apart: fc.boolean(),
  /** What the second cluster has of its own. */
  rows: fc.boolean(),
  localMount: fc.boolean(),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

const refused = () => null; // taken, in use or not empty: a history is of any kind

async function run({ here, there }: Pair, step: Step): Promise<void> {
  const { mounts, namespaces } = here;
  const spaces = spacesOf(here);
  const space = spaces[step.which % spaces.length] ?? ROOT_NAMESPACE;
  const target = spaces[step.other % spaces.length] ?? ROOT_NAMESPACE;
  const own = mounts.list(space, "secret").filter(({ record }) => record.type === "toy");
  const path = own[step.other % Math.max(1, own.length)]?.record.path.slice(0, -1);
  const { act, name } = step;
  if (act === "space") await namespaces.write(space, name).catch(refused);
  else if (act === "patch" && space.path !== "") {
    await namespaces.patch(ROOT_NAMESPACE, space.path, { n: String(step.other) }).catch(refused);
  } else if (act === "drop" && space.path !== "") {
    await namespaces.delete(ROOT_NAMESPACE, space.path).catch(refused);
  } else if (act === "mount") {
    await mounts.enable(space, { kind: "secret", type: "toy", path: `m-${name}` }).catch(refused);
  } else if (path === undefined) return;
  else if (act === "tune") {
    const change = { config: {}, description: name, options: { level: String(step.other + 1) } };
    await mounts.tune(space, "secret", path, change).catch(refused);
  } else if (act === "disable") await mounts.disable(space, "secret", path, { abandon: true });
  else if (act === "move") {
    const { moves } = mounts;
    const to = moves.placeOf(target, `n-${name}`);
    await moves.start(space, moves.placeOf(space, path), to).catch(refused);
    for (const one of [space, target]) await moves.settled(one.id);
  }
  if (there.namespaces.byId(space.id) === null) return;
  const local = there.barrier.view("local/");
  if (step.rows) {
    const uuids = there.mounts.list(space, "secret").map(({ record }) => record.uuid);
    await local.write((tx) => {
      tx.put(`ns/${space.id}/cubbyhole/a/${name}`, bytes("1"), bytesCodec);
      for (const uuid of uuids.filter((one) => there.mounts.recordOf(one) !== null)) {
        tx.put(`ns/${space.id}/mounts/${uuid}/kept/${name}`, bytes("1"), bytesCodec);
      }
    });
  }
  if (step.localMount && space.path !== "") {
    const input = { kind: "secret", type: "toy", path: `local-${name}`, local: true } as const;
    await there.mounts.enable(space, input).catch(refused);
  }
}

function property(planted: Planted) {
  return fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
    const pair = await Pair.made(planted);
    for (const step of steps) {
      await run(pair, step);
      await pair.settle();
      await pair.apply(step.apart);
      await turns(5);
      await pair.compare();
    }
    await pair.close();
  });
}

test("namespaces and mounts that another cluster writes are those of the one that wrote them, and what is left here of one goes", async () => {
  await fc.assert(
    property((follower) => follower),
    { numRuns: 60, seed: 12 },
  );
});

test("a follower that is skipped is found, that of namespaces and that of mounts", async () => {
  for (const folder of ["mounts/", "namespaces/tree/*/"]) {
    const planted: Planted = (follower) => ({
      folder: follower.folder,
      decode: (stored) => follower.decode(stored),
      follow: (...what) => {
        if (follower.folder !== folder) follower.follow(...what);
      },
    });
    const { failed, errorInstance } = await fc.check(property(planted), {
      numRuns: 60,
      seed: 12,
      endOnFailure: true,
    });
    assert.ok(failed && errorInstance instanceof assert.AssertionError, String(errorInstance));
  }
});

test("what the other cluster has not removed yet of a namespace is left to it", async () => {
  const pair = await Pair.made((follower) => follower);
  const { here, there } = pair;
  const { id } = await here.namespaces.write(ROOT_NAMESPACE, "a");
  const space = here.namespaces.byId(id);
  assert.ok(space !== null);
  await here.mounts.enable(space, { kind: "secret", type: "toy", path: "m" });
  await pair.apply(false);
  const local = there.barrier.view("local/");
  await local.write((tx) => tx.put(`ns/${id}/cubbyhole/a/b`, bytes("1"), bytesCodec));
  await here.namespaces.delete(ROOT_NAMESPACE, "a");
  await pair.settle();
  await pair.apply(false, ({ key }) => key.startsWith("shared/namespaces/"));
  await until(() => local.keys("", { limit: 1 }).length === 0);
  assert.ok(there.barrier.view("shared/").keys(`ns/${id}/`, { limit: 10 }).length > 0);
  const alarms = there.world.lines.filter((line) => line.includes("shared-write-refused"));
  assert.deepEqual(alarms, []);
  await pair.close();
});
