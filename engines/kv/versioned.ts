// Secrets with versions: the rules over them. Who may do it, and how it looks on the
// wire, is decided elsewhere.

import { hex } from "@holdfast/shared/bytes";
import { type JsonObject, isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { dataOf, type Document, documentOf } from "./document.ts";
import {
  DEFAULT_SETTINGS,
  deletionOf,
  type MountSettings,
  settingsCodec,
  versionsKept,
} from "./mount-settings.ts";
import {
  currentOf,
  type CustomMetadata,
  hasRow,
  ID_BYTES,
  isDeleted,
  isLive,
  newestOf,
  newSecret,
  type Numbered,
  type Secret,
  type Version,
  versionOf,
  withVersions,
} from "./secret.ts";
import { hasVersionsCodec, secretCodec, versionCodec } from "./secret-codec.ts";
import * as failures from "./failures.ts";
import * as rows from "./rows.ts";

const CONFIG = "config";
const TRIES = 3;

/** A version with the metadata of its secret. */
export interface Found extends Numbered {
  readonly customMetadata: CustomMetadata | null;
}

/** Null in `data`: deleted or destroyed. */
export interface FoundData extends Found {
  readonly data: JsonObject | null;
}

interface Appended {
  readonly found: Found;
  /** Rows of older versions are left to be swept. */
  readonly left: boolean;
}

/** What of a secret is changed; what is not given stays. */
export interface SecretChange {
  readonly maxVersions?: number | undefined;
  readonly casRequired?: boolean | undefined;
  readonly deleteVersionAfter?: Nanos | undefined;
  /** Makes the new ones of the old ones. */
  readonly customMetadata?: ((before: CustomMetadata | null) => CustomMetadata | null) | undefined;
}

export class Versioned {
  readonly #needs: EngineNeeds;
  #settings: MountSettings = DEFAULT_SETTINGS;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  // --- the mount's settings: in memory, because every write asks for them ---

  get settings(): MountSettings {
    return this.#settings;
  }

  async load(): Promise<void> {
    const found = await this.#needs.storage.get(CONFIG, settingsCodec);
    this.#settings = found ?? DEFAULT_SETTINGS;
  }

  async configure(change: Partial<MountSettings>): Promise<void> {
    await this.#needs.storage.write((tx) => {
      const before = tx.get(CONFIG, settingsCodec) ?? DEFAULT_SETTINGS;
      tx.put(CONFIG, { ...before, ...change }, settingsCodec);
    });
    await this.load(); // what is durable now, whichever of two was the last
  }

  invalidate(keys: readonly string[]): void {
    if (!keys.includes(CONFIG)) return;
    this.load().catch(() => this.#needs.log.error("the settings of a mount could not be read"));
  }

  // --- data ---

  /** Whether it has ever had a version that was not removed with its metadata. */
  async has(path: string): Promise<boolean> {
    return (await this.#needs.storage.get(rows.secretKey(path), hasVersionsCodec)) === true;
  }

  /** A version, or the newest for 0; null where there is none. */
  async read(path: string, number: number): Promise<FoundData | null> {
    const { storage, clock } = this.#needs;
    const codec = versionCodec(number);
    // A version may lose its row to another request between two looks; the next look knows.
    for (let tries = 0; tries < TRIES; tries++) {
      const found = await storage.get(rows.secretKey(path), codec);
      if (found === null) return null;
      if (!isLive(found.version, clock.now())) return { ...found, data: null };
      const document = await rows.fetchDocument(storage, found);
      if (document !== null) return { ...found, data: dataOf(document) };
    }
    throw failures.vanished();
  }

  /** `check` is told, before anything is changed, whether it has had a version already. */
  write(
    path: string,
    data: JsonObject,
    cas: number | undefined,
    check: (exists: boolean) => void,
  ): Promise<Found> {
    const document = documentOf(data);
    return this.#appended((tx) => {
      const before = tx.get(rows.secretKey(path), secretCodec);
      check(before !== null && before.versions.length > 0);
      return this.#append(tx, path, { before, document, cas });
    });
  }

  patch(path: string, patch: JsonObject, cas: number | undefined): Promise<Found> {
    return this.#appended((tx) => {
      const before = tx.get(rows.secretKey(path), secretCodec);
      const newest = before === null ? null : versionOf(before, 0);
      if (before === null || newest === null || !isLive(newest.version, tx.time)) {
        throw failures.notFound();
      }
      const old = dataOf(rows.documentIn(tx, before, newest));
      const document = documentOf(mergePatch(old, patch));
      return this.#append(tx, path, { before, document, cas });
    });
  }

  async #appended(append: (tx: EngineTx) => Appended): Promise<Found> {
    const { found, left } = await this.#needs.storage.write(append);
    if (left) await rows.sweep(this.#needs.storage, null);
    return found;
  }

  /** What was there before there were versions. */
  adopt(tx: EngineTx, path: string, data: JsonObject): void {
    const before = tx.get(rows.secretKey(path), secretCodec);
    if (before !== null) return;
    this.#append(tx, path, { before, document: documentOf(data), cas: undefined, checked: true });
  }

  #append(
    tx: EngineTx,
    path: string,
    write: {
      readonly before: Secret | null;
      readonly document: Document;
      readonly cas: number | undefined;
      /** Default false. */
      readonly checked?: boolean;
    },
  ): Appended {
    const { before, document, cas, checked = false } = write;
    const secret = before ?? this.#newSecret(tx);
    if (!checked) this.#checkCas(secret, cas);
    const fresh = {
      created: tx.time,
      deletion: deletionOf(secret, this.#settings, tx.time),
      destroyed: false,
      document,
    };
    if (secret.recycled) rows.takeOutOfBin(tx, path);
    const kept = versionsKept(secret, this.#settings);
    const outOfBin = { ...secret, recycled: false };
    const { secret: after, left } = rows.withFresh(tx, outOfBin, fresh, kept);
    rows.putSecret(tx, path, { ...after, updated: tx.time });
    const { customMetadata } = after;
    const found = { number: currentOf(after), version: newestOf(after), customMetadata };
    return { found, left };
  }

  /** What a write now must give as cas, by the secret or the mount; null where it need not. */
  async requiredCas(path: string): Promise<number | null> {
    const secret = await this.secret(path);
    const required = secret?.casRequired === true || this.#settings.casRequired;
    return required ? (secret === null ? 0 : currentOf(secret)) : null;
  }

  #checkCas(secret: Secret, cas: number | undefined): void {
    const current = currentOf(secret);
    if (cas !== undefined && cas !== current) throw failures.casWrong(cas, current);
    const required = secret.casRequired || this.#settings.casRequired;
    if (cas === undefined && required) throw failures.casMissing(current);
  }

  #newSecret(tx: EngineTx): Secret {
    return newSecret(this.newId(), tx.time);
  }

  newId(): string {
    return hex(this.#needs.random.bytes(ID_BYTES));
  }

  // --- deletion of versions, for a time and for good ---

  /** Marks versions deleted; null: the newest. */
  async delete(path: string, numbers: readonly number[] | null): Promise<void> {
    const mark = (tx: EngineTx) => this.deleteIn(tx, path, numbers);
    await this.#needs.storage.write(mark, { deletion: true });
  }

  /** Says whether it changed anything. */
  deleteIn(tx: EngineTx, path: string, numbers: readonly number[] | null): boolean {
    return this.#change(tx, path, numbers, (version) =>
      isLive(version, tx.time) ? { ...version, deletion: tx.time } : version,
    );
  }

  async undelete(path: string, numbers: readonly number[]): Promise<void> {
    await this.#needs.storage.write((tx) => {
      this.#change(tx, path, numbers, (version) =>
        version.destroyed || version.deletion === null ? version : { ...version, deletion: null },
      );
    });
  }

  /** In slices: as many rows go at once as any engine takes. */
  async destroy(path: string, numbers: readonly number[]): Promise<void> {
    for (let at = 0; at < numbers.length; at += rows.MAX_AT_ONCE) {
      const some = numbers.slice(at, at + rows.MAX_AT_ONCE);
      const empty = (tx: EngineTx) =>
        this.#change(tx, path, some, (version) =>
          version.destroyed ? version : { ...version, destroyed: true, inline: null },
        );
      await this.#needs.storage.write(empty, { deletion: true });
    }
  }

  #change(
    tx: EngineTx,
    path: string,
    numbers: readonly number[] | null,
    change: (version: Version) => Version,
  ): boolean {
    const before = tx.get(rows.secretKey(path), secretCodec);
    if (before === null || before.versions.length === 0) return false;
    const after = withVersions(before, numbers ?? [currentOf(before)], change);
    if (after === before) return false;
    const destroyed = before.versions.flatMap((version, at) =>
      hasRow(version) && after.versions[at]?.destroyed === true ? [before.oldest + at] : [],
    );
    rows.removeRows(tx, before, destroyed);
    rows.putSecret(tx, path, { ...this.#binned(tx, path, after), updated: tx.time });
    return true;
  }

  /** The bin holds what somebody has deleted, by its newest version, and can have back. */
  #binned(tx: EngineTx, path: string, secret: Secret): Secret {
    const newest = newestOf(secret);
    const inBin = !newest.destroyed && isDeleted(newest, tx.time);
    if (inBin === secret.recycled) return secret;
    if (!inBin) rows.takeOutOfBin(tx, path);
    else if (this.#settings.recycleWindow === 0n) return secret;
    else rows.putBinned(tx, path, secret, newest.deletion ?? tx.time);
    return { ...secret, recycled: inBin };
  }

  // --- metadata ---

  secret(path: string): Promise<Secret | null> {
    return this.#needs.storage.get(rows.secretKey(path), secretCodec);
  }

  /** Makes a secret without versions where there is none, unless `check`, which is told so, refuses. */
  async describe(
    path: string,
    change: SecretChange,
    check: (exists: boolean) => void,
  ): Promise<void> {
    await this.#needs.storage.write((tx) => {
      const found = tx.get(rows.secretKey(path), secretCodec);
      check(found !== null);
      const before = found ?? this.#newSecret(tx);
      const { customMetadata: remade } = change;
      rows.putSecret(tx, path, {
        ...before,
        maxVersions: change.maxVersions ?? before.maxVersions,
        casRequired: change.casRequired ?? before.casRequired,
        deleteVersionAfter: change.deleteVersionAfter ?? before.deleteVersionAfter,
        customMetadata:
          remade === undefined ? before.customMetadata : remade(before.customMetadata),
        updated: tx.time,
      });
    });
  }

  /** The secret and all its versions, for good. */
  async remove(path: string): Promise<void> {
    const { storage } = this.#needs;
    const removing = (tx: EngineTx) => {
      const found = tx.get(rows.secretKey(path), secretCodec);
      return found !== null && rows.removeSecret(tx, path, found);
    };
    const left = await storage.write(removing, { deletion: true });
    if (left) await rows.sweep(storage, null);
  }
}

// --- merge patch ---

// Merge patches (RFC 7396): null takes a member away, objects are merged, everything else replaces.

/** The recursion is as deep as a body may be. */
export function mergePatch(before: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, JsonValue | undefined> = { ...before };
  for (const [name, change] of Object.entries(patch)) {
    if (change === null || change === undefined) {
      delete merged[name];
    } else if (isObject(change)) {
      const found = Object.hasOwn(before, name) ? before[name] : undefined;
      merged[name] = mergePatch(isObject(found) ? found : {}, change);
    } else {
      merged[name] = change;
    }
  }
  return merged;
}
