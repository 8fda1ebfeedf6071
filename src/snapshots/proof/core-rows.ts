// The rows below core/ of an archive: seal, keyring and what else is the cluster's own. They come first and are few,
// and everything else waits for the keys in them, so they are kept.

import { invariant } from "@holdfast/shared/invariant";
import type { Page } from "../../storage/key.ts";
import type { StoreReads } from "../../storage/transaction.ts";
import { archiveDamaged } from "../archive/failures.ts";
import type { StateRecord } from "../archive/state.ts";

const MAX_BYTES = 16 * 1024 * 1024;
/** What a row costs in memory however small it is. */
const ROW_BYTES = 256;

export class CoreRows implements Pick<StoreReads, "get" | "rows"> {
  readonly #rows = new Map<string, Uint8Array>();
  #bytes = 0;

  /** In the order of the archive. */
  add({ key, value }: StateRecord): void {
    this.#rows.set(key, value);
    this.#bytes += ROW_BYTES + key.length + value.length;
    if (this.#bytes > MAX_BYTES)
      throw archiveDamaged("there are more rows below core/ than can be");
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): Uint8Array | null {
    return this.#rows.get(key) ?? null;
  }

  rows(prefix: string, { after, limit, reverse = false }: Page) {
    invariant(!reverse, "they are read in their order");
    const found = this.#rows
      .entries()
      .filter(([key]) => key.startsWith(prefix) && (after === undefined || key > after));
    return Array.from(found.take(limit), ([key, value]) => ({ key, value }));
  }

  all(): readonly (readonly [key: string, value: Uint8Array])[] {
    return [...this.#rows];
  }
}
