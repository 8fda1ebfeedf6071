// The keeper of the seal: the object that the server holds. It initialises, unseals and seals the
// node, tells its state, and carries the key ceremonies. It decides which shares unseal, not who may
// ask: tokens, listeners and audit are in front of it.
//
// Everything that changes state takes a turn; the hooks are called inside one and must not ask for
// another. Attempts live in memory only and are gone when the node seals.

import type { KeyObject } from "node:crypto";
import { SECOND } from "@holdfast/shared/text/duration";
import { hex, wipe } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Nanos, Timer } from "@holdfast/shared/world";
import type { KeyStatus } from "../barrier/barrier.ts";
import type { Rotation } from "../barrier/keyring.ts";
import { alreadyInitialised } from "../storage/failures.ts";
import { readConfig, type SealConfig, schemeOf, type SealType } from "./config.ts";
import {
  findRootKey,
  openRootKey,
  putCustody,
  RECOVERY_ROOT_KEY_PATH,
  ROOT_KEY_PATH,
} from "./custody.ts";
import * as failures from "./failures.ts";
import type { Ground } from "./ceremonies/ceremony-deps.ts";
import * as initial from "./init.ts";
import type { KeeperOptions } from "./keeper-options.ts";
import { Rekeying } from "./ceremonies/rekeying.ts";
import { type Minting, RootGeneration } from "./ceremonies/root-generation.ts";
import { parseShare, protectText } from "./ceremonies/share.ts";
import { type Cluster, putCluster, type SealStatus, statusOf, storedCluster } from "./status.ts";
import { Turns } from "./turns.ts";
import * as attempt from "./unseal.ts";

/** How long right shares are kept while the house behind the barrier does not open. */
const KEPT_HOURS = 1;

export interface UnsealRequest {
  /** A share in hex or base64. */
  readonly key?: string | undefined;
  /** Drops the progress instead of taking a share; for callers on this machine. */
  readonly reset?: boolean | undefined;
  /** Whether the caller is on this machine, by every sign. Default false. */
  readonly local?: boolean | undefined;
  /** Whose shares: empty for those of the seal itself, "recovery" for those of an auto seal. */
  readonly seal?: string | undefined;
  /** Not supported; refused by name. */
  readonly migrate?: boolean | undefined;
}

