// rotate-root: a new key for our own user, stored before the old one goes, and the old
// one gone only when the new one is known to work. At every moment a key that works is stored, or a
// write-ahead record tells of the one that is not (T-I13).

import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import { withDeadline } from "../../cloud/deadline.ts";
import { ProviderError, unlessGone } from "../../cloud/provider-error.ts";
import { type Proof, prove } from "../../cloud/proof.ts";
import { makeAndStore, retireOld } from "../../cloud/rotation.ts";
import type { RotationConcerns } from "../../cloud/rotation-concerns.ts";
import { rotateWhenDue, standingAt } from "../../cloud/rotation-terms.ts";
import { accountOf } from "../provider/account.ts";
import { noKeysToRotate, twoKeys, rotationNotStored, rotationOvertaken } from "../failures.ts";
import type { CloudAProvider, NewAccessKey } from "../provider/provider.ts";
import type { ReplacedKey, StoredRoot } from "./root-config.ts";
import {
  finishRotation,
  forget,
  leftBehind,
  type RootParts,
  undoOldRootKey,
  undoRootKey,
} from "./root-cleanup.ts";
import { showRootRotated } from "../../cloud/metrics.ts";

export const ROOT_LOCK = "root";
/** The path that shows how the rotation stands. */
export const ROOT_PLACE = "config/root";

const DEADLINE: Nanos = 75n * SECOND;
const PROVED_WITHIN: Nanos = 15n * SECOND;
const MAX_KEYS = 2;

/** Whose keys a record speaks of. */
type KeyPlace = Omit<ReplacedKey, "id" | "record">;

interface OldKey {
  readonly record: string;
  readonly username: string;
  readonly id: string;
}

export interface Rotated {
  readonly accessKey: string;
  readonly warnings: readonly string[];
}

export interface RotationParts extends RootParts {
  readonly locks: KeyedMutex;
  readonly concerns: RotationConcerns;
}

export class RootRotation {
  readonly #parts: RotationParts;

  constructor(parts: RotationParts) {
    this.#parts = parts;
  }

  rotate(request: Waiting): Promise<Rotated> {
    const { locks, needs } = this.#parts;
    // Not cut off with the request: what was begun is brought to its end.
    return locks.run(ROOT_LOCK, request, () =>
      withDeadline(needs.timers, DEADLINE, (signal) => this.#rotate(signal)),
    );
  }

  async #rotate(signal: AbortSignal): Promise<Rotated> {
    const { rootConfig, clients } = this.#parts;
    const root = await rootConfig.read();
    if (root === null || root.accessKey === "") throw noKeysToRotate();
    const old = await clients.providerOf(root, signal);
    const { name, arn } = await old.getUser();
    const account = accountOf(arn);
    const before = await this.#keysBefore(old, root, name);
    const at = { username: name, ...(account === null ? {} : { account }) };
    const { made, stored } = await this.#replace(old, root, at, before);
    clients.rotated({ from: root.accessKey, to: made.id });
    const fresh = { ...root, accessKey: made.id, secretKey: made.secret };
    const warnings = await this.#retire(old, fresh, stored, signal);
    return { accessKey: made.id, warnings };
  }

  /** Ids of the keys there are. What an earlier rotation could not delete is deleted now. */
  async #keysBefore(old: CloudAProvider, root: StoredRoot, name: string): Promise<string[]> {
    const keys = await old.accessKeys(name);
    const left = leftBehind(root);
    if (left !== null && left.username === name && keys.some(({ id }) => id === left.id)) {
      await unlessGone(old.deleteAccessKey(name, left.id));
      await forget(this.#parts, root.accessKey, left.record);
    }
    const kept = keys.map(({ id }) => id).filter((id) => id !== left?.id);
    if (kept.length >= MAX_KEYS) throw twoKeys();
    return kept;
  }

