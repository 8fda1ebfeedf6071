// Which chain a stretch of an audit file belongs to. A device that is removed and made again, or whose end nobody knows any
// more, starts at number 1 in a file that may have the same numbers already: device and number alone do not tell
// records apart. A chain is known by the MAC of the line that started it, and goes on over files by what their
// first lines name as the record before.

import type { ChainHead, ChainLine, SealedLine } from "./audit-line.ts";

/** From the beginning of a file, or from a line that starts a chain, to the next such line or the file's end. */
export interface Stretch {
  /** MAC of the line that started its chain; null while that is not known. */
  chain: string | null;
  /** The record before its first, where its first line names one. */
  before: ChainHead | null;
  last: ChainHead | null;
}

/** Whether a record is the first of its chain. */
export function startsChain({ number }: SealedLine, chained: ChainLine | null): boolean {
  return chained?.event === "started" && number === 1;
}

/** The stretches of one file, line by line. */
export class FileStretches {
  readonly all: Stretch[] = [{ chain: null, before: null, last: null }];

  take(sealed: SealedLine, chained: ChainLine | null): void {
    const { number, mac } = sealed;
    if (startsChain(sealed, chained)) this.all.push({ chain: mac, before: null, last: null });
    const now = this.all.at(-1)!;
    // Whoever puts such a line in between has not the numbers that would follow it: then it starts nothing.
    if (now.last !== null && number !== now.last.number + 1) now.chain = null;
    if (now.last === null && chained !== null) now.before = chained.previous;
    now.last = { number, mac };
  }
}

/** Names the chains of stretches that go on where another one ends. */
export function linkStretches(stretches: readonly Stretch[]): void {
  const ends = new Map<string, Stretch>();
  for (const stretch of stretches)
    if (stretch.last !== null) ends.set(place(stretch.last), stretch);
  for (const stretch of stretches) {
    const way = new Set<Stretch>();
    let at: Stretch | undefined = stretch;
    while (at !== undefined && at.chain === null && at.before !== null && !way.has(at)) {
      way.add(at);
      at = ends.get(place(at.before));
    }
    for (const one of way) one.chain = at?.chain ?? null;
  }
}

/** Whether two may be of one chain, as far as is known. */
export function mayBeOne(a: Stretch | undefined, b: Stretch | undefined): boolean {
  const [one = null, other = null] = [a?.chain, b?.chain];
  return one === null || other === null || one === other;
}

function place({ number, mac }: ChainHead): string {
  return `${number} ${mac}`;
}
