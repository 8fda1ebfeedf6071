// Every key that the server stores: its class is the first segment, and its scope is the mount or namespace
// that it belongs to. What is not in this table must not be written: whoever adds a record says here where
// it goes, since secondaries are sent records by class and scope.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Batch } from "../../../src/storage/engines/engine.ts";

/** `:ns`, `:mount`: the segment that names the owner; `:x` any segment; `*` any rest. */
type Owner =
  | "core" // of the cluster
  | "ns"
  | "mount"
  | "some ns" // its key does not say which; the writer does
  | "some mount"
  | "none"; // below core/: in no tree

/** The shared records from which a row of this cluster's own follows, or with which it goes: their room has a
 *  follower, since they may be another cluster's. "own": neither. */
type Follows = "own" | `${"?" | "shared"}/${string}`;

type Row =
  | readonly [key: `${"shared" | "core"}/${string}`, owner: Owner]
  | readonly [key: `${"local" | "?"}/${string}`, owner: Owner, follows: Follows];

const TOKENS = "?/ns/:ns/tokens/by-accessor/:x";
const MOUNTS = "?/mounts/:mount";
const POLICIES = "shared/ns/:ns/policies/acl/*";
const SPACES = "shared/namespaces/tree/:x/:x";

const TABLE: readonly Row[] = [
  // shared/ and local/: what mounts and namespaces have
  ["?/ns/:ns/mounts/:mount/*", "mount", MOUNTS],
  ["?/ns/:ns/mount-table/:mount", "mount", "own"],
  ["?/ns/:ns/mount-paths/*", "some mount", "own"],
  ["?/mounts/:mount", "mount", "own"],
  ["shared/namespaces/ids/:ns", "ns"],
  ["shared/namespaces/tree/:x/:x", "some ns"],
  ["shared/ns/:ns/policies/acl/*", "ns"],
  ["shared/ns/:ns/policies/*", "ns"],
  ["?/ns/:ns/tokens/by-accessor/:x", "ns", "own"],
  ["?/tokens/by-hash/:x", "some ns", "own"],
  // local/: orders of tokens, indexes of policies, leases, wrappings
  ["local/ns/:ns/tokens/*", "ns", TOKENS],
  ["local/ns/:ns/policies/indexes/*", "ns", POLICIES],
  ["local/tokens/by-expiry/:x/:ns/:x/:x", "ns", TOKENS],
  ["local/tokens/ended/:x/:ns/:x/:x", "ns", TOKENS],
  ["local/tokens/children/:x/:x/:ns/:x/:x", "ns", TOKENS],
  ["local/tokens/descents/:ns/:x", "ns", TOKENS],
  ["local/tokens/unending/:ns/:x/:x", "ns", TOKENS],
  ["local/tokens/by-login/:mount/*", "mount", TOKENS],
  ["local/tokens/one-time/*", "some ns", TOKENS],
  ["local/leases/records/:ns/*", "ns", SPACES],
  ["local/leases/by-time/:mount/*", "mount", "own"],
  ["local/leases/by-owner/:x/:x/:ns/*", "ns", "own"],
  ["local/leases/irrevocable/:x/:mount/*", "mount", "own"],
  ["local/leases/counts/:mount", "mount", "own"],
  ["local/leases/sweeps/*", "core", TOKENS],
  ["local/ns/:ns/*", "ns", SPACES],
  // what is left of shared ones that are gone
  ["local/remains/mounts/:mount/:x", "mount", MOUNTS],
  ["local/remains/namespaces/:ns", "ns", SPACES],
  ["local/plugins/seen/:mount", "mount", MOUNTS],
  // of the cluster as a whole
  ["shared/plugins/*", "core"],
  ["?/mount-moves/:x", "core", "own"],
  ["shared/tokens/bootstrap", "core"],
  ["shared/tokens/salt", "core"],
  ["shared/wrapping/signing-key", "core"],
  ["shared/quotas/*", "core"],
  ["shared/identity/*", "core"],
  ["shared/audit/*", "core"],
  ["local/audit/*", "core", "own"],
  ["local/cluster/region", "core", "own"],
  ["shared/browser/*", "core"],
  ["local/plugins/reloads/:x", "core", "own"],
  // what this cluster is among those that share data: for who stands in for it
  ["local/replication/performance/role", "core", "own"],
  ["local/replication/performance/left", "core", "own"],
  ["local/replication/performance/rotation-due", "core", "own"],
  ["local/replication/performance/authority", "core", "own"],
  ["local/replication/performance/server", "core", "own"],
  ["local/replication/performance/secondaries/:x", "core", "own"],
  ["local/replication/performance/revoked/:x", "core", "own"],
  ["local/replication/performance/revoked-clusters", "core", "own"],
  ["local/replication/performance/membership", "core", "own"],
  ["local/replication/performance/member-key", "core", "own"],
  ["local/replication/performance/joining-key", "core", "own"],
  ["local/replication/performance/activation-key", "core", "own"],
  ["local/replication/performance/former", "core", "own"],
  ["local/replication/performance/former-heard", "core", "own"],
  ["local/replication/performance/former-cluster", "core", "own"],
  ["local/replication/performance/former-disowned", "core", "own"],
  ["local/replication/performance/former-revoked", "core", "own"],
  ["local/replication/performance/former-informed", "core", "own"],
  ["local/replication/performance/shared-since", "core", "own"],
  ["local/replication/performance/divergent/*", "core", "own"],
  ["local/replication/performance/siblings", "core", "own"],
  ["local/replication/performance/filters/:x", "core", "own"],
  ["local/replication/performance/withheld", "core", "own"],
  ["local/replication/performance/withheld-places/:x", "core", "own"],
  ["local/replication/performance/torn", "core", "own"],
  ["local/replication/performance/siblings-revoked", "core", "own"],
  ["local/replication/performance/revoked-there", "core", "own"],
  // core/: this node and this cluster; they are sent to nobody
  ["core/keyring", "none"],
  ["core/unseal-key-copy", "none"],
  ["core/tree-key", "none"],
  ["core/seal-config", "none"],
  ["core/recovery-key-copy", "none"],
  ["core/recovery-root-key", "none"],
  ["core/root-key", "none"],
  ["core/root-key-copy", "none"],
  ["core/recovery-root-key", "none"],
  ["core/recovery-key-copy", "none"],
  ["core/cluster", "none"],
  ["core/versions/:x", "none"],
  ["core/upgrade/:x", "none"],
  ["core/audit/*", "none"],
  ["core/attention/*", "none"],
  ["local/snapshots/*", "core", "own"],
  ["core/evidence/*", "none"],
  ["core/carried/*", "none"],
  ["core/carried-counts", "none"],
  ["core/snapshots/*", "none"],
  ["core/control/:x", "none"],
  ["core/replication/performance/applied", "none"],
  ["core/replication/dr/role", "none"],
  ["core/replication/dr/lease", "none"],
  ["core/replication/dr/heard", "none"],
  ["core/replication/dr/mark", "none"],
  ["core/replication/dr/trees", "none"],
  ["core/replication/dr/rotation-due", "none"],
  ["core/replication/dr/authority", "none"],
  ["core/replication/dr/server", "none"],
  ["core/replication/dr/secondaries/:x", "none"],
  ["core/replication/dr/revoked/:x", "none"],
  ["core/replication/dr/revoked-clusters", "none"],
  ["core/replication/dr/revoked-unmarked", "none"],
  ["core/replication/dr/refused", "none"],
  ["core/replication/dr/membership", "none"],
  ["core/replication/dr/member-key", "none"],
  ["core/replication/dr/joining-key", "none"],
  ["core/replication/dr/activation-key", "none"],
  ["core/replication/dr/adopted", "none"],
  ["core/replication/dr/orphans/:x", "none"],
  ["core/replication/dr/divergent/*", "none"],
  ["core/replication/dr/former", "none"],
  ["core/replication/dr/former-heard", "none"],
  ["core/replication/dr/former-cluster", "none"],
  ["core/replication/dr/former-disowned", "none"],
  ["core/replication/dr/former-revoked", "none"],
  ["core/replication/dr/former-informed", "none"],
  ["core/replication/dr/siblings", "none"],
  ["core/replication/dr/siblings-revoked", "none"],
  ["core/replication/performance/heard", "none"],
  ["core/replication/performance/giving-up", "none"],
  ["core/replication/operation-tokens/live/*", "none"],
  ["core/replication/operation-tokens/spent/*", "none"],
  ["core/replication/operation-tokens/tickets-from", "none"],
  ["core/control/:x", "none"],
];

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const CORE = "0".repeat(32);

