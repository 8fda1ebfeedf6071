// What lies in this cluster of a shared mount that is gone, or in the namespace that it was in before. Whoever disables
// or moves a mount leaves nothing there. A cluster that shares it is sent the change of its entry alone, and has rows of
// its own: what its engine has begun, tokens that came by a login. A mark is written with the change, and they go, or
// go after the mount, in the background:
//
//   remains/mounts/<uuid>/<namespace>

import { EMPTY } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import type { Follower } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import { Recurring } from "../base/recurring.ts";
import {
  contentsOf,
  ENTRIES,
  entryCodec,
  entryKey,
  type MountEntry,
  seenKey,
} from "./table/mount-record.ts";
import { type MountLogins, stopped } from "./teardown.ts";
import { writeAheadOf } from "./undo/write-ahead-keys.ts";

export const MOUNT_REMAINS = "remains/mounts/";
const SLICE = 256; // keys in one transaction
const CARRIED = 32; // rows in one

const UNKNOWN = "unknown"; // no namespace has such an id

export interface FollowedMounts {
  /** Of everything below local/. */
  readonly local: View;
  readonly logins: Pick<MountLogins, "has">;
}

export class MountFollower implements Follower<MountEntry> {
  readonly folder = ENTRIES;
  readonly #parts: FollowedMounts;

  constructor(parts: FollowedMounts) {
    this.#parts = parts;
  }

  decode(stored: Uint8Array): MountEntry | null {
    try {
      return entryCodec.decode(stored);
    } catch {
      return null; // as for the table
    }
  }

  follow(tx: Tx, key: string, before: MountEntry | null, after: MountEntry | null): void {
    if (after !== null && (before === null || before.namespaceId === after.namespaceId)) return;
    const uuid = key.slice(ENTRIES.length);
    const namespaceId = before?.namespaceId ?? UNKNOWN;
    const local = tx.on(this.#parts.local);
    if (after === null && local.get(seenKey(uuid), bytesCodec) !== null)
      local.delete(seenKey(uuid));
    const isEmpty = local.keys(contentsOf(namespaceId, uuid), { limit: 1 }).length === 0;
    const hasLogins = after === null && this.#parts.logins.has(tx, uuid);
    if (isEmpty && !hasLogins) return;
    local.put(`${MOUNT_REMAINS}${uuid}/${namespaceId}`, EMPTY, bytesCodec);
  }
}

export interface MountRemainsParts {
  readonly shared: View;
  readonly local: View;
  readonly logins: MountLogins;
  readonly timers: Timers;
  readonly log: Log;
}

export class MountRemains {
  readonly #parts: MountRemainsParts;
  readonly #job: Recurring;
  #stop = new AbortController();
  #unwatch = () => {};

  constructor(parts: MountRemainsParts) {
    this.#parts = parts;
    this.#job = new Recurring({
      trouble: "could not remove what is left of a mount",
      run: () => this.#run(this.#stop.signal),
      timers: parts.timers,
      log: parts.log,
    });
  }

  open(): void {
    this.#stop = new AbortController();
    this.#unwatch = this.#parts.local.watch(MOUNT_REMAINS, () => this.#job.wake());
    this.#job.open();
  }

  async close(): Promise<void> {
    this.#unwatch();
    this.#stop.abort();
    await this.#job.close();
  }

  /** One that does not work now keeps no other from it. */
  async #run(signal: AbortSignal): Promise<void> {
    const { local } = this.#parts;
    const troubles: unknown[] = [];
    let after: string | undefined;
    for (;;) {
      const page = { limit: 1, ...(after === undefined ? {} : { after }) };
      const [mark] = signal.aborted ? [] : local.keys(MOUNT_REMAINS, page);
      if (mark === undefined) break;
      await this.#remove(mark, signal).catch((error: unknown) => troubles.push(error));
      after = mark;
    }
    if (troubles.length > 0 && !signal.aborted) throw troubles[0];
  }

  async #remove(mark: string, signal: AbortSignal): Promise<void> {
    const { shared, local, logins, log } = this.#parts;
    const [uuid = "", namespaceId = ""] = mark.slice(MOUNT_REMAINS.length).split("/");
    const entry = shared.get(entryKey(uuid), entryCodec);
    if (entry === null) {
      await logins.end(uuid, signal);
      await this.#wipe(namespaceId, uuid, signal);
      log.info("what was left of a mount is removed", { uuid });
    } else if (entry.namespaceId !== namespaceId) {
      await this.#carry(uuid, namespaceId, entry.namespaceId, signal);
    } // else it has come back
    await local.write((tx) => tx.delete(mark), { essential: true });
  }

  async #wipe(namespaceId: string, uuid: string, signal: AbortSignal): Promise<void> {
    const { local, log } = this.#parts;
    const begun = local.keys(writeAheadOf(namespaceId, uuid), { limit: SLICE }).length;
    // Its engine had what is needed for that, and has gone with the mount.
    if (begun > 0) log.error("what an engine has begun outside is left there", { uuid, begun });
    const folder = contentsOf(namespaceId, uuid);
    await this.#repeat(() => wipeSlice(local, folder), signal);
  }

  async #carry(uuid: string, from: string, to: string, signal: AbortSignal): Promise<void> {
    const [source, target] = [from, to].map((id) => this.#parts.local.sub(contentsOf(id, uuid)));
    if (source === undefined || target === undefined) return;
    const step = (tx: Tx) => {
      const slice = tx.records("", bytesCodec, { limit: CARRIED });
      for (const { key, value } of slice) {
        tx.on(target).put(key, value, bytesCodec);
        tx.delete(key);
      }
      return slice.length === CARRIED;
    };
    await this.#repeat(() => source.write(step, { essential: true }), signal);
  }

  async #repeat(step: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    while (await step()) {
      if (signal.aborted) throw stopped();
      await this.#parts.timers.turn();
    }
  }
}

/** Whether there may be more. */
export function wipeSlice(view: View, folder: string): Promise<boolean> {
  return view.write(
    (tx) => {
      const keys = tx.keys(folder, { limit: SLICE });
      for (const key of keys) tx.delete(key);
      return keys.length === SLICE;
    },
    { essential: true },
  );
}
