// Where rows say which shared mounts and namespaces there are: what filters of performance replication go by.

import type { View } from "../../barrier/view.ts";
import {
  ENTRIES,
  entryCodec,
  entryKey,
  recordCodec,
  recordKey,
  recordOwner,
} from "../../mounts/table/mount-record.ts";
import * as namespaces from "../../namespaces/record.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Mounts } from "../../mounts/mounts.ts";
import type { Namespaces } from "../../namespaces/namespaces.ts";
import type { MountsBeside } from "../../replication/filters/filter-paths.ts";
import type { PlacesSource } from "../../replication/filters/places.ts";

const SHARED = "shared/";
const NAMESPACES = "namespaces/";
const PAGE = 256;

/** `shared`: of everything below shared/. */
export function sharedPlaces(shared: View): PlacesSource {
  const pathOf = new Map<string, string>([["root", ""]]);
  const mountsAt = SHARED + ENTRIES;
  const namespacesAt = SHARED + NAMESPACES + namespaces.ROWS;
  const page = (prefix: string) => (after: string | null) => {
    const from = after === null ? {} : { after: after.slice(SHARED.length) };
    return shared.keys(prefix, { limit: PAGE, ...from }).map((key) => SHARED + key);
  };
  return {
    mountOf: (key) => {
      if (key.startsWith(mountsAt)) return key.slice(mountsAt.length);
      return key.startsWith(SHARED) ? recordOwner(key.slice(SHARED.length)) : null;
    },
    isNamespace: (key) => key.startsWith(namespacesAt),
    mount: (uuid) => {
      const entry = shared.get(entryKey(uuid), entryCodec);
      if (entry === null) return null;
      const { namespaceId } = entry;
      const record = shared.get(recordKey(namespaceId, uuid), recordCodec);
      if (record === null) return null;
      return { namespaceId, path: (pathOf.get(namespaceId) ?? "") + record.path };
    },
    namespace: (key) => {
      const record = shared.get(key.slice(SHARED.length), namespaces.recordCodec);
      if (record === null) return null;
      const { id, parent } = record;
      const path = `${record.path}/`;
      pathOf.set(id, path);
      return { id, parent, path };
    },
    mountKeys: page(ENTRIES),
    namespaceKeys: page(NAMESPACES + namespaces.ROWS),
  };
}

/** What is mounted, whether it is shared or not. */
export function mountsBeside(
  namespaces: Pick<Namespaces, "resolve">,
  mounts: Pick<Mounts, "placeOf">,
): MountsBeside {
  return {
    find: (path) => {
      const segments = path.split("/").filter((segment) => segment !== "");
      const { namespace, taken } = namespaces.resolve(ROOT_NAMESPACE, segments);
      const found = mounts.placeOf(namespace, segments.slice(taken));
      if (found === null) return null;
      const above = segments.slice(0, taken).map((segment) => `${segment}/`);
      return { ...found, path: above.join("") + found.path };
    },
  };
}
