// To which mount or namespace a record belongs, as 16 bytes that its leaf covers: by it is decided what a
// filtered secondary is sent. Mostly the key says it; where it does not, whoever writes names the scope.
// The table of all keys stands in tests/support/stores/key-table.ts, and every test server is held to it.

import { hash } from "node:crypto";
import { invariant } from "@holdfast/shared/invariant";
import { uuidBytes } from "@holdfast/shared/text/uuid";
import { CORE_SCOPE, LOST_SCOPE, SCOPE_BYTES } from "../storage/rows/log-entry.ts";

const ROOT = "root"; // the namespace that belongs to everybody
const MAX_KNOWN = 4096;

/** Folders outside of a namespace whose keys name an owner, by which segment below the folder. */
const FOLDERS: ReadonlyMap<string, { readonly owner: "mount" | "namespace"; readonly at: number }> =
  new Map([
    ["leases/by-owner", { owner: "namespace", at: 2 }],
    ["leases/by-time", { owner: "mount", at: 0 }],
    ["leases/counts", { owner: "mount", at: 0 }],
    ["leases/irrevocable", { owner: "mount", at: 1 }],
    ["leases/records", { owner: "namespace", at: 0 }],
    ["namespaces/ids", { owner: "namespace", at: 0 }],
    ["plugins/seen", { owner: "mount", at: 0 }],
    ["remains/mounts", { owner: "mount", at: 0 }],
    ["remains/namespaces", { owner: "namespace", at: 0 }],
    ["tokens/by-expiry", { owner: "namespace", at: 1 }],
    ["tokens/by-login", { owner: "mount", at: 0 }],
    ["tokens/children", { owner: "namespace", at: 2 }],
    ["tokens/descents", { owner: "namespace", at: 0 }],
    ["tokens/ended", { owner: "namespace", at: 1 }],
    ["tokens/unending", { owner: "namespace", at: 0 }],
  ]);

const known = new Map<string, Uint8Array>(); // by id of a namespace
const mounts = new Map<string, Uint8Array>(); // by uuid

/** Ids of namespaces are never used again, and the same on every cluster. */
export function namespaceScope(id: string): Uint8Array {
  if (id === ROOT) return CORE_SCOPE;
  const found = known.get(id);
  if (found !== undefined) return found;
  const scope = hash("sha256", `holdfast namespace scope 1\0${id}`, "buffer").subarray(
    0,
    SCOPE_BYTES,
  );
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(id, scope);
  return scope;
}

export function mountScope(uuid: string): Uint8Array {
  const scope = uuidBytes(uuid);
  invariant(scope !== null, "a mount is known by a uuid");
  return scope;
}

/** What a full key says of itself; the core's where it names nobody. */
export function scopeOfKey(key: string): Uint8Array {
  const start = key.indexOf("/") + 1; // behind the class
  if (key.startsWith("ns/", start)) return scopeInNamespace(key, start + 3);
  const slash = key.indexOf("/", start);
  if (slash < 0) return CORE_SCOPE;
  if (key.startsWith("mounts/", start)) return ofMount(segment(key, slash + 1, 0));
  const end = key.indexOf("/", slash + 1);
  const folder = end < 0 ? undefined : FOLDERS.get(key.slice(start, end));
  if (folder === undefined) return CORE_SCOPE;
  const named = segment(key, end + 1, folder.at);
  return folder.owner === "mount" ? ofMount(named) : namespaceScope(named);
}

function scopeInNamespace(key: string, start: number): Uint8Array {
  const end = key.indexOf("/", start);
  const below = end + 1;
  for (const folder of ["mounts/", "mount-table/"]) {
    if (key.startsWith(folder, below)) return ofMount(segment(key, below + folder.length, 0));
  }
  return namespaceScope(key.slice(start, end));
}

/** Whoever is named by what is no mount's uuid is withheld: a key is never taken for more than it says. */
function ofMount(uuid: string): Uint8Array {
  const found = mounts.get(uuid);
  if (found !== undefined) return found;
  const scope = uuidBytes(uuid) ?? LOST_SCOPE;
  if (mounts.size >= MAX_KNOWN) mounts.clear();
  mounts.set(uuid, scope);
  return scope;
}

/** The segment of that number, counted from a place. */
function segment(key: string, from: number, number: number): string {
  let start = from;
  for (let left = number; left > 0; left--) start = key.indexOf("/", start) + 1;
  const end = key.indexOf("/", start);
  return end < 0 ? key.slice(start) : key.slice(start, end);
}
