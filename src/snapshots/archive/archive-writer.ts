// Writes an archive of a snapshot of the store into a file, in one pass and with bounded memory. The beginning
// tells the size of what follows; it has a fixed length and is written over the front when everything else is
// there, so that nothing has to be read twice while a view is held.

import { createHash, type KeyObject } from "node:crypto";
import { alloc, concat, utf8 } from "@holdfast/shared/bytes";
import { uuidText } from "@holdfast/shared/text/uuid";
import type { Instant, Random } from "@holdfast/shared/world";
import type { SnapshotSource } from "../../storage/snapshot.ts";
import { BLOCK_HEAD, MAX_BLOCK, MemberWriter, memberSize } from "./gzip.ts";
import { type ArchiveMeta, encodeMeta, FRONT_DATA, META_BYTES } from "./meta.ts";
import { STAY } from "./rows-that-stay.ts";
import { StateWriter } from "./state.ts";
import { sealSums, sumsText } from "./sums.ts";
import { encodeHeader, END_BYTES, type MemberName, paddingOf } from "./tar.ts";

const FRONT_BYTES: number = memberSize(FRONT_DATA);
const NANOS = 1_000_000_000n;
const FLUSHED = 320 * 1024; // at least four blocks go to the file together, and what stands before them

/** Where an archive is written: a new file, which nobody reads until it is whole. */
export interface ArchiveFile {
  /** The bytes are the caller's again when it resolves. */
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

export async function writeArchive(
  snapshot: Omit<SnapshotSource, "close">,
  file: ArchiveFile,
  facts: ArchiveFacts,
  options: WriteOptions = {},
): Promise<WrittenArchive> {
  const time = Number(facts.created / NANOS);
  const header = (name: MemberName, size: number) => encodeHeader({ name, size, time });
  const out = new BlockFile(file, options.progress);
  out.reserve(FRONT_BYTES);

  const state = new StateWriter();
  const stateSum = createHash("sha256");
  let size = 0;
  const add = async (bytes: Uint8Array) => {
    stateSum.update(bytes);
    size += bytes.length;
    await out.write(bytes);
  };
  await add(state.begin({ head: snapshot.headRow, timeline: snapshot.timelineRow }));
  for await (const packed of snapshot.packed(STAY, options.signal)) {
    options.signal?.throwIfAborted();
    await add(state.records(packed));
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

/** The second gzip member: what is written to it goes to the file in whole blocks. In memory that is used again and
 *  again: what is new for each block waits to be collected, and everything waits while it is. */
class BlockFile {
  readonly #file: ArchiveFile;
  readonly #progress: (bytes: number) => void;
  readonly #member = new MemberWriter();
  readonly #out: Buffer = alloc(FLUSHED);
  #whole = 0; // of it, what can go to the file
  #open = 0; // bytes of data behind that, of a block that is not full
  #bytes = 0;

  constructor(file: ArchiveFile, progress: (bytes: number) => void = () => {}) {
    this.#file = file;
    this.#progress = progress;
  }

  reserve(front: number): void {
    this.#whole += front;
    this.#put(this.#member.head());
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + MAX_BLOCK - this.#open);
      this.#out.set(part, this.#whole + BLOCK_HEAD + this.#open);
      this.#open += part.length;
      at += part.length;
      if (this.#open === MAX_BLOCK) await this.#close();
    }
  }

  /** How many bytes there are in all. */
  async end(): Promise<number> {
    if (this.#open > 0) await this.#close();
    this.#put(this.#member.end());
    await this.#flush();
    return this.#bytes;
  }

  async #close(): Promise<void> {
    const end = this.#whole + BLOCK_HEAD + this.#open;
    this.#member.frame(this.#out.subarray(this.#whole, end));
    this.#whole = end;
    this.#open = 0;
    if (this.#out.length - end < BLOCK_HEAD + MAX_BLOCK) await this.#flush();
  }

  #put(bytes: Uint8Array): void {
    this.#out.set(bytes, this.#whole);
    this.#whole += bytes.length;
  }

  async #flush(): Promise<void> {
    const length = this.#whole;
    await this.#file.append(this.#out.subarray(0, length));
    this.#whole = 0;
    this.#bytes += length;
    this.#progress(this.#bytes);
  }
}
