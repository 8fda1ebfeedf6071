// The encryption barrier: everything above it is plaintext, everything below ciphertext. Sealed, it
// has no keys and lets nothing through; unsealed, it holds the keyring, seals and opens entries,
// counts, and rotates. Which shares or seals lead to the root key is seal/'s business.

import type { KeyObject } from "node:crypto";
import { SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import { openEntry, sealEntry } from "../crypto/aead.ts";
import { alreadyInitialised, digestOf, storeUninitialised } from "../storage/failures.ts";
import type { ControlRecord } from "../storage/rows/log-entry.ts";
import type { Identity, Store } from "../storage/store.ts";
import type { StoreReads, StoreTx } from "../storage/transaction.ts";
import { Recurring } from "../base/recurring.ts";
import { EntryCache } from "./cache.ts";
import * as failures from "./failures.ts";
import {
  isKnown,
  KEYRING_TAKEN,
  KEYRING_UPDATE,
  NONCE_BYTES,
  openUpdate,
  putKeyring,
  putTreeKey,
  putUpgrade,
  removeRead,
  removeUpgrades,
  sealTaken,
  sealUpdate,
  storedKeyring,
  storedTreeKey,
  takenInto,
  withUpdates,
} from "./key-rows.ts";
import type { HandedKeys } from "./handed-keys.ts";
import { Keyring, MIN_OPERATIONS, MAX_OPERATIONS, type Rotation, sealedUnder } from "./keyring.ts";
import { type Sealer, type Tx, View } from "./view.ts";

/** Far more than one key seals; stored counts stay whole numbers whatever others say. */
const MAX_ELSEWHERE = 2 ** 48;

const PERIOD: Nanos = 300n * SECOND; // of counting and of looking whether a rotation is due
const UPGRADE_LIFE: Nanos = 120n * SECOND;
const MIN_INTERVAL: Nanos = 24n * 3600n * SECOND;

export interface BarrierOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Bytes of decrypted entries to keep. Default 32 MiB; 0 keeps none. */
  readonly cacheBytes?: number;
  /** The least number of entries that may be sealed before the count is stored again. Default 10⁶. */
  readonly minMargin?: number;
}

export interface KeyStatus {
  readonly term: number;
  readonly installed: Instant;
  /** By all clusters of the set, as far as they have said so. */
  readonly encryptions: number;
}

/** What members of a set compare to see whether one lacks keys. */
export interface KeysVersion {
  /** Of the root key. */
  readonly generation: number;
  /** The newest data key. */
  readonly term: number;
}

/** For ceremonies: the transaction through the barrier, and below it for rows sealed otherwise. */
export type Ceremony<T> = (tx: Tx, raw: StoreTx) => T;

export class Barrier {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #random: Random;
  readonly #log: Log;
  readonly #cache: EntryCache;
  readonly #sealer: Sealer;
  readonly #minMargin: number;
  readonly #armed = new Set<Timer>();
  readonly #periods: Recurring;
  /** What it writes by itself, until that is over. */
  readonly #writing = new Set<Promise<void>>();
  #active = false;
  #keyring: Keyring | null = null;
  #reserved = 0; // the stored count covers this many entries of the newest key
  #renewAt = 0; // from this many on it is time to store a new count
  #countAtPeriod = 0;
  #integrityErrors = 0;
  #creating: Promise<unknown> | null = null;
  #sealing: Promise<void> | null = null;

