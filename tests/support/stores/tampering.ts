// Every way in which somebody, or a failing disk, can change what is stored behind a store's back,
// and what a check must say about it. Done with batches made by hand, directly on the engine.

import type { StorageEngine } from "../../../src/storage/engines/engine.ts";
import { encodeHead, decodeHead, HEAD_ROW } from "../../../src/storage/rows/head.ts";
import { CORE_SCOPE } from "../../../src/storage/rows/log-entry.ts";
import { leafHash, sha256, slotOf } from "../../../src/storage/rows/merkle.ts";
import type { CheckReport } from "../../../src/storage/repair/check.ts";
import { bytes, type MadeStore, madeStore, TREE_KEY } from "../made/made-store.ts";
import { tamper } from "./watched-engine.ts";

export const VICTIM = "shared/kv/17";
const SLOT = slotOf("shared", VICTIM)!;

/** Sixty records, of which the victim was written twice. */
export async function filledStore(): Promise<MadeStore & { old: Old }> {
  const made = await madeStore();
  const { store, engine } = made;
  await store.write((tx) => {
    for (let i = 0; i < 30; i++) tx.put(`shared/kv/${i}`, bytes(`s${i}`));
    for (let i = 0; i < 30; i++) tx.put(`local/kv/${i}`, bytes(`l${i}`));
    tx.put("core/x", bytes("ignored"));
  });
  const old = { value: engine.get(VICTIM)!, leaf: engine.leaf(SLOT, VICTIM)! };
  await store.write((tx) => tx.put(VICTIM, bytes("newer")));
  for (let i = 0; i < 8; i++) await store.write((tx) => tx.put("local/last", bytes(`${i}`)));
  return { ...made, old };
}

interface Old {
  readonly value: Uint8Array;
  readonly leaf: { readonly hash: Uint8Array; readonly scope: Uint8Array };
}

export interface Tampering {
  readonly name: string;
  readonly act: (engine: StorageEngine, old: Old) => Promise<void>;
  /** What the check's report must contain, beside `ok: false`. */
  readonly found: Partial<CheckReport>;
  /** Whether a check of keys alone must find it. */
  readonly shallow: boolean;
  /** Whether a reindex must make the check clean again, and what its report names. */
  readonly mended: { readonly mended?: string[]; readonly removed?: string[] } | null;
}

const place = { tree: "shared", page: SLOT >> 8, subpage: SLOT & 255 } as const;
const clean = { missing: [], surplus: [], different: [], brokenLogAt: null, headAuthentic: true };
const SURPLUS = "shared/kv/never written";

