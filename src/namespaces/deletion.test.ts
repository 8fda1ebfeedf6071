import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { MadeBarrier } from "../../tests/support/made/made-barrier.ts";
import { madeNamespaces, refused, restarted } from "../../tests/support/made/made-namespaces.ts";
import { until } from "../../tests/support/until.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { NamespaceContents } from "./contents.ts";
import { closeRoom } from "../../tests/support/jobs.ts";

const root = ROOT_NAMESPACE;
const codec = jsonCodec<number>();

/** Everything stored in both spaces, by its key. */
function leftovers({ barrier }: MadeBarrier): string[] {
  return ["shared/ns/", "local/ns/"].flatMap((prefix) =>
    barrier.view(prefix).keys("", { limit: 10_000 }),
  );
}

async function fill({ barrier }: MadeBarrier, id: string, count: number): Promise<void> {
  for (const prefix of ["shared/ns/", "local/ns/"]) {
    await barrier.view(prefix).write((tx) => {
      for (let i = 0; i < count; i++) tx.put(`${id}/room/${i}`, i, codec);
    });
  }
}

/** Credentials known upstream, each with a row here: only what has a row can be revoked. */
function leases(upstream: Set<string>) {
  return ({ barrier }: MadeBarrier): { contents: NamespaceContents[] } => {
    const view = barrier.view("local/ns/");
    const wipe = async (id: string): Promise<boolean> => {
      const keys = view.keys(`${id}/leases/`, { limit: 8 });
      for (const key of keys) upstream.delete(key);
      await view.write((tx) => {
        for (const key of keys) tx.delete(key);
      });
      return keys.length === 0;
    };
    return { contents: [{ name: "leases", wipe }] };
  };
}

test("a deleted namespace is gone at once and emptied in the background, its neighbours untouched", async () => {
  const made = await madeNamespaces();
  const { namespaces } = made;
  const team = await namespaces.write(root, "team");
  const other = await namespaces.write(root, "other");
  await fill(made, team.id, 600);
  await fill(made, other.id, 3);
  const before = made.engine.batches.length;
  assert.deepEqual(await namespaces.delete(root, "team"), { trouble: null });
  assert.equal(namespaces.named("team"), null);
  assert.equal(namespaces.resolve(root, ["team", "kv"]).taken, 0);
  assert.throws(() => namespaces.read(root, "team"), refused("namespace-not-found"));
  assert.equal(namespaces.list(root, { limit: 9 }).records.length, 1);
  assert.ok(leftovers(made).length > 6);

  await namespaces.idle();
  assert.equal(leftovers(made).length, 6);
  assert.ok(leftovers(made).every((key) => key.startsWith(other.id)));
  for (const { data } of made.engine.batches.slice(before)) assert.ok(data.length <= 256);
  assert.equal(await namespaces.delete(root, "team"), null);
  assert.equal(namespaces.read(root, "other").id, other.id);
});

test("a namespace with children is not deleted, one whose children are gone is", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "a");
  await namespaces.write(root, "a/b");
  await assert.rejects(namespaces.delete(root, "a"), refused("namespace-has-children"));
  assert.equal(namespaces.named("a")?.path, "a");
  await namespaces.delete(root, "a/b");
  await namespaces.idle();
  assert.ok(await namespaces.delete(root, "a"));
  await namespaces.idle();
  assert.deepEqual(namespaces.childrenOf(root), []);
});

test("a child cannot slip into a namespace that is being deleted at the same moment", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "a");
  const base = namespaces.named("a");
  assert.ok(base !== null);
  const both = await Promise.allSettled([
    namespaces.delete(root, "a"),
    namespaces.write(root, "a/b"),
    namespaces.write(base, "c"),
  ]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected"],
  );
  await namespaces.idle();
  assert.deepEqual(namespaces.childrenOf(root), []);
});

