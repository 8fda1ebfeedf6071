// Proves that an archive restores: every entry in it opens with its keys, both trees made of its rows have the totals
// that its head has under a MAC, and its sums are those that were sealed. In one pass and with bounded memory: the
// rows of the keys come first, and of the trees only sums are kept.

import type { KeyObject } from "node:crypto";
import { hex, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Timers } from "@holdfast/shared/world";
import { KEYRING_PATH, TREE_KEY_PATH } from "../../barrier/key-rows.ts";
import { StoredKeys } from "../../barrier/stored-keys.ts";
import { Slices } from "../../storage/commit/slices.ts";
import { FORMAT } from "../../storage/engines/sqlite-format.ts";
import { UNREAD_CONTROLS } from "../../storage/following/control-records.ts";
import { classOf } from "../../storage/key.ts";
import { headIsAuthentic, sameTotal } from "../../storage/rows/head.ts";
import { CORE_SCOPE } from "../../storage/rows/log-entry.ts";
import {
  Forest,
  LeafHasher,
  sha256,
  slotOf,
  type TreeName,
  TREES,
} from "../../storage/rows/merkle.ts";
import { ArchiveParser, type ParsedArchive } from "../archive/archive-parser.ts";
import type { ArchiveMeta } from "../archive/meta.ts";
import type { StateRecord } from "../archive/state.ts";
import { openSums } from "../archive/sums.ts";
import { CoreRows } from "./core-rows.ts";
import { archiveKeysMissing } from "./failures.ts";

const MAX_NAMED = 100;
/** Taken at once: rows may be small, and a store or a file gives many of them together. */
const PIECE = 32 * 1024;

/** Not sealed by the keyring: what leads to it, and what says how. */
const OTHERWISE_SEALED: ReadonlySet<string> = new Set([
  KEYRING_PATH,
  TREE_KEY_PATH,
  "core/root-key",
  "core/recovery-root-key",
  "core/seal-config",
]);

export interface CheckOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signal?: AbortSignal;
  /** The root key that these rows were made with. Throws where there is none. */
  readonly rootKeyFor: (rows: CoreRows, meta: ArchiveMeta) => KeyObject | Promise<KeyObject>;
  /** Is shown every entry in clear, in key order; the bytes are wiped when it returns. */
  readonly visit?: (record: StateRecord, plaintext: Uint8Array) => void;
}

export interface DeepReport {
  readonly archive: ParsedArchive;
  readonly ok: boolean;
  /** What is wrong, in words: nothing where it is ok. */
  readonly problems: readonly string[];
  readonly entries: Readonly<Record<"shared" | "local" | "core", number>>;
  /** Entries that opened. */
  readonly opened: number;
  /** Data keys in its keyring. */
  readonly dataKeys: number;
  /** Sums of all leaves of both trees, made of its rows. */
  readonly trees: Readonly<Record<TreeName, string>>;
}

/** Throws what is wrong with the form of the archive; what is wrong with its contents is in the report. */
export async function deepCheck(
  source: AsyncIterable<Uint8Array>,
  options: CheckOptions,
): Promise<DeepReport> {
  const parser = new ArchiveParser(FORMAT);
  const slices = new Slices(options, options.signal);
  const check = new Check(options);
  try {
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length; at += PIECE) {
        for (const record of parser.push(chunk.subarray(at, at + PIECE))) {
          if (record.key.startsWith("core/")) check.core.add(record);
          else {
            if (!check.hasKeys) await check.unlock(parser.meta);
            check.row(record);
          }
        }
        await slices.pause();
      }
    }
    const archive = parser.end();
    if (!check.hasKeys) await check.unlock(parser.meta);
    return check.end(archive);
  } finally {
    check.wipe();
  }
}

class Check {
  readonly core = new CoreRows();
  readonly #options: CheckOptions;
  readonly #forest = new Forest();
  readonly #entries = { shared: 0, local: 0, core: 0 };
  readonly #closed: string[] = [];
  #notOpened = 0;
  #opened = 0;
  #rootKey: KeyObject | null = null;
  #keys: StoredKeys | null = null;
  #leaves: LeafHasher | null = null;

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  get hasKeys(): boolean {
    return this.#keys !== null;
  }

  /** All rows below core/ are there. */
  async unlock(meta: ArchiveMeta | null): Promise<void> {
    invariant(meta !== null, "what an archive is of comes before its rows");
    const rootKey = await this.#options.rootKeyFor(this.core, meta);
    const keys = StoredKeys.open(this.core, rootKey);
    if (keys === null) throw archiveKeysMissing();
    this.#rootKey = rootKey;
    this.#keys = keys;
    this.#leaves = new LeafHasher(keys.treeKey);
    for (const [key, value] of this.core.all()) {
      this.#entries.core++;
      const apart = OTHERWISE_SEALED.has(key) || key.startsWith(UNREAD_CONTROLS);
      if (!apart) this.#open({ key, value, scope: CORE_SCOPE });
    }
  }

  row(record: StateRecord): void {
    const { key, scope, value } = record;
    const cls = classOf(key);
    if (cls !== "ignored") this.#entries[cls]++;
    const slot = slotOf(cls, key);
    if (slot !== null && this.#leaves !== null) {
      this.#forest.of(slot).replace(slot, null, this.#leaves.hash(key, scope, sha256(value)));
    }
    this.#open(record);
  }

  end(archive: ParsedArchive): DeepReport {
    const [rootKey, keys] = [this.#rootKey, this.#keys];
    if (rootKey === null || keys === null) throw archiveKeysMissing();
    const problems: string[] = [];
    if (this.#notOpened > 0) {
      const named = this.#closed.map((key) => JSON.stringify(key)).join(", ");
      const more = this.#notOpened > this.#closed.length ? ", …" : "";
      problems.push(`${this.#notOpened} entries do not open with its keys: ${named}${more}`);
    }
    if (!headIsAuthentic(archive.headRow, keys.treeKey)) {
      problems.push("the head of its log was not made with its keys");
    }
    for (const name of TREES) {
      const [found, right] = [this.#forest[name].total(), archive.head[name]];
      if (sameTotal(found, right)) continue;
      problems.push(
        found.count === right.count
          ? `the tree over its ${name} rows does not add up: a row was changed, or its scope`
          : `it has ${found.count} ${name} rows, and ${right.count} were in the store at that index`,
      );
    }
    const sealed = openSums(rootKey, archive.sealedSums);
    if (sealed === null) problems.push("its sums were not sealed under its root key");
    else if (sealed !== archive.sums) problems.push("its sums are not those that were sealed");
    return {
      archive,
      ok: problems.length === 0,
      problems,
      entries: this.#entries,
      opened: this.#opened,
      dataKeys: keys.terms,
      trees: {
        shared: hex(this.#forest.shared.total().sum),
        local: hex(this.#forest.local.total().sum),
      },
    };
  }

  wipe(): void {
    this.#leaves?.wipe();
  }

  #open(record: StateRecord): void {
    const plaintext = this.#keys?.open(record.key, record.value) ?? null;
    if (plaintext === null) {
      this.#notOpened++;
      if (this.#closed.length < MAX_NAMED) this.#closed.push(record.key);
      return;
    }
    this.#opened++;
    try {
      this.#options.visit?.(record, plaintext);
    } finally {
      wipe(plaintext);
    }
  }
}
