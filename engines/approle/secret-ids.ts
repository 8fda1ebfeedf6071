// The secret ids of roles: made, spent, found by themselves or by their accessor, ended, cleared away.
// One that has expired or has no use left counts for nothing at once, whether it was cleared away or not.

import { Secret } from "@holdfast/shared/secret";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { isFrom, isLoginName } from "@holdfast/plugin-sdk/login-terms";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import * as failures from "./failures.ts";
import * as keys from "./keys.ts";
import type { Role } from "./role.ts";
import { current } from "./roles.ts";
import { newSecretId, type SecretId, secretIdCodec, type SecretIdTerms } from "./secret-id.ts";

const BATCH = 64; // engines differ in how much one commit may change; each takes three rows
const MIN_CHOSEN = 16; // characters: what is shorter can be guessed
const MAX_CHOSEN = 1024;

export interface MadeSecretId {
  readonly secret: Secret<string>;
  readonly record: SecretId;
}

type Needs = Pick<EngineNeeds, "storage" | "random" | "clock" | "uses">;

/** A use of a secret id, as one cluster names it to the one that counts. */
interface Use {
  readonly role: Pick<Role, "id" | "name">;
  readonly hash: string;
  readonly address: string;
}

export class SecretIds {
  readonly #needs: Needs;
  readonly #hashes: keys.Hashes;

  constructor(needs: Needs, hashes: keys.Hashes) {
    this.#needs = needs;
    this.#hashes = hashes;
  }

  /** Random, unless one was chosen. */
  async make(role: Role, terms: SecretIdTerms, chosen?: Secret<string>): Promise<MadeSecretId> {
    const { storage, random } = this.#needs;
    const secret = chosen ?? new Secret(random.uuid());
    const { length } = secret.reveal();
    if (length < MIN_CHOSEN || length > MAX_CHOSEN) throw failures.secretIdInvalid();
    const hash = (await this.#hashes.made())(secret.reveal());
    const accessor = random.uuid();
    const record = await storage.write((tx) => {
      const now = current(tx, role);
      if (now === null) throw failures.noRole();
      if (!now.bindSecretId) throw failures.secretIdsOff();
      const key = keys.secretKey(role.id, hash);
      if (tx.get(key, secretIdCodec) !== null) throw failures.secretIdTaken();
      const made = newSecretId(now, terms, { accessor, now: tx.time });
      tx.put(key, made, secretIdCodec);
      tx.put(keys.accessorKey(role.id, accessor), hash, keys.textCodec);
      if (made.expires !== null) tx.put(keys.endKey(made.expires, hash), key, keys.textCodec);
      return made;
    });
    return { secret, record };
  }

  /** Takes a use, if it is good there and then; null if not. Of parallel logins with the last use, one
   *  gets it, in whichever cluster: who writes the mount counts. */
  async spend(role: Role, secret: Secret<string>, address: string): Promise<SecretId | null> {
    const { storage, clock, uses } = this.#needs;
    const hash = (await this.#hashes.known())?.(secret.reveal());
    if (hash === undefined) return null;
    const found = await storage.get(keys.secretKey(role.id, hash), secretIdCodec);
    if (!isGood(found, clock.now(), address)) return null;
    if (found.usesLeft === null) return found;
    if (storage.writtenElsewhere !== true) return this.#take({ role, hash, address });
    const { id, name } = role;
    return (await uses.take({ id, name, hash, address })) ? found : null;
  }

  /** For a login in another cluster that shares the mount. */
  async takeUse({ id, name, hash, address }: JsonObject): Promise<boolean> {
    if (typeof id !== "string" || typeof name !== "string") return false;
    if (typeof hash !== "string" || typeof address !== "string") return false;
    const isNamed = isLoginName(name) && /^[0-9a-f-]{36}$/.test(id);
    if (!isNamed || !/^[0-9a-f]{64}$/.test(hash)) return false;
    return (await this.#take({ role: { id, name }, hash, address })) !== null;
  }

  #take({ role, hash, address }: Use): Promise<SecretId | null> {
    const key = keys.secretKey(role.id, hash);
    return this.#needs.storage.write((tx) => {
      const now = tx.get(key, secretIdCodec);
      if (!isGood(now, tx.time, address) || current(tx, role) === null) return null;
      const usesLeft = (now.usesLeft ?? 1) - 1;
      if (usesLeft === 0) remove(tx, role.id, hash, now);
      else tx.put(key, { ...now, usesLeft, updated: tx.time }, secretIdCodec);
      return now;
    });
  }

