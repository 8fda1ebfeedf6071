// What a secondary stores of its place in a set: its certificate with the key, the authority that it trusts, and the key that the
// keys of the set are sealed to. Rows behind the barrier, below core/replication/<kind>/; they go along into the store that it
// begins with.

import { type KeyObject, X509Certificate } from "node:crypto";
import { alloc, text, utf8, wipe } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Instant, Random } from "@holdfast/shared/world";
import type { Tx, View, ViewReads } from "../../barrier/view.ts";
import type { Credentials } from "../../cluster/tls.ts";
import type { MemberName, ReplicationKind } from "../../cluster/names.ts";
import { serialOf } from "../../cluster/verify.ts";
import { exportHpkeKey, HPKE_KEY_BYTES, hpkePrivateKey, makeHpkeKeys } from "../../crypto/hpke.ts";
import { partsCodec } from "../parts-codec.ts";

const MEMBERSHIP = "membership";
const MEMBER_KEY = "member-key";
const JOINING_KEY = "joining-key";

export interface Membership extends MemberName, Credentials {
  readonly serial: string;
  /** Of its certificate. */
  readonly expires: Instant;
}

/** Takes the place of one that was there: it has one primary. */
export function putMembership(
  tx: Tx,
  { set, id, authority, certificate, key }: MemberName & Credentials,
): void {
  tx.put(MEMBERSHIP, [utf8(set), utf8(id), authority, certificate, key], partsCodec);
}

/** Null where it has no primary. Nothing of it stays in the cache of decrypted entries. */
export function storedMembership(reads: ViewReads, kind: ReplicationKind): Membership | null {
  const [found] = reads.records(MEMBERSHIP, partsCodec, { limit: 1 });
  if (found?.key !== MEMBERSHIP) return null;
  const [set, id, authority, certificate, key] = found.value;
  invariant(
    set !== undefined &&
      id !== undefined &&
      authority !== undefined &&
      certificate !== undefined &&
      key !== undefined,
    "a membership has five parts",
  );
  return membershipOf({ set: text(set), kind, id: text(id), authority, certificate, key });
}

/** With what its certificate says. */
export function membershipOf(member: MemberName & Credentials): Membership {
  const parsed = new X509Certificate(member.certificate);
  return {
    ...member,
    serial: serialOf(parsed),
    expires: BigInt(parsed.validToDate.getTime()) * MILLISECOND,
  };
}

/** It has no primary any more, or is none's secondary. */
export function forgetMembership(tx: Tx): void {
  tx.delete(MEMBERSHIP);
  tx.delete(MEMBER_KEY);
  tx.delete(JOINING_KEY);
}

/** Stored before it is registered anywhere: what is sealed to a key that is lost is lost. */
export function putMemberKey(tx: Tx, key: KeyObject): void {
  const raw = exportHpkeKey(key);
  try {
    tx.put(MEMBER_KEY, raw, bytesCodec);
    tx.delete(JOINING_KEY);
  } finally {
    wipe(raw);
  }
}

export function storedMemberKey(reads: ViewReads): KeyObject | null {
  const [found] = reads.records(MEMBER_KEY, bytesCodec, { limit: 1 });
  if (found?.key !== MEMBER_KEY || found.value.length !== HPKE_KEY_BYTES) return null;
  const raw = alloc(HPKE_KEY_BYTES);
  raw.set(found.value);
  wipe(found.value);
  return hpkePrivateKey(raw);
}

/** The one that `joiningKey` would give, where it has been used; else one that is not kept: nobody has registered it. */
export function triedKey(reads: ViewReads, serial: string, random: Random): KeyObject {
  return storedJoiningKey(reads, serial) ?? makeHpkeKeys(random).privateKey;
}

function storedJoiningKey(reads: ViewReads, serial: string): KeyObject | null {
  const [found] = reads.records(JOINING_KEY, partsCodec, { limit: 1 });
  const [of, stored] = found?.key === JOINING_KEY ? found.value : [];
  if (of === undefined || stored?.length !== HPKE_KEY_BYTES || text(of) !== serial) return null;
  const own = alloc(HPKE_KEY_BYTES);
  own.set(stored);
  wipe(stored);
  return hpkePrivateKey(own);
}

/** The same for each try with one certificate: a primary takes one key of it, and the answer may never have come. */
export async function joiningKey(view: View, serial: string, random: Random): Promise<KeyObject> {
  const known = storedJoiningKey(view, serial);
  if (known !== null) return known;
  const { privateKey } = makeHpkeKeys(random);
  const raw = exportHpkeKey(privateKey);
  try {
    await view.write((tx) => tx.put(JOINING_KEY, [utf8(serial), raw], partsCodec), {
      essential: true,
    });
  } finally {
    wipe(raw);
  }
  return privateKey;
}
