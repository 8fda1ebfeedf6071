import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import type { LinkedOptions } from "../options.ts";
import type { Secondary } from "../roles/role.ts";
import { type AppliedPlace, placesIn, wasTorn } from "./applied-place.ts";
import { appliedHere, isTorn, isWhole, nextFirst, writtenBy } from "./how-far.ts";

const ROLE: Secondary = {
  mode: "secondary",
  set: "s",
  epoch: { number: 3, cluster: "c", first: "140" },
  forks: [{ number: 2, first: "90" }],
  id: "region",
  address: "",
  known: null,
  copied: true,
  final: null,
  mayRewind: false,
  promoting: null,
};
const LED = { since: "1", until: "120", at: "2030-01-01T00:00:00Z" };

async function made() {
  const { barrier, store } = await madeBarrier();
  const below = "replication/performance/";
  const views = { own: barrier.view(`core/${below}`), view: barrier.view(`local/${below}`) };
  const options = { ...views, store, kind: "performance" } as unknown as LinkedOptions;
  const { lineage, epoch, chain } = store.head!;
  const whole = { lineage, epoch, chain, of: 1, index: 7n, half: null, part: 0, until: null };
  const put = (place: AppliedPlace, before: AppliedPlace | null) =>
    store.write((tx) => placesIn(views).put(tx, place, before));
  return { views, options, store, whole, put };
}

test("how far the primary's log is here says the place, unless the log here is its own or was", async () => {
  const { options, store, whole, put } = await made();
  assert.equal(appliedHere(options, ROLE), 0n, "nothing was applied yet");
  await put(whole, null);
  assert.equal(appliedHere(options, ROLE), 7n);
  assert.equal(appliedHere(options, { ...ROLE, led: true }), 7n, "it follows again");
  assert.equal(appliedHere(options, { ...ROLE, led: true, id: "" }), store.index);
  assert.equal(appliedHere(options, { ...ROLE, id: "" }), 7n, "it has only lost its primary");
  assert.equal(appliedHere({ ...options, kind: "dr" }, ROLE), store.index);
});

test("whose it is says the place, unless it was written here", async () => {
  const { options, whole, put } = await made();
  assert.equal(writtenBy(options, ROLE), 0, "nothing was applied yet");
  await put(whole, null);
  assert.equal(writtenBy(options, ROLE), 1, "whichever is followed");
  assert.equal(writtenBy(options, { ...ROLE, surplus: { ...LED, epoch: 2 } }), 2);
  const { set, epoch, address } = ROLE;
  assert.equal(writtenBy(options, { mode: "primary", set, epoch, address, fenced: null }), 3);
  assert.equal(writtenBy(options, { mode: "disabled" }), 0);
});

test("that rows are of different indexes is known here, and to whoever takes the place with the data and not with that row", async () => {
  const { views, options, store, whole, put } = await made();
  const torn = { ...whole, half: { kind: "diff" } } as const;
  const later = { ...whole, until: 9n };
  const found = () => [isTorn(views), isWhole(views), wasTorn(views)];
  assert.deepEqual(found(), [false, false, false]);
  await put(torn, null);
  assert.deepEqual(found(), [true, false, true]);
  await put(later, torn);
  assert.deepEqual(found(), [true, false, true]);
  await put(whole, later);
  assert.deepEqual(found(), [false, true, false]);
  await put(torn, whole);
  // Who stands in for this cluster has its rows, and not its place.
  await store.write((tx) => options.own.within(tx).delete("applied"));
  assert.deepEqual(found(), [true, false, true]);
  // Its first place makes up for what the one of before has left.
  await put(whole, null);
  assert.deepEqual(found(), [false, true, false]);
});

test("the next epoch begins behind what is here of the log of the last one, and where that parted from the log that is here", async () => {
  const { options, store, whole, put } = await made();
  const stored = (place: Pick<AppliedPlace, "of" | "index">) => put({ ...whole, ...place }, null);
  const cases: readonly [of: number, index: bigint, role: Secondary, first: bigint][] = [
    [3, 150n, ROLE, 151n], // it follows the last one
    [3, 100n, ROLE, 101n],
    [2, 150n, ROLE, 140n], // it has only heard of that
    [2, 120n, ROLE, 121n],
    [1, 150n, ROLE, 90n], // and not even of the one before
    [1, 80n, ROLE, 81n],
    [0, 150n, ROLE, 151n], // nobody has kept which it was
    [0, 150n, { ...ROLE, superseded: true }, 140n],
  ];
  for (const [of, index, role, first] of cases) {
    await stored({ of, index });
    assert.equal(nextFirst(options, role), first, `${of}, ${index}`);
  }
  // The rows are its own still, whatever it had followed before it led.
  await stored({ of: 1, index: 1n });
  const led = (number: number, first: string) =>
    nextFirst(options, {
      ...ROLE,
      epoch: { number, cluster: "c", first },
      surplus: { ...LED, epoch: 2 },
    });
  assert.equal(led(2, "1"), store.index + 1n);
  assert.equal(led(3, String(store.index)), store.index);
});