test("a name is free again when all is gone, not before, and its id is another", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const contents = [{ name: "slow", wipe: () => promise }];
  const { namespaces } = await madeNamespaces({ contents });
  const first = await namespaces.write(root, "team");
  await namespaces.delete(root, "team");
  await assert.rejects(namespaces.write(root, "team"), refused("namespace-being-deleted"));
  await assert.rejects(namespaces.write(root, "TEAM"), refused("namespace-being-deleted"));
  await assert.rejects(namespaces.patch(root, "team", {}), refused("namespace-not-found"));
  assert.deepEqual(await namespaces.delete(root, "team"), { trouble: null });
  resolve(true);
  await namespaces.idle();
  const second = await namespaces.write(root, "team");
  assert.notEqual(second.id, first.id);
  assert.notEqual(second.uuid, first.uuid);
  assert.ok(second.created > first.created);
});

test("an id that was used once is never given out again", async () => {
  const drawn = [1, 1, 2, 1, 2, 3].map((byte) => Buffer.alloc(8, byte));
  const made = await madeNamespaces(({ world }) => ({
    random: {
      bytes: () => drawn.shift() ?? Buffer.alloc(8),
      uuid: () => world.random.uuid(),
    },
  }));
  const { namespaces } = made;
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    ids.push((await namespaces.write(root, name)).id);
    await namespaces.delete(root, name);
    await namespaces.idle();
  }
  assert.deepEqual(ids, ["bbbbbbbb", "cccccccc", "dddddddd"]);
});

test("T-D06: a request that was let into a namespace has no effect in another one of the same path", async () => {
  const { namespaces } = await madeNamespaces();
  await namespaces.write(root, "team");
  const old = namespaces.named("team");
  assert.ok(old !== null);
  await namespaces.delete(root, "team");
  await namespaces.idle();
  await namespaces.write(root, "team");
  await namespaces.write(root, "team/child", { k: "v" });
  await assert.rejects(namespaces.write(old, "x"), refused("namespace-gone"));
  await assert.rejects(namespaces.patch(old, "child", { k: null }), refused("namespace-gone"));
  await assert.rejects(namespaces.delete(old, "child"), refused("namespace-gone"));
  assert.throws(() => namespaces.read(old, "child"), refused("namespace-not-found"));
  assert.deepEqual(namespaces.read(root, "team/child").metadata, { k: "v" });
});

test("what a request that had begun before still writes is removed as well", async () => {
  let late: (() => void) | null = null;
  const made = await madeNamespaces(({ world: { timers } }) => ({
    timers: {
      after: (delay, run) => timers.after(delay, run),
      // Between the last look at what is stored and the removal of the record.
      turn: () => {
        late?.();
        return timers.turn();
      },
    },
  }));
  const { namespaces } = made;
  const { id } = await namespaces.write(root, "team");
  await fill(made, id, 1);
  let times = 0;
  let empty = 0;
  late = () => {
    empty = leftovers(made).length === 0 ? empty + 1 : 0;
    // Two turns follow the slice that has removed the last row, the third the one that found none.
    if (empty !== 3 || times === 3) return;
    times++;
    void fill(made, id, 1);
  };
  await namespaces.delete(root, "team");
  await namespaces.idle();
  assert.equal(times, 3);
  assert.deepEqual(leftovers(made), []);
  assert.equal(await namespaces.delete(root, "team"), null);
});

test("trouble is told, tried again after a pause, and at once when asked", async () => {
  let failing = true;
  let tries = 0;
  const wipe = async () => {
    tries++;
    if (failing) throw new Failure("upstream", "cloud", "the cloud does not answer");
    return true;
  };
  const made = await madeNamespaces({ contents: [{ name: "cloud", wipe }] });
  const { namespaces, world } = made;
  await namespaces.write(root, "team");
  const { armed } = world.timers;
  await namespaces.delete(root, "team");
  await until(() => world.timers.armed > armed && tries === 1);
  await world.timers.advance(SECOND);
  await until(() => tries === 2);
  const again = await namespaces.delete(root, "team");
  assert.deepEqual(again, { trouble: "the cloud does not answer" });
  await until(() => tries === 3);
  assert.equal(namespaces.named("team"), null);
  assert.ok(world.lines.some((line) => line.includes("the cloud does not answer")));
  failing = false;
  await namespaces.delete(root, "team");
  await namespaces.idle();
  assert.equal(await namespaces.delete(root, "team"), null);
});

