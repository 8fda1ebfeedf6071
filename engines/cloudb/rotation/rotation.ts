// Gives the mount's own application another secret that nobody but us knows: made,
// kept as pending while the old one stays in use, proved, put in its place, and only then is the old one
// removed. A crash anywhere leaves one that works, and a record of whatever must go.

import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import { DAY, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import { ProviderError, errorForCaller } from "../../cloud/provider-error.ts";
import { PROOFS, proofsAfter } from "../../cloud/proof.ts";
import type { RotationConcerns } from "../../cloud/rotation-concerns.ts";
import { failedStanding, rotateWhenDue, standingAt } from "../../cloud/rotation-terms.ts";
import { CONFIG, type Config, configCodec, type StoredConfig } from "./config.ts";
import type { Connection, Connections } from "../provider/connection.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import { makeAndStore, retireOld } from "../../cloud/rotation.ts";
import type { RotationCleanup } from "./rotation-cleanup.ts";
import * as failures from "../failures.ts";
import { addNamedPassword, type Doubt } from "../roles/named-password.ts";
import type { Patience, Patiently } from "../provider/patience.ts";
import { ownApplication, replacedBy } from "./replaced-password.ts";
import {
  type Pending,
  pendingIn,
  recordOf,
  ROTATION,
  rotationCodec,
  rotationOf,
} from "./rotation-state.ts";
import { countRotation, showRootRotated } from "../../cloud/metrics.ts";
import { namePrefix } from "../../cloud/settings.ts";

const PROVED_FROM = MINUTE; // a new password is unknown to most of the provider for some seconds
const IN_THE_END = 15n * MINUTE; // then one proof will do, and another rotation may begin
const ABANDON_AFTER = DAY;
const BUDGET = 80n * SECOND;

export interface RotationParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly config: Config;
  readonly connections: Connections;
  readonly patiently: Patiently;
  readonly cleanup: RotationCleanup;
  readonly concerns: RotationConcerns;
}

export class RootRotation {
  readonly #parts: RotationParts;

  constructor(parts: RotationParts) {
    this.#parts = parts;
  }

  /** What an operator is told of it. */
  async state(): Promise<"none" | "pending" | "failing"> {
    return (await rotationOf(this.#parts.needs.storage))?.state ?? "none";
  }

  rotate(request: Waiting): Promise<void> {
    const { locks, patiently } = this.#parts;
    return locks.run("rotate-root", request, async () => {
      const stored = await this.#rotatable();
      const connection = await this.#parts.connections.current();
      try {
        await patiently(BUDGET, (patience) => this.#rotate(stored, connection, patience));
      } catch (error) {
        throw errorForCaller(error);
      }
    });
  }

  /** Refuses where there is nothing to rotate, or not yet. */
  async #rotatable(): Promise<StoredConfig> {
    const { needs, config } = this.#parts;
    const stored = await config.rotatable();
    const before = await rotationOf(needs.storage);
    const age = before?.state === "pending" ? needs.clock.now() - BigInt(before.created) : null;
    if (age !== null && age < IN_THE_END) throw failures.rotationPending();
    return stored;
  }

  async #rotate(stored: StoredConfig, connection: Connection, patience: Patience): Promise<void> {
    const { storage, writeAhead, clock, random, settings } = this.#parts.needs;
    const now = clock.now();
    const application = await patience.step((signal) => ownApplication(connection, signal));
    const replaces = await replacedBy(connection, application, {
      keyId: stored.keyId,
      secret: stored.clientSecret,
      patience,
    });
    const displayName = `${namePrefix(settings)}${random.uuid()}`;
    const { tenantId } = connection.effective;
    const { id: appObjectId } = application;
    const place = { appObjectId, displayName, tenantId };
    const ends = showTime(now + BigInt(stored.passwordTtl) * SECOND);
    const doubt: Doubt = { uncertain: false };
    await makeAndStore({
      storage,
      note: () => writeAhead.begin("rootPassword", recordOf(place)),
      make: () =>
        addNamedPassword(connection.graph, patience, { id: appObjectId, displayName, ends }, doubt),
      store: (tx, password, record) => {
        const pending: Pending = {
          state: "pending",
          secret: password.text,
          keyId: password.keyId,
          ...place,
          ends: String(password.ends),
          created: String(now),
          successes: 0,
          replaces,
        };
        // The secret that this one stands for may have been replaced by hand meanwhile.
        const current = tx.get(CONFIG, configCodec);
        if (current?.clientSecret !== stored.clientSecret || current.clientId !== stored.clientId) {
          throw failures.cannotRotate("the configuration has changed meanwhile; try again");
        }
        const older = pendingIn(tx);
        if (older !== null) tx.begin("rootPassword", recordOf(older));
        tx.put(ROTATION, pending, rotationCodec);
        tx.put(CONFIG, { ...current, standing: standingAt(current, tx.time) }, configCodec);
        // One whose answer was lost may still turn up: its record stays, and rollback looks.
        if (!doubt.uncertain) tx.settle(record);
      },
      madeNothing: () => !doubt.uncertain,
      dropNote: (record) => writeAhead.drop(record),
    });
  }

  /** By itself, where the configuration says so and it is time. */
  async rotateWhenDue(): Promise<void> {
    const { needs, config, concerns } = this.#parts;
    const stored = await config.stored();
    if (stored === null) return concerns.forget(CONFIG);
    await this.#rotateWhenDue(stored);
    const [after, state] = [await config.stored(), (await rotationOf(needs.storage))?.state];
    if (after === null) return;
    // One that was given up counts also where it was asked for by hand.
    const failing = state === "failing" ? { attempts: 0, error: "it was given up" } : {};
    concerns.knowRoot(CONFIG, { ...after.standing, ...failing });
  }

  async #rotateWhenDue(stored: StoredConfig): Promise<void> {
    const { needs } = this.#parts;
    const why = await rotateWhenDue({
      terms: stored,
      standing: stored.standing,
      now: needs.clock.now(),
      rotate: () => this.rotate(OWN_WORK),
      keep: (standing) =>
        needs.storage.write((tx) => {
          const current = tx.get(CONFIG, configCodec);
          if (current === null || current.clientSecret !== stored.clientSecret) return;
          tx.put(CONFIG, { ...current, standing }, configCodec);
        }),
    });
    if (why !== null) needs.log.error("the root secret could not be rotated", { why });
  }