  /** The new pair is the one in use; its record becomes that of the old key, in one transaction. */
  async #replace(
    old: CloudAProvider,
    root: StoredRoot,
    at: KeyPlace,
    keysBefore: readonly string[],
  ): Promise<{ readonly made: NewAccessKey; readonly stored: OldKey }> {
    const { needs, rootConfig } = this.#parts;
    const { storage, writeAhead, clock, metrics } = needs;
    const { username } = at;
    const id = root.accessKey;
    const seconds = Number(clock.now() / SECOND);
    const result = await makeAndStore({
      storage,
      note: () => writeAhead.begin("rootKey", { ...at, keysBefore }),
      make: () => old.createAccessKey(username),
      store: (tx, made, record) => {
        const oldRecord = tx.begin("oldRootKey", { ...at, accessKeyId: id });
        const done = rootConfig.change(tx, id, (before) => ({
          accessKey: made.id,
          secretKey: made.secret,
          rootKeyCreated: seconds,
          standing: standingAt(before, clock.now()),
          replacedKey: { ...at, id, record: oldRecord },
        }));
        if (!done) throw changedMeanwhile();
        tx.settle(record);
        return { record: oldRecord, username, id };
      },
      dropNote: (record) => writeAhead.drop(record),
      discard: (made) => unlessGone(old.deleteAccessKey(username, made.id)),
      notStored: (error) => (error instanceof Failure ? error : notStored(error)),
    }).catch((error: unknown) => {
      throw error instanceof ProviderError && error.code === "LimitExceeded" ? twoKeys() : error;
    });
    showRootRotated(metrics, seconds);
    return result;
  }

  /** Deletes the old key, with the old key: that one is known to be live. */
  async #retire(
    old: CloudAProvider,
    root: StoredRoot,
    { record, username, id }: OldKey,
    signal: AbortSignal,
  ): Promise<string[]> {
    const retired = await retireOld({
      proof: () => this.#proof(root, signal),
      remove: () => unlessGone(old.deleteAccessKey(username, id)),
      forget: () => forget(this.#parts, root.accessKey, record),
    });
    if (retired.gone) return [];
    const why = retired.proved
      ? (retired.why?.message ?? "")
      : "the provider does not accept the new access key everywhere yet";
    return [`${why}; the old access key ${id} is still there; it is deleted later by itself`];
  }

  async #proof(root: StoredRoot, signal: AbortSignal): Promise<Proof> {
    const { clients, needs } = this.#parts;
    const { clock, timers } = needs;
    const provider = await clients.providerOf({ ...root, maxRetries: 0 }, signal);
    const until = clock.elapsed() + PROVED_WITHIN;
    const goOn = () => clock.elapsed() < until;
    const attempt = () => provider.callerIdentity();
    return prove(attempt, { timers, signal, every: SECOND, goOn });
  }

  /** By itself, about once a minute, as `rotation_period` or `rotation_schedule` say. How it stands is part of
   *  the configuration: a restart neither forgets nor repeats it. A failure is logged, and told by reads. */
  async rotateWhenDue(): Promise<void> {
    const { rootConfig, concerns } = this.#parts;
    const root = await rootConfig.read();
    if (root === null) return concerns.forget(ROOT_PLACE);
    await this.#rotateWhenDue(root);
    const after = await rootConfig.read();
    if (after !== null) concerns.knowRoot(ROOT_PLACE, after.standing);
  }

  async #rotateWhenDue(root: StoredRoot): Promise<void> {
    const { needs, rootConfig } = this.#parts;
    const { clock, storage, log } = needs;
    const why = await rotateWhenDue({
      terms: root,
      standing: root.standing,
      now: clock.now(),
      rotate: async () => {
        const { warnings } = await this.rotate(OWN_WORK);
        log.info("the root key was rotated", { warnings: warnings.join("; ") });
      },
      keep: async (standing) => {
        await storage.write((tx) => {
          rootConfig.change(tx, root.accessKey, () => ({ standing }));
        });
      },
    });
    if (why !== null) log.error("the root key could not be rotated", { why });
  }

  // --- later, one at a time with rotations ---

  /** Once a minute: what a rotation left to be done. */
  async finish(signal: AbortSignal): Promise<void> {
    const root = await this.#parts.rootConfig.read();
    if (root === null || root.replacedKey === null) return;
    await this.#alone((parts) => finishRotation(parts, signal));
  }

  undoKey(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    return this.#alone((parts) => undoRootKey(parts, record, signal));
  }

  undoOldKey(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    return this.#alone((parts) => undoOldRootKey(parts, record, signal));
  }

  #alone(work: (parts: RootParts) => Promise<void>): Promise<void> {
    return this.#parts.locks.run(ROOT_LOCK, OWN_WORK, () => work(this.#parts));
  }
}

function notStored(cause: unknown): Failure {
  const message = "the new key could not be stored";
  return rotationNotStored(message, { cause });
}

function changedMeanwhile(): Failure {
  const message = "config/root was changed while its key was rotated; nothing was rotated";
  return rotationOvertaken(message);
}
