// Evidence on its way to data of other keys. When a snapshot of other keys takes the place of what is here, nobody has
// the keys that would seal rows there. Nothing in evidence is secret but the half of the key that signs: so the rest
// goes along in clear, and is sealed when somebody unseals. The key that goes on is named by the one before it, and its
// secret half waits in memory alone: after a crash the chain of keys is broken, and says so; numbers go on.
// Whoever can write to the disk can put such rows there too. So nothing is taken in where a ring of keys is already, no
// private half ever, and the process that made the exchange believes what it knows itself, and not what lies there.

import { createHash } from "node:crypto";
import { utf8, wipe } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import type { StoredRecord, Tx, View, ViewReads } from "../barrier/view.ts";
import { type Envelope, openEnvelope, sha256 } from "../signed/envelope.ts";
import { readKeyList } from "../signed/key-list.ts";
import { readReport, type Report } from "../signed/report.ts";
import * as rows from "./evidence-rows.ts";
import type { Evidence } from "./evidence.ts";
import type { Receipts } from "./receipts.ts";

/** Below core/, beside the place of evidence. */
export const CARRIED = "evidence-carried/";
const ROWS = "rows/";
const HANDOVER = "handover";
/** Among the rows, before all of evidence: where chains of audit files have ended. */
const CHAINS = "audit/";
/** Sealed, below evidence/: whether what was carried is what was signed for. There while it is taken in. */
const TAKING = "taking";
const READ_AT_ONCE = 64;
/** In one transaction: far below what any storage takes. */
const MOVED_AT_ONCE = 256;
const MOVED_BYTES = 1 << 20;
const ESSENTIAL = { essential: true }; // a full disk keeps nobody from unsealing

/** The secret half of the key that goes on, and what was signed with the one before. It outlives the house that made it. */
export class HeldKey {
  #der: Buffer | null = null;
  #handover: Handover | null = null;

