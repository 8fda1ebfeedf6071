// Keys of the user that a static role manages: a new one in place of the oldest, and the end of those that
// it replaces. The provider allows two to a user, so with two there one must go before the next is made.
//
// Nothing goes before it is known that another may be made: the provider judges rights before it counts, so
// a create that it refuses for their number alone (LimitExceeded) was allowed. Any other refusal ends the
// rotation with everything as it was. Where the oldest is the stored one, its end is stored before it is
// asked for: from then on a new key is due at once, whatever becomes of this process.

import { invariant } from "@holdfast/shared/invariant";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import type { EngineNeeds, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { type Proof, prove } from "../../cloud/proof.ts";
import { orGone, ProviderError } from "../../cloud/provider-error.ts";
import { makeAndStore, retireOld } from "../../cloud/rotation.ts";
import { accountIn, accountOf, checkAccount } from "../provider/account.ts";
import type { Clients } from "../provider/clients.ts";
import type { RootConfig } from "./root-config.ts";
import type {
  AccessKeyFacts,
  CloudAProvider,
  CloudUser,
  NewAccessKey,
} from "../provider/provider.ts";
import { ownKey } from "./static-failures.ts";
import {
  changeEnded,
  keyMakingCodec,
  keyMakingKey,
  type StaticCreds,
  type StaticRole,
} from "./static-role.ts";
import { adoptedUser, userOf } from "./static-users.ts";

const MAX_KEYS = 2; // of a user, at the provider
/** A key that was made so close to a note may be the one that it speaks of; an operator's own is not. */
const NEAR: Instant = 2n * MINUTE;
/** Of the proof that a new key works, a second apart. */
const MAX_TRIES = 30;

export interface KeyReplacement {
  readonly role: string;
  readonly user: CloudUser;
  /** The key that is kept now, and the one before it; null: none. */
  readonly creds: StaticCreds | null;
  /** Keeps the new key, and what is left of the stored one: null where that had to make room. */
  readonly store: (tx: EngineTx, key: NewAccessKey, previousKey: string | null) => void;
}

/** What keys are made and ended with. */
export interface KeyParts {
  readonly needs: EngineNeeds;
  readonly rootConfig: RootConfig;
  readonly clients: Clients;
}

/** Makes a key and hands it to `store`, whose transaction keeps it and ends the note. */
export async function replaceKey(
  parts: KeyParts,
  provider: CloudAProvider,
  replacement: KeyReplacement,
): Promise<void> {
  const { role, user, creds, store } = replacement;
  const { name: username } = user;
  const keys = await withoutStrays(parts, provider, replacement);
  const goes = keys.length >= MAX_KEYS ? oldest(keys, creds?.accessKey ?? null) : null;
  if (goes !== null) await checkForeign(parts, provider, username, [goes]);
  let previousKey = creds?.accessKey ?? null;
  await makeAndStore({
    storage: parts.needs.storage,
    note: () => noted(parts, { role, user, keysBefore: keys.map(({ id }) => id) }),
    make: async () => {
      const key = await provider.createAccessKey(username).catch((error: unknown) => {
        if (goes === null || !isFull(error)) throw error;
        return null;
      });
      if (key !== null) return key;
      invariant(goes !== null, "a key was made or refused");
      if (goes !== previousKey) await removeOne(parts, provider, username, goes);
      else {
        await endStored(parts, provider, { role, username, id: goes });
        previousKey = null;
      }
      return provider.createAccessKey(username);
    },
    store: (tx, key, record) => {
      store(tx, key, previousKey);
      tx.delete(keyMakingKey(role));
      tx.settle(record);
    },
    dropNote: (record) => forgetMaking(parts, role, record),
    discard: ({ id }) => removeOne(parts, provider, username, id),
  });
}

/** The keys there are, without those that an earlier try has made and nobody has: they are not the user's,
 *  and must not count as its newer ones. */
async function withoutStrays(
  parts: KeyParts,
  provider: CloudAProvider,
  { role, user: { name: username }, creds }: KeyReplacement,
): Promise<AccessKeyFacts[]> {
  const keys = await provider.accessKeys(username);
  const earlier = await parts.needs.storage.get(keyMakingKey(role), keyMakingCodec);
  if (earlier === null || earlier.username !== username) return keys;
  const strays = straysOf(keys, earlier.keysBefore, BigInt(earlier.at), creds);
  for (const { id } of strays) await removeOne(parts, provider, username, id);
  return keys.filter((key) => !strays.includes(key));
}

/** The note for rollback, and the same for whoever tries again before that. */
async function noted(
  { needs: { storage } }: KeyParts,
  {
    role,
    user: { name: username, arn },
    keysBefore,
  }: { readonly role: string; readonly user: CloudUser; readonly keysBefore: readonly string[] },
): Promise<string> {
  const account = accountOf(arn);
  const at = { username, ...(account === null ? {} : { account }) };
  return storage.write((tx) => {
    tx.put(keyMakingKey(role), { username, keysBefore, at: String(tx.time) }, keyMakingCodec);
    return tx.begin("staticKey", { role, ...at, keysBefore });
  });
}

async function forgetMaking({ needs }: KeyParts, role: string, record: string): Promise<void> {
  await needs.storage.write((tx) => {
    tx.delete(keyMakingKey(role));
    tx.settle(record);
  });
}

/** The stored key makes room. It is stored that it does: a new one is due from now on. */
async function endStored(
  parts: KeyParts,
  provider: CloudAProvider,
  { role, username, id }: { readonly role: string; readonly username: string; readonly id: string },
): Promise<void> {
  const { storage, clock } = parts.needs;
  const now = clock.now();
  await storage.write((tx) => changeEnded(tx, role, { ended: true, retryAt: now }));
  try {
    await removeOne(parts, provider, username, id);
  } catch (error) {
    if (error instanceof ProviderError && error.harmless) {
      await storage.write((tx) => changeEnded(tx, role, { ended: false, retryAt: null }));
    }
    throw error;
  }
}

/** The provider would make one, were there not two. */
function isFull(error: unknown): boolean {
  return error instanceof ProviderError && error.harmless && error.code === "LimitExceeded";
}

/** No key of this service's own, whoever's user it calls with by now: config/root may have been given one of
 *  an adopted user (T-I13). */
async function checkForeign(
  { rootConfig }: KeyParts,
  provider: CloudAProvider,
  username: string,
  ids: readonly string[],
): Promise<void> {
  const root = await rootConfig.read();
  const own = [provider.accessKeyId, root?.accessKey];
  if (ids.some((id) => own.includes(id))) throw ownKey(username);
}

/** Of keys of one second the provider's order decides; the stored one stays where another is as old. */
function oldest(keys: readonly AccessKeyFacts[], stored: string | null): string {
  const age = ({ id, created }: AccessKeyFacts) => created * 2n + (id === stored ? 1n : 0n);
  const [first, ...rest] = keys;
  invariant(first !== undefined, "a user with two keys has one");
  return rest.reduce((a, b) => (age(b) < age(a) ? b : a), first).id;
}

/** One that is gone already is no fault. Never the one that we call with. */
export async function removeOne(
  parts: KeyParts,
  provider: CloudAProvider,
  username: string,
  id: string,
): Promise<void> {
  await checkForeign(parts, provider, username, [id]);
  try {
    await provider.deleteAccessKey(username, id);
  } catch (error) {
    if (!(error instanceof ProviderError && error.gone)) throw error;
  }
}

/** Deletes every key of the user but this one, once it has been seen to work; `forget` keeps that it is done. */
export async function retireOthers(
  parts: KeyParts,
  { role, creds }: { readonly role: StaticRole; readonly creds: StaticCreds },
  signal: AbortSignal,
  forget: () => Promise<void>,
): Promise<void> {
  const { username } = role;
  const old = await retireOld({
    proof: () => proofOf(parts, creds, signal),
    remove: async () => {
      const provider = await parts.clients.provider(signal);
      await adoptedUser(provider, role);
      const keys = (await provider.accessKeys(username)).map(({ id }) => id);
      const others = keys.filter((id) => id !== creds.accessKey);
      await checkForeign(parts, provider, username, others); // all of them, or none
      for (const id of others) await removeOne(parts, provider, username, id);
    },
    forget,
  });
  if (!old.gone) throw old.why ?? notProved();
}

async function proofOf(
  { needs, clients, rootConfig }: KeyParts,
  creds: StaticCreds,
  signal: AbortSignal,
): Promise<Proof> {
  const key = { id: creds.accessKey, secret: creds.secretKey, created: creds.createdAt };
  const provider = await clients.providerWith(key, await rootConfig.read(), signal);
  const goOn = (tries: number, succeeded: boolean) => succeeded || tries < MAX_TRIES;
  const attempt = () => provider.callerIdentity();
  return prove(attempt, { timers: needs.timers, signal, every: SECOND, goOn });
}

function notProved(): ProviderError {
  return new ProviderError({
    step: "sts:GetCallerIdentity",
    code: "TimedOut",
    message: "there was no time to see whether the new key works",
    status: 0,
    requestId: "",
    kind: "unknown",
    secrets: [],
  });
}

/** What a crash may have left: keys that nobody has, made when the note was. */
export async function undoKey(
  parts: KeyParts,
  provider: CloudAProvider,
  { data, created }: WriteAheadRecord,
  creds: StaticCreds | null,
): Promise<void> {
  const username = userOf({ data });
  const before = Array.isArray(data["keysBefore"]) ? data["keysBefore"] : [];
  await checkAccount(provider, accountIn(data));
  // The user may be gone, and its keys with it.
  const keys = (await orGone(provider.accessKeys(username))) ?? [];
  for (const { id } of straysOf(keys, before, created, creds)) {
    await removeOne(parts, provider, username, id);
  }
}

/** Keys that came to be when a note was written, and that nobody has stored. */
function straysOf(
  keys: readonly AccessKeyFacts[],
  before: readonly unknown[],
  noted: Instant,
  creds: StaticCreds | null,
): AccessKeyFacts[] {
  const kept = new Set<unknown>([...before, creds?.accessKey, creds?.previousKey]);
  return keys.filter(({ id, created }) => {
    const apart = created > noted ? created - noted : noted - created;
    return !kept.has(id) && apart <= NEAR;
  });
}
