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
import type { ChainEvent, ChainHead, SealedLine } from "../../signed/audit-line.ts";

export const NO_HEAD: ChainHead = { number: 0, mac: "" };

/** Whether the line's MAC follows from the one before it. */
export function follows(hmac: Hmac, previousMac: string, line: SealedLine): boolean {
  return timingSafeEqual(utf8(hmac.of(previousMac + line.body)), utf8(line.mac));
}

/** Tells keys of chains apart, and nothing else about them. */
export function keyMark(hmac: Hmac): string {
  return hmac.of("key of an audit chain"); // no record has this form
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
