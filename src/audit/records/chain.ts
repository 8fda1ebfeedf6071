// The keyed chain through a file's records: each has the next number, and a MAC over itself and the
// MAC before it, so that nothing can be cut, swapped or edited by someone without the key. The key
// is not the salt of the hashes: whoever may ask for hashes could otherwise make MACs.
//
// Every file begins with a line of type "chain" that names the end of what went before. It can be
// checked by itself, and it is how the chain goes on over restarts, rotation and failed writes.

import { timingSafeEqual } from "node:crypto";
import { utf8 } from "@holdfast/shared/bytes";
import type { Hmac } from "../../crypto/hmac.ts";
import type { LineBuffer } from "../devices/line-buffer.ts";
import { quote } from "@holdfast/shared/json/json-text";

export interface ChainHead {
  readonly number: number;
  readonly mac: string; // hex; empty before the first record
}

export const NO_HEAD: ChainHead = { number: 0, mac: "" };

/** Why a chain line was written. */
export type ChainEvent =
  | "started" // the device's first
  | "continued" // opened again, after a restart or when told to
  | "rotated" // in a new file
  | "resumed"; // what stands before it is not whole: a write failed, or the machine did

/** A record, or its beginning, with the MAC cut off. */
export interface SealedLine {
  readonly body: string;
  readonly number: number;
  readonly mac: string;
}

const FORM = /^(.*,"number":([1-9][0-9]{0,15})),"mac":"([0-9a-f]{64})"\}$/s;

export function parseLine(line: string): SealedLine | null {
  const parts = FORM.exec(line);
  if (parts === null) return null;
  const [, body = "", number = "", mac = ""] = parts;
  return { body, number: Number(number), mac };
}

export interface ChainLine {
  readonly event: ChainEvent;
  readonly previous: ChainHead;
}

/** What a chain line says, or null for a line of another type. It proves nothing before its MAC does. */
export function parseChainLine(line: string): ChainLine | null {
  const start = line.indexOf("{"); // behind the prefix that the device may have
  if (start < 0 || !line.includes('"type":"chain"')) return null;
  try {
    const { type, event, previous } = JSON.parse(line.slice(start));
    if (type !== "chain" || typeof event !== "string") return null;
    if (!Number.isSafeInteger(previous?.number) || typeof previous?.mac !== "string") return null;
    return { event: event as ChainEvent, previous: { number: previous.number, mac: previous.mac } };
  } catch {
    return null;
  }
}

/** Whether the line's MAC follows from the one before it. */
export function follows(hmac: Hmac, previousMac: string, line: SealedLine): boolean {
  return timingSafeEqual(utf8(hmac.of(previousMac + line.body)), utf8(line.mac));
}

/** The writing end. */
export class Chain {
  readonly #hmac: Hmac;
  #head: ChainHead;

  constructor(hmac: Hmac, head: ChainHead = NO_HEAD) {
    this.#hmac = hmac;
    this.#head = head;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Goes on behind another record, such as the last of which a failed write got in. */
  continueFrom(head: ChainHead): void {
    this.#head = head;
  }

  /**
   * Numbers a record (a JSON object), signs it and adds its line. Gives where the line ends. The text
   * becomes bytes once, and those are signed: a record is put together from a hundred pieces, and
   * each use of it as a text puts them together anew.
   */
  seal(record: string, lines: LineBuffer): number {
    const number = this.#head.number + 1;
    const start = lines.length;
    lines.add(record);
    lines.drop(1); // the brace
    lines.add(`,"number":${number}`);
    const mac = this.#hmac.ofJoined(this.#head.mac, lines.since(start));
    lines.add(`,"mac":"${mac}"}`);
    this.#head = { number, mac };
    return lines.end();
  }

  sealEvent(
    event: ChainEvent,
    about: { readonly time: string; readonly device: string; readonly prefix: string },
    lines: LineBuffer,
  ): number {
    const { number, mac } = this.#head;
    return this.seal(
      `${about.prefix}{"time":"${about.time}","type":"chain","event":"${event}",` +
        `"device":${quote(about.device)},"previous":{"number":${number},"mac":"${mac}"}}`,
      lines,
    );
  }
}