  /** Whether it has a number of uses, each of which is written down. */
  async isCounted(role: Role, secret: Secret<string>): Promise<boolean> {
    const hash = (await this.#hashes.known())?.(secret.reveal());
    if (hash === undefined) return false;
    const found = await this.#needs.storage.get(keys.secretKey(role.id, hash), secretIdCodec);
    return found !== null && found.usesLeft !== null;
  }

  async bySecret(role: Role, secret: Secret<string>): Promise<SecretId> {
    const hash = (await this.#hashes.known())?.(secret.reveal());
    return this.#read(role, hash ?? null);
  }

  async byAccessor(role: Role, accessor: string): Promise<SecretId> {
    return this.#read(role, await this.#hashOf(role, accessor));
  }

  accessors(
    role: Role,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<string[]> {
    return this.#needs.storage.list(keys.accessorsOf(role.id), page);
  }

  /** What is not there is what was asked for. */
  async endSecret(role: Role, secret: Secret<string>): Promise<void> {
    const hash = (await this.#hashes.known())?.(secret.reveal());
    if (hash !== undefined) await this.#end(role, hash);
  }

  async endAccessor(role: Role, accessor: string): Promise<void> {
    const hash = await this.#hashOf(role, accessor);
    if (hash !== null) await this.#end(role, hash);
  }

  /** Clears away what has expired, and what deleted roles have left behind. */
  async tidy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#clearExpired())) continue;
    while (!signal.aborted && (await this.#clearGone())) continue;
  }

  async #read(role: Role, hash: string | null): Promise<SecretId> {
    const { storage, clock } = this.#needs;
    const found =
      hash === null ? null : await storage.get(keys.secretKey(role.id, hash), secretIdCodec);
    if (found === null || isOver(found, clock.now())) throw failures.noSecretId();
    return found;
  }

  #hashOf(role: Role, accessor: string): Promise<string | null> {
    return /^[0-9a-f-]{36}$/.test(accessor)
      ? this.#needs.storage.get(keys.accessorKey(role.id, accessor), keys.textCodec)
      : Promise.resolve(null);
  }

  async #end(role: Role, hash: string): Promise<void> {
    await this.#needs.storage.write((tx) => {
      const found = tx.get(keys.secretKey(role.id, hash), secretIdCodec);
      if (found !== null) remove(tx, role.id, hash, found);
    });
  }

  /** Whether there may be more. */
  async #clearExpired(): Promise<boolean> {
    const { storage, clock } = this.#needs;
    const due = await storage.records(keys.ENDING, keys.textCodec, { limit: BATCH });
    const now = clock.now();
    const over = due.filter(({ key }) => BigInt(key.split("/")[1] ?? "0") <= now);
    if (over.length === 0) return false;
    await storage.write((tx) => {
      for (const { key, value } of over) {
        tx.delete(key);
        const [, roleUuid = "", hash = ""] = value.split("/");
        const found = tx.get(value, secretIdCodec);
        if (found !== null && isOver(found, tx.time)) remove(tx, roleUuid, hash, found);
      }
    });
    return over.length === BATCH;
  }

  async #clearGone(): Promise<boolean> {
    const { storage } = this.#needs;
    const [gone] = await storage.keys(keys.GONE, { limit: 1 });
    if (gone === undefined) return false;
    const roleUuid = gone.slice(keys.GONE.length);
    const folder = keys.secretsOf(roleUuid);
    await storage.write((tx) => {
      const left = tx.records(folder, secretIdCodec, { limit: BATCH });
      for (const { key, value } of left) remove(tx, roleUuid, key.slice(folder.length), value);
      if (left.length < BATCH) tx.delete(gone);
    });
    return true;
  }
}

function isGood(found: SecretId | null, now: Instant, address: string): found is SecretId {
  return found !== null && !isOver(found, now) && isFrom(found.ranges, address);
}

function isOver({ expires, usesLeft }: SecretId, now: Instant): boolean {
  return usesLeft === 0 || (expires !== null && expires <= now);
}

function remove(tx: EngineTx, roleUuid: string, hash: string, secret: SecretId): void {
  tx.delete(keys.secretKey(roleUuid, hash));
  tx.delete(keys.accessorKey(roleUuid, secret.accessor));
  if (secret.expires !== null) tx.delete(keys.endKey(secret.expires, hash));
}
