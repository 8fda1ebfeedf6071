// Reads an archive as its bytes come, whatever they are cut into: strict in every bit, bounded in memory by one
// record, and without an opinion on who made it (see opening.ts). Pure.

import { createHash } from "node:crypto";
import { alloc, concat, text } from "@holdfast/shared/bytes";
import { decodeHead, decodeTimeline, type Head, type Timeline } from "../../storage/rows/head.ts";
import { MalformedBytes } from "../../storage/rows/row-bytes.ts";
import { uuidText } from "@holdfast/shared/text/uuid";
import { archiveDamaged, archiveMembers } from "./failures.ts";
import { GzipParser } from "./gzip.ts";
import { type ArchiveMeta, decodeMeta, FRONT_DATA } from "./meta.ts";
import { StateParser, type StateRecord } from "./state.ts";
import { sumsText } from "./sums.ts";
import {
  BLOCK,
  decodeHeader,
  END_BYTES,
  isZero,
  type MemberName,
  MEMBERS,
  paddingOf,
} from "./tar.ts";

/** Two gzip members: the beginning, which is written last, and the rest. */
const GZIP_MEMBERS = [FRONT_DATA, null] as const;
const NANOS = 1_000_000_000n;

export interface ParsedArchive {
  readonly meta: ArchiveMeta;
  readonly head: Head;
  /** As stored, with its MAC under the key of the trees. */
  readonly headRow: Uint8Array;
  readonly timeline: Timeline;
  readonly timelineRow: Uint8Array;
  /** The text of SHA256SUMS, which matches what was read. */
  readonly sums: string;
  readonly sealedSums: Uint8Array;
  /** Of the whole file. */
  readonly bytes: number;
  readonly sha256: Buffer;
}

interface Opened {
  readonly head: Head;
  readonly timeline: Timeline;
}

export class ArchiveParser {
  readonly #gzip = new GzipParser(GZIP_MEMBERS);
  readonly #state = new StateParser();
  readonly #whole = createHash("sha256");
  readonly #metaSum = createHash("sha256");
  readonly #stateSum = createHash("sha256");
  readonly #maxFormat: number;
  #member = 0;
  #place: "header" | "content" | "padding" | "end" = "header";
  #left: number = BLOCK;
  #padding = 0;
  #time = 0;
  #small: Uint8Array[] = [];
  #meta: ArchiveMeta | null = null;
  #opened: Opened | null = null;
  #sums = "";
  #sealed: Buffer = alloc(0);

  /** `maxFormat`: the newest form of rows that is read here. */
  constructor(maxFormat: number) {
    this.#maxFormat = maxFormat;
  }

  /** Null until it has come, which is within the first 4 KiB. */
  get meta(): ArchiveMeta | null {
    return this.#meta;
  }

  /** Rows so far. */
  get entries(): number {
    return this.#state.count;
  }

  /** Bytes of the file so far. */
  get bytes(): number {
    return this.#gzip.bytes;
  }