  hold(der: Buffer, handover: Handover): void {
    wipe(this.#der);
    this.#der = der;
    this.#handover = handover;
  }

  get handover(): Handover | null {
    return this.#handover;
  }

  /** Of the key that `handover` names. Null where there is none, or where the process is another one than that which
   *  made it. */
  get der(): Buffer | null {
    return this.#der;
  }

  /** It is stored, or of no use any more. */
  drop(): void {
    wipe(this.#der);
    this.#der = null;
    this.#handover = null;
  }
}

/** What data takes the place of what is here. */
export interface NextData {
  readonly id: string;
  readonly clusterId: string;
}

/** As it lies in storage: no row of it is sealed. */
export interface ClearRow {
  readonly key: string;
  readonly value: Uint8Array;
}

interface StoredHandover {
  readonly envelope: Envelope;
  readonly since: string; // nanoseconds
}

/** It holds together: the ring, and the report that goes on from there. */
interface Handover {
  readonly report: Report;
  readonly kept: rows.KeptReport;
  readonly key: rows.KeyRecord;
  readonly ring: rows.Ring;
  readonly since: bigint;
}

export interface CarryingOptions {
  /** core/evidence/ */
  readonly view: View;
  /** core/evidence-carried/, not sealed. */
  readonly clear: View;
  readonly evidence: Pick<Evidence, "handOver">;
  readonly receipts: Pick<Receipts, "signedFor">;
  /** Where chains of audit files have ended, in the order of their keys. */
  readonly chains: () => Iterable<ClearRow>;
  /** Where they go. */
  readonly chainsTo: View;
  readonly held: HeldKey;
  readonly timers: Timers;
  readonly log: Log;
}

const stored = jsonCodec<StoredHandover>();
const wholeness = jsonCodec<boolean>();

export class Carrying {
  readonly #options: CarryingOptions;

  constructor(options: CarryingOptions) {
    this.#options = options;
  }

  /** Everything that goes along, for a store of other keys. The house rests: nothing is signed any more. */
  *rows({ id, clusterId }: NextData): Generator<ClearRow> {
    const { view, clear, evidence, held } = this.#options;
    const digest = new RowsDigest();
    for (const { key: name, value } of this.#options.chains()) {
      const key = CHAINS + name;
      digest.add(key, value);
      yield { key: clear.prefix + ROWS + key, value };
    }
    for (const page of pagesOf(view, "")) {
      for (const { key, value } of page) {
        if (key.startsWith(rows.SECRETS)) continue;
        digest.add(key, value);
        yield { key: clear.prefix + ROWS + key, value };
      }
    }
    const { envelope, since, der } = evidence.handOver({
      subject: { snapshot: id, snapshot_cluster: clusterId },
      inputs: [{ name: "evidence", digest: digest.end() }],
    });
    const ring = rows.readRing(view) ?? { keys: [], since: String(since) };
    const letter = { envelope, since: String(since) };
    const handover = handoverOf(letter, ring);
    invariant(handover !== null, "what was signed here can be read here");
    held.hold(der, handover);
    const value = stored.encode(letter);
    yield { key: clear.prefix + HANDOVER, value };
  }

  /** What was carried here becomes evidence of this house. It can be stopped anywhere, and goes on the next time. */
  async takeIn(): Promise<void> {
    const { view, clear, held, log } = this.#options;
    const isThere = clear.keys("", { limit: 1 }).length > 0;
    if (!isThere && held.handover === null) return held.drop();
    // Data that comes with a snapshot has none: that of the old one goes along, and becomes its own in the last step.
    if (rows.readRing(view) !== null) {
      held.drop();
      return isThere ? await this.#refuse() : undefined;
    }
    const handover = held.handover ?? this.#read();
    const isWhole = handover !== null && (await this.#isWhole(handover));
    if (!isWhole) {
      const event = "evidence.lost";
      log.error("evidence was changed while it went along with a restore, and is left out", {
        event,
      });
    }
    await this.#move(isWhole);
    await this.#end(handover, isWhole, held.der);
    held.drop(); // not before: what failed above is tried again at the next unseal
    if (isWhole) log.info("evidence has gone along with a restore", { event: "evidence.taken" });
  }

  /** Nobody brings evidence to a store that has its own. */
  async #refuse(): Promise<void> {
    const { log } = this.#options;
    log.error("rows that look like evidence were put into the store, and are removed", {
      event: "evidence.refused",
    });
    await this.#move(false);
    await this.#end(null, false, null);
  }

  /** Null for what does not hold together: it was changed by somebody, since it lay there in clear. */
  #read(): Handover | null {
    const { clear } = this.#options;
    try {
      const handover = clear.get(HANDOVER, stored);
      const ring = rows.readRing(clear.sub(ROWS));
      const read = handover === null || ring === null ? null : handoverOf(handover, ring);
      return read !== null && holdsTogether(read) ? read : null;
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) return null;
      throw error;
    }
  }