export const tamperings: readonly Tampering[] = [
  {
    name: "a row that vanished",
    act: (engine) => tamper(engine, { data: [{ key: VICTIM, value: null }] }),
    found: { ...clean, missing: [VICTIM], damaged: 1, wrongSubpages: [], totalsMatch: true },
    shallow: true,
    mended: { removed: [VICTIM] },
  },
  {
    name: "an altered row",
    act: (engine) => tamper(engine, { data: [{ key: VICTIM, value: bytes("forged") }] }),
    found: { ...clean, different: [VICTIM], damaged: 1, wrongSubpages: [], totalsMatch: true },
    shallow: false,
    mended: { mended: [VICTIM] },
  },
  {
    name: "a surplus row",
    act: (engine) => tamper(engine, { data: [{ key: SURPLUS, value: bytes("forged") }] }),
    found: { ...clean, surplus: [SURPLUS], damaged: 1, wrongSubpages: [], totalsMatch: true },
    shallow: true,
    mended: { mended: [SURPLUS] },
  },
  {
    name: "a surplus row with a leaf that its maker could not key",
    act: (engine) => {
      const slot = slotOf("shared", SURPLUS)!;
      const leaf = { hash: sha256(bytes("guess")), scope: new Uint8Array(16) };
      return tamper(engine, {
        data: [{ key: SURPLUS, value: bytes("forged") }],
        leaves: [{ slot, key: SURPLUS, leaf }],
      });
    },
    found: { ...clean, different: [SURPLUS], damaged: 1, totalsMatch: true },
    shallow: true,
    mended: { mended: [SURPLUS] },
  },
  {
    name: "a row put back from an older day",
    act: (engine, old) => tamper(engine, { data: [{ key: VICTIM, value: old.value }] }),
    found: { ...clean, different: [VICTIM], damaged: 1, wrongSubpages: [] },
    shallow: false,
    mended: { mended: [VICTIM] },
  },
  {
    name: "a row put back from an older day with its leaf",
    act: (engine, old) =>
      tamper(engine, {
        data: [{ key: VICTIM, value: old.value }],
        leaves: [{ slot: SLOT, key: VICTIM, leaf: old.leaf }],
      }),
    found: { ...clean, damaged: 0, wrongSubpages: [place], totalsMatch: true },
    shallow: true,
    mended: {},
  },
  {
    name: "a row put back from an older day with its leaf and sum",
    act: (engine, old) =>
      tamper(engine, {
        data: [{ key: VICTIM, value: old.value }],
        leaves: [{ slot: SLOT, key: VICTIM, leaf: old.leaf }],
        sums: [{ slot: SLOT, sum: old.leaf.hash, count: 1 }],
      }),
    found: { ...clean, damaged: 0, wrongSubpages: [], totalsMatch: false },
    shallow: true,
    mended: {},
  },
  {
    name: "a removed leaf",
    act: (engine) => tamper(engine, { leaves: [{ slot: SLOT, key: VICTIM, leaf: null }] }),
    found: { ...clean, surplus: [VICTIM], damaged: 1, wrongSubpages: [place], totalsMatch: true },
    shallow: true,
    mended: { mended: [VICTIM] },
  },
  {
    name: "row, leaf and sum all removed",
    act: (engine) =>
      tamper(engine, {
        data: [{ key: VICTIM, value: null }],
        leaves: [{ slot: SLOT, key: VICTIM, leaf: null }],
        sums: [{ slot: SLOT, sum: new Uint8Array(32), count: 0 }],
      }),
    found: { ...clean, damaged: 0, wrongSubpages: [], totalsMatch: false },
    shallow: true,
    mended: {},
  },
  {
    name: "a leaf in a place that is not its key's",
    act: async (engine) => {
      const leaf = engine.leaf(SLOT, VICTIM);
      await tamper(engine, { leaves: [{ slot: SLOT ^ 1, key: VICTIM, leaf }] });
    },
    found: { ...clean, missing: [VICTIM], damaged: 1, totalsMatch: true },
    shallow: true,
    mended: { removed: [VICTIM] },
  },
  {
    name: "a leaf whose hash was cut short",
    act: async (engine) => {
      const { hash, scope } = engine.leaf(SLOT, VICTIM)!;
      const leaf = { hash: hash.subarray(1), scope };
      await tamper(engine, { leaves: [{ slot: SLOT, key: VICTIM, leaf }] });
    },
    found: { ...clean, different: [VICTIM], damaged: 1, wrongSubpages: [place] },
    shallow: true,
    mended: { mended: [VICTIM] },
  },
  {
    name: "an altered sum",
    act: (engine) =>
      tamper(engine, { sums: [{ slot: SLOT, sum: new Uint8Array(32).fill(9), count: 1 }] }),
    found: { ...clean, damaged: 0, wrongSubpages: [place], totalsMatch: false },
    shallow: true,
    mended: {},
  },
  {
    name: "an altered count",
    act: async (engine) => {
      const row = engine.sums().find(({ slot }) => slot === SLOT)!;
      await tamper(engine, { sums: [{ ...row, count: 2 }] });
    },
    found: { ...clean, damaged: 0, wrongSubpages: [place], totalsMatch: false },
    shallow: true,
    mended: {},
  },
  {
    name: "two sums that changed places, so that the total is right",
    act: async (engine) => {
      const [a, b] = engine.sums();
      const swapped = [
        { ...a!, sum: b!.sum, count: b!.count },
        { ...b!, sum: a!.sum, count: a!.count },
      ];
      await tamper(engine, { sums: swapped });
    },
    found: { ...clean, damaged: 0, totalsMatch: true },
    shallow: true,
    mended: {},
  },
  {
    name: "a removed log entry",
    act: async (engine) => {
      const rows = engine.logs(0n, 100).filter(({ index }) => index !== 4n);
      await tamper(engine, { trimLogBelow: 1000n });
      await tamper(engine, { log: rows });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 4n },
    shallow: true,
    mended: null,
  },
  {
    name: "an altered log entry",
    act: async (engine) => {
      const { index, entry } = engine.logs(3n, 1)[0]!;
      const forged = Uint8Array.from(entry, (byte, i) =>
        i === entry.length - 1 ? byte ^ 1 : byte,
      );
      await tamper(engine, { log: [{ index, entry: forged }] });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 3n },
    shallow: true,
    mended: null,
  },
  {
    name: "a log entry with another digest, and all else as it was",
    act: async (engine) => {
      const { index, entry } = engine.logs(5n, 1)[0]!;
      const forged = Uint8Array.from(entry, (byte, i) => (i === 30 ? byte ^ 1 : byte));
      await tamper(engine, { log: [{ index, entry: forged }] });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 5n },
    shallow: true,
    mended: null,
  },
  {
    name: "a log entry beyond the head",
    act: async (engine) => {
      const { entry } = engine.logs(10n, 1)[0]!;
      await tamper(engine, { log: [{ index: 11n, entry }] });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 11n },
    shallow: true,
    mended: null,
  },
  {
    name: "a log entry before the tail",
    act: async (engine) => {
      const { entry } = engine.logs(1n, 1)[0]!;
      await tamper(engine, { log: [{ index: 0n, entry }] });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 0n },
    shallow: true,
    mended: null,
  },
  {
    name: "an altered head",
    act: async (engine) => {
      const head = engine.meta(HEAD_ROW)!;
      const forged = Uint8Array.from(head, (byte, i) => (i === head.length - 1 ? byte ^ 1 : byte));
      await tamper(engine, { meta: [{ name: HEAD_ROW, value: forged }] });
    },
    found: { ...clean, damaged: 0, headAuthentic: false },
    shallow: true,
    mended: null,
  },
  {
    name: "a head from an older day",
    act: async (engine) => {
      const head = decodeHead(engine.meta(HEAD_ROW)!);
      const { chain } = head;
      const older = encodeHead({ ...head, index: head.index - 1n, chain }, TREE_KEY);
      await tamper(engine, { meta: [{ name: HEAD_ROW, value: older }] });
    },
    found: { ...clean, damaged: 0, brokenLogAt: 11n },
    shallow: true,
    mended: null,
  },
  {
    name: "a head that vanished",
    act: (engine) => tamper(engine, { meta: [{ name: HEAD_ROW, value: null }] }),
    found: { damaged: 0, headAuthentic: false, totalsMatch: false },
    shallow: true,
    mended: null,
  },
];

/** The leaf that a value has, for tests that put one by hand. */
export function leafOf(key: string, value: Uint8Array): { hash: Uint8Array; scope: Uint8Array } {
  return { hash: leafHash(TREE_KEY, key, CORE_SCOPE, sha256(value)), scope: CORE_SCOPE };
}