const rows = TABLE.map(([key, owner, follows = "own"]) => {
  const source = key
    .replaceAll("?/", "(?:shared|local)/")
    .replaceAll(":ns", "(?<ns>[^/]+)")
    .replaceAll(":mount", "(?<mount>[^/]+)")
    .replaceAll(":x", "[^/]+")
    .replace(/\*$/, ".+");
  return { key, owner, follows, pattern: new RegExp(`^${source}$`, "s") };
});

/** The row of the table that a key has. */
export function rowOf(key: string): string | null {
  return rows.find(({ pattern }) => pattern.test(key))?.key ?? null;
}

/** Whether a row of a cluster's own follows from shared ones, or goes with them. */
export function isFollowing(key: string): boolean {
  const row = rows.find(({ pattern }) => pattern.test(key));
  return row !== undefined && row.follows !== "own";
}

export const KEYS: readonly string[] = TABLE.map(([key]) => key);

/** Rows that follow from shared records for which there is no follower, and followers from whose records nothing
 *  follows, in words. */
export function withoutFollower(
  folders: readonly string[],
  table: readonly Row[] = TABLE,
): string[] {
  const known = new Set(table.map(([key]) => key as string));
  const follows = table.flatMap(([key, , from = "own"]) => (from === "own" ? [] : [{ key, from }]));
  const missing = follows.flatMap(({ key, from }) => {
    if (!known.has(from)) return [`${key}: there are no records ${from}`];
    return folders.includes(folderOf(from)) ? [] : [`${key}: nobody follows ${folderOf(from)}`];
  });
  const used = new Set(follows.map(({ from }) => folderOf(from)));
  const idle = folders.filter((folder) => !used.has(folder));
  return [...missing, ...idle.map((folder) => `${folder}: nothing follows from it`)];
}

