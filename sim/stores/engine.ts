// A storage engine on the simulated disk, as plain as can be, so that what the simulator finds lies
// above it: a log of commit records, each with a checksum that also covers its predecessor's. It is
// replayed into memory when opened; a record that was not written wholly ends it.

import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import { equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { CommitConflict, EngineError } from "../../src/storage/engines/engine.ts";
import type {
  Batch,
  StorageEngine,
  Limits,
  Reads,
  ReadView,
} from "../../src/storage/engines/engine.ts";
import { copyBatch, MemoryRows } from "../../src/storage/engines/memory-rows.ts";
import { HeldView, ReadsBehind } from "../../src/storage/engines/reads-behind.ts";
import type { SimFile, Volume } from "./disk.ts";

const LOG = "commits";
const HEADER = 8; // length and checksum
const MIB = 1024 * 1024;

export interface SimEngineOptions {
  /** Default: the most that any engine may take. */
  readonly limits?: Limits;
  /** The switches below are planted bugs: what an engine must do at recovery, left out. */
  readonly skip?: "checksum" | "cut" | "sync";
}

export class SimEngine extends ReadsBehind implements StorageEngine {
  readonly kind = "sim";
  readonly limits: Limits;
  readonly #volume: Volume;
  readonly #file: SimFile;
  readonly #rows: MemoryRows;
  #end: number;
  #checksum: number;
  #running: Promise<void> | null = null;
  #failure: { cause: unknown } | null = null;
  #closed = false;

  private constructor(volume: Volume, file: SimFile, found: Replayed, limits: Limits) {
    super();
    this.#volume = volume;
    this.#file = file;
    this.#rows = found.rows;
    this.#end = found.end;
    this.#checksum = found.checksum;
    this.limits = limits;
  }

  static async open(volume: Volume, options: SimEngineOptions = {}): Promise<SimEngine> {
    const { skip, limits = { operations: 8192, bytes: 64 * MIB } } = options;
    try {
      const file = volume.open(LOG) ?? volume.create(LOG);
      const found = replay(file, skip !== "checksum");
      if (skip === "cut") found.end = file.size();
      else if (found.end < file.size()) file.truncate(found.end);
      // What was read may be in the cache only: a process was killed, the machine went on. After a
      // failed sync a further one would not even write it, so it is written again.
      if (skip !== "sync") {
        file.write(0, file.read(0, found.end));
        await file.sync();
      }
      await volume.syncNames();
      return new SimEngine(volume, file, found, limits);
    } catch (cause) {
      throw new EngineError("the simulated storage could not be opened", { cause });
    }
  }

  protected override source(): Reads {
    if (this.#closed) throw new EngineError("the storage is closed");
    if (this.#failure !== null) {
      throw new EngineError("the storage has failed", { cause: this.#failure.cause });
    }
    return this.#rows;
  }

  async commit(batch: Batch): Promise<void> {
    this.source();
    invariant(this.#running === null, "a commit was started before the last one had settled");
    invariant(fits(batch, this.limits), "a commit is larger than the engine's limits");
    const { name, value } = batch.expect;
    const found = this.#rows.meta(name);
    const same = found === null || value === null ? found === value : equalBytes(found, value);
    if (!same) throw new CommitConflict();
    this.#running = this.#write(copyBatch(batch));
    try {
      await this.#running;
    } finally {
      this.#running = null;
    }
  }

  async #write(batch: Batch): Promise<void> {
    const { record, checksum } = encodeRecord(batch, this.#checksum);
    try {
      this.#rows.assertFresh(batch);
      this.#file.write(this.#end, record);
      await this.#file.sync();
    } catch (cause) {
      this.#failure = { cause };
      throw new EngineError("the simulated storage failed", { cause });
    }
    this.#end += record.length;
    this.#checksum = checksum;
    this.#rows.apply(batch);
  }

  async viewApart(): Promise<null> {
    return null;
  }

  snapshot(): ReadView {
    this.source();
    return new HeldView(this.#rows.copy(), () => {});
  }

  /** One process at a time uses this storage: there is nobody else whose commits could be told. */
  watch(): () => void {
    this.source();
    return () => {};
  }

  /** What is removed is nowhere. */
  scrub(): void {}

  freeBytes(): number {
    this.source();
    return this.#volume.freeBytes();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => {}); // whoever called commit() hears of it
  }
}

function fits(batch: Batch, limits: Limits): boolean {
  let bytes = 0;
  for (const { key, value } of batch.data) bytes += Buffer.byteLength(key) + (value?.length ?? 0);
  for (const { entry } of batch.log) bytes += entry.length;
  return batch.data.length <= limits.operations && bytes <= limits.bytes;
}

function encodeRecord(batch: Batch, before: number): { record: Buffer; checksum: number } {
  const body = serialize(batch);
  const checksum = crc32(body, before);
  const record = Buffer.alloc(HEADER + body.length);
  record.writeUInt32BE(body.length, 0);
  record.writeUInt32BE(checksum, 4);
  record.set(body, HEADER);
  return { record, checksum };
}

interface Replayed {
  readonly rows: MemoryRows;
  end: number;
  readonly checksum: number;
}

function replay(file: SimFile, checks: boolean): Replayed {
  const rows = new MemoryRows();
  const log = file.read(0, file.size());
  let checksum = 0;
  let at = 0;
  while (at + HEADER <= log.length) {
    const length = log.readUInt32BE(at);
    const end = at + HEADER + length;
    if (length === 0 || end > log.length) break;
    const body = log.subarray(at + HEADER, end);
    const stated = log.readUInt32BE(at + 4);
    if (checks && crc32(body, checksum) !== stated) break;
    rows.apply(deserialize(body) as Batch); // only copyBatch's own shape is ever serialized
    checksum = stated;
    at = end;
  }
  return { rows, end: at, checksum };
}
