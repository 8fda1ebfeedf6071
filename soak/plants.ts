// Bugs on purpose. A harness that has never caught one proves nothing, so each experiment is also
// run with its own: those that sit between store and engine, and one above.

import type { Audit } from "../src/audit/audit.ts";
import type { Consistency } from "../src/core/seams.ts";
import type { Divergent } from "../src/replication/links/divergent.ts";
import type { Batch, StorageEngine, Leaf } from "../src/storage/engines/engine.ts";
import { MemoryEngine } from "../src/storage/engines/memory.ts";
import { copyBatch } from "../src/storage/engines/memory-rows.ts";
import type { Tokens } from "../src/tokens/tokens.ts";
import type { TokenRows } from "../src/tokens/rows/token-rows.ts";
import type { Deaths } from "./databases/deaths.ts";
import { HEAD_ROW, TAIL_ROW, TIMELINE_ROW } from "../src/storage/rows/head.ts";

/** Everything else goes through to the real engine. */
function decorate(engine: StorageEngine, changes: Partial<StorageEngine>): StorageEngine {
  const own = new Map(Object.entries(changes));
  return new Proxy(engine, {
    get(target, name) {
      if (typeof name === "string" && own.has(name)) return own.get(name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Takes no notice of a storage error, neither where it answers nor where it reports. */
export function swallowErrors(engine: StorageEngine): StorageEngine {
  const commit = (batch: Batch) => engine.commit(batch).catch(() => {});
  return decorate(engine, { commit, onFailure: () => {} });
}

/** Forgets that a leaf without its row is damage. */
export function noLeafCheck(engine: StorageEngine): StorageEngine {
  const leaf = (): Leaf | null => null;
  return decorate(engine, { leaf });
}

/** No bug: the process ends at a commit of choice. */
export function dying(engine: StorageEngine, deaths: Pick<Deaths, "around">): StorageEngine {
  const commit = (batch: Batch) => deaths.around(() => engine.commit(batch));
  return decorate(engine, { commit });
}

const BEHIND_MS = 40;
const ALL = Number.MAX_SAFE_INTEGER;

/** Answers from memory and writes to the disk a little later. */
export async function writeBehind(engine: StorageEngine): Promise<StorageEngine> {
  const memory = new MemoryEngine();
  await memory.commit({
    expect: { name: HEAD_ROW, value: null },
    data: engine.rows({ from: "", to: null, limit: ALL }),
    leaves: engine.leaves(null, ALL).map(({ slot, key, ...leaf }) => ({ slot, key, leaf })),
    sums: engine.sums(),
    log: engine.logs(0n, ALL),
    cutLogAbove: null,
    trimLogBelow: null,
    meta: [HEAD_ROW, TAIL_ROW, TIMELINE_ROW].map((name) => ({ name, value: engine.meta(name) })),
  });
  let last = Promise.resolve();
  const commit = async (batch: Batch): Promise<void> => {
    const later = copyBatch(batch);
    await memory.commit(batch);
    last = last
      .then(() => new Promise<void>((resolve) => setTimeout(resolve, BEHIND_MS)))
      .then(() => engine.commit(later));
  };
  const close = async () => {
    await last;
    await engine.close();
  };
  return decorate(memory, { commit, close });
}

const LATE_MS = 1500;

/** Whoever waits for a change to the tokens of a namespace is told of it too late. */
export function lateWatch(rows: Pick<TokenRows, "onTable">): void {
  const onTable = rows.onTable.bind(rows);
  rows.onTable = (namespaceId, call) =>
    onTable(namespaceId, (index) => void setTimeout(() => call(index), LATE_MS));
}

/** Tokens that are good for one use are good for any number of them. */
export function neverTaken(tokens: Pick<Tokens, "take" | "byAccessor">): void {
  tokens.take = (_tx, { namespaceId, accessor }) => tokens.byAccessor(namespaceId, accessor);
}

const SECRET = /\/mounts\/.+\/secrets\//;

/** The first secret that it is to keep anew stays as it was, from then on, and the trees say otherwise. */
export function staleSecret(engine: StorageEngine): StorageEngine {
  let victim: string | null = null;
  const isForgotten = ({ key, value }: Batch["data"][number]) => {
    if (value === null || !SECRET.test(key)) return false;
    if (victim === null && engine.get(key) !== null) victim = key;
    return key === victim;
  };
  const commit = (batch: Batch) =>
    engine.commit({ ...batch, data: batch.data.filter((row) => !isForgotten(row)) });
  return decorate(engine, { commit });
}

/** Of the entries that a cluster has given up, the first that changed a secret is listed nowhere. */
export function unreported(divergent: Pick<Divergent, "entries">): void {
  const { entries } = divergent;
  divergent.entries = function* careless(...of) {
    let hasLeftOut = false;
    for (const entry of entries.apply(this, of)) {
      if (hasLeftOut || !entry.keys.some(({ key }) => SECRET.test(key))) yield entry;
      else hasLeftOut = true;
    }
  };
}

/** Whatever somebody has seen elsewhere is said to be seen here. */
export function anyState(marks: Pick<Consistency, "judge">): void {
  marks.judge = () => "reached";
}

const FORGOTTEN = 5;

/** One answer in five has no record. */
export function unrecorded(audit: Pick<Audit, "response">): void {
  const response = audit.response.bind(audit);
  let count = 0;
  audit.response = (request, answer) =>
    ++count % FORGOTTEN === 0 ? undefined : response(request, answer);
}
