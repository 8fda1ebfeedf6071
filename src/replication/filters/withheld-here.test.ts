// What a filter takes from a secondary that has it: nothing of it stays in the own log, whatever happens between the moment in which it goes and the
// one in which everything is as the primary says.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import { serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import {
  type PairOptions,
  ReplicatedPair,
} from "../../../tests/support/replication/replicated-pair.ts";
import { mountScope } from "../../barrier/scope.ts";
import { decodeEntry } from "../../storage/rows/log-entry.ts";
import { trimLog } from "../../storage/trimming.ts";
import { beginDiff } from "../stream/messages.ts";
import type { MemberFilter } from "./filters.ts";
import { SharedView } from "./shared-view.ts";
import { scrubOf, WithheldHere } from "./withheld-here.ts";

const EU = "01010101-0101-0101-0101-010101010101";
const EU_BYTE = 1; // each of those of its scope
const ENTRY = `shared/mounts/${EU}`;
const VALUE = `shared/ns/root/mounts/${EU}/data/k`;
const PLACES = { mounts: new Map([[EU, "eu/"]]), namespaces: new Map<string, string>() };
const ANSWER = { version: "1", isSame: false, mounts: [{ id: EU, path: "eu/" }], namespaces: [] };

/** The only filter that there is denies one mount. */
class Denying {
  #filter: MemberFilter | null = null;
  isDenied = false;
  readonly #listeners = new Set<() => void>();

