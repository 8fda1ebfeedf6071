// When a secondary has made entries durable, as its own process sees it: read into it before it starts
// (`--import …/applied.ts?file=PATH`), it notes moments of the clock that all processes of a machine share. So the lag is that
// of the data, not that of hearing of it.

import { appendFileSync, readFileSync } from "node:fs";
import { Store } from "../../src/storage/store.ts";

const EVERY_MS = 200; // a write to the file
const RECORD = 16;

/** Everything up to this index was durable then. */
export interface Applied {
  readonly index: bigint;
  readonly at: bigint;
}

/** What to start a server with so that it notes them in this file. */
export function noting(file: string): string[] {
  return ["--import", `${import.meta.url.split("?")[0]}?file=${encodeURIComponent(file)}`];
}

/** What was noted, in order, behind so many. Nothing is taken away: what is added meanwhile would be lost with it. */
export function appliedAfter(file: string, count: number): Applied[] {
  const bytes = readFileSync(file).subarray(count * RECORD);
  return Array.from({ length: Math.floor(bytes.length / RECORD) }, (_, i) => ({
    index: bytes.readBigUInt64LE(i * RECORD),
    at: bytes.readBigUInt64LE(i * RECORD + 8),
  }));
}

const file = new URL(import.meta.url).searchParams.get("file");
if (file !== null) note(file);

function note(path: string): void {
  const noted: Applied[] = [];
  const { apply } = Object.getOwnPropertyDescriptors(Store.prototype);
  Store.prototype.apply = async function (this: Store, ...args) {
    await apply.value?.apply(this, args);
    noted.push({ index: this.index, at: process.hrtime.bigint() });
  };
  const flush = () => {
    if (noted.length === 0) return;
    const bytes = Buffer.alloc(noted.length * RECORD);
    noted.forEach(({ index, at }, i) => {
      bytes.writeBigUInt64LE(index, i * RECORD);
      bytes.writeBigUInt64LE(at, i * RECORD + 8);
    });
    noted.length = 0;
    appendFileSync(path, bytes);
  };
  appendFileSync(path, "");
  setInterval(flush, EVERY_MS).unref();
}