export class SealKeeper {
  readonly generateRoot: RootGeneration;
  readonly rekey: Rekeying;
  readonly rekeyRecovery: Rekeying;
  readonly #options: KeeperOptions;
  readonly #log: Log;
  readonly #turns = new Turns();
  readonly #reading = new Turns();
  readonly #ground: Ground;
  readonly #generations = new Set<RootGeneration>();
  #attempt: attempt.State = attempt.IDLE;
  #cluster: Cluster | null = null; // there while the node is unsealed and its hooks have run
  #warning: string | null = null;
  #forgetting: Timer | null = null; // there while right shares are kept
  #openedAt: Nanos | null = null; // when opening was last tried
  #retired: Failure | null = null; // other data has taken the place of what it keeps

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#log = options.log.child("seal");
    const { store, barrier, clock, timers, random, tokens } = options;
    const config = () => this.#configWhileOpen();
    const reading = this.#reading;
    this.#ground = {
      store,
      barrier,
      clock,
      timers,
      random,
      log: this.#log,
      turns: this.#turns,
      reading,
      config,
    };
    this.generateRoot = this.generationOf({
      get length() {
        return tokens.length; // asked for when it is needed: the tokens may be built later
      },
      mint: (tx) => tokens.mintGenerated(tx),
    });
    // A root generation that collected shares of the key before would wait for shares in vain.
    const installed = () => this.#generations.forEach((generation) => generation.drop());
    const sealKey = options.autoSeal?.key ?? null;
    this.rekey = new Rekeying(this.#ground, { family: "unseal", sealKey, installed });
    this.rekeyRecovery = new Rekeying(this.#ground, { family: "recovery", sealKey, installed });
  }

  /** The same ceremony for another token, such as the operation token of a DR secondary. One attempt runs at a time,
   *  whatever it makes: nobody gives a share to another than was meant. */
  generationOf(minting: Minting): RootGeneration {
    const generation: RootGeneration = new RootGeneration(this.#ground, minting, () =>
      this.#generations.values().some((other) => other !== generation && other.running),
    );
    this.#generations.add(generation);
    return generation;
  }

  // --- state ---

  /** Whether another cluster writes what is shared. */
  get sharedElsewhere(): boolean {
    return this.#options.store.leavesShared;
  }

  get initialised(): boolean {
    return this.#options.store.initialised;
  }

  /** Also while the node opens or closes: nothing may be served then. */
  get sealed(): boolean {
    return this.#cluster === null;
  }

  /** Id of the cluster; empty while sealed. */
  get clusterId(): string {
    return this.#cluster?.id ?? "";
  }

  /** When the root key was made: with the cluster, or by the last rekey. */
  get keyedAt(): Instant {
    return this.#configWhileOpen().created;
  }

  status(): SealStatus {
    const { store, version, buildDate } = this.#options;
    return statusOf({
      config: this.initialised ? readConfig(store) : null,
      configuredType: this.#configuredType(),
      cluster: this.#cluster,
      attempt: attempt.progressOf(this.#attempt),
      version,
      buildDate,
      storageType: store.kind,
      warnings: this.#warning === null ? [] : [this.#warning],
    });
  }

  // --- life ---

  /** With an auto seal, unseals. A node that cannot stays sealed and logs why. */
  start(): Promise<void> {
    return this.#turns.run(async () => {
      if (this.initialised && this.sealed) await this.#orStaySealed(() => this.#unsealByItself());
    });
  }

  /** Unseals with the root key of a house whose place this one takes. */
  enter(rootKey: KeyObject): Promise<void> {
    return this.#turns.run(() =>
      this.#orStaySealed(async () => {
        await this.#unlock(rootKey);
        await this.#open();
      }),
    );
  }

  /** Runs while nothing is initialised, unsealed or sealed and no ceremony goes on. */
  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  /** In its turn: who waits to initialise it would be given shares of what is thrown away. */
  retire(refusal: Failure): void {
    this.#retired = refusal;
  }

  async init(options: initial.InitOptions = {}): Promise<initial.Initialised> {
    if (this.initialised) throw alreadyInitialised();
    const { clock, random, autoSeal } = this.#options;
    const plan = initial.checkInit(options, this.#configuredType());
    // Before the turn: it may take its time.
    const pgp = await this.#reading.run(() => {
      if (this.initialised) throw alreadyInitialised();
      return initial.readInitKeys(plan, clock.now());
    });
    return this.#turns.run(async () => {
      if (this.#retired !== null) throw this.#retired;
      if (this.initialised) throw alreadyInitialised();
      const material = await initial.makeMaterial(random, plan, pgp, autoSeal?.key ?? null);
      const token = await this.#create(plan, material);
      this.#log.info("initialised", { seal: this.#configuredType() });
      let rootToken: string | null = token;
      try {
        // As of the instant at which the key was tried, so that it cannot have expired since.
        if (token !== null && pgp.forToken !== null) {
          rootToken = await protectText(token, pgp.forToken, pgp.at);
        }
      } finally {
        // A house that does not open is told in the log: an error here would keep back the shares.
        if (autoSeal === undefined) await this.#options.barrier.seal();
        else await this.#orStaySealed(() => this.#open());
      }
      return initial.answerOf(material, rootToken);
    });
  }

  unseal(request: UnsealRequest): Promise<SealStatus> {
    return this.#turns.run(async () => {
      if (request.migrate === true) throw failures.migrateUnsupported();
      if (!this.initialised) throw failures.notInitialised();
      if (!this.sealed && request.reset === true) throw failures.resetWhileUnsealed();
      if (!this.sealed) return this.status();
      if (request.reset === true && request.local !== true) throw failures.resetFromAfar();
      if (request.reset === true) this.#forget();
      else await this.#take(request);
      return this.status();
    });
  }

  /** Forgets every key. Whatever the hook says, they go. */
  seal(): Promise<void> {
    return this.#turns.run(async () => {
      this.#dropAttempts();
      if (this.#cluster === null) return;
      this.#cluster = null;
      try {
        await this.#options.hooks.closing();
      } catch (error) {
        this.#log.error("could not stop in good order", { cause: describe(error) });
      }
      await this.#options.barrier.seal();
      this.#log.info("sealed");
    });
  }

  /** Ends every attempt: for a node that is no longer the active one. */
  dropAttempts(): Promise<void> {
    return this.#turns.run(() => this.#dropAttempts());
  }

  // --- rotation of data keys ---

  rotate(): Promise<number> {
    return this.#turns.run(() => {
      this.#configWhileOpen();
      return this.#options.barrier.rotate();
    });
  }

  get keyStatus(): KeyStatus {
    this.#configWhileOpen();
    return this.#options.barrier.keyStatus;
  }

  get rotation(): Rotation {
    this.#configWhileOpen();
    return this.#options.barrier.rotation;
  }

  configureRotation(rotation: Rotation): Promise<void> {
    return this.#turns.run(() => {
      this.#configWhileOpen();
      return this.#options.barrier.configureRotation(rotation);
    });
  }

  // --- performing ---

  /** The first transaction: all of it or nothing. Gives the text of the first token, if one is made. */
  #create(plan: initial.InitPlan, material: initial.Material): Promise<string | null> {
    const { barrier, random, tokens, hooks, clusterName } = this.#options;
    const { custody, treeKey } = material;
    const name = clusterName ?? `holdfast-${hex(random.bytes(4))}`;
    const cluster: Cluster = { name, id: random.uuid() };
    const identity = { lineage: random.bytes(16), cluster: cluster.id };
    return barrier.create({ rootKey: custody.rootKey, treeKey }, identity, (tx, raw) => {
      putCustody(tx, raw, random, custody);
      putCluster(tx, cluster);
      hooks.created?.(tx);
      if (plan.door === "closed") return tokens.mintFirst(tx);
      tokens.leaveDoorOpen(tx);
      return null;
    });
  }

  async #unsealByItself(): Promise<void> {
    const { store, autoSeal } = this.#options;
    const config = readConfig(store);
    if (config.type === "shamir") {
      const message = "the auto seal has no use here: this node was initialised with shares";
      if (autoSeal !== undefined) this.#log.warn(message);
      return;
    }
    if (autoSeal === undefined) throw failures.autoSealMissing(config.type);
    const rootKey = openRootKey(store, ROOT_KEY_PATH, autoSeal.key);
    if (rootKey === null) throw failures.autoSealWrongKey(config.type);
    await this.#unlock(rootKey);
    await this.#open();
  }

  /** One share; with the last of them, the node. Without a share, another try with what is there. */
  async #take(request: UnsealRequest): Promise<void> {
    const { store, random, timers } = this.#options;
    const config = readConfig(store);
    const { key = "", seal = "", local = false } = request;
    if (key === "" && (await this.#again(config, local))) return;
    const path = rowFor(config, seal);
    if (key === "") throw failures.keyMissing();
    const share = parseShare(key);
    const scheme = schemeOf(config);
    const required = scheme.threshold;
    const taken = this.#apply({ do: "give", share, required, freshNonce: random.uuid() });
    if (taken.state.at === "waiting") await this.#again(config, local);
    if (taken.enough === null) return;
    let found: Awaited<ReturnType<typeof findRootKey>>;
    try {
      found = await findRootKey(store, path, scheme, taken.enough, timers);
    } catch (error) {
      this.#forget(); // the row is missing: no share will help
      throw error;
    }
    if (found === null) throw failures.invalidKey(this.#apply({ do: "fail" }).kept);
    await this.#enterOrWait(found.rootKey, found.shares, local);
  }

  /** Tries with right shares that are kept, or with the auto seal's key. False when there is neither. */
  async #again(config: SealConfig, local: boolean): Promise<boolean> {
    const { store, clock, timers, autoSeal } = this.#options;
    const state = this.#attempt;
    if (state.at !== "waiting" && (config.type === "shamir" || autoSeal === undefined))
      return false;
    // Anybody may ask for it, and it is work.
    if (this.#openedAt !== null && clock.elapsed() - this.#openedAt < SECOND) {
      throw failures.retriedTooSoon();
    }
    if (state.at !== "waiting") {
      try {
        await this.#unsealByItself();
      } catch (error) {
        throw refusalOf(error, local, []);
      }
      return true;
    }
    const { shares } = state;
    const kept = { required: shares.length, shares };
    const path = config.type === "shamir" ? ROOT_KEY_PATH : RECOVERY_ROOT_KEY_PATH;
    const found = await findRootKey(store, path, schemeOf(config), kept, timers);
    if (found === null) {
      this.#forget(); // the storage was changed under it
      throw failures.invalidKey(false);
    }
    await this.#enterOrWait(found.rootKey, shares, local);
    return true;
  }

  /** Right shares stay when what is behind the barrier does not open, and for a while only. */
  async #enterOrWait(rootKey: KeyObject, shares: readonly Buffer[], local: boolean): Promise<void> {
    const { timers } = this.#options;
    try {
      await this.#unlock(rootKey);
    } catch (error) {
      this.#forget(); // the stored keys are damaged: no share will help
      throw error;
    }
    try {
      await this.#open();
    } catch (error) {
      this.#apply({ do: "wait", shares });
      this.#forgetting ??= timers.after(BigInt(KEPT_HOURS) * 3600n * SECOND, () => {
        void this.#turns.run(() => this.#forget());
      });
      this.#log.error("could not unseal with right shares", { cause: describe(error) });
      throw refusalOf(error, local, [failures.sharesKept(KEPT_HOURS)]);
    }
    this.#forget();
  }

  /** A store that was restored without its keys is completed first. */
  async #unlock(rootKey: KeyObject): Promise<void> {
    const { store, barrier } = this.#options;
    if (store.unhashed !== null) await barrier.complete(rootKey);
    await store.readSums();
    if (!barrier.unseal(rootKey)) throw failures.keyringMismatch();
  }

  /** Drops the shares given so far. */
  #forget(): void {
    this.#forgetting?.cancel();
    this.#forgetting = null;
    this.#apply({ do: "drop" });
  }

  /** The barrier is open: now the house behind it, or neither. */
  async #open(): Promise<void> {
    const { barrier, hooks, clock } = this.#options;
    this.#openedAt = clock.elapsed();
    try {
      const cluster = storedCluster(barrier.view("core/"));
      await hooks.opened();
      this.#cluster = cluster;
    } catch (error) {
      await barrier.seal();
      throw error;
    }
    this.#warning = null;
    this.#log.info("unsealed");
  }

  /** For what no caller waits for: the cause goes to the log, and a hint of it into the status. */
  async #orStaySealed(open: () => Promise<void>): Promise<void> {
    try {
      await open();
    } catch (error) {
      this.#warning = "this node could not unseal by itself; its log says why";
      this.#log.error("could not unseal", { cause: describe(error) });
    }
  }

  #dropAttempts(): void {
    this.#forget();
    for (const generation of this.#generations) generation.drop();
    this.rekey.drop();
    this.rekeyRecovery.drop();
  }

  #apply(event: attempt.Event): attempt.Step {
    const taken = attempt.step(this.#attempt, event);
    this.#attempt = taken.state;
    wipe(...taken.dropped);
    return taken;
  }

  #configuredType(): SealType {
    return this.#options.autoSeal?.type ?? "shamir";
  }

  #configWhileOpen(): SealConfig {
    if (!this.initialised) throw failures.notInitialised();
    if (this.sealed) throw failures.nodeSealed();
    return readConfig(this.#options.store);
  }
}

/** Where the root key lies for the shares that an operator is about to give. */
function rowFor(config: SealConfig, seal: string): string {
  if (seal !== "" && seal !== "recovery") throw failures.sealUnknown();
  if (config.type === "shamir") {
    if (seal === "recovery") throw failures.noRecoveryShares();
    return ROOT_KEY_PATH;
  }
  if (seal === "") throw failures.noUnsealShares(config.type);
  if (!config.recovery.canUnseal) throw failures.recoveryCannotUnseal();
  return RECOVERY_ROOT_KEY_PATH;
}

/** Why the house did not open. The cause behind it may name places of this machine: callers on it are
 *  told, everybody else finds it in the log. */
function refusalOf(error: unknown, local: boolean, more: readonly string[]): unknown {
  if (!(error instanceof Failure)) return error;
  const { kind, code, message, cause } = error;
  const reasons = local && cause instanceof Failure ? cause.texts : [];
  const texts = [...error.texts, ...reasons, ...more];
  return new Failure(kind, code, message, { cause: error, texts });
}
