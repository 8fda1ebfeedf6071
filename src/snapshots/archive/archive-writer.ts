// Writes an archive of a snapshot of the store into a file, in one pass and with bounded memory. The beginning
// tells the size of what follows; it has a fixed length and is written over the front when everything else is
// there, so that nothing has to be read twice while a view is held.

import { createHash, type KeyObject } from "node:crypto";
import { alloc, concat, utf8 } from "@holdfast/shared/bytes";
import { uuidText } from "@holdfast/shared/text/uuid";
import type { Instant, Random } from "@holdfast/shared/world";
import type { Snapshot } from "../../storage/snapshot.ts";
import { MAX_BLOCK, MemberWriter, memberSize } from "./gzip.ts";
import { type ArchiveMeta, encodeMeta, FRONT_DATA, META_BYTES } from "./meta.ts";
import { stays } from "./rows-that-stay.ts";
import { StateWriter } from "./state.ts";
import { sealSums, sumsText } from "./sums.ts";
import { encodeHeader, END_BYTES, type MemberName, paddingOf } from "./tar.ts";

const FRONT_BYTES: number = memberSize(FRONT_DATA);
const NANOS = 1_000_000_000n;
const FLUSHED = 256 * 1024; // bytes that go to the file together

/** Where an archive is written: a new file, which nobody reads until it is whole. */
export interface ArchiveFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Over what is there. */
  overwrite(at: number, bytes: Uint8Array): Promise<void>;
}

export interface ArchiveFacts {
  readonly clusterId: string;
  /** Of this version. */
  readonly software: string;
  /** Form of the rows. */
  readonly format: number;
  readonly created: Instant;
  readonly rootKey: KeyObject;
  readonly random: Random;
}

export interface WrittenArchive {
  readonly meta: ArchiveMeta;
  readonly bytes: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Told how many bytes are written, again and again. */
  readonly progress?: (bytes: number) => void;
}

/** What is written: a view of the store at one index. */
export type ArchiveSource = Pick<Snapshot, "head" | "headRow" | "timelineRow" | "records">;

export async function writeArchive(
  snapshot: ArchiveSource,
  file: ArchiveFile,
  facts: ArchiveFacts,
  options: WriteOptions = {},
): Promise<WrittenArchive> {
  const time = Number(facts.created / NANOS);
  const header = (name: MemberName, size: number) => encodeHeader({ name, size, time });
  const out = new BlockFile(file, options.progress);
  await out.reserve(FRONT_BYTES);

  const state = new StateWriter();
  const stateSum = createHash("sha256");
  let size = 0;
  const add = async (bytes: Uint8Array) => {
    stateSum.update(bytes);
    size += bytes.length;
    await out.write(bytes);
  };
  await add(state.begin({ head: snapshot.headRow, timeline: snapshot.timelineRow }));
  for await (const chunk of snapshot.records(options.signal)) {
    options.signal?.throwIfAborted();
    await add(state.records(chunk.filter(({ key }) => !stays(key))));
  }
  await add(state.end());

  const { head } = snapshot;
  const meta: ArchiveMeta = {
    id: facts.random.uuid(),
    index: Number(head.index),
    epoch: head.epoch,
    lineage: uuidText(head.lineage),
    clusterId: facts.clusterId,
    created: facts.created,
    format: facts.format,
    software: facts.software,
    entries: state.count,
    size,
  };
  const metaBytes = encodeMeta(meta);
  const metaSum = createHash("sha256").update(metaBytes).digest();
  const sums = sumsText({ meta: metaSum, state: stateSum.digest() });
  const sealed = sealSums(facts.rootKey, sums, facts.random);
  const padded = (bytes: Uint8Array) => concat(bytes, alloc(paddingOf(bytes.length)));
  await out.write(alloc(paddingOf(size)));
  await out.write(concat(header("SHA256SUMS", sums.length), padded(utf8(sums))));
  await out.write(concat(header("SHA256SUMS.sealed", sealed.length), padded(sealed)));
  await out.write(alloc(END_BYTES));
  const bytes = await out.end();

  const front = new MemberWriter();
  const data = concat(
    header("meta.json", META_BYTES),
    padded(metaBytes),
    header("state.bin", size),
  );
  await file.overwrite(0, concat(front.head(), front.block(data), front.end()));
  return { meta, bytes };
}

/** The second gzip member: what is written to it goes to the file in whole blocks. */
class BlockFile {
  readonly #file: ArchiveFile;
  readonly #progress: (bytes: number) => void;
  readonly #member = new MemberWriter();
  readonly #block: Buffer = alloc(MAX_BLOCK);
  #filled = 0;
  #waiting: Uint8Array[] = [];
  #waits = 0;
  #bytes = 0;

  constructor(file: ArchiveFile, progress: (bytes: number) => void = () => {}) {
    this.#file = file;
    this.#progress = progress;
  }

  async reserve(front: number): Promise<void> {
    this.#put(alloc(front));
    this.#put(this.#member.head());
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + MAX_BLOCK - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === MAX_BLOCK) this.#close();
    }
    if (this.#waits >= FLUSHED) await this.#flush();
  }

  /** How many bytes there are in all. */
  async end(): Promise<number> {
    if (this.#filled > 0) this.#close();
    this.#put(this.#member.end());
    await this.#flush();
    return this.#bytes;
  }

  #close(): void {
    this.#put(this.#member.block(this.#block.subarray(0, this.#filled)));
    this.#filled = 0;
  }

  #put(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waits += bytes.length;
  }

  async #flush(): Promise<void> {
    const bytes = concat(...this.#waiting);
    this.#waiting = [];
    this.#waits = 0;
    await this.#file.append(bytes);
    this.#bytes += bytes.length;
    this.#progress(this.#bytes);
  }
}