  /** Whether the rows are those that the report was signed for. It is found out once, while all of them are there. */
  async #isWhole({ report }: Handover): Promise<boolean> {
    const { view, clear, timers } = this.#options;
    const known = view.get(TAKING, wholeness);
    if (known !== null) return known;
    const digest = new RowsDigest();
    for (const page of pagesOf(clear, ROWS)) {
      for (const { key, value } of page) digest.add(key.slice(ROWS.length), value);
      await timers.turn();
    }
    const end = digest.end();
    const isWhole = report.inputs.some(({ digest: signed }) => signed === end);
    await view.write((tx) => tx.put(TAKING, isWhole, wholeness), ESSENTIAL);
    return isWhole;
  }

  /** All but what tells how far it has come, which goes last. */
  async #move(isWhole: boolean): Promise<void> {
    const { view, clear } = this.#options;
    for (let after: string | undefined; ;) {
      const page = { limit: MOVED_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const found = clear.records(ROWS, bytesCodec, page);
      after = found.at(-1)?.key;
      if (after === undefined) return;
      const moved = found.filter(({ key }) => !rows.isPosition(key.slice(ROWS.length)));
      for (const group of groupsOf(moved)) {
        await view.write((tx) => {
          for (const row of group) this.#moveRow(tx, isWhole ? row : { ...row, value: null });
        }, ESSENTIAL);
      }
    }
  }

  #moveRow(
    tx: Tx,
    { key, value }: { readonly key: string; readonly value: Uint8Array | null },
  ): void {
    const { clear, chainsTo } = this.#options;
    tx.on(clear).delete(key);
    const name = key.slice(ROWS.length);
    if (value === null || name.startsWith(rows.SECRETS)) return; // none was carried
    if (name.startsWith(CHAINS)) tx.on(chainsTo).put(name.slice(CHAINS.length), value, bytesCodec);
    else tx.put(name, value, bytesCodec);
  }

  async #end(handover: Handover | null, isWhole: boolean, der: Buffer | null): Promise<void> {
    const { view, clear, receipts } = this.#options;
    await view.write((tx) => {
      const before = tx.on(clear);
      for (const { key, value } of before.records(ROWS, bytesCodec, { limit: READ_AT_ONCE })) {
        this.#moveRow(tx, { key, value: isWhole ? value : null });
      }
      if (handover !== null) {
        const { report, kept, key, ring, since } = handover;
        const { number, previous } = report;
        if (!isWhole) rows.putBareHead(tx, ring, number - 1, previous ?? "");
        rows.putReport(tx, number, kept);
        rows.putKey(tx, key, since, isWhole ? der : null);
        // What lay in clear is never signed for here: the report that ended it has its digest.
        receipts.signedFor(tx);
      }
      before.delete(HANDOVER);
      tx.delete(TAKING);
    }, ESSENTIAL);
  }
}

function handoverOf({ envelope, since }: StoredHandover, ring: rows.Ring): Handover | null {
  const opened = openEnvelope(envelope as unknown as JsonValue);
  const report = opened === null ? null : readReport(opened.payload);
  if (opened === null || report === null || !/^[0-9]{1,20}$/.test(since)) return null;
  const { fingerprint, public_key: publicKey } = report.subject;
  if (typeof fingerprint !== "string" || typeof publicKey !== "string") return null;
  const key = { fingerprint, publicKey, made: report.made_at, statement: envelope };
  const at = BigInt(since);
  const signed = { digest: sha256(opened.payload), envelope };
  return { report, kept: rows.keptReport(report, signed, at), key, ring, since: at };
}

/** Signatures and links of all keys, and that the last of the ring has signed for the one that goes on. */
function holdsTogether({ report, key, ring }: Handover): boolean {
  const { state, previous_key: previous } = report.result;
  if (state !== "exchanged" || previous !== ring.keys.at(-1)?.fingerprint) return false;
  const keys = [...ring.keys, key].map((one) => ({
    fingerprint: one.fingerprint,
    public_key: one.publicKey,
    statement: one.statement,
  }));
  return readKeyList({ keys } as unknown as JsonValue).problem === null;
}

function* groupsOf<T extends { readonly value: Uint8Array }>(
  found: readonly T[],
): Generator<readonly T[]> {
  let group: T[] = [];
  let bytes = 0;
  for (const row of found) {
    group.push(row);
    bytes += row.value.length;
    if (bytes < MOVED_BYTES) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

function* pagesOf(view: ViewReads, prefix: string): Generator<readonly StoredRecord<Uint8Array>[]> {
  for (let after: string | undefined; ;) {
    const page = { limit: READ_AT_ONCE, ...(after === undefined ? {} : { after }) };
    const found = view.records(prefix, bytesCodec, page);
    after = found.at(-1)?.key;
    if (after === undefined) return;
    yield found;
  }
}

/** Over rows in the order of their keys; lengths stand in front, so that no two sets give the same. */
class RowsDigest {
  readonly #hash = createHash("sha256");

  add(key: string, value: Uint8Array): void {
    const name = utf8(key);
    this.#hash.update(`${name.length} ${value.length} `).update(name).update(value);
  }

  end(): string {
    return this.#hash.digest("hex");
  }
}
