// Performs the ceremony of rekey.ts for one family of shares: unseal shares of a Shamir seal, or
// recovery shares of an auto seal. A new key and a new root key are stored in one transaction with
// the keyring and the key of the trees, which the root key seals.

import type { KeyObject } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import { jsonCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { Secret } from "@holdfast/shared/secret";
import { freshKey } from "../../crypto/aead.ts";
import { fingerprint } from "../../crypto/pgp.ts";
import { type Cancelling, isForgotten, isStalled } from "./attempt.ts";
import { checkShares, type SealConfig, schemeOf, SECRET_FIELDS } from "../config.ts";
import { assertReplaceable, type Custody, putCustody, recognises } from "../custody.ts";
import * as failures from "../failures.ts";
import type { ShareInput, Ground } from "./ceremony-deps.ts";
import type {
  RekeyAnswer,
  RekeyBackup,
  RekeyProgress,
  RekeyResult,
  VerificationProgress,
} from "./rekey-answers.ts";
import * as answers from "./rekey-answers.ts";
import * as machine from "./rekey.ts";
import { findKey, parseShare, readPublicKeys, shareOutFreshKey } from "./share.ts";

export interface RekeyOptions {
  readonly secretShares?: number | undefined;
  readonly secretThreshold?: number | undefined;
  readonly pgpKeys?: readonly string[] | undefined;
  /** Keep the PGP-encrypted shares in storage until deleted. Default false. */
  readonly backup?: boolean | undefined;
  /** Change nothing until the new threshold of new shares was entered. Default false. */
  readonly requireVerification?: boolean | undefined;
}

const backupCodec = jsonCodec<answers.StoredBackup>();

export interface RekeyingOptions {
  readonly family: "unseal" | "recovery";
  /** The key of the auto seal, if one is configured. */
  readonly sealKey: KeyObject | null;
  /** Other shares are valid from now on. */
  readonly installed: () => void;
}

export class Rekeying {
  readonly #ground: Ground;
  readonly #options: RekeyingOptions;
  readonly #backupName: string;
  #state: machine.State = machine.NONE;

  constructor(ground: Ground, options: RekeyingOptions) {
    this.#ground = ground;
    this.#options = options;
    this.#backupName = options.family === "unseal" ? "rekey-backup" : "rekey-recovery-backup";
  }

  progress(): RekeyProgress {
    this.#forget();
    return answers.progressOf(this.#state, schemeOf(this.#config()).threshold);
  }

  async start(options: RekeyOptions = {}): Promise<RekeyProgress> {
    this.#checkOwn();
    assertReplaceable(this.#ground, this.#config(), this.#options.sealKey);
    const { secretShares: shares, secretThreshold: threshold, pgpKeys: inputs } = options;
    const wanted = checkShares({ shares, threshold, pgpKeys: inputs }, SECRET_FIELDS);
    const backup = options.backup ?? false;
    if (backup && wanted.pgpKeys.length === 0) throw failures.backupNeedsPgp();
    // Before the turn: it may take its time.
    const pgpKeys = await this.#ground.reading.run(() => {
      this.#forget();
      if (this.#state.at !== "none") throw failures.ceremonyRunning();
      return readPublicKeys(wanted.pgpKeys, this.#ground.clock.now());
    });
    const scheme = {
      shares: wanted.shares,
      threshold: wanted.threshold,
      pgpFingerprints: pgpKeys.map(fingerprint),
    };
    const plan = { scheme, pgpKeys, backup, verify: options.requireVerification ?? false };
    return this.#ground.turns.run(() => {
      const { threshold: required } = schemeOf(this.#config());
      const { random, clock } = this.#ground;
      const nonces = { nonce: random.uuid(), cancelNonce: random.uuid() };
      this.#apply({ do: "start", nonces, now: clock.elapsed(), plan, required });
      return { ...this.progress(), cancelNonce: new Secret(nonces.cancelNonce) };
    });
  }

  /** One share of the present key; with the last of them, the new shares. */
  update(input: ShareInput): Promise<RekeyAnswer> {
    return this.#ground.turns.run(async () => {
      const config = this.#config();
      this.#forget();
      const share = parseShare(input.key);
      const now = this.#ground.clock.elapsed();
      const { enough } = this.#apply({ do: "give", nonce: input.nonce, share, now });
      if (!enough) return { progress: this.progress(), result: null };
      await this.#prove(({ collection }) => recognises(this.#ground, config, collection));
      // From here on no answer may depend on storage: it would keep the new shares back.
      return { progress: null, result: await this.#orReject(() => this.#makeShares(config)) };
    });
  }

  cancel(cancelling: Cancelling): Promise<void> {
    return this.#ground.turns.run(() => {
      this.#config();
      this.#apply({ do: "cancel", ...cancelling });
    });
  }

  // --- verification ---

  verification(): VerificationProgress {
    this.#config();
    this.#forget();
    return answers.verificationOf(this.#verifying(), false);
  }

  /** One share of the new key; with the last of them, the new key is stored. */
  verify(input: ShareInput): Promise<VerificationProgress> {
    return this.#ground.turns.run(async () => {
      const config = this.#config();
      this.#forget();
      const share = parseShare(input.key);
      const now = this.#ground.clock.elapsed();
      const { enough } = this.#apply({ do: "give-new", nonce: input.nonce, share, now });
      if (!enough) return this.verification();
      const state = this.#verifying();
      const isNew = (key: KeyObject) => key.equals(state.fresh.key);
      await this.#prove(async ({ plan, collection }) => {
        const { timers } = this.#ground;
        return (await findKey(plan.scheme, collection, isNew, timers)) !== null;
      });
      await this.#orReject(() => this.#install(config, state, state.fresh));
      this.#apply({ do: "end" });
      return answers.verificationOf(state, true);
    });
  }

  /** Drops the new shares given so far and gives a new nonce; the rekey itself stays. */
  restartVerification(cancelling: Cancelling): Promise<VerificationProgress> {
    return this.#ground.turns.run(() => {
      this.#config();
      const freshNonce = this.#ground.random.uuid();
      this.#apply({ do: "restart-verification", freshNonce, ...cancelling });
      return this.verification();
    });
  }

  // --- backup ---

  /** The encrypted shares of the last rekey, if it kept them. */
  backup(): RekeyBackup | null {
    this.#config();
    const stored = this.#ground.barrier.view("core/").get(this.#backupName, backupCodec);
    return stored === null ? null : answers.showBackup(stored);
  }

  deleteBackup(): Promise<void> {
    return this.#ground.turns.run(async () => {
      this.#config();
      await this.#ground.barrier.ceremony((tx) => tx.delete(this.#backupName));
    });
  }

  /** The node seals. */
  drop(): void {
    this.#apply({ do: "end" });
  }

  // --- performing ---

  async #makeShares(config: SealConfig): Promise<RekeyResult> {
    const { clock, random, log } = this.#ground;
    const state = this.#state;
    invariant(state.at === "collecting", "shares of the present key complete a collecting rekey");
    const { plan } = state;
    const made = await shareOutFreshKey(random, plan.scheme, plan.pgpKeys, clock.now());
    const messages = plan.backup ? made.messages : [];
    const fresh = { key: made.key, rootKey: freshKey(random), messages };
    if (plan.verify) {
      this.#apply({ do: "hand-out", freshNonce: random.uuid(), fresh });
      return answers.resultOf(this.#verifying(), made.printed);
    }
    let certain = true;
    try {
      await this.#install(config, state, fresh);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "storage-failed") throw error;
      // Whether the commit reached the disk is unknown. If it did, the old shares are dead, and these
      // would be lost with this answer: so they go out, with the truth about them.
      certain = false;
      log.error("rekey: the storage failed", { cause: describe(error) });
    }
    this.#apply({ do: "end" });
    return answers.resultOf(state, made.printed, certain);
  }

  async #install(
    config: SealConfig,
    state: machine.Collecting | machine.Verifying,
    fresh: machine.Fresh,
  ): Promise<void> {
    const { barrier, random, log } = this.#ground;
    this.#checkOwn(); // it has become a secondary since the start
    const custody = this.#custody(config, state, fresh);
    await barrier.ceremony((tx, raw) => {
      barrier.replaceRootKey(raw, fresh.rootKey);
      putCustody(tx, raw, random, custody);
      // An older backup holds shares that open nothing any more.
      if (!state.plan.backup) tx.delete(this.#backupName);
      else tx.put(this.#backupName, answers.backupOf(state, fresh.messages), backupCodec);
    });
    log.info("the key shares were replaced", { family: this.#options.family });
    this.#options.installed();
  }

  /** All clusters of a set have the same root key: who changed it alone could not read what the others send. */
  #checkOwn(): void {
    const { store } = this.#ground;
    if (store.following || store.leavesShared) throw failures.rekeyOnSecondary();
  }

  #custody(config: SealConfig, state: { nonce: string; plan: machine.Plan }, fresh: machine.Fresh) {
    const { key, rootKey } = fresh;
    const { scheme } = state.plan;
    const stamp = { nonce: state.nonce, created: this.#ground.clock.now() };
    if (config.type === "shamir") {
      const { type } = config;
      return { config: { type, scheme, ...stamp }, rootKey, unsealKey: key } satisfies Custody;
    }
    const { sealKey } = this.#options;
    invariant(sealKey !== null, "a rekey of recovery shares starts with the auto seal's key");
    const { type, recovery } = config;
    const next = { ...scheme, canUnseal: recovery.canUnseal };
    const after = { type, recovery: next, ...stamp };
    return { config: after, rootKey, sealKey, recoveryKey: key } satisfies Custody;
  }

  #config(): SealConfig {
    const config = this.#ground.config();
    const { family } = this.#options;
    if (family === "unseal" && config.type !== "shamir") {
      throw failures.rekeyNeedsUnsealShares(config.type);
    }
    if (family === "recovery" && config.type === "shamir") {
      throw failures.rekeyNeedsRecoveryShares();
    }
    return config;
  }

  #verifying(): machine.Verifying {
    if (this.#state.at !== "verifying") throw failures.ceremonyNotRunning();
    return this.#state;
  }

  /** Shares that do not fit are kept for the next one, or dropped after three sets. */
  async #prove(
    right: (state: machine.Collecting | machine.Verifying) => Promise<boolean>,
  ): Promise<void> {
    const state = this.#state;
    invariant(state.at !== "none", "only a running rekey has shares");
    if (await this.#orReject(() => right(state))) return;
    this.#apply({ do: "fail" });
    const after = this.#state;
    throw failures.invalidKey(after.at !== "none" && after.collection.shares.length > 0);
  }

  /** An attempt that nobody gave a share to in its time is over. */
  #forget(): void {
    const state = this.#state;
    if (state.at === "none") return;
    const now = this.#ground.clock.elapsed();
    const over = state.at === "collecting" ? isForgotten(state, now) : isStalled(state, now);
    if (!over) return;
    this.#apply({ do: "end" });
    this.#ground.log.info("a rekey ended: no share was given in its time");
  }

  /** Whatever goes wrong with a right set of shares, they are given up and collected again. */
  async #orReject<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#apply({ do: "reject", now: this.#ground.clock.elapsed() });
      throw error;
    }
  }

  #apply(event: machine.Event): machine.Step {
    const taken = machine.step(this.#state, event);
    this.#state = taken.state;
    wipe(...taken.dropped);
    if (taken.refusal !== null) throw taken.refusal;
    return taken;
  }
}
