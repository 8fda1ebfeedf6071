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
import type { WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { prove } from "../../cloud/proof.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import { accountIn, accountOf, checkAccount } from "../provider/account.ts";
import { committed } from "./commit.ts";
import type { CloudA } from "../engine.ts";
import { orGone } from "../../cloud/provider-error.ts";
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

/** Makes a key and hands it to `store`, whose transaction keeps it and ends the note. */
export async function replaceKey(
  engine: CloudA,
  provider: CloudAProvider,
  replacement: KeyReplacement,
): Promise<void> {
  const { given } = engine;
  const { role, user, creds, store } = replacement;
  const { name: username } = user;
  const keys = await withoutStrays(engine, provider, replacement);
  const goes = keys.length >= MAX_KEYS ? oldest(keys, creds?.accessKey ?? null) : null;
  if (goes !== null) await checkForeign(engine, provider, username, [goes]);
  const record = await noted(engine, { role, user, keysBefore: keys.map(({ id }) => id) });
  const drop = () => forgetMaking(engine, role, record);
  let previousKey = creds?.accessKey ?? null;
  const key = await made(async () => {
    const first = await provider.createAccessKey(username).catch((error: unknown) => {
      if (goes === null || !isFull(error)) throw error;
      return null;
    });
    if (first !== null || goes === null) return first;
    if (goes !== previousKey) await removeOne(engine, provider, username, goes);
    else {
      await endStored(engine, provider, { role, username, id: goes });
      previousKey = null;
    }
    return provider.createAccessKey(username);
  }, drop);
  invariant(key !== null, "a key was made or refused");
  const outcome = await committed(given.storage, (tx) => {
    store(tx, key, previousKey);
    tx.delete(keyMakingKey(role));
    tx.settle(record);
  });
  if (outcome.kept) return;
  // Nobody has it: gone at once where that can be had, else by the note; by the note as well where it may
  // be the stored one after all.
  if (outcome.certain) {
    await removeOne(engine, provider, username, key.id)
      .then(drop)
      .catch(() => {});
  }
  throw outcome.error;
}

/** The keys there are, without those that an earlier try has made and nobody has: they are not the user's,
 *  and must not count as its newer ones. */
async function withoutStrays(
  engine: CloudA,
  provider: CloudAProvider,
  { role, user: { name: username }, creds }: KeyReplacement,
): Promise<AccessKeyFacts[]> {
  const keys = await provider.accessKeys(username);
  const earlier = await engine.given.storage.get(keyMakingKey(role), keyMakingCodec);
  if (earlier === null || earlier.username !== username) return keys;
  const strays = straysOf(keys, earlier.keysBefore, BigInt(earlier.at), creds);
  for (const { id } of strays) await removeOne(engine, provider, username, id);
  return keys.filter((key) => !strays.includes(key));
}

/** The note for rollback, and the same for whoever tries again before that. */
async function noted(
  { given: { storage } }: CloudA,
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

async function forgetMaking({ given }: CloudA, role: string, record: string): Promise<void> {
  await given.storage.write((tx) => {
    tx.delete(keyMakingKey(role));
    tx.settle(record);
  });
}

/** The stored key makes room. It is stored that it does: a new one is due from now on. */
async function endStored(
  engine: CloudA,
  provider: CloudAProvider,
  { role, username, id }: { readonly role: string; readonly username: string; readonly id: string },
): Promise<void> {
  const { storage, clock } = engine.given;
  const now = clock.now();
  await storage.write((tx) => changeEnded(tx, role, { ended: true, retryAt: now }));
  try {
    await removeOne(engine, provider, username, id);
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
  { rootConfig }: CloudA,
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

/** A certain failure ends the note; after an uncertain one there may be a key, and the note stays. */
async function made<T>(make: () => Promise<T>, drop: () => Promise<void>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof ProviderError && error.harmless) await drop();
    throw error;
  }
}

/** One that is gone already is no fault. Never the one that we call with. */
export async function removeOne(
  engine: CloudA,
  provider: CloudAProvider,
  username: string,
  id: string,
): Promise<void> {
  await checkForeign(engine, provider, username, [id]);
  try {
    await provider.deleteAccessKey(username, id);
  } catch (error) {
    if (!(error instanceof ProviderError && error.gone)) throw error;
  }
}

/** Deletes every key of the user but this one, once it has been seen to work. */
export async function retireOthers(
  engine: CloudA,
  role: StaticRole,
  creds: StaticCreds,
  signal: AbortSignal,
): Promise<void> {
  await proved(engine, creds, signal);
  const provider = await engine.provider(signal);
  await adoptedUser(provider, role);
  const keys = (await provider.accessKeys(role.username)).map(({ id }) => id);
  const others = keys.filter((id) => id !== creds.accessKey);
  await checkForeign(engine, provider, role.username, others); // all of them, or none
  for (const id of others) await removeOne(engine, provider, role.username, id);
}

/** Not every door of the provider knows a new key at once. */
async function proved(engine: CloudA, creds: StaticCreds, signal: AbortSignal): Promise<void> {
  const { given, clients, rootConfig } = engine;
  const key = { id: creds.accessKey, secret: creds.secretKey, created: creds.createdAt };
  const provider = await clients.providerWith(key, await rootConfig.read(), signal);
  const { timers } = given;
  const goOn = (tries: number, succeeded: boolean) => succeeded || tries < MAX_TRIES;
  const attempt = () => provider.callerIdentity();
  const proof = await prove(attempt, { timers, signal, every: SECOND, goOn });
  if (!proof.proved) throw proof.why ?? notProved();
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
  engine: CloudA,
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
    await removeOne(engine, provider, username, id);
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
