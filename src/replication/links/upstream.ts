// What a secondary keeps of its primary: the credentials that it shows there, the authority that the other side must be
// of, and the key that keys of the set are sealed to. One row behind the barrier, of this cluster alone.

import type { KeyObject } from "node:crypto";
import { asBuffer, text, utf8, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Tx, ViewReads } from "../../barrier/view.ts";
import type { MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { exportHpkeKey, hpkePrivateKey } from "../../crypto/hpke.ts";
import { partsCodec } from "../parts-codec.ts";

const UPSTREAM = "upstream";
/** The primary of before, which is to hear that this cluster leads now. */
const FORMER = "former";
const FORMER_ADDRESSES = "former-addresses";

export interface Upstream {
  readonly member: MemberName;
  readonly credentials: Credentials;
  /** The private half of the key that it has registered with the primary. */
  readonly keysKey: KeyObject;
}

export function putUpstream(tx: Tx, { member, credentials, keysKey }: Upstream, below = ""): void {
  const { set, kind, id } = member;
  const { authority, certificate, key } = credentials;
  const names = [set, kind, id].map((name) => utf8(name));
  const raw = exportHpkeKey(keysKey);
  try {
    tx.put(below + UPSTREAM, [...names, authority, certificate, key, raw], partsCodec);
  } finally {
    wipe(raw);
  }
}

export function forgetUpstream(tx: Tx): void {
  tx.delete(UPSTREAM);
  forgetFormer(tx);
}

/** Where this cluster takes the place of its primary. */
export function keepFormer(tx: Tx, addresses: readonly string[]): void {
  const parts = tx.get(UPSTREAM, partsCodec);
  tx.delete(UPSTREAM);
  if (parts === null) return;
  tx.put(FORMER, parts, partsCodec);
  tx.put(
    FORMER_ADDRESSES,
    addresses.map((address) => utf8(address)),
    partsCodec,
  );
}

export function storedFormer(
  reads: ViewReads,
): { readonly upstream: Upstream; readonly addresses: readonly string[] } | null {
  const upstream = stored(reads, FORMER);
  if (upstream === null) return null;
  const addresses = reads.get(FORMER_ADDRESSES, partsCodec) ?? [];
  return { upstream, addresses: addresses.map((address) => text(address)) };
}

export function forgetFormer(tx: Tx): void {
  tx.delete(FORMER);
  tx.delete(FORMER_ADDRESSES);
}

/** Null where there is no primary. Nothing of it stays in the cache of decrypted entries. */
export function storedUpstream(reads: ViewReads): Upstream | null {
  return stored(reads, UPSTREAM);
}

function stored(reads: ViewReads, name: string): Upstream | null {
  const [found] = reads.records(name, partsCodec, { limit: 1 });
  if (found?.key !== name) return null;
  const [set, kind, id, authority, certificate, key, keysKey] = found.value;
  invariant(
    set !== undefined &&
      kind !== undefined &&
      id !== undefined &&
      authority !== undefined &&
      certificate !== undefined &&
      key !== undefined &&
      keysKey !== undefined,
    "what a secondary knows of its primary is complete",
  );
  invariant(text(kind) === "dr", "it is of the kind that this room is for");
  return {
    member: { set: text(set), kind: "dr", id: text(id) },
    credentials: { authority, certificate, key },
    keysKey: hpkePrivateKey(asBuffer(keysKey)),
  };
}
