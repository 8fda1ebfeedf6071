// The name of the region that this cluster is. It is stored with the data, which a cluster that takes over has from its
// primary: the setting names a region once, and counts no more afterwards.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Tx, View } from "../barrier/view.ts";

const NAME = "cluster/region"; // below local/
const nameCodec = jsonCodec<string>();

/** Null where an earlier version has made the data. `local`: everything below local/. */
export function storedRegion(local: View): string | null {
  return local.get(NAME, nameCodec);
}

export interface RegionOptions {
  /** Of everything below local/. */
  readonly local: View;
  /** The setting. */
  readonly configured: string;
  readonly log: Log;
}

export class Region {
  readonly #options: RegionOptions;
  #stored: string | null = null;
  #unwatch: (() => void) | null = null;

  constructor(options: RegionOptions) {
    this.#options = options;
  }

  /** As configured while nothing can be read. */
  get name(): string {
    return this.#stored ?? this.#options.configured;
  }

  created(tx: Tx): void {
    const { local, configured } = this.#options;
    tx.on(local).put(NAME, configured, nameCodec);
  }

  open(): void {
    const { local } = this.#options;
    const read = () => {
      this.#stored = storedRegion(local);
    };
    this.#unwatch = local.watch(NAME, read); // where another cluster writes it
    read();
  }

  async lead(): Promise<void> {
    const { local, configured, log } = this.#options;
    // A store that was made by an earlier version has none.
    if (this.#stored === null) await local.write((tx) => this.created(tx));
    if (this.name === configured) return;
    const message = "the region has another name than configured, and keeps it";
    log.warn(message, { event: "seal.region-differs", region: this.name, configured });
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = null;
    this.#stored = null;
  }
}