test("an error that is no Failure is not quoted", async () => {
  const wipe = () => Promise.reject(new Error("hunter2"));
  const { namespaces, world } = await madeNamespaces({ contents: [{ name: "odd", wipe }] });
  await namespaces.write(root, "team");
  const { armed } = world.timers;
  await namespaces.delete(root, "team");
  await until(() => world.timers.armed > armed);
  assert.deepEqual(await namespaces.delete(root, "team"), { trouble: "unexpected error" });
  assert.ok(!world.lines.join("").includes("hunter2"));
  await closeRoom(namespaces);
  assert.equal(world.timers.armed, armed);
});

test("closing waits for the step under way and nothing follows it", async () => {
  const steps: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const wipe = async () => {
    steps.push("begun");
    await promise;
    steps.push("ended");
    return false;
  };
  const { namespaces } = await madeNamespaces({ contents: [{ name: "slow", wipe }] });
  await namespaces.write(root, "team");
  await namespaces.delete(root, "team");
  const closed = closeRoom(namespaces).then(() => steps.push("closed"));
  resolve();
  await closed;
  assert.deepEqual(steps, ["begun", "ended", "closed"]);
});

test("T-D03: a deletion cut off at any commit is finished by the next process, every credential revoked", async () => {
  let crashes = 0;
  for (let commits = 0; ; commits++) {
    const upstream = new Set<string>();
    const made = await madeNamespaces(leases(upstream));
    const { id } = await made.namespaces.write(root, "team");
    await fill(made, id, 300);
    await made.barrier.view("local/ns/").write((tx) => {
      for (let i = 0; i < 100; i++) {
        tx.put(`${id}/leases/${i}`, i, codec);
        upstream.add(`${id}/leases/${i}`);
      }
    });
    let left = commits;
    const commit = made.engine.commit.bind(made.engine);
    // A promise that never settles: the process is dead from here on.
    made.engine.commit = (batch) => (left-- > 0 ? commit(batch) : new Promise(() => {}));
    const deleted = made.namespaces.delete(root, "team").then(() => made.namespaces.idle());
    let finished = false;
    deleted.then(
      () => (finished = true),
      () => {}, // the dead process hears of it when the next one writes
    );
    await until(() => finished || left < 0);
    if (finished) break;

    crashes++;
    const next = await restarted(made, leases(upstream));
    const { namespaces } = next;
    if (commits === 0) {
      assert.equal(namespaces.named("team")?.id, id); // nothing was promised yet
      await namespaces.delete(root, "team");
    }
    assert.equal(namespaces.named("team"), null);
    assert.throws(() => namespaces.read(root, "team"), refused("namespace-not-found"));
    await namespaces.idle();
    assert.equal(upstream.size, 0, `${upstream.size} credentials left after ${commits} commits`);
    assert.deepEqual(leftovers(next), []);
    assert.equal(await namespaces.delete(root, "team"), null);
  }
  assert.ok(crashes >= 16, `${crashes} places to crash`); // the mark, 13 of leases, records, the end
});

test("T-D05: creations and deletions of one name at once leave it there or not, never in between", async () => {
  const { namespaces } = await madeNamespaces();
  for (let round = 0; round < 20; round++) {
    const work = Array.from({ length: 10 }, (_, i) =>
      i % 2 === 0 ? namespaces.write(root, "team") : namespaces.delete(root, "team"),
    );
    for (const result of await Promise.allSettled(work)) {
      if (result.status === "rejected") refused("namespace-being-deleted")(result.reason);
    }
    await namespaces.idle();
    const there = namespaces.has(root, "team");
    assert.equal((await namespaces.delete(root, "team")) !== null, there);
    await namespaces.idle();
  }
});
