// Shared rows of the primary without the entries that made them: all of them, or those that differ. They are applied like entries are, some at
// a time; own rows stay as they are. The place of the primary's log comes first and the rows after it, so that the log from there on makes up
// for whatever was written there meanwhile; until it has, the place says that the rows are of no index.

import { equalBytes } from "@holdfast/shared/bytes";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { withTightHeap } from "../../storage/following/tight-heap.ts";
import { Slices } from "../../storage/commit/slices.ts";
import { classOf, isLegalKey } from "../../storage/key.ts";
import { SCOPE_BYTES } from "../../storage/rows/log-entry.ts";
import type { ReadView } from "../../storage/engines/engine.ts";
import { reindexStore } from "../../storage/repair/reindex.ts";
import type { AdoptedRow } from "../../storage/store.ts";
import type { AppliedParts } from "./applied-log.ts";
import type { AppliedPlace } from "./applied-place.ts";
import type { AppliedWrites } from "./applied-writes.ts";
import { protocolBroken } from "../stream/failures.ts";
import type { SharedHead, WithheldAnswer } from "../stream/messages.ts";
import { absent, groupsOf, inOrder, PrimaryRows } from "../stream/primary-rows.ts";
import type { Connection, Progress } from "../stream/receiving.ts";

/** What a comparison has found is kept until all of it is here: then those who read see rows of no index for as long as it takes to write them,
 *  and not for as long as they are on their way. What is more than this is written as it comes. */
const STAGED_BYTES = 64 * 1024 * 1024;
/** Of a row, besides its bytes. */
const EACH = 128;
/** Of one transaction: what follows from rows takes several times as long as they do, and nobody else has a turn meanwhile. */
const ROWS = 64;
const BYTES = 256 * 1024;

export class SharedTaker {
  readonly #parts: AppliedParts;
  readonly #writes: AppliedWrites;
  readonly #progress: Progress;
  readonly #connection: Connection;
  readonly #theirs: PrimaryRows;
  readonly #slices: Slices;

  constructor(
    parts: AppliedParts,
    writes: AppliedWrites,
    progress: Progress,
    connection: Connection,
  ) {
    this.#parts = parts;
    this.#writes = writes;
    this.#progress = progress;
    this.#connection = connection;
    this.#theirs = new PrimaryRows(parts, connection);
    this.#slices = new Slices(parts, connection.signal);
  }

