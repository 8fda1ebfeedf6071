// Activation tokens as texts. One form is a wrapping token, which the secondary hands in at the primary's API to get what it
// stands for; the other holds everything, encrypted to a key that the secondary has made, and needs no call.

import { fromBase64, fromBase64Url, base64, text, utf8, wipe } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { isCount, isObject, type JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { isMemberId, isSetId, type MemberName, type ReplicationKind } from "../../cluster/names.ts";
import {
  exportHpkeKey,
  HPKE_KEY_BYTES,
  hpkeOpen,
  hpkePrivateKey,
  hpkeSeal,
  isHpkePublicKey,
  makeHpkeKeys,
} from "../../crypto/hpke.ts";
import type { Epoch } from "../roles/role.ts";
import { type Activation, activationData, readActivation } from "./activation.ts";
import * as failures from "./failures.ts";
import type { Secondaries } from "./secondaries.ts";

const VERSION = 1;
const PURPOSE = "holdfast activation 1";
const MAX_TEXT = 32 * 1024;
const KEY = "activation-key"; // below core/replication/<kind>/
const PUBLIC_KEY_DIGITS = 44;

// --- at the primary ---

export interface TokenRequest {
  readonly id: string;
  /** Default 30 minutes. */
  readonly ttl?: Nanos | undefined;
  /** As generate-public-key has answered it; without one the answer is to be wrapped. */
  readonly publicKey?: string | undefined;
  /** Names of the policies that it may vouch for. Default: all. */
  readonly attests?: readonly string[] | null | undefined;
}

export interface PrimaryPlace {
  /** https://host:port of its port. */
  readonly address: string;
  readonly epoch: Epoch;
}

/** `wrap`: to be wrapped for `ttl` and not shown otherwise. */
export type ActivationToken =
  | { readonly form: "wrapped"; readonly wrap: JsonObject; readonly ttl: Nanos }
  | { readonly form: "encrypted"; readonly text: string; readonly ttl: Nanos };

/** Makes a member known, and what it is handed to come. */
export async function makeToken(
  secondaries: Secondaries,
  { id, ttl, publicKey, attests = null }: TokenRequest,
  { address, epoch }: PrimaryPlace,
  random: Random,
): Promise<ActivationToken> {
  const recipient = publicKey === undefined ? null : readPublicKey(publicKey);
  const admitted = await secondaries.admit(id, ttl, attests);
  const { authority } = secondaries.material;
  const { set, kind } = authority;
  const { certificate, key, expires } = admitted.pair;
  const member = { set, kind, id };
  const data = activationData({
    ...member,
    address,
    epoch,
    authority: authority.certificate,
    authorityKey: authority.key,
    certificate,
    key,
    expires,
  });
  wipe(key);
  if (recipient === null) return { form: "wrapped", wrap: data, ttl: admitted.ttl };
  const sealed = sealData(
    { ...data, exp: seconds(admitted.activateBy) },
    recipient,
    member,
    random,
  );
  return { form: "encrypted", text: sealed, ttl: admitted.ttl };
}

function readPublicKey(input: string): Uint8Array {
  const bytes = input.length <= PUBLIC_KEY_DIGITS ? fromBase64(input) : null;
  if (bytes === null || !isHpkePublicKey(bytes)) throw failures.publicKeyUnusable();
  return bytes;
}

function sealData(
  data: JsonObject,
  recipient: Uint8Array,
  member: MemberName,
  random: Random,
): string {
  const plaintext = utf8(JSON.stringify(data));
  const sealed = hpkeSeal(recipient, plaintext, { info: infoOf(member) }, random);
  wipe(plaintext);
  if (sealed === null) throw failures.publicKeyUnusable();
  const { set, kind, id } = member;
  const envelope = {
    v: VERSION,
    kind,
    set,
    id,
    enc: base64Url(sealed.enc),
    ct: base64Url(sealed.ciphertext),
  };
  return utf8(JSON.stringify(envelope)).toString("base64url");
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** Nothing that is sealed for one member, set, kind or purpose opens for another. */
function infoOf({ kind, set, id }: MemberName): Buffer {
  return utf8([PURPOSE, kind, set, id].join("\0"));
}

// --- at the secondary ---

/** The key that encrypted tokens are for. The last one counts, until a connection has succeeded with what it opened. */
export class ActivationKey {
  readonly #view: View;

  /** Of core/replication/<kind>/. */
  constructor(view: View) {
    this.#view = view;
  }

  /** Makes another one, and gives its public half in base64. */
  async generate(random: Random): Promise<string> {
    const { privateKey, publicKey } = makeHpkeKeys(random);
    const raw = exportHpkeKey(privateKey);
    try {
      await this.#view.write((tx) => tx.put(KEY, raw, bytesCodec));
    } finally {
      wipe(raw);
    }
    return base64(publicKey);
  }

  async forget(): Promise<void> {
    await this.#view.write((tx) => tx.delete(KEY), { deletion: true });
  }

  /** Null where none was made. */
  get privateKey() {
    // A look at the records keeps it out of the cache of decrypted entries.
    const [found] = this.#view.records(KEY, bytesCodec, { limit: 1 });
    if (found?.key !== KEY || found.value.length !== HPKE_KEY_BYTES) return null;
    return hpkePrivateKey(Buffer.from(found.value.buffer, found.value.byteOffset, HPKE_KEY_BYTES));
  }
}

/** A token that has to be unwrapped; nothing of it was verified. */
export interface WrappedToken {
  readonly form: "wrapped";
  readonly jwt: string;
  /** API address of the primary; empty where it has none configured. */
  readonly address: string;
}

export interface OpenedToken {
  readonly form: "encrypted";
  readonly activation: Activation;
}

export interface TokenReader {
  readonly kind: ReplicationKind;
  readonly key: ActivationKey;
  readonly clock: Pick<Clock, "now">;
}

/** Which form it is, and what it says. */
export function openToken(token: string, reader: TokenReader): WrappedToken | OpenedToken {
  if (token.length > MAX_TEXT || /\s/.test(token)) throw failures.tokenUnreadable(token);
  const parts = token.split(".");
  if (parts.length === 3) return wrappedToken(token, parts[1]!, reader.clock.now());
  return { form: "encrypted", activation: openEncrypted(token, reader) };
}

function wrappedToken(jwt: string, payload: string, now: Instant): WrappedToken {
  const claims = jsonIn(payload);
  const { type, addr: address = "", exp } = claims ?? {};
  if (type !== "wrapping" || typeof address !== "string" || !isCount(exp)) {
    throw failures.tokenUnreadable();
  }
  if (exp < seconds(now)) throw failures.tokenExpired(seconds(now) - exp);
  return { form: "wrapped", jwt, address };
}

function openEncrypted(token: string, { kind, key, clock }: TokenReader): Activation {
  const envelope = jsonIn(token) ?? {};
  if (Object.keys(envelope).toSorted().join() !== "ct,enc,id,kind,set,v") {
    throw failures.tokenUnreadable();
  }
  const { v, kind: of, set, id } = envelope;
  const enc = bytesIn(envelope["enc"]);
  const ciphertext = bytesIn(envelope["ct"]);
  if (v !== VERSION || enc === null || ciphertext === null) throw failures.tokenUnreadable();
  if (of !== kind) throw failures.tokenOfOtherKind(kind);
  if (typeof set !== "string" || !isSetId(set) || typeof id !== "string" || !isMemberId(id)) {
    throw failures.tokenUnreadable();
  }
  const { privateKey } = key;
  if (privateKey === null) throw failures.noActivationKey();
  const plaintext = hpkeOpen(privateKey, { enc, ciphertext }, { info: infoOf({ kind, set, id }) });
  if (plaintext === null) throw failures.tokenOfOtherKey();
  let data: unknown;
  try {
    data = JSON.parse(text(plaintext));
  } catch {
    throw failures.tokenUnreadable();
  } finally {
    wipe(plaintext);
  }
  const now = clock.now();
  const end = isObject(data) ? data["exp"] : undefined;
  if (!isCount(end)) throw failures.tokenUnreadable();
  if (end < seconds(now)) throw failures.tokenExpired(seconds(now) - end);
  const activation = readActivation(data, kind, { now, more: ["exp"] });
  if (activation.set !== set || activation.id !== id) throw failures.tokenUnreadable();
  return activation;
}

function jsonIn(part: string): JsonObject | null {
  const bytes = fromBase64Url(part);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(text(bytes));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function bytesIn(value: unknown): Buffer | null {
  return typeof value === "string" ? fromBase64Url(value) : null;
}

function seconds(instant: Instant): number {
  return Number(instant / SECOND);
}