  change(isDenied: boolean): void {
    this.isDenied = isDenied;
    for (const call of this.#listeners) call();
  }

  readonly filters: PairOptions["filters"] = ({ primary: { store }, world }) => ({
    ready: async () => {},
    of: () => {
      if (!this.isDenied) return null;
      const lets = (scope: Uint8Array) => hex(scope) !== hex(mountScope(EU));
      const seen = new SharedView({ store, ...world, lets });
      const view = async () => {
        await seen.built;
        return seen;
      };
      const version = "1";
      const isEqualTo = (other: string) => other === version;
      const places = { withheld: PLACES, present: PLACES };
      return (this.#filter ??= { version, isEqualTo, ...places, lets, view });
    },
    countFor: () => 0,
    since: 0n,
    onChange: (call) => {
      this.#listeners.add(call);
      return () => this.#listeners.delete(call);
    },
  });
}

/** A secondary that has the mount. */
async function stage(t: TestContext) {
  const { barrier } = await madeBarrier();
  const view = barrier.view("local/replication/performance/");
  const denying = new Denying();
  const kept = { isThere: false };
  const led = { isSo: false };
  const evacuated: boolean[] = []; // whether the mount was here
  const meanwhile: string[] = []; // states
  const anews: true[] = [];
  let here!: WithheldHere;
  const pair = await ReplicatedPair.make({
    kind: "performance",
    ...(denying.filters === undefined ? {} : { filters: denying.filters }),
    surplus: { keep: async () => led.isSo, over: async () => void (led.isSo = false) },
    withheld: ({ secondary: { store }, world }) =>
      (here = new WithheldHere({
        ...world,
        store,
        view,
        changed: () => {},
        evacuated: async () => {
          evacuated.push(store.get(ENTRY) !== null);
          meanwhile.push(pair.receiver.status.state);
        },
        anew: () => void anews.push(true),
        purge: async (_scopes, { found }) => {
          if (kept.isThere) await found();
          kept.isThere = false;
        },
        lifted: async () => {},
      })),
  });
  t.after(() => pair.close());
  const { primary, secondary, world } = pair;
  const mount = async (value: string) => {
    await pair.put(ENTRY, value, EU_BYTE);
    await pair.put(VALUE, value, EU_BYTE);
  };
  await mount("1");
  await pair.put("shared/other");
  pair.receiver.open();
  await pair.atRest();
  return {
    pair,
    primary,
    secondary,
    world,
    denying,
    kept,
    led,
    evacuated,
    meanwhile,
    anews,
    mount,
    scrub: () => scrubOf(view, world.clock.now()),
    here: () => here,
    /** The log of the primary goes on from nothing that the secondary has. */
    trimmed: () => trimLog(primary.store, world, { minEntries: 0n, age: 0n }),
    sifted: async () => {
      const isSo = () =>
        pair.receiver.status.state === "stream-wals" && here.version === "1" && !here.isDue;
      for (let i = 0; i < 2000 && !isSo(); i++) {
        await nextTurn();
        if (i % 20 === 19) await world.timers.advance(SECOND);
      }
      assert.ok(isSo(), pair.receiver.status.state);
    },
    /** Keys of that mount. */
    inLog: async () => {
      const { store } = secondary;
      await trimLog(store, world, { scrub: scrubOf(view, world.clock.now()) });
      return store
        .logs(store.tail!.first, 1000)
        .flatMap(({ entry }) => decodeEntry(entry).operations)
        .filter(({ key, scope }) => key.startsWith("shared/") && hex(scope) === hex(mountScope(EU)))
        .map(({ key }) => key);
    },
  };
}

/** The next comparison is not begun. */
function cutOnce({ instead }: ReplicatedPair): () => boolean {
  let isCut = false;
  instead.set("BeginDiff", (real) =>
    isCut
      ? real
      : serveUnary(beginDiff, async () => {
          isCut = true;
          throw new StatusError(Status.unavailable, "the line is cut");
        }),
  );
  return () => isCut;
}

test("what goes leaves the own log", async (t) => {
  const { denying, sifted, inLog } = await stage(t);
  assert.notDeepEqual(await inLog(), []);
  denying.change(true);
  await sifted();
  assert.deepEqual(await inLog(), []);
});

test("while it is revoked what was given, which may take minutes, nothing else is applied: the state is not that of one that streams", async (t) => {
  const { denying, sifted, evacuated, meanwhile } = await stage(t);
  denying.change(true);
  await sifted();
  assert.deepEqual(evacuated, [true]);
  assert.deepEqual(meanwhile, ["merkle-diff"]);
});

test("also where the line breaks when it has gone, and before all is compared", async (t) => {
  const { pair, denying, sifted, inLog } = await stage(t);
  const isCut = cutOnce(pair);
  pair.cut();
  denying.change(true);
  await sifted();
  assert.ok(isCut());
  assert.deepEqual(await inLog(), []);
});

for (const [name, gone] of Object.entries({ "its entry": VALUE, "a row of it": ENTRY })) {
  test(`also where nothing is left of the mount but ${name}`, async (t) => {
    const { pair, primary, denying, sifted, inLog } = await stage(t);
    await primary.store.write((tx) => tx.delete(gone, mountScope(EU)));
    await pair.atRest();
    denying.change(true);
    await sifted();
    assert.deepEqual(await inLog(), []);
  });
}

test("so does what was given up for another primary", async (t) => {
  const { pair, secondary, denying, kept, sifted, scrub } = await stage(t);
  // Nothing of the mount is here.
  await pair.primary.store.write((tx) => {
    tx.delete(ENTRY, mountScope(EU));
    tx.delete(VALUE, mountScope(EU));
  });
  await pair.atRest();
  const isCut = cutOnce(pair);
  kept.isThere = true;
  pair.cut();
  denying.change(true);
  await sifted();
  assert.ok(isCut());
  assert.equal(kept.isThere, false);
  assert.equal(scrub()?.index, secondary.store.index);
});

/** When the comparison that is under way asks for leaves. */
function denyMeanwhile({ instead }: ReplicatedPair, denying: Denying): void {
  instead.set("Leaves", (real) => ({
    shape: real.shape,
    run: (requests, call) => {
      if (!denying.isDenied) denying.change(true);
      return real.run(requests, call);
    },
  }));
}

test("what is withheld while it is compared does not go as if it were gone at the primary: what it has given is revoked before", async (t) => {
  const { pair, denying, evacuated, mount, trimmed, sifted, inLog } = await stage(t);
  await pair.receiver.close();
  await mount("2");
  await trimmed();
  denyMeanwhile(pair, denying);
  pair.receive();
  pair.receiver.open();
  await sifted();
  assert.deepEqual(evacuated, [true]);
  assert.deepEqual(await inLog(), []);
});

test("it is compared with at once: no session ends for it, and nobody is told that nothing is applied", async (t) => {
  const { pair, denying, mount, trimmed, sifted } = await stage(t);
  await pair.receiver.close();
  await mount("2");
  await trimmed();
  denyMeanwhile(pair, denying);
  const before = pair.world.lines.length;
  pair.receive();
  pair.receiver.open();
  await sifted();
  assert.ok(denying.isDenied);
  assert.deepEqual(
    pair.world.lines.slice(before).filter((line) => /sync-failed|replication\.idle/.test(line)),
    [],
  );
});

test("what is withheld while it is fetched is no damage", async (t) => {
  const { pair, primary, denying, trimmed, sifted } = await stage(t);
  await primary.store.write((tx) => tx.delete(VALUE, mountScope(EU)));
  await pair.atRest();
  await pair.receiver.close();
  await pair.put(VALUE, "2", EU_BYTE);
  await trimmed();
  denyMeanwhile(pair, denying);
  pair.receive();
  pair.receiver.open();
  await sifted();
  assert.deepEqual(
    pair.world.lines.filter((line) => /do not add up|cannot be mended/.test(line)),
    [],
  );
});

test("what had gone at the primary, and is withheld when it is back there, leaves the log of one that was compared", async (t) => {
  const { pair, primary, secondary, denying, evacuated, mount, trimmed, sifted, inLog } =
    await stage(t);
  await primary.store.write((tx) => {
    tx.delete(ENTRY, mountScope(EU));
    tx.delete(VALUE, mountScope(EU));
  });
  await pair.atRest();
  await pair.receiver.close();
  assert.equal(secondary.store.get(ENTRY), null);
  assert.notDeepEqual(await inLog(), []);
  await mount("2"); // as by a restore
  await trimmed();
  denying.change(true);
  pair.receive();
  pair.receiver.open();
  await sifted();
  assert.deepEqual(evacuated, []);
  assert.deepEqual(await inLog(), []);
});

const BROUGHT_BACK = {
  "and is here": false,
  "and has gone again": true,
};

for (const [name, hasGone] of Object.entries(BROUGHT_BACK)) {
  test(`what a cluster brought back while it led, ${name}, goes where the same is withheld from it as before it led`, async (t) => {
    const { pair, secondary, denying, kept, led, evacuated, anews, sifted, inLog } = await stage(t);
    denying.change(true);
    await sifted();
    assert.deepEqual(await inLog(), []);
    await pair.receiver.close();
    const { store } = secondary;
    await store.writeApplied((tx) => {
      tx.put(ENTRY, Buffer.from("2"), mountScope(EU));
      tx.put(VALUE, Buffer.from("2"), mountScope(EU));
    });
    if (hasGone) {
      await store.writeApplied((tx) => {
        tx.delete(ENTRY, mountScope(EU));
        tx.delete(VALUE, mountScope(EU));
      });
    }
    led.isSo = true;
    kept.isThere = !hasGone; // else nothing but the log has it
    const before = anews.length;
    pair.receive();
    pair.receiver.open();
    await sifted();
    assert.deepEqual([led.isSo, kept.isThere], [false, false]);
    assert.equal(anews.length, before + 1); // copies of it may be loaded
    assert.deepEqual(evacuated, hasGone ? [true] : [true, true]);
    assert.deepEqual(await inLog(), []);
  });
}

test("it is in the log for an hour at most where own secondaries are away, whatever goes meanwhile", async (t) => {
  const { secondary, denying, world, here, sifted, scrub } = await stage(t);
  denying.change(true);
  await sifted();
  const first = scrub()!.index;
  world.clock.pass(59n * MINUTE);
  assert.equal(scrub()!.isLate, false);
  await secondary.store.write((tx) => tx.put("local/own", Buffer.from("1")));
  await here().going();
  await here().settle();
  assert.ok(scrub()!.index > first);
  world.clock.pass(2n * MINUTE);
  assert.equal(scrub()!.isLate, true);
});

test("when that has gone the next has its hour, and where nothing goes nothing is scrubbed", async (t) => {
  const { denying, world, here, sifted, scrub, inLog } = await stage(t);
  denying.change(true);
  await sifted();
  await inLog();
  const first = scrub()!.index;
  world.clock.pass(HOUR + MINUTE);
  await here().install({ ...ANSWER, version: "2" }, true); // nothing that was not withheld before
  await here().settle();
  assert.equal(scrub()!.index, first);
  await here().going();
  await here().settle();
  assert.equal(scrub()!.isLate, false);
});
