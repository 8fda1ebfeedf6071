// What SQLite leaves in the gaps of its pages. It overwrites a cell that is removed (secure_delete), but a page that is built anew when its neighbours
// share out their cells keeps copies of some between the list of its cells and the first of them. Nothing reads such a gap: zeros are written there,
// past SQLite, while its log is empty and nobody writes. Cut off by a crash this has changed nothing that counts.

import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from "node:fs";
import { invariant } from "@holdfast/shared/invariant";

const HEADER_BYTES = 100; // of the file, on its first page
const AT_ONCE = 256; // pages
const LARGEST_PAGE = 65_536;
/** The first byte of other pages is that of the number of the next one: 0 in files of less than this many. */
const PAGE_LIMIT = 2 ** 24;
/** By the kinds of pages with cells: how long the header is before the list of these. */
const LIST_AT: ReadonlyMap<number, number> = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
]);

/** The file stays open until the last connection has been closed: to close it gives up the locks of all that this process has. */
export class PageGaps {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "r+");
  }

  /** Durable when this returns. How many pages had something there. */
  wipe(): number {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(this.#file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return 0;
    const stated = header.readUInt16BE(16);
    const size = stated === 1 ? LARGEST_PAGE : stated;
    invariant(size >= 512 && (size & (size - 1)) === 0, "a page of SQLite has a size");
    const usable = size - header[20]!;
    const pages = Buffer.alloc(AT_ONCE * size);
    const zeros = Buffer.alloc(size);
    let count = 0;
    for (let first = 0; first < PAGE_LIMIT; first += AT_ONCE) {
      const read = readSync(this.#file, pages, 0, pages.length, first * size);
      for (let at = 0; at + size <= read; at += size) {
        const isFirst = first === 0 && at === 0;
        const gap = gapOf(pages.subarray(at, at + size), isFirst ? HEADER_BYTES : 0, usable);
        if (gap === null) continue;
        const none = zeros.subarray(0, gap.end - gap.begin);
        if (pages.subarray(at + gap.begin, at + gap.end).equals(none)) continue;
        writeWhole(this.#file, none, first * size + at + gap.begin);
        count++;
      }
      if (read < pages.length) break;
    }
    if (count > 0) fdatasyncSync(this.#file);
    return count;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Null where the page has no cells, or does not look like one that SQLite wrote. */
function gapOf(
  page: Buffer,
  header: number,
  usable: number,
): { readonly begin: number; readonly end: number } | null {
  const list = LIST_AT.get(page[header]!);
  if (list === undefined) return null;
  const cells = page.readUInt16BE(header + 3);
  const stated = page.readUInt16BE(header + 5);
  const end = stated === 0 ? LARGEST_PAGE : stated;
  const begin = header + list + 2 * cells;
  return begin < end && end <= usable ? { begin, end } : null;
}

function writeWhole(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}
