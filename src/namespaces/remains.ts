// What lies in this cluster of a namespace that is gone. Whoever deletes one empties it before its record goes. A cluster
// that shares it is sent the end of the record alone, and has things of its own in it: local tokens and mounts, leases,
// private spaces. A mark is written with the end, and they go in the background:
//
//   remains/namespaces/<id>

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import type { Follower } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { NamespaceContents, StoredContents } from "./contents.ts";
import { Emptying } from "./emptying.ts";
import { type NamespaceRecord, recordCodec, ROWS } from "./record.ts";

export const NAMESPACE_REMAINS = "remains/namespaces/";

const PAGE = 1000;
const remainsCodec: Codec<{ readonly path: string }> = jsonCodec();

export interface FollowedNamespaces {
  /** Of everything below local/. */
  readonly local: View;
  /** Whether something outside of its folder belongs to a namespace. */
  readonly isUsed: (tx: Tx, namespaceId: string) => boolean;
  /** Whether its record goes because it is not sent here any more: what this cluster has in it stays, and is there when it comes back. */
  readonly isWithheld: (namespaceId: string) => boolean;
}

export class NamespaceFollower implements Follower<NamespaceRecord> {
  readonly folder = `namespaces/${ROWS}*/`;
  readonly #parts: FollowedNamespaces;

  constructor(parts: FollowedNamespaces) {
    this.#parts = parts;
  }

  decode(stored: Uint8Array): NamespaceRecord | null {
    try {
      return recordCodec.decode(stored);
    } catch {
      return null; // as for the tree
    }
  }

  /** Where not every change is sent, another may have taken the name. */
  follow(
    tx: Tx,
    _key: string,
    before: NamespaceRecord | null,
    after: NamespaceRecord | null,
  ): void {
    if (before === null || before.id === after?.id || this.#parts.isWithheld(before.id)) return;
    this.leave(tx, before);
  }

  /** It is gone for good. */
  leave(tx: Tx, { id, path }: Pick<NamespaceRecord, "id" | "path">): void {
    const local = tx.on(this.#parts.local);
    const isEmpty = local.keys(`ns/${id}/`, { limit: 1 }).length === 0;
    if (isEmpty && !this.#parts.isUsed(tx, id)) return;
    local.put(NAMESPACE_REMAINS + id, { path }, remainsCodec);
  }
}

export interface NamespaceRemainsParts {
  readonly local: View;
  /** In this order. */
  readonly contents: () => readonly NamespaceContents[];
  readonly stored: StoredContents;
  readonly timers: Timers;
  readonly log: Log;
}

export class NamespaceRemains {
  readonly #parts: NamespaceRemainsParts;
  #emptying: Emptying | null = null;
  #unwatch = () => {};

  constructor(parts: NamespaceRemainsParts) {
    this.#parts = parts;
  }

  open(): void {
    const { local, contents, stored, timers, log } = this.#parts;
    const emptying = new Emptying({
      contents: [...contents(), stored],
      finish: ({ id }) => this.#finish(id),
      timers,
      log,
    });
    this.#emptying = emptying;
    const begin = (mark: string) => {
      const found = local.get(mark, remainsCodec);
      if (found === null) return;
      emptying.start({ id: mark.slice(NAMESPACE_REMAINS.length), path: found.path });
    };
    this.#unwatch = local.watch(NAMESPACE_REMAINS, ({ keys }) => keys.forEach(begin));
    let after: string | undefined;
    for (;;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const marks = local.keys(NAMESPACE_REMAINS, page);
      marks.forEach(begin);
      after = marks.at(-1);
      if (marks.length < PAGE) return;
    }
  }

  async close(): Promise<void> {
    this.#unwatch();
    await this.#emptying?.stop();
    this.#emptying = null;
  }

  #finish(id: string): Promise<boolean> {
    const { local, stored } = this.#parts;
    return local.write(
      (tx) => {
        if (!stored.isEmpty(tx, id)) return false;
        tx.delete(NAMESPACE_REMAINS + id);
        return true;
      },
      { essential: true },
    );
  }
}