  /** Everything, in the order of keys, into a store that has nothing shared. Goes on where one has begun. False where it does not add up. */
  copy(): Promise<boolean> {
    return withTightHeap(() => this.#copy());
  }

  async #copy(): Promise<boolean> {
    this.#progress.state = "merkle-sync";
    const half = this.#writes.place?.half ?? null;
    const goesOn = half?.kind === "copy" ? half.after : null;
    const anchor = goesOn === null ? (await this.#begin(true)).anchor : null;
    if (anchor !== null) await this.#mark(anchor, { kind: "copy", after: "" });
    this.#progress.rows = { total: anchor === null ? null : Number(anchor.count), done: 0 };
    let after = goesOn ?? "";
    let next = this.#theirs.chunk(after);
    for (;;) {
      const { rows, isDone, index } = inOrder(await next, after);
      after = rows.at(-1)?.key ?? after;
      if (!isDone) {
        next = this.#theirs.chunk(after); // while these are written
        next.catch(() => {}); // whoever waits for it hears of it
      }
      await this.#apply(rows, (last) => ({ kind: "copy", after: last }));
      if (isDone) return await this.#finish(anchor, index);
    }
  }

  /** What differs, by the shared tree. What is not there any more goes, with what hangs on it. False where it does not add up. */
  async diff(): Promise<boolean> {
    this.#progress.state = "merkle-diff";
    this.#progress.rows = { total: null, done: 0 };
    const { anchor, pages } = await this.#begin(false);
    const slots = await this.#theirs.differing(pages, ["shared"]);
    this.#progress.state = "merkle-sync";
    let { index } = anchor;
    const half = () => ({ kind: "diff" }) as const;
    let staged: AdoptedRow[] | null = []; // null: they are written as they come
    let bytes = 0;
    const write = async () => {
      const rows = staged;
      if (rows === null) return;
      staged = null;
      await this.#beforeGone(rows);
      await this.#mark(anchor, half());
      await this.#apply(rows, half);
    };
    const take = async (rows: readonly AdoptedRow[]) => {
      if (staged === null) {
        await this.#beforeGone(rows);
        return await this.#apply(rows, half);
      }
      if (!rows.every(isShared)) throw protocolBroken("rows that are not shared");
      for (const row of rows) bytes += EACH + row.key.length + (row.value?.length ?? 0);
      staged.push(...rows);
      if (bytes > (this.#parts.stagedBytes ?? STAGED_BYTES)) await write();
    };
    for (const group of groupsOf(slots)) {
      const found = await this.#theirs.differences(group);
      if (found.index > index) index = found.index;
      const total = found.gone.length + found.wanted.length;
      this.#progress.rows.total = (this.#progress.rows.total ?? 0) + total;
      await take(found.gone.map(absent));
      for await (const sent of this.#theirs.fetched(found.wanted)) {
        if (sent.index > index) index = sent.index;
        await take(sent.rows);
      }
      this.#progress.announce(index);
    }
    await write();
    return await this.#finish(anchor, index);
  }

  withheld(version: string): Promise<WithheldAnswer> {
    return this.#theirs.withheld(version);
  }

  /** What is not sent any more. The rest stays as it is: its place in the primary's log is the same. */
  async remove(rows: readonly AdoptedRow[]): Promise<void> {
    const { place } = this.#writes;
    if (place === null) return; // nothing was ever taken
    for (const some of partsOf(rows)) {
      await this.#write([{ operations: some, place }]);
      await this.#slices.pause();
    }
  }

  /** Leaves and sums of shared rows follow the rows again: then a comparison shows what is wrong. Own rows are believed by nobody else, and
   *  are left to whoever looks after them. */
  async mendOwn(): Promise<void> {
    const { store, log } = this.#parts;
    const mending = {
      viewing: <T>(run: (view: ReadView) => Promise<T>) => store.viewing(run),
      mend: (fn: Parameters<typeof store.mend>[0]) => store.mend(fn),
    };
    const { signal } = this.#connection;
    const report = await reindexStore(mending, this.#parts, { signal, trees: ["shared"] });
    const { mended, removed, sums } = report;
    if (mended.count + removed.count + sums === 0) return;
    log.error("damage in storage", {
      mended: `${mended.count} leaves, ${removed.count} without a row, ${sums} sums`,
    });
  }

  /** What is withheld since the comparison began looks as if it were gone there. It does not go by that: what was given by its mounts is revoked before,
   *  when it is told. And whatever a comparison removes is in the own log. */
  async #beforeGone(rows: readonly AdoptedRow[]): Promise<void> {
    const { withheld } = this.#parts;
    if (withheld === undefined || rows.every(({ value }) => value !== null)) return;
    await this.#assertSameFilter();
    await withheld.going();
  }

  async #assertSameFilter(): Promise<void> {
    const { withheld } = this.#parts;
    if (withheld === undefined) return;
    const { isSame } = await this.#theirs.withheld(withheld.version);
    if (!isSame) throw new StatusError(Status.aborted, "something else is withheld here by now");
  }

  /** Where the log of the primary stands: from here on it is gone on with. */
  async #begin(isCopy: boolean): Promise<{ anchor: SharedHead; pages: Uint8Array }> {
    const { ports } = this.#parts;
    const filter = this.#parts.withheld?.version ?? "";
    const { shared: anchor, pages } = await this.#theirs.begin(isCopy, filter);
    if (anchor === null) throw protocolBroken("no place that rows are taken over from");
    await ports.keys(this.#connection.link); // as for the whole log
    this.#progress.announce(anchor.index);
    return { anchor, pages };
  }

  /** From here on the rows are of no index. */
  async #mark(anchor: SharedHead, half: NonNullable<AppliedPlace["half"]>): Promise<void> {
    const { lineage, epoch, index, chain } = anchor;
    const of = this.#parts.ports.epoch();
    const place = { lineage, epoch, index, chain, of, half, part: 0, until: null };
    await this.#write([{ operations: [], place }]);
  }

  async #finish(anchor: SharedHead | null, index: bigint): Promise<boolean> {
    const place = this.#writes.place!;
    this.#connection.signal.throwIfAborted();
    const until = index > place.index ? index : null; // else nothing was written there meanwhile
    const isWhole = anchor === null || until !== null || (await this.#addsUp(anchor));
    if (isWhole)
      await this.#write([{ operations: [], place: { ...place, half: null, part: 0, until } }]);
    this.#progress.lastRemote = place.index;
    return isWhole;
  }

  async #addsUp({ sum, count, index }: SharedHead): Promise<boolean> {
    const { store, log } = this.#parts;
    const own = store.head!.shared;
    if (BigInt(own.count) === count && equalBytes(own.sum, sum)) return true;
    await this.#assertSameFilter(); // that rows are missing by another one is no damage
    log.warn("rows that were taken over do not add up", { index: String(index) });
    return false;
  }

  async #apply(
    rows: readonly AdoptedRow[],
    half: (last: string) => NonNullable<AppliedPlace["half"]>,
  ): Promise<void> {
    if (!rows.every(isShared)) throw protocolBroken("rows that are not shared");
    for (const some of partsOf(rows)) {
      const place = { ...this.#writes.place!, half: half(some.at(-1)!.key) };
      await this.#write([{ operations: some, place }]);
      this.#progress.rows.done += some.length;
      this.#parts.figures?.took(some.length);
      await this.#slices.pause();
    }
  }

  #write(steps: Parameters<AppliedWrites["write"]>[0]): Promise<void> {
    const { link, signal } = this.#connection;
    return this.#writes.write(steps, { progress: this.#progress, signal, link });
  }
}

function isShared({ key, scope }: AdoptedRow): boolean {
  return isLegalKey(key) && classOf(key) === "shared" && scope.length === SCOPE_BYTES;
}

/** Some at a time. */
function* partsOf(rows: readonly AdoptedRow[]): Generator<AdoptedRow[]> {
  let some: AdoptedRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const length = row.key.length + (row.value?.length ?? 0);
    if (some.length === ROWS || (some.length > 0 && bytes + length > BYTES)) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(row);
    bytes += length;
  }
  if (some.length > 0) yield some;
}
