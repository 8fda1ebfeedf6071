// The data of a loaded snapshot as rooms and engines see theirs: views that open what they read, and seal nothing.

import { invariant } from "@holdfast/shared/invariant";
import type { StoredKeys } from "../../barrier/stored-keys.ts";
import { View } from "../../barrier/view.ts";
import type { DataOfThen } from "../../house/room.ts";
import type { Store } from "../../storage/store.ts";
import { entryNotOpened } from "../proof/failures.ts";
import { notLoaded } from "./failures.ts";

export interface OpenedData extends DataOfThen {
  /** Forgets the keys: nothing is read from here on. */
  close(): void;
}

export function openedData(store: Store, opening: StoredKeys): OpenedData {
  let keys: StoredKeys | null = opening;
  const current = (): StoredKeys => {
    if (keys === null) throw notLoaded();
    return keys;
  };
  const open = (path: string, sealed: Uint8Array): Uint8Array => {
    const plaintext = current().open(path, sealed);
    if (plaintext === null) throw entryNotOpened(path);
    return plaintext;
  };
  const sealer = {
    open,
    read: (path: string) => {
      current();
      const sealed = store.get(path);
      return sealed === null ? null : open(path, sealed);
    },
    seal: () => {
      invariant(false, "nothing is written to a snapshot");
    },
    hasKeyOf: () => true,
    kept: () => undefined,
    holds: () => false,
    assertUnsealed: () => void current(),
  };
  return {
    shared: new View(store, sealer, "shared/", null),
    local: new View(store, sealer, "local/", null),
    close: () => {
      keys = null;
    },
  };
}