  constructor(options: BarrierOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#random = options.random;
    this.#log = options.log;
    this.#cache = new EntryCache(options.cacheBytes ?? 32 * 1024 * 1024);
    this.#minMargin = options.minMargin ?? 1_000_000;
    this.#periods = new Recurring({
      trouble: "could not look after the data keys",
      period: PERIOD,
      atOnce: false,
      run: () => this.#onPeriod(),
      timers: options.timers,
      log: options.log,
    });
    this.#sealer = {
      seal: (path, plaintext) => this.#seal(path, plaintext),
      open: (path, sealed) => this.#open(path, sealed),
      read: (path) => this.#read(path),
      kept: (path, codec) => this.#cache.valueOf(path, codec),
      hasKeyOf: (sealed) => this.#unsealed().hasKeyOf(sealed),
      holds: (path) => this.#cache.has(path),
      assertUnsealed: () => void this.#unsealed(),
    };
    this.#store.onCommit((changed) => {
      for (const [path, plain] of changed) this.#cache.follow(path, plain);
    });
    this.#store.onControl(KEYRING_UPDATE, (record, { time }) => this.#readUpdate(record, time));
    this.#store.onControl(KEYRING_TAKEN, (record) => this.#readTaken(record));
  }

  get sealed(): boolean {
    return this.#keyring === null;
  }

  /** How many stored entries did not open since the start: the metric barrier_integrity_errors. */
  get integrityErrors(): number {
    return this.#integrityErrors + this.#store.damageFound;
  }

  /** Whether it seals entries, counts and rotates; see activate. */
  get active(): boolean {
    return this.#active;
  }

  get rootKey(): KeyObject {
    return this.#unsealed().rootKey;
  }

  get rotation(): Rotation {
    return this.#unsealed().rotation;
  }

  get keyStatus(): KeyStatus {
    const { newest } = this.#unsealed();
    const { term, installed } = newest;
    return { term, installed, encryptions: sealedUnder(newest) };
  }

  /** How many entries this cluster has sealed under the newest key: the primary of the set counts them in. */
  get ownEncryptions(): number {
    return this.#unsealed().newest.encryptions;
  }

  get keysVersion(): KeysVersion {
    const { generation, newest } = this.#unsealed();
    return { generation, term: newest.term };
  }

  view(prefix: string, scope: Uint8Array | null = null): View {
    return new View(this.#store, this.#sealer, prefix, scope);
  }

  /** Rows that lie there in clear, written when nobody had the keys that seal them here: to be read and removed. */
  clearView(prefix: string): View {
    return this.#foreignView(prefix, (_path, stored) => stored);
  }

  /** Rows that were sealed under this key, which is none of the store's, for the same reason. */
  viewUnder(key: KeyObject, prefix: string): View {
    return this.#foreignView(prefix, (path, stored) => {
      const plaintext = openEntry(key, path, stored);
      if (plaintext === null) throw failures.entryDamaged(digestOf(path));
      return plaintext;
    });
  }

  #foreignView(prefix: string, open: Sealer["open"]): View {
    const sealer: Sealer = {
      seal: () => {
        invariant(false, "what is written here is sealed with the keys of the store");
      },
      open,
      read: (path) => {
        const stored = this.#store.get(path);
        return stored === null ? null : open(path, stored);
      },
      hasKeyOf: () => true,
      kept: () => undefined,
      holds: () => false,
      assertUnsealed: () => void this.#unsealed(),
    };
    return new View(this.#store, sealer, prefix, null);
  }

  /** Creates the store: keyring, tree key and whatever `fn` writes, in its first transaction. */
  async create<T>(
    { rootKey, treeKey }: { readonly rootKey: KeyObject; readonly treeKey: KeyObject },
    identity: Identity,
    fn: Ceremony<T>,
  ): Promise<T> {
    const keyring = Keyring.fresh(this.#random, rootKey, this.#clock.now());
    return this.#create({ keyring, treeKey }, identity, fn);
  }

  /** The same with the keys of a set of clusters, which this one joins. */
  async createWith<T>(handed: HandedKeys, identity: Identity, fn: Ceremony<T>): Promise<T> {
    const { keyring, treeKey } = handed;
    return this.#create({ keyring: keyring.asElsewhere(), treeKey }, identity, fn);
  }

  async #create<T>(
    { keyring, treeKey }: HandedKeys,
    identity: Identity,
    fn: Ceremony<T>,
  ): Promise<T> {
    if (this.#keyring !== null) throw alreadyInitialised();
    let begun = false;
    const created = this.#store.create(treeKey, identity, (raw) => {
      this.#install(keyring);
      this.#active = true;
      begun = true;
      this.#putKeyring(raw, keyring, this.#minMargin);
      putTreeKey(raw, keyring.rootKey, treeKey, this.#random);
      return fn(this.view("core/").within(raw), raw);
    });
    if (begun) this.#creating = created;
    try {
      const result = await created;
      this.#arm();
      return result;
    } catch (error) {
      if (begun) this.#forget();
      throw error;
    } finally {
      if (begun) this.#creating = null;
    }
  }

  /**
   * Opens the keyring with the root key and checks the store. Writes nothing: from here on entries can be
   * read, and nothing is sealed until `activate`. False when the root key is another one; damage throws.
   */
  unseal(rootKey: KeyObject, options: { readonly repair?: boolean } = {}): boolean {
    invariant(this.#keyring === null, "the barrier is unsealed already");
    if (this.#sealing !== null) throw failures.barrierSealing();
    if (!this.#store.initialised) throw storeUninitialised();
    const keyring = this.#readKeyring(rootKey);
    if (keyring === null) return false;
    const treeKey = storedTreeKey(this.#store, rootKey);
    if (treeKey === null) throw failures.keyringDamaged();
    this.#store.unlock(treeKey, options);
    this.#install(keyring);
    return true;
  }

  /** Of a store that was filled without its keys, before it is unsealed. */
  complete(rootKey: KeyObject): Promise<void> {
    const treeKey = storedTreeKey(this.#store, rootKey);
    if (treeKey === null) throw failures.keyringDamaged();
    return this.#store.complete(treeKey);
  }

  /** The key of the trees in rows of this store at another time. Null where they are of other keys: what is in them
   *  could not be opened here. */
  treeKeyIn(rows: Pick<StoreReads, "get">): KeyObject | null {
    const own = this.#unsealed();
    const keyring = storedKeyring(rows, own.rootKey);
    if (!(keyring instanceof Keyring) || !own.covers(keyring)) return null;
    return storedTreeKey(rows, own.rootKey);
  }

  /**
   * The node is the active one of its cluster: the count is stored, entries may be sealed, keys are counted
   * and rotated. What it is based on is read again, for whoever was active before may have changed it.
   */
  activate(): void {
    if (this.#active) return;
    const keyring = this.#readKeyring(this.#unsealed().rootKey);
    if (keyring === null) throw failures.rootKeyReplaced();
    this.#install(keyring);
    this.#active = true;
    this.#arm();
    this.#persistCount();
  }

  /** No longer the active one: nothing more is sealed or written. Whoever is next counts the margin in. */
  deactivate(): void {
    this.#active = false;
    this.#disarm();
    if (this.#keyring !== null) this.#install(this.#keyring);
  }

  /** The same in good order: whoever is next finds the exact count. */
  async rest(): Promise<void> {
    const keyring = this.#keyring;
    if (!this.#active || keyring === null) return;
    this.deactivate(); // from here on nothing is sealed that the count would miss
    await this.#periods.close();
    await Promise.all(this.#writing);
    await this.#storeExact(this.#keyring ?? keyring);
  }

  /** Stores the exact count, waits for what was accepted, forgets every key. */
  seal(): Promise<void> {
    return (this.#sealing ??= this.#sealNow().finally(() => (this.#sealing = null)));
  }

  async #sealNow(): Promise<void> {
    if (this.#creating !== null) await this.#creating.catch(() => {}); // its caller hears of it
    const keyring = this.#keyring;
    if (keyring === null) return;
    const counted = this.#active;
    this.deactivate();
    this.#keyring = null; // from here on nothing is sealed that the count would miss
    if (counted) await this.#storeExact(keyring);
    await this.#store.lock();
    this.#forget();
  }

  async #storeExact(keyring: Keyring): Promise<void> {
    try {
      await this.#store.write((raw) => this.#putKeyring(raw, keyring, 0), { essential: true });
    } catch (error) {
      // A failed storage must not keep the keys in memory; the next start counts the margin in.
      this.#log.warn("could not store the count of encryptions", { cause: describe(error) });
    }
  }

  /** Installs a new term; the log carries the new key, sealed for the members of the set. */
  async rotate(): Promise<number> {
    this.#unsealed();
    const term = await this.#writeKeys((raw) => {
      const before = this.#unsealed();
      const after = before.rotated(this.#random, this.#clock.now());
      putUpgrade(raw, before, after, this.#random);
      raw.control({ type: KEYRING_UPDATE, body: sealUpdate(after, this.#random) });
      // From here on later transactions seal under the new term: they commit after this one.
      this.#install(after);
      this.#putKeyring(raw, after, this.#minMargin);
      return after.newest.term;
    });
    this.#expireUpgrades(term);
    this.#log.info("installed a new data key", { term });
    return term;
  }

  async configureRotation(rotation: Rotation): Promise<void> {
    const { maxOperations, interval } = rotation;
    const countFits =
      Number.isSafeInteger(maxOperations) &&
      maxOperations >= MIN_OPERATIONS &&
      maxOperations <= MAX_OPERATIONS;
    if (!countFits || (interval !== 0n && interval < MIN_INTERVAL)) {
      throw failures.rotationOutOfRange(MIN_OPERATIONS, MAX_OPERATIONS);
    }
    await this.#writeKeys((raw) => {
      this.#keyring = this.#unsealed().withRotation(rotation);
      this.#putKeyring(raw, this.#keyring, this.#margin());
    });
  }

  /** A transaction of a ceremony, such as storing a new root key. */
  ceremony<T>(fn: Ceremony<T>): Promise<T> {
    return this.#writeKeys((raw) => fn(this.view("core/").within(raw), raw));
  }

  /** Inside a ceremony: keyring and tree key are sealed anew under another root key. */
  replaceRootKey(raw: StoreTx, rootKey: KeyObject): void {
    // Read inside the transaction: the ceremony before this one may not be durable yet.
    const treeKey = storedTreeKey(raw, this.#unsealed().rootKey);
    if (treeKey === null) throw failures.keyringDamaged();
    this.#keyring = this.#unsealed().withRootKey(rootKey);
    this.#putKeyring(raw, this.#keyring, this.#margin());
    putTreeKey(raw, rootKey, treeKey, this.#random);
  }

  // --- keys of a set of clusters ---

  /** All keys, for another cluster of the set. They are as secret as everything that is stored. */
  handOver(): HandedKeys {
    const keyring = this.#unsealed();
    const treeKey = storedTreeKey(this.#store, keyring.rootKey);
    if (treeKey === null) throw failures.keyringDamaged();
    return { keyring, treeKey };
  }

  /**
   * Takes over keys of the cluster that this one follows. Where the root key is another one, `replaced` writes in the
   * same transaction what else depends on it. False when there was nothing new. Keys never go back, unless somebody has
   * decided that what this cluster did by itself is given up: then its own keys only open what they have sealed.
   */
  async takeOver(
    handed: HandedKeys,
    replaced: Ceremony<void>,
    { mayGiveUp = false }: { readonly mayGiveUp?: boolean } = {},
  ): Promise<boolean> {
    const took = await this.#writeKeys((raw) => {
      const own = this.#unsealed();
      const treeKey = storedTreeKey(raw, own.rootKey);
      if (treeKey === null) throw failures.keyringDamaged();
      const standing = own.standingOf(handed.keyring);
      if (!treeKey.equals(handed.treeKey)) throw failures.keysApart(); // of another set
      if (standing === "apart" && !mayGiveUp) throw failures.keysApart();
      if (standing === "behind" && !mayGiveUp) throw failures.keysBehind();
      if (standing === "same") return false;
      const after = own.replacedBy(handed.keyring);
      // Who stands in for this cluster has them before anything that is sealed with them.
      if (!this.#store.following) {
        raw.control({ type: KEYRING_TAKEN, body: sealTaken(after, this.#random) });
      }
      this.#install(after);
      this.#putKeyring(raw, after, this.#minMargin);
      removeRead(raw, after);
      if (!after.rootKey.equals(own.rootKey)) {
        putTreeKey(raw, after.rootKey, treeKey, this.#random);
        replaced(this.view("core/").within(raw), raw);
      }
      return true;
    });
    if (took) this.#log.info("took over keys of the set", { ...this.keysVersion });
    return took;
  }

  /** Another cluster of the set has sealed that many more entries under a data key. */
  countElsewhere(term: number, more: number): void {
    const { newest } = this.#unsealed();
    if (newest.term !== term) return; // no older one seals any more
    newest.elsewhere = Math.min(newest.elsewhere + Math.max(0, more), MAX_ELSEWHERE);
  }

  // --- entries ---

  #seal(path: string, plaintext: Uint8Array): Uint8Array {
    const { newest } = this.#unsealed();
    if (newest.encryptions >= this.#renewAt) {
      this.#assertActive(); // until then no count is stored, and every entry comes here
      this.#persistSoon();
    }
    if (newest.encryptions >= this.#reserved) throw failures.countNotStored();
    newest.encryptions++;
    return sealEntry(newest.key, newest.term, path, plaintext, this.#random.bytes(NONCE_BYTES));
  }

  #open(path: string, sealed: Uint8Array): Uint8Array {
    const plaintext = this.#unsealed().open(path, sealed);
    if (plaintext !== null) return plaintext;
    this.#integrityErrors++;
    const failure = failures.entryDamaged(digestOf(path));
    this.#log.error("damage in storage", { cause: failure.message });
    throw failure;
  }

  #read(path: string): Uint8Array | null {
    this.#unsealed();
    // A copy: what the cache holds is wiped at sealing, when an answer may still be on its way.
    const cached = this.#cache.get(path);
    if (cached !== undefined) return new Uint8Array(cached);
    const sealed = this.#store.get(path);
    if (sealed === null) return null;
    const plaintext = this.#open(path, sealed);
    this.#cache.put(path, new Uint8Array(plaintext));
    return plaintext;
  }

  // --- keyring rows ---

  /** A transaction that may change keyring and count in memory: undone together with it. */
  #writeKeys<T>(fn: (raw: StoreTx) => T): Promise<T> {
    let undo = () => {};
    const run = (raw: StoreTx) => {
      const keyring = this.#unsealed();
      this.#assertActive();
      const counts = [this.#reserved, this.#renewAt, this.#countAtPeriod] as const;
      undo = () => {
        this.#keyring = keyring;
        [this.#reserved, this.#renewAt, this.#countAtPeriod] = counts;
      };
      return fn(raw);
    };
    return this.#store.write(run, { essential: true, undo: () => undo() });
  }

  /** Nothing is covered by the stored count until #putKeyring has stored one. */
  #install(keyring: Keyring): void {
    this.#keyring = keyring;
    const { encryptions } = keyring.newest;
    this.#countAtPeriod = this.#reserved = this.#renewAt = encryptions;
  }

  #putKeyring(raw: StoreTx, keyring: Keyring, margin: number): void {
    putKeyring(raw, keyring, margin, this.#random);
    // What is sealed from now on is committed after this, so that it is never there without it.
    this.#reserved = keyring.newest.encryptions + margin;
    this.#renewAt = this.#reserved - Math.floor(margin / 2);
  }

  /** With what the log has brought since it was stored. Null when the root key is another one. */
  #readKeyring(rootKey: KeyObject): Keyring | null {
    const stored = storedKeyring(this.#store, rootKey);
    if (stored === "foreign") return null;
    if (stored === "damaged") throw failures.keyringDamaged();
    return withUpdates(stored, this.#store, this.#clock.now(), () => {
      this.#log.error("a data key that the log has brought does not open with this root key");
    });
  }

  /** A new key that somebody else has installed; sealed, it waits in storage until it is asked for. */
  #readUpdate({ body }: ControlRecord, time: Instant): (() => void) | null {
    const known = this.#keyring;
    const isReadable = (keyring: Keyring) => {
      const update = openUpdate(keyring.rootKey, body);
      // Who was handed newer keys has it already, and the root key that it is sealed under may be gone.
      if (update === null) return isKnown(keyring, body);
      // Otherwise a key of our own would be in its place. One that was given up since is known too: the log goes on to what replaced it.
      return keyring.key(update.term) === null || keyring.holds(update);
    };
    if (known !== null && !isReadable(known)) return null;
    return () => {
      // Sealed or unsealed meanwhile: what it was when the record came says nothing.
      const keyring = this.#keyring;
      if (keyring === null || !isReadable(keyring)) return;
      const update = isKnown(keyring, body) ? null : openUpdate(keyring.rootKey, body);
      if (update !== null) this.#install(keyring.withTerm(update, time));
      if (this.#active) this.#persistCount(); // and the record goes
    };
  }

  /** The cluster whose log this is has taken over keys of another. */
  #readTaken({ body }: ControlRecord): (() => void) | null {
    const known = this.#keyring;
    if (known !== null && takenInto(known, body) === null) return null;
    return () => {
      const keyring = this.#keyring;
      const after = keyring === null ? null : takenInto(keyring, body);
      if (after === null) return;
      if (after !== keyring) this.#install(after);
      if (this.#active) this.#persistCount(); // and the record goes
    };
  }

  // --- counting and rotating in the background ---

  #margin(): number {
    const { encryptions } = this.#unsealed().newest;
    const inPeriod = encryptions - this.#countAtPeriod;
    return Math.max(this.#minMargin, 2 * inPeriod);
  }

  #persistSoon(): void {
    this.#renewAt = Number.POSITIVE_INFINITY; // until it is stored, one attempt at a time
    this.#after(0n, () => this.#persistCount());
  }

  #persistCount(): void {
    const put = (raw: StoreTx) => {
      const keyring = this.#unsealed();
      this.#putKeyring(raw, keyring, this.#margin());
      removeRead(raw, keyring);
    };
    this.#alone(this.#writeKeys(put), (error) => {
      this.#renewAt = 0; // the next entry tries again
      this.#log.warn("could not store the count of encryptions", { cause: describe(error) });
    });
  }

  async #onPeriod(): Promise<void> {
    const keyring = this.#keyring;
    if (keyring === null || !this.#active) return;
    this.#persistCount();
    this.#countAtPeriod = keyring.newest.encryptions;
    // Whoever follows gets new keys from the log, and who leaves shared rows to another cluster from that one.
    const isElsewhere = this.#store.following || this.#store.leavesShared;
    if (!isElsewhere && keyring.isDue(this.#clock.now())) {
      this.#alone(this.rotate(), (error) => {
        this.#log.error("automatic rotation failed", { cause: describe(error) });
      });
    }
  }

  /** Nobody waits for it but whoever rests. */
  #alone(work: Promise<unknown>, failed: (error: unknown) => void): void {
    const over: Promise<void> = work
      .then(() => {}, failed)
      .finally(() => this.#writing.delete(over));
    this.#writing.add(over);
  }

  #arm(): void {
    this.#periods.open();
    this.#expireUpgrades(this.#unsealed().newest.term);
  }

  /** Those that lead to this term or an older one; a later one has a timer of its own. */
  #expireUpgrades(term: number): void {
    this.#after(UPGRADE_LIFE, () => {
      const remove = (raw: StoreTx) => removeUpgrades(raw, term);
      this.#alone(this.#store.write(remove, { essential: true }), (error) => {
        this.#log.warn("could not remove old key upgrades", { cause: describe(error) });
      });
    });
  }

  #after(delay: Nanos, call: () => void): void {
    if (this.#keyring === null) return; // sealed while something was on its way
    const timer = this.#timers.after(delay, () => {
      this.#armed.delete(timer);
      if (this.#keyring !== null) call();
    });
    this.#armed.add(timer);
  }

  #disarm(): void {
    void this.#periods.close();
    for (const timer of this.#armed) timer.cancel();
    this.#armed.clear();
  }

  #forget(): void {
    this.deactivate();
    this.#keyring = null;
    this.#cache.wipe();
  }

  #assertActive(): void {
    if (!this.#active) throw failures.barrierInactive();
  }

  #unsealed(): Keyring {
    if (this.#keyring === null) throw failures.barrierSealed();
    return this.#keyring;
  }
}
