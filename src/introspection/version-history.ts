// Which versions of the server have run on this storage, and since when: a record is written when a
// node is unsealed by a version that is not yet among them.

import { jsonCodec } from "@holdfast/shared/codec";
import { showTime } from "@holdfast/shared/text/time";
import type { Tx, View } from "../barrier/view.ts";

export interface InstalledVersion {
  readonly version: string;
  /** The one that ran before; null for the first. */
  readonly previous: string | null;
  readonly installed: string; // RFC 3339
  readonly buildDate: string; // may be empty
  /** Position among them: two may have been installed at one time of a clock that was set back. */
  readonly order: number;
}

const codec = jsonCodec<InstalledVersion>();
const MAX_VERSIONS = 10_000; // versions; no server sees so many

export interface VersionHistoryOptions {
  /** core/versions/ */
  readonly view: View;
  readonly version: string;
  readonly buildDate: string;
}

export class VersionHistory {
  readonly #options: VersionHistoryOptions;

  constructor(options: VersionHistoryOptions) {
    this.#options = options;
  }

  /** Records this version if it is new here. */
  async record(): Promise<void> {
    const { view, version, buildDate } = this.#options;
    if (view.get(version, codec) !== null) return;
    const record = (tx: Tx) => {
      if (tx.get(version, codec) !== null) return;
      const last = inOrder(tx.records("", codec, { limit: MAX_VERSIONS })).at(-1);
      const order = last === undefined ? 0 : last.order + 1;
      const previous = last?.version ?? null;
      const installed = showTime(tx.time);
      tx.put(version, { version, previous, installed, buildDate, order }, codec);
    };
    await view.write(record, { essential: true }); // a full disk keeps nobody from unsealing
  }

  /** In the order in which they were installed. */
  list(): readonly InstalledVersion[] {
    return inOrder(this.#options.view.records("", codec, { limit: MAX_VERSIONS }));
  }
}

function inOrder(records: readonly { readonly value: InstalledVersion }[]): InstalledVersion[] {
  return records.map(({ value }) => value).toSorted((a, b) => a.order - b.order);
}
