// Gives the mount's own application another secret that nobody but us knows: made,
// kept as pending while the old one stays in use, proved, put in its place, and only then is the old one
// removed. A crash anywhere leaves one that works, and a record of whatever must go.

import { DAY, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import { ProviderError, toldToCaller } from "../../cloud/provider-error.ts";
import { PROOFS, proofsAfter } from "../../cloud/proof.ts";
import { failedStanding, rotateWhenDue, standingAt } from "../../cloud/rotation-terms.ts";
import { CONFIG, configCodec } from "./config.ts";
import type { Connection } from "../provider/connection.ts";
import type { CloudB } from "../engine.ts";
import * as failures from "../failures.ts";
import type { NewPassword } from "../provider/graph.ts";
import { addNamedPassword, type Doubt, type NamedPassword } from "../roles/named-password.ts";
import type { Patience } from "../provider/patience.ts";
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
const GIVEN_UP_AFTER = DAY;
const BUDGET = 80n * SECOND;

export class RootRotation {
  readonly #engine: CloudB;

  constructor(engine: CloudB) {
    this.#engine = engine;
  }

  /** What an operator is told of it. */
  async state(): Promise<"none" | "pending" | "failing"> {
    return (await rotationOf(this.#engine.given.storage))?.state ?? "none";
  }

  rotate(): Promise<void> {
    return this.#engine.locks.run("rotate-root", () => this.#rotate());
  }

  async #rotate(): Promise<void> {
    const { given, config, connections } = this.#engine;
    const { storage, clock, random, settings } = given;
    const stored = await config.rotatable();
    const before = await rotationOf(storage);
    const now = clock.now();
    if (before?.state === "pending" && now - BigInt(before.created) < IN_THE_END) {
      throw failures.rotationPending();
    }
    const connection = await connections.current();
    const patience = this.#engine.patience(BUDGET);
    try {
      const application = await patience.step((signal) => ownApplication(connection, signal));
      const replaces = await replacedBy(connection, application, {
        keyId: stored.keyId,
        secret: stored.clientSecret,
        patience,
      });
      const displayName = `${namePrefix(settings)}${random.uuid()}`;
      const { tenantId } = connection.effective;
      const { id: appObjectId } = application;
      const note = recordOf({ appObjectId, displayName, tenantId });
      const record = await given.writeAhead.begin("rootPassword", note);
      const ends = showTime(now + BigInt(stored.passwordTtl) * SECOND);
      const named = { id: application.id, displayName, ends };
      const doubt: Doubt = { uncertain: false };
      const made = await this.#add(connection, named, { record, doubt, patience });
      const pending: Pending = {
        state: "pending",
        secret: made.text,
        keyId: made.keyId,
        displayName,
        appObjectId,
        tenantId,
        ends: String(made.ends),
        created: String(now),
        successes: 0,
        replaces,
      };
      await storage.write((tx) => {
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
      });
    } catch (error) {
      throw toldToCaller(error);
    } finally {
      patience.done();
    }
  }

  async #add(
    { graph }: Connection,
    named: NamedPassword,
    work: { readonly record: string; readonly doubt: Doubt; readonly patience: Patience },
  ): Promise<NewPassword> {
    const { record, doubt, patience } = work;
    try {
      return await addNamedPassword(graph, patience, named, doubt);
    } catch (error) {
      if (!doubt.uncertain) await this.#engine.given.writeAhead.drop(record);
      throw error;
    }
  }

  /** By itself, where the configuration says so and it is time. */
  async rotateWhenDue(): Promise<void> {
    const { given, config } = this.#engine;
    const stored = await config.stored();
    if (stored === null) return;
    const why = await rotateWhenDue({
      terms: stored,
      standing: stored.standing,
      now: given.clock.now(),
      rotate: () => this.rotate(),
      keep: (standing) =>
        given.storage.write((tx) => {
          const current = tx.get(CONFIG, configCodec);
          if (current === null || current.clientSecret !== stored.clientSecret) return;
          tx.put(CONFIG, { ...current, standing }, configCodec);
        }),
    });
    if (why !== null) given.log.error("the root secret could not be rotated", { why });
  }

  /** Asked for about once a minute. */
  async tick(signal: AbortSignal): Promise<void> {
    const { given, config } = this.#engine;
    const stored = await config.stored();
    const rotated = stored?.rotated ?? null;
    showRootRotated(given.metrics, rotated === null ? null : Number(BigInt(rotated) / SECOND));
    const rotation = await rotationOf(given.storage);
    if (rotation?.state !== "pending" || stored === null) return;
    const age = given.clock.now() - BigInt(rotation.created);
    if (age < PROVED_FROM) return;
    const proved = await this.#prove(stored.clientId, rotation.secret, signal);
    if (signal.aborted) return;
    const successes = proofsAfter(rotation.successes, proved);
    if (successes >= PROOFS || (proved && age >= IN_THE_END))
      return this.#activate(rotation, signal);
    if (age >= GIVEN_UP_AFTER) return this.#giveUp(rotation);
    await this.#change(rotation, (tx) =>
      tx.put(ROTATION, { ...rotation, successes }, rotationCodec),
    );
  }

  async #prove(clientId: string, secret: string, signal: AbortSignal): Promise<boolean> {
    try {
      const connection = await this.#engine.connections.current();
      await connection.prove(clientId, secret, signal);
      return true;
    } catch (error) {
      if (error instanceof ProviderError || error instanceof Failure) return false;
      throw error;
    }
  }

  /** The new secret is in use from here on; the old one goes, now or by its record. */
  async #activate(pending: Pending, signal: AbortSignal): Promise<void> {
    const { given, connections } = this.#engine;
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
    countRotation(given.metrics, "ok");
    if (replaces === null) {
      given.log.warn(
        "it is not known which password of the application the rotation has replaced: it stays",
        { application: pending.appObjectId },
      );
      return;
    }
    try {
      await this.#engine.rotationCleanup.removeOld(replaces, pending.tenantId, signal);
      await given.writeAhead.drop(record);
    } catch (error) {
      const cause = describe(toldToCaller(error));
      given.log.warn("the replaced password could not be removed; it will be tried again", {
        cause,
      });
    }
  }

  async #giveUp(pending: Pending): Promise<void> {
    const { given } = this.#engine;
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
    countRotation(given.metrics, "failed");
    given.log.error(
      "a new root secret has not worked for a day: it was given up, the old one stays",
    );
  }

  /** Only while it is still the same rotation. */
  #change(
    pending: Pending,
    fn: Parameters<CloudB["given"]["storage"]["write"]>[0],
  ): Promise<boolean> {
    return this.#engine.given.storage.write((tx) => {
      if (pendingIn(tx)?.keyId !== pending.keyId) return false;
      fn(tx);
      return true;
    });
  }
}
