// One mount of the table and the engine behind it: opened when the mount comes into the table, opened
// anew when its options or its place in storage change, closed before it goes.

import { bytesCodec } from "@holdfast/shared/codec";
import { describe, Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import { MINUTE, SECOND, showSeconds } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import { unlessDamaged } from "../base/damage.ts";
import { mountScope } from "../barrier/scope.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { MountRef, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { EngineNeeds, EngineType, MountFacts } from "@holdfast/plugin-sdk/engine";
import type { EngineServices } from "@holdfast/plugin-sdk/engine-services";
import type { EngineRoutes, Routes } from "./engine-routes.ts";
import * as failures from "./failures.ts";
import { defaultTtlOf, lockoutOf, maxTtlOf, type ServerTtls } from "./table/mount-config.ts";
import { segmentsOf } from "./table/mount-path.ts";
import {
  dataOf,
  type MountKind,
  type MountRecord,
  seenCodec,
  seenKey,
} from "./table/mount-record.ts";
import { type Life, MountStorage } from "./mount-storage.ts";
import { passedHeaders } from "./passed-headers.ts";
import { WriteAheadLog } from "./undo/write-ahead.ts";
import { writeAheadOf } from "./undo/write-ahead-keys.ts";

/** A mount whose engine is there, as others see it. Also one that is being disabled. */
export interface OpenMount {
  readonly ref: MountRef;
  readonly type: EngineType<unknown>;
  readonly record: MountRecord;
  /** As tuned now; the server's where the mount says nothing. */
  defaultTtl(): Nanos;
  maxTtl(): Nanos;
  /** Whether its engine keeps something under that key, as the transaction sees it. */
  holds(tx: Tx, key: string): boolean;
}

/** What the pipeline is told. */
export interface FoundMount {
  readonly ref: MountRef;
  readonly taken: number;
  /** Resolves when what is being opened is there, or is not. Null: nobody waits for it. */
  readonly opening: Promise<void> | null;
  readonly endpoints: Routes;
}

export interface MountWorld {
  readonly shared: View;
  readonly local: View;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly ttls: ServerTtls;
  readonly routes: EngineRoutes;
  /** Whether this node is the active one. */
  readonly leads: () => boolean;
  /** When this cluster took the place of another that did the work of engines; null: never. */
  readonly leadsSince: () => Instant | null;
  readonly services: (mount: ServicesFor) => EngineServices;
}

/** What it takes to know which services a mount's engine has. */
export interface ServicesFor {
  readonly facts: MountFacts;
  readonly type: string;
  readonly kind: MountKind;
}

/** An engine that has its mount yet to get. */
interface NewEngine {
  readonly type: EngineType<unknown>;
  readonly value: unknown;
  readonly life: Life;
}

/** Keys that somebody else has changed while an engine was being opened: with more of them it is opened
 *  anew. */
const MAX_MISSED = 10_000;

/** Between tries to open an engine: a second, then twice as long each time. */
const LONGEST_PAUSE: Nanos = 5n * MINUTE;
const MAX_DOUBLINGS = 10;

/** The next try to open an engine that is not there. */
interface NextTry {
  readonly timer: Timer;
  readonly due: Nanos;
}

export class Mount {
  readonly #world: MountWorld;
  #type: EngineType<unknown> | null;
  /** Where its data lies below local/, for those that every namespace has. */
  readonly #folder: string | null;
  #record: MountRecord;
  #namespace: NamespaceRef;
  #life: Life = { ended: true };
  #engine: { readonly value: unknown } | null = null;
  /** Keys that somebody else has changed since its opening began; null: it is not being opened. */
  #missed: Set<string> | null = null;
  #writeAhead: WriteAheadLog;
  /** Openings and closings, one after the other. */
  #last: Promise<void> = Promise.resolve();
  #underWay = 0;
  /** The version of its plugin that is about to take the place of another. */
  #replacing: string | null = null;
  #ref: MountRef;
  /** Undefined: to be made for the next request. */
  #found: FoundMount | null | undefined = undefined;
  #open: OpenMount | null = null;
  /** Why its engine is not there. */
  #trouble: string | null = "it is being opened";
  /** What whoever asks for it is told. */
  #troubleTexts: readonly string[] | null = null;
  #tries = 0;
  #nextTry: NextTry | null = null;
  /** What is under way is such a try: nobody waits for it. */
  #isTrying = false;

  constructor(
    world: MountWorld,
    type: EngineType<unknown> | null,
    record: MountRecord,
    namespace: NamespaceRef,
    folder: string | null = null,
  ) {
    this.#world = world;
    this.#folder = folder;
    this.#type = type;
    this.#record = record;
    this.#namespace = namespace;
    this.#writeAhead = this.#newWriteAhead();
    if (type === null) this.#trouble = `there is no type ${record.type} here`;
    this.#ref = this.#newRef();
  }

  get type(): EngineType<unknown> | null {
    return this.#type;
  }

  get record(): MountRecord {
    return this.#record;
  }

  get namespace(): NamespaceRef {
    return this.#namespace;
  }

  /** Also of one that is opened, and answers nothing though it is. */
  get trouble(): string | null {
    if (this.#trouble !== null || this.#engine === null) {
      return this.#trouble === null ? null : `${this.#trouble}${this.#nextTryInWords()}`;
    }
    return this.#type?.trouble?.(this.#engine.value) ?? null;
  }

  /** The same of one that is not opened, without what is done about it. */
  get cause(): string | null {
    return this.#trouble;
  }

  /** Nobody need do anything for it to be opened, if what kept it from that has passed. */
  get isTriedAgain(): boolean {
    return this.#nextTry !== null || this.#isTrying;
  }

  get troubleTexts(): readonly string[] | null {
    return this.#troubleTexts;
  }

  get writeAhead(): WriteAheadLog {
    return this.#writeAhead;
  }

  /** Null while its engine is not there. */
  get opened(): OpenMount | null {
    return this.#open;
  }

  /** Null where no request reaches it. */
  get found(): FoundMount | null {
    if (this.#record.state.kind === "moving") return null;
    if (this.#found === undefined) this.#found = this.#newFound();
    return this.#found;
  }

  /** Another cluster writes what it keeps, and does what is due by itself: rotations, clearing away. */
  get isOthers(): boolean {
    return this.#folder === null && !this.#record.local && this.#world.shared.writtenElsewhere;
  }

  /** Begins to open the engine. */
  open(): Promise<void> {
    this.#beginAnew();
    return this.#next(() => this.#opening());
  }

  /** Another engine of the type takes the place of the one that is there, which goes on until then. Throws where that cannot be opened: nothing
   *  has changed then. */
  reload(): Promise<void> {
    return this.replace(this.#type, null, async () => {});
  }

  /** The same with another version of its plugin. `commit` has its record say so, just before. */
  async replace(
    type: EngineType<unknown> | null,
    version: string | null,
    commit: () => Promise<void>,
  ): Promise<void> {
    let trouble: unknown = null;
    this.#beginAnew();
    await this.#next(async () => {
      try {
        await this.#replacement(type, version, commit);
      } catch (error) {
        trouble = error;
      }
    });
    if (trouble !== null) throw trouble;
  }

  /** For types whose engines need nothing to be waited for. */
  openAtOnce(): void {
    const { type } = this;
    invariant(type !== null && this.#engine === null, "it is opened once");
    const life = { ended: false };
    const value = type.open(this.#needs(life));
    invariant(!(value instanceof Promise), "an engine of every namespace opens at once");
    this.#life = life;
    this.#engine = { value };
    this.#trouble = null;
    this.#show();
  }

  /** Resolves when what has begun is done. */
  settled(): Promise<void> {
    return this.#last;
  }

  /** The engine stops what it has begun; nothing of it reaches storage any more. */
  close(): Promise<void> {
    this.#beginAnew();
    return this.#next(async () => {
      this.#beginAnew(); // what was under way may have left one
      await this.#closing();
    });
  }

  /** Its record has changed. `type`: what it is of by now. */
  follow(
    record: MountRecord,
    namespace: NamespaceRef,
    type: EngineType<unknown> | null = this.#type,
  ): void {
    const before = this.#record;
    const replaced = before.plugin?.version !== record.plugin?.version;
    const moved = before.namespaceId !== record.namespaceId;
    const retuned = JSON.stringify(before.options) !== JSON.stringify(record.options);
    this.#record = record;
    this.#namespace = namespace;
    if (moved) this.#writeAhead = this.#newWriteAhead();
    if (replaced && record.plugin?.version === this.#replacing) return this.#show();
    this.#type = type;
    if (!moved && !retuned && !replaced) return this.#show();
    this.#reopen();
  }

  /** Somebody else has changed these of its keys: what its engine has in memory of them is old. */
  invalidate(keys: readonly string[]): void {
    if (this.type?.invalidate === undefined) return;
    const missed = this.#missed;
    if (missed !== null && missed.size <= MAX_MISSED) for (const key of keys) missed.add(key);
    const engine = this.#engine;
    if (engine === null) return;
    try {
      this.type.invalidate(engine.value, keys);
    } catch (error) {
      this.#tellTrouble("an engine did not take in what was changed", error);
      this.#reopen(); // it begins with what is stored
    }
  }

  /** The node is the active one from here on: its engine begins with work of its own. */
  lead(): void {
    const engine = this.#engine;
    if (engine === null) return; // it is told when it is open
    void this.#remember();
    if (this.isOthers) return;
    try {
      this.type?.lead?.(engine.value, { tookOverAt: this.#world.leadsSince() });
    } catch (error) {
      this.#tellTrouble("an engine did not begin its own work", error);
    }
  }

  async rest(): Promise<void> {
    const engine = this.#engine;
    if (engine === null) return;
    try {
      await this.type?.rest?.(engine.value);
    } catch (error) {
      this.#tellTrouble("an engine did not end its own work well", error);
    }
  }

  // --- inside ---

  #tellTrouble(what: string, error: unknown): void {
    const cause = error instanceof Failure ? describe(error) : "unexpected error";
    this.#world.log.error(what, { path: this.#record.path, cause });
  }

  #reopen(): void {
    void this.close();
    void this.open(); // after that, and whoever waits for `settled` waits for both
  }

  /** What it read at its beginning may be old by its end. */
  #catchUp(missed: ReadonlySet<string>): void {
    if (missed.size > MAX_MISSED) this.#reopen();
    else if (missed.size > 0) this.invalidate([...missed]);
  }

  #next(step: () => Promise<void>): Promise<void> {
    this.#underWay++;
    this.#found = undefined;
    this.#last = this.#last.then(step).finally(() => {
      this.#underWay--;
      this.#found = undefined;
    });
    return this.#last;
  }

  async #opening(): Promise<void> {
    const type = this.#type;
    if (type === null || this.#engine !== null) return;
    const missed = this.#watched();
    try {
      await this.#install(await this.#opened(type));
      if (this.#isTrying) {
        const { path, accessor } = this.#record;
        this.#world.log.info("a mount that could not be opened is open", { path, accessor });
      }
    } catch (error) {
      this.#tellNotOpened(error);
      this.#tryLater(error);
    }
    this.#missed = null;
    this.#show();
    if (this.#engine !== null) this.#catchUp(missed);
    if (this.#world.leads()) this.lead();
  }

  /** The old one goes on until the new one is opened, and is closed before that begins: nothing of both is done at once. */
  async #replacement(
    type: EngineType<unknown> | null,
    version: string | null,
    commit: () => Promise<void>,
  ): Promise<void> {
    if (type === null) throw failures.notReady(this.#trouble ?? "it has no type");
    const missed = this.#watched();
    try {
      // One that needs nothing outside has nothing that could be missing.
      if (type.begin === undefined) await this.#closing();
      const next = await this.#opened(type);
      try {
        this.#replacing = version;
        await commit();
      } catch (error) {
        await this.#end(next);
        throw error;
      } finally {
        this.#replacing = null;
      }
      await this.#closing();
      this.#type = type;
      await this.#install(next);
    } catch (error) {
      if (this.#engine === null) {
        this.#tellNotOpened(error);
        this.#tryLater(error);
      }
      throw error;
    } finally {
      this.#missed = null;
      this.#show();
    }
    this.#catchUp(missed);
    if (this.#world.leads()) this.lead();
  }

  #watched(): Set<string> {
    this.#missed = new Set<string>();
    return this.#missed;
  }

  async #opened(type: EngineType<unknown>): Promise<NewEngine> {
    const life = { ended: false };
    try {
      const opened = type.open(this.#needs(life));
      return { type, life, value: opened instanceof Promise ? await opened : opened };
    } catch (error) {
      life.ended = true;
      throw error;
    }
  }

  async #install(next: NewEngine): Promise<void> {
    const { type, value, life } = next;
    try {
      if (type.begin !== undefined) await type.begin(value);
    } catch (error) {
      await this.#end(next);
      throw error;
    }
    this.#life = life;
    this.#engine = { value };
    this.#trouble = null;
    this.#beginAnew();
  }

  async #end({ type, value, life }: NewEngine): Promise<void> {
    try {
      await type.close?.(value);
    } catch (error) {
      this.#tellTrouble("an engine did not close well", error);
    } finally {
      life.ended = true;
    }
  }

  #tellNotOpened(error: unknown): void {
    const before = this.#trouble;
    // Only a Failure is known to hold no secret.
    this.#trouble = error instanceof Failure ? describe(error) : "its engine could not be opened";
    this.#troubleTexts = error instanceof Failure ? error.texts : null;
    const { path, accessor } = this.#record;
    const cause = this.#trouble;
    const level = this.#isTrying && cause === before ? "debug" : "error";
    this.#world.log[level]("a mount could not be opened", { path, accessor, cause });
  }

  #tryLater(error: unknown): void {
    const seconds = error instanceof Failure ? (error.retryAfter ?? 0) : 0;
    if (this.#type?.triesAgain?.(error) !== true || !Number.isFinite(seconds)) return;
    const doubled = SECOND << BigInt(Math.min(this.#tries, MAX_DOUBLINGS));
    const atLeast = BigInt(Math.ceil(seconds)) * SECOND;
    const grown = doubled < LONGEST_PAUSE ? doubled : LONGEST_PAUSE;
    const pause = grown > atLeast ? grown : atLeast;
    const { clock, timers } = this.#world;
    this.#nextTry?.timer.cancel();
    const timer = timers.after(pause, () => {
      this.#nextTry = null;
      this.#tries++;
      this.#isTrying = true;
      void this.#next(() => this.#opening()).finally(() => {
        this.#isTrying = false;
        this.#found = undefined;
      });
    });
    this.#nextTry = { timer, due: clock.elapsed() + pause };
  }

  /** Somebody opens or closes it: the pauses are short again. */
  #beginAnew(): void {
    this.#nextTry?.timer.cancel();
    this.#nextTry = null;
    this.#tries = 0;
  }

  #nextTryInWords(): string {
    if (this.#isTrying) return "; it is tried again just now";
    if (this.#nextTry === null) return "";
    const left = this.#nextTry.due - this.#world.clock.elapsed();
    return `; it is tried again in ${showSeconds(left > SECOND ? left : SECOND)}`;
  }

  /** Kept for the time when it cannot be opened. */
  async #remember(): Promise<void> {
    const { closed } = this.#type ?? {};
    const { uuid } = this.#record;
    if (this.#engine === null || closed === undefined) return;
    const { local } = this.#world;
    const seen = closed.keep(this.#engine.value);
    const key = seenKey(uuid);
    const before = local.get(key, seenCodec);
    if (JSON.stringify(before) === JSON.stringify(seen)) return;
    try {
      await local.write((tx) => tx.put(key, seen, seenCodec));
    } catch (error) {
      this.#tellTrouble("what an engine answers to could not be kept", error);
    }
  }

  async #closing(): Promise<void> {
    const engine = this.#engine;
    if (engine === null) return;
    this.#engine = null;
    this.#trouble = "it is closed";
    this.#show();
    const type = this.#type;
    const life = this.#life;
    if (type !== null) await this.#end({ type, value: engine.value, life });
  }

  #needs(life: Life): EngineNeeds {
    const { clock, timers, random, log } = this.#world;
    const { options, type, kind } = this.#record;
    const facts = this.#facts();
    return {
      ...this.#world.services({ facts, type, kind }),
      storage: new MountStorage(this.#data(), life, this.#writeAhead),
      localStorage: new MountStorage(this.#localData(), life, this.#writeAhead),
      writeAhead: this.#writeAhead,
      clock,
      timers,
      random,
      log: log.child(type),
      mount: facts,
      options,
    };
  }

  #facts(): MountFacts {
    const { uuid, accessor } = this.#record;
    return {
      uuid,
      accessor,
      namespace: this.#namespace,
      path: () => this.#record.path,
      defaultTtl: () => defaultTtlOf(this.#record.config, this.#world.ttls),
      maxTtl: () => maxTtlOf(this.#record.config, this.#world.ttls),
      lockout: () => lockoutOf(this.#record.config),
    };
  }

  #data(): View {
    const { local, namespaceId, uuid } = this.#record;
    const { shared, local: here } = this.#world;
    if (this.#folder !== null) return here.sub(this.#folder, this.#scope());
    return (local ? here : shared).sub(dataOf(namespaceId, uuid), this.#scope());
  }

  /** Beside what is shared; of a local mount, the same. */
  #localData(): View {
    const { namespaceId, uuid } = this.#record;
    if (this.#folder !== null) return this.#data();
    return this.#world.local.sub(dataOf(namespaceId, uuid), this.#scope());
  }

  #newWriteAhead(): WriteAheadLog {
    const { clock, random, local } = this.#world;
    const { namespaceId, uuid } = this.#record;
    const view = local.sub(writeAheadOf(namespaceId, uuid), this.#scope());
    const takesNew = () => this.#record.state.kind === "active";
    return new WriteAheadLog({ view, clock, random, takesNew });
  }

  #scope(): Uint8Array {
    return mountScope(this.#record.uuid);
  }

  /** What others see of it, made once for every change and not for every request. */
  #show(): void {
    this.#ref = this.#newRef();
    this.#found = undefined;
    const { type } = this;
    const { ttls } = this.#world;
    this.#open =
      type === null || this.#engine === null
        ? null
        : {
            ref: this.#ref,
            type,
            record: this.#record,
            defaultTtl: () => defaultTtlOf(this.#record.config, ttls),
            maxTtl: () => maxTtlOf(this.#record.config, ttls),
            holds: (tx, key) => tx.on(this.#data()).get(key, bytesCodec) !== null,
          };
  }

  #newFound(): FoundMount | null {
    const { type } = this;
    if (type === null) return null;
    const { routes, local } = this.#world;
    const { uuid, path, options, state, plugin } = this.#record;
    const engine = this.#engine;
    const disabling = state.kind === "disabling";
    if (disabling && engine === null) return null; // it is as good as gone
    const refusal = () => {
      const cause = this.trouble ?? "it is closed";
      return plugin === undefined ? failures.notReady(cause) : failures.notLoaded(path, cause);
    };
    const kept = () => (type.closed === undefined ? null : local.get(seenKey(uuid), seenCodec));
    const endpoints =
      engine === null
        ? routes.closed(type, options, { kept: unlessDamaged(kept, null), refusal })
        : disabling
          ? routes.leaving(type, options, engine.value)
          : routes.opened(type, options, engine.value);
    const isOpening = this.#underWay > 0 && !this.#isTrying;
    const waits = engine === null && plugin !== undefined && isOpening;
    const opening = waits ? this.#last : null;
    return { ref: this.#ref, taken: segmentsOf(path).length, opening, endpoints };
  }

  #newRef(): MountRef {
    const { uuid, accessor, type, path, local, config } = this.#record;
    const request = new Set(config.clearRequestKeys);
    const response = new Set(config.clearResponseKeys);
    const readable = { request, response };
    const engine = this.#engine?.value ?? null;
    const headers = passedHeaders(config);
    const namespace = this.#namespace;
    return { uuid, accessor, type, path, namespace, local, readable, headers, engine };
  }
}
