// rotate-root: a new key for our own user, stored before the old one goes, and the old
// one gone only when the new one is known to work. At every moment a key that works is stored, or a
// write-ahead record tells of the one that is not (T-I13).

import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import { withDeadline } from "../../cloud/deadline.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import { prove } from "../../cloud/proof.ts";
import { standingAt } from "../../cloud/rotation-terms.ts";
import { accountOf } from "../provider/account.ts";
import { committed } from "./commit.ts";
import type { CloudA } from "../engine.ts";
import { noKeysToRotate, twoKeys, rotationNotStored, rotationOvertaken } from "../failures.ts";
import { unlessGone } from "../../cloud/provider-error.ts";
import type { CloudAProvider, NewAccessKey } from "../provider/provider.ts";
import type { ReplacedKey, StoredRoot } from "./root-config.ts";
import { finishRotation, forget, leftBehind, undoOldRootKey, undoRootKey } from "./root-cleanup.ts";
import { showRootRotated } from "../../cloud/metrics.ts";

export const ROOT_LOCK = "root";

const DEADLINE: Nanos = 75n * SECOND;
const PROVED_WITHIN: Nanos = 15n * SECOND;
const MAX_KEYS = 2;

/** Whose keys a record speaks of. */
type KeyPlace = Omit<ReplacedKey, "id" | "record">;

export interface Rotated {
  readonly accessKey: string;
  readonly warnings: readonly string[];
}

export class RootRotation {
  readonly #engine: CloudA;

  constructor(engine: CloudA) {
    this.#engine = engine;
  }

  rotate(): Promise<Rotated> {
    const { locks, given } = this.#engine;
    // Not cut off with the request: what was begun is brought to its end.
    return locks.run(ROOT_LOCK, () =>
      withDeadline(given.timers, DEADLINE, (signal) => this.#rotate(signal)),
    );
  }

  async #rotate(signal: AbortSignal): Promise<Rotated> {
    const { given, rootConfig, clients } = this.#engine;
    const root = await rootConfig.read();
    if (root === null || root.accessKey === "") throw noKeysToRotate();
    const old = await clients.providerOf(root, signal);
    const { name, arn } = await old.getUser();
    const account = accountOf(arn);
    const before = await this.#keysBefore(old, root, name);
    const at = { username: name, ...(account === null ? {} : { account }) };
    const record = await given.writeAhead.begin("rootKey", { ...at, keysBefore: before });
    const made = await this.#makeKey(old, name, record);
    const stored = await this.#store(old, root, { at, record, made });
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
      await forget(this.#engine, root.accessKey, left.record);
    }
    const kept = keys.map(({ id }) => id).filter((id) => id !== left?.id);
    if (kept.length >= MAX_KEYS) throw twoKeys();
    return kept;
  }

  async #makeKey(old: CloudAProvider, name: string, record: string): Promise<NewAccessKey> {
    try {
      return await old.createAccessKey(name);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      // Where it may have been made all the same, the record stays and leads to its deletion.
      if (error.harmless) await this.#engine.given.writeAhead.drop(record);
      throw error.code === "LimitExceeded" ? twoKeys() : error;
    }
  }

  /** The new pair is the one in use; its record becomes that of the old key, in one transaction. */
  async #store(
    old: CloudAProvider,
    root: StoredRoot,
    { at, record, made }: { at: KeyPlace; record: string; made: NewAccessKey },
  ): Promise<{ readonly record: string; readonly username: string; readonly id: string }> {
    const { given, rootConfig } = this.#engine;
    const id = root.accessKey;
    const seconds = Number(given.clock.now() / SECOND);
    const { username } = at;
    const outcome = await committed(given.storage, (tx) => {
      const oldRecord = tx.begin("oldRootKey", { ...at, accessKeyId: id });
      const done = rootConfig.change(tx, id, (before) => ({
        accessKey: made.id,
        secretKey: made.secret,
        rootKeyCreated: seconds,
        standing: standingAt(before, given.clock.now()),
        replacedKey: { ...at, id, record: oldRecord },
      }));
      if (!done) throw changedMeanwhile();
      tx.settle(record);
      return oldRecord;
    });
    if (outcome.kept) {
      showRootRotated(given.metrics, seconds);
      return { record: outcome.value, username, id };
    }
    const { error } = outcome;
    // Nobody has it: it must not live on. Where it may be the stored one after all it is left to the record,
    // which knows by then; so it is where this fails too.
    if (outcome.certain) {
      await unlessGone(old.deleteAccessKey(username, made.id)).then(
        () => given.writeAhead.drop(record),
        () => {},
      );
    }
    throw error instanceof Failure ? error : notStored(error);
  }

  /** Deletes the old key, with the old key: that one is known to be live. */
  async #retire(
    old: CloudAProvider,
    root: StoredRoot,
    { record, username, id }: { record: string; username: string; id: string },
    signal: AbortSignal,
  ): Promise<string[]> {
    const later = `the old access key ${id} is still there; it is deleted later by itself`;
    if (!(await this.#proves(root, signal))) {
      return [`the provider does not accept the new access key everywhere yet; ${later}`];
    }
    try {
      await unlessGone(old.deleteAccessKey(username, id));
      await forget(this.#engine, root.accessKey, record);
      return [];
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return [`${error.message}; ${later}`];
    }
  }

  async #proves(root: StoredRoot, signal: AbortSignal): Promise<boolean> {
    const { clients, given } = this.#engine;
    const { clock, timers } = given;
    const provider = await clients.providerOf({ ...root, maxRetries: 0 }, signal);
    const until = clock.elapsed() + PROVED_WITHIN;
    const goOn = () => clock.elapsed() < until;
    const attempt = () => provider.callerIdentity();
    return (await prove(attempt, { timers, signal, every: SECOND, goOn })).proved;
  }

  // --- later, one at a time with rotations ---

  /** Once a minute: what a rotation left to be done. */
  async finish(signal: AbortSignal): Promise<void> {
    const root = await this.#engine.rootConfig.read();
    if (root === null || root.replacedKey === null) return;
    await this.#alone((engine) => finishRotation(engine, signal));
  }

  undoKey(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    return this.#alone((engine) => undoRootKey(engine, record, signal));
  }

  undoOldKey(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    return this.#alone((engine) => undoOldRootKey(engine, record, signal));
  }

  #alone(work: (engine: CloudA) => Promise<void>): Promise<void> {
    return this.#engine.locks.run(ROOT_LOCK, () => work(this.#engine));
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