/** As followers name it. */
function folderOf(key: string): string {
  const [, ...path] = key.split("/");
  return `${path
    .slice(0, -1)
    .map((part) => (part.startsWith(":") ? "*" : part))
    .join("/")}/`;
}

/** What a commit writes against the table, in words. */
export function againstTable({ data, leaves }: Pick<Batch, "data" | "leaves">): string[] {
  const unknown = data.flatMap(({ key }) => (rowOf(key) === null ? [`${key}: in no row`] : []));
  const wrong = leaves.flatMap(({ key, leaf }) => {
    if (leaf === null) return [];
    const scope = Buffer.from(leaf.scope).toString("hex");
    return isRight(key, scope) ? [] : [`${key}: its scope is ${scope}`];
  });
  return [...unknown, ...wrong];
}

function isRight(key: string, scope: string): boolean {
  const row = rows.find(({ pattern }) => pattern.test(key));
  if (row === undefined) return true; // told already
  const { ns = "", mount = "" } = row.pattern.exec(key)?.groups ?? {};
  switch (row.owner) {
    case "core":
      return scope === CORE;
    case "ns":
      return scope === ofNamespace(ns);
    case "mount":
      return UUID.test(mount) && scope === mount.replaceAll("-", "");
    case "some mount":
      return scope !== CORE;
    case "some ns":
    case "none":
      return true;
  }
}

export function ofNamespace(id: string): string {
  if (id === "root") return CORE;
  const text = `holdfast namespace scope 1\0${id}`;
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** Keeps what commits write against the table, to be told when the test is over. */
export class KeyWatch {
  readonly #wrong: string[] = [];
  readonly #met = new Set<string>();

  see(batch: Batch): void {
    this.#wrong.push(...againstTable(batch));
    for (const { key } of batch.data) this.#met.add(rowOf(key) ?? "");
  }

  get met(): ReadonlySet<string> {
    return this.#met;
  }

  assert(): void {
    assert.deepEqual(
      this.#wrong.slice(0, 20),
      [],
      "keys or scopes that are not in the table of keys",
    );
  }
}