  /** Asked for about once a minute. */
  async tick(signal: AbortSignal): Promise<void> {
    const { needs, config } = this.#parts;
    const stored = await config.stored();
    const rotated = stored?.rotated ?? null;
    showRootRotated(needs.metrics, rotated === null ? null : Number(BigInt(rotated) / SECOND));
    const rotation = await rotationOf(needs.storage);
    if (rotation?.state !== "pending" || stored === null) return;
    const age = needs.clock.now() - BigInt(rotation.created);
    if (age < PROVED_FROM) return;
    const proved = await this.#prove(stored.clientId, rotation.secret, signal);
    if (signal.aborted) return;
    const successes = proofsAfter(rotation.successes, proved);
    if (successes >= PROOFS || (proved && age >= IN_THE_END))
      return this.#activate(rotation, signal);
    if (age >= ABANDON_AFTER) return this.#giveUp(rotation);
    await this.#change(rotation, (tx) =>
      tx.put(ROTATION, { ...rotation, successes }, rotationCodec),
    );
  }

  async #prove(clientId: string, secret: string, signal: AbortSignal): Promise<boolean> {
    try {
      const connection = await this.#parts.connections.current();
      await connection.prove(clientId, secret, signal);
      return true;
    } catch (error) {
      if (error instanceof ProviderError || error instanceof Failure) return false;
      throw error;
    }
  }

  /** The new secret is in use from here on; the old one goes, now or by its record. */
  async #activate(pending: Pending, signal: AbortSignal): Promise<void> {
    const { needs, connections, cleanup } = this.#parts;
    const { replaces } = pending;
    let record = "";
    const done = await this.#change(pending, (tx) => {
      const stored = tx.get(CONFIG, configCodec);
      if (stored === null) return;
      const { secret: clientSecret, keyId, ends: passwordEnds } = pending;
      const rotated = String(tx.time);
      tx.put(CONFIG, { ...stored, clientSecret, keyId, passwordEnds, rotated }, configCodec);
      tx.delete(ROTATION);
      record =
        replaces === null
          ? ""
          : tx.begin("oldRootPassword", { ...replaces, tenant: pending.tenantId });
    });
    if (!done) return;
    connections.drop();
    countRotation(needs.metrics, "ok");
    if (replaces === null) {
      needs.log.warn(
        "it is not known which password of the application the rotation has replaced: it stays",
        { application: pending.appObjectId },
      );
      return;
    }
    const old = await retireOld({
      remove: () => cleanup.removeOld(replaces, pending.tenantId, signal),
      forget: () => needs.writeAhead.drop(record),
    });
    if (old.gone) return;
    const cause = describe(errorForCaller(old.why));
    needs.log.warn("the replaced password could not be removed; it will be tried again", { cause });
  }

  async #giveUp(pending: Pending): Promise<void> {
    const { needs } = this.#parts;
    await this.#change(pending, (tx) => {
      tx.put(ROTATION, { state: "failing" }, rotationCodec);
      tx.begin("rootPassword", recordOf(pending));
      const stored = tx.get(CONFIG, configCodec);
      if (stored === null || stored.standing.due === null) return;
      // It was to be rotated by itself, and is not: not only at the next time, which may be months away.
      const due = { ...stored.standing, due: Number(tx.time / SECOND) };
      const standing = failedStanding(stored, due, failures.neverWorked(), tx.time);
      tx.put(CONFIG, { ...stored, standing }, configCodec);
    });
    countRotation(needs.metrics, "failed");
    needs.log.error(
      "a new root secret has not worked for a day: it was given up, the old one stays",
    );
  }

  /** Only while it is still the same rotation. */
  #change(pending: Pending, fn: (tx: EngineTx) => void): Promise<boolean> {
    return this.#parts.needs.storage.write((tx) => {
      if (pendingIn(tx)?.keyId !== pending.keyId) return false;
      fn(tx);
      return true;
    });
  }
}
