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

const TABLE: readonly (readonly [key: string, owner: Owner])[] = [
  // shared/ and local/: what mounts and namespaces have
  ["?/ns/:ns/mounts/:mount/*", "mount"],
  ["?/ns/:ns/mount-table/:mount", "mount"],
  ["?/ns/:ns/mount-paths/*", "some mount"],
  ["?/mounts/:mount", "mount"],
  ["shared/namespaces/ids/:ns", "ns"],
  ["shared/namespaces/tree/:x/:x", "some ns"],
  ["shared/ns/:ns/policies/*", "ns"],
  ["?/ns/:ns/tokens/by-accessor/:x", "ns"],
  ["?/tokens/by-hash/:x", "some ns"],
  // local/: orders of tokens, leases, wrappings
  ["local/ns/:ns/tokens/*", "ns"],
  ["local/tokens/by-expiry/:x/:ns/:x/:x", "ns"],
  ["local/tokens/ended/:x/:ns/:x/:x", "ns"],
  ["local/tokens/children/:x/:x/:ns/:x/:x", "ns"],
  ["local/tokens/descents/:ns/:x", "ns"],
  ["local/tokens/unending/:ns/:x/:x", "ns"],
  ["local/tokens/by-login/:mount/*", "mount"],
  ["local/tokens/one-time/*", "some ns"],
  ["local/leases/records/:ns/*", "ns"],
  ["local/leases/by-time/:mount/*", "mount"],
  ["local/leases/by-owner/:x/:x/:ns/*", "ns"],
  ["local/leases/irrevocable/:x/:mount/*", "mount"],
  ["local/leases/counts/:mount", "mount"],
  ["local/leases/sweeps/*", "core"],
  ["local/ns/:ns/*", "ns"],
  // of the cluster as a whole
  ["?/mount-moves/:x", "core"],
  ["shared/tokens/bootstrap", "core"],
  ["shared/tokens/salt", "core"],
  ["shared/wrapping/signing-key", "core"],
  ["shared/quotas/*", "core"],
  ["shared/identity/*", "core"],
  ["shared/audit/*", "core"],
  ["local/audit/*", "core"],
  ["local/cluster/region", "core"],
  ["shared/browser/*", "core"],
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
  ["local/snapshots/*", "core"],
  ["core/evidence/*", "none"],
  ["core/carried/*", "none"],
  ["core/carried-counts", "none"],
  ["core/snapshots/*", "none"],
  ["core/control/:x", "none"],
  ["core/replication/*", "none"],
  ["core/control/:x", "none"],
];

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const CORE = "0".repeat(32);

const rows = TABLE.map(([key, owner]) => {
  const source = key
    .replaceAll("?/", "(?:shared|local)/")
    .replaceAll(":ns", "(?<ns>[^/]+)")
    .replaceAll(":mount", "(?<mount>[^/]+)")
    .replaceAll(":x", "[^/]+")
    .replace(/\*$/, ".+");
  return { key, owner, pattern: new RegExp(`^${source}$`, "s") };
});

/** The row of the table that a key has. */
export function rowOf(key: string): string | null {
  return rows.find(({ pattern }) => pattern.test(key))?.key ?? null;
}

export const KEYS: readonly string[] = TABLE.map(([key]) => key);

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
