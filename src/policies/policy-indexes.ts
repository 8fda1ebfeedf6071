// The indexes that an ACL policy has in this cluster where another one writes its record. That has the indexes of its writer, by which
// it also reaches child namespaces, and is the same everywhere; whoever reads it here compares with those of the cluster that answers.
// They lie in rows of their own, written with the record when it is applied:
//
//   ns/<namespace>/policies/indexes/<name>
//
// A record that is written here later says itself when that was: the row tells of which record it is.

import type { Codec } from "@holdfast/shared/codec";
import { jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { Follower } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import { aclPolicies, policyCodec, type PolicyRecord } from "./policy-record.ts";

/** By the cluster that answers. */
export interface PolicyIndexes {
  readonly create: bigint;
  readonly modify: bigint;
}

interface Kept extends PolicyIndexes {
  /** What the record says that they are kept for. */
  readonly created: bigint;
  readonly written: bigint;
}

type Stored = Readonly<Record<keyof Kept, string>>;

const stored = jsonCodec<Stored>();
const keptCodec: Codec<Kept> = {
  encode: ({ create, modify, created, written }) =>
    stored.encode({
      create: String(create),
      modify: String(modify),
      created: String(created),
      written: String(written),
    }),
  decode: (bytes) => {
    const { create, modify, created, written } = stored.decode(bytes);
    return {
      create: BigInt(create),
      modify: BigInt(modify),
      created: BigInt(created),
      written: BigInt(written),
    };
  },
};

/** Below shared/: a namespace, and the name, which may have slashes. */
const KEY = /^ns\/([^/]+)\/policies\/acl\/(.+)$/s;

export class PolicyIndexRows implements Follower<PolicyRecord> {
  readonly folder = aclPolicies("*");
  readonly isDeep = true;
  readonly #local: View;

  /** Of everything below local/. */
  constructor(local: View) {
    this.#local = local;
  }

  decode(bytes: Uint8Array): PolicyRecord {
    return policyCodec.decode(bytes);
  }

  follow(tx: Tx, key: string, before: PolicyRecord | null, after: PolicyRecord | null): void {
    const [, namespaceId, name] = KEY.exec(key) ?? [];
    invariant(namespaceId !== undefined && name !== undefined, "it lies in the folder");
    const local = tx.on(this.#local);
    const place = keyOf(namespaceId, name);
    if (after === null) return local.delete(place);
    const { created, written } = after;
    if (before?.written === written) return; // it came once more
    const isSame = before !== null && before.created === created;
    const create = isSame ? indexesOf(local.get(place, keptCodec), before).create : local.index;
    local.put(place, { create, modify: local.index, created, written }, keptCodec);
  }

  /** In a transaction that deletes the record here. */
  drop(tx: Tx, namespaceId: string, name: string): void {
    tx.on(this.#local).delete(keyOf(namespaceId, name));
  }

  /** As this cluster shows a policy of the namespace. */
  in(namespaceId: string): (name: string, record: PolicyRecord) => PolicyIndexes {
    const isNone = this.#local.keys(folderOf(namespaceId), { limit: 1 }).length === 0;
    return (name, record) =>
      indexesOf(isNone ? null : this.#local.get(keyOf(namespaceId, name), keptCodec), record);
  }
}

function indexesOf(kept: Kept | null, { created, written }: PolicyRecord): PolicyIndexes {
  const create = kept?.created === created ? kept.create : created;
  const modify = kept?.written === written ? kept.modify : written;
  return { create, modify };
}

function folderOf(namespaceId: string): string {
  return `ns/${namespaceId}/policies/indexes/`;
}

function keyOf(namespaceId: string, name: string): string {
  return folderOf(namespaceId) + name;
}