  /** The records in the next bytes of the file, in key order. They belong to the caller. */
  push(chunk: Uint8Array): StateRecord[] {
    this.#whole.update(chunk);
    const records: StateRecord[] = [];
    for (const data of this.#gzip.push(chunk)) {
      for (let at = 0; at < data.length;) {
        const piece = data.subarray(at, at + this.#left);
        if (piece.length === 0) throw archiveMembers("something follows the end of the archive");
        at += piece.length;
        this.#left -= piece.length;
        records.push(...this.#take(piece));
        if (this.#left === 0) this.#goOn();
      }
    }
    return records;
  }

  /** The file has ended. */
  end(): ParsedArchive {
    this.#gzip.end(MEMBERS[this.#member] ?? "what ends it");
    const [meta, opened, rows] = [this.#meta, this.#opened, this.#state.head];
    if (meta === null || opened === null || rows === null || this.#member < MEMBERS.length) {
      throw archiveMembers(`${MEMBERS[this.#member] ?? "its end"} is missing`);
    }
    if (this.#place !== "end" || this.#left > 0) throw archiveDamaged("its end is missing");
    return {
      meta,
      ...opened,
      headRow: rows.head,
      timelineRow: rows.timeline,
      sums: this.#sums,
      sealedSums: this.#sealed,
      bytes: this.#gzip.bytes,
      sha256: this.#whole.copy().digest(),
    };
  }

  #take(piece: Uint8Array): readonly StateRecord[] {
    if (this.#place === "content" && this.#member === 1) {
      this.#stateSum.update(piece);
      return this.#state.push(piece);
    }
    this.#small.push(concat(piece)); // what it is a part of may be overwritten by the caller
    return [];
  }

  /** Something is whole: a header, a member, what fills its last block, or the end. */
  #goOn(): void {
    const bytes = concat(...this.#small);
    this.#small = [];
    switch (this.#place) {
      case "header": {
        const { size, time } = decodeHeader(bytes, this.#member);
        if (this.#member === 1 && size !== this.#meta?.size) {
          throw archiveDamaged("state.bin has another size than meta.json says");
        }
        if (this.#member > 0 && time !== this.#time) throw archiveDamaged("its times differ");
        this.#time = time;
        this.#padding = paddingOf(size);
        if (size === 0) throw archiveMembers(`${MEMBERS[this.#member]!} is empty`);
        this.#next("content", size);
        return;
      }
      case "content":
        this.#read(bytes);
        if (this.#padding > 0) this.#next("padding", this.#padding);
        else this.#nextMember();
        return;
      case "padding":
        if (!isZero(bytes)) throw archiveDamaged(`something is behind ${MEMBERS[this.#member]!}`);
        this.#nextMember();
        return;
      case "end":
        if (!isZero(bytes.subarray(0, BLOCK))) throw this.#surplus(bytes);
        if (!isZero(bytes)) throw archiveDamaged("its last block is not empty");
    }
  }

  #read(bytes: Buffer): void {
    const name: MemberName | undefined = MEMBERS[this.#member];
    switch (name) {
      case "meta.json":
        this.#metaSum.update(bytes);
        this.#meta = decodeMeta(bytes, this.#maxFormat);
        if (this.#meta.created / NANOS !== BigInt(this.#time)) {
          throw archiveDamaged("its times differ");
        }
        return;
      case "state.bin":
        this.#state.end();
        this.#opened = this.#readHead();
        return;
      case "SHA256SUMS":
        this.#sums = sumsText({ meta: this.#metaSum.digest(), state: this.#stateSum.digest() });
        if (text(bytes) !== this.#sums) throw archiveDamaged(whichDiffers(text(bytes), this.#sums));
        return;
      case "SHA256SUMS.sealed":
      case undefined:
        this.#sealed = bytes;
    }
  }

  #readHead(): Opened {
    const [meta, rows] = [this.#meta, this.#state.head];
    try {
      const head = decodeHead(rows?.head ?? alloc(0));
      const timeline = decodeTimeline(rows?.timeline ?? alloc(0));
      const same =
        head.index === BigInt(meta?.index ?? -1) &&
        head.epoch === meta?.epoch &&
        uuidText(head.lineage) === meta.lineage &&
        this.#state.count === meta.entries;
      if (!same) throw archiveDamaged("meta.json and state.bin tell of different states");
      return { head, timeline };
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error;
      throw archiveDamaged(`state.bin: ${error.message}`);
    }
  }

  #surplus(bytes: Buffer): Error {
    const header = bytes.subarray(0, BLOCK);
    const name = JSON.stringify(header.toString("latin1", 0, 100).replace(/\0.*$/s, ""));
    const known = MEMBERS.some((member) => JSON.stringify(member) === name);
    return archiveMembers(`the member ${name} ${known ? "stands twice" : "is unknown"}`);
  }

  #nextMember(): void {
    this.#member++;
    if (this.#member < MEMBERS.length) this.#next("header", BLOCK);
    else this.#next("end", END_BYTES);
  }

  #next(place: "header" | "content" | "padding" | "end", bytes: number): void {
    this.#place = place;
    this.#left = bytes;
  }
}

function whichDiffers(found: string, right: string): string {
  const lines = found.split("\n");
  const wrong = right.split("\n").find((line, at) => lines[at] !== line && line !== "");
  const member = wrong?.split("  ")[1] ?? "";
  return member === "" ? "SHA256SUMS has more than it should" : `the sum of ${member} differs`;
}
