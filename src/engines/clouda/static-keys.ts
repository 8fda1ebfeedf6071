// Keys of the user that a static role manages: a new one in place of the oldest, and the end of those that
// it replaces. A note is durable before anything is made; the key that is stored is never the one that goes
// before the next is stored (cloud-engines 2.10).

import { invariant } from "../../base/invariant.ts";
import { MINUTE, SECOND } from "../../base/duration.ts";
import type { Instant } from "../../base/world.ts";
import type { WriteAheadRecord } from "../../../plugin-sdk/engine.ts";
import type { EngineTx } from "../../../plugin-sdk/storage.ts";
import { pause } from "../cloud/deadline.ts";
import { ProviderError } from "../cloud/provider-error.ts";
import { accountIn, accountOf, checkAccount } from "./account.ts";
import { committed } from "./commit.ts";
import type { CloudA } from "./engine.ts";
import { orGone } from "./gone.ts";
import type { AccessKeyFacts, CloudAProvider, CloudUser, NewAccessKey } from "./provider.ts";
import { ownKey } from "./static-failures.ts";
import type { StaticCreds, StaticRole } from "./static-role.ts";
import { adoptedUser, userOf } from "./static-users.ts";

const MOST_KEYS = 2; // of a user, at the provider
/** A key that was made so close to a note may be the one that it speaks of; an operator's own is not. */
const NEAR: Instant = 2n * MINUTE;
/** Of what a new key must do before the others go. */
const PROOFS = 3;
const MOST_TRIES = 30; // a second apart

/** Makes a key and hands it to `store`, whose transaction keeps it and ends the note. `stored` is the one
 *  that is kept now: it stays. */
export async function replaceKey(
  engine: CloudA,
  provider: CloudAProvider,
  {
    role,
    user,
    stored,
    store,
  }: {
    readonly role: string;
    readonly user: CloudUser;
    readonly stored: string | null;
    readonly store: (tx: EngineTx, key: NewAccessKey) => void;
  },
): Promise<void> {
  const { given } = engine;
  const { name: username } = user;
  const account = accountOf(user.arn);
  const keys = await provider.accessKeys(username);
  const keysBefore = keys.map(({ id }) => id);
  const goes = keys.length >= MOST_KEYS ? oldest(keys, stored) : null;
  if (goes !== null) await checkForeign(engine, provider, username, [goes]);
  const at = { username, ...(account === null ? {} : { account }) };
  const record = await given.writeAhead.begin("staticKey", { role, ...at, keysBefore });
  const key = await made(
    async () => {
      if (goes !== null) await removeOne(engine, provider, username, goes);
      return provider.createAccessKey(username);
    },
    () => given.writeAhead.drop(record),
  );
  const outcome = await committed(given.storage, (tx) => {
    store(tx, key);
    tx.settle(record);
  });
  if (outcome.kept) return;
  // Nobody has it: gone at once where that can be had, else by the note; by the note as well where it may
  // be the stored one after all.
  if (outcome.certain) {
    await removeOne(engine, provider, username, key.id).then(
      () => given.writeAhead.drop(record),
      () => {},
    );
  }
  throw outcome.error;
}

/** No key of this service's own, whoever's user it calls with by now: config/root may have been given one of
 *  an adopted user (D35, T-I13). */
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

/** Of two keys of one second the provider's order decides. */
function oldest(keys: readonly AccessKeyFacts[], but: string | null): string {
  const others = keys.filter(({ id }) => id !== but);
  const [first, ...rest] = others;
  invariant(first !== undefined, "a user with two keys has one that is not stored");
  return rest.reduce((a, b) => (b.created < a.created ? b : a), first).id;
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
  for (let tries = 1, inARow = 0; inARow < PROOFS; tries++) {
    try {
      await provider.callerIdentity();
      inARow++;
    } catch (error) {
      if (tries >= MOST_TRIES) throw error;
      inARow = 0;
    }
    if (inARow < PROOFS) await pause(given.timers, SECOND, signal);
  }
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
  const kept = new Set<unknown>([...before, creds?.accessKey, creds?.previousKey]);
  await checkAccount(provider, accountIn(data));
  // The user may be gone, and its keys with it.
  for (const key of (await orGone(provider.accessKeys(username))) ?? []) {
    const apart = key.created > created ? key.created - created : created - key.created;
    if (!kept.has(key.id) && apart <= NEAR) await removeOne(engine, provider, username, key.id);
  }
}
