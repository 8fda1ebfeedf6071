// The instance of a plugin that serves one mount: set up in a process that may serve others too, and set up anew in another one
// by whoever finds it gone.

import { describe, Failure } from "@holdfast/shared/failure";
import {
  callUnary,
  type Method,
  type ServiceTable,
  serviceTable,
} from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { backend, BackendType, version } from "@holdfast/plugin-sdk/wire/backend";
import type { SpecialPaths as WirePaths } from "@holdfast/plugin-sdk/wire/backend-messages";
import {
  type ForeignCall,
  type ForeignEngine,
  type HeldProcess,
  type Offered,
  type OwnPlugin,
  type Program,
  UnsentCall,
} from "../ports.ts";
import { orAborted } from "../../base/or-aborted.ts";
import { waiting } from "../process/failures.ts";
import { Life } from "../process/life.ts";
import * as failures from "./failures.ts";
import type { Choose, ForeignHost } from "./host.ts";
import { unescapeKey } from "./key-escape.ts";
import { MountKeys } from "./mount-keys.ts";
import { refusalOf } from "./refusals.ts";
import { NO_PATHS, SpecialPaths } from "./special-paths.ts";
import { storageService } from "./storage-service.ts";
import { systemViewService } from "./system-view.ts";
import { PluginTransactions } from "./transactions.ts";

const ASKED_WITHIN: Nanos = 15n * SECOND;
const SET_UP_WITHIN: Nanos = 60n * SECOND;
const CLEANED_WITHIN: Nanos = 5n * SECOND;
/** Of processes that end before anything is written to them. */
const MAX_TRIES = 4;

export interface InstanceParts {
  readonly kind: "auth" | "secret";
  readonly name: string;
  /** That the mount has. */
  readonly version: string;
  readonly needs: EngineNeeds;
  readonly host: ForeignHost;
  readonly choose: Choose;
  /** A process that is not to be shared with this one; null: any. */
  readonly besides: HeldProcess | null;
  readonly engine: ForeignEngine;
  /** Told apart from other instances, also of the same mount. */
  readonly user: string;
  readonly tell: (own: OwnPlugin | null) => void;
}

/** One that is set up. */
interface Session {
  readonly program: Program;
  readonly held: HeldProcess;
  readonly offered: Offered;
  /** What it says of its version; empty where it says nothing. */
  readonly reported: string;
  readonly special: SpecialPaths;
  readonly own: OwnPlugin | null;
  readonly keys: MountKeys;
  /** It may write. */
  isReady: boolean;
}

export class Instance {
  readonly #parts: InstanceParts;
  readonly #life = new Life();
  readonly #over = new AbortController();
  #session: Session | null = null;
  #starting: Promise<Session> | null = null;
  readonly #led = Promise.withResolvers<void>();
  #lastCause = "it failed";
  /** Why there is none, or none that has begun; null: there is one, or nobody has asked since it ended. */
  trouble: string | null = null;
  /** Over the data of a loaded snapshot it never does. */
  #hasBegun = false;
  /** As it was said last. */
  special = new SpecialPaths(NO_PATHS);
  own: OwnPlugin | null = null;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
  }

  /** Sets it up; storage takes nothing yet. */
  async open(): Promise<void> {
    this.#take(await this.#setUp(this.#parts.besides));
  }

  /** It is the one of its mount from here on. */
  async begin(): Promise<void> {
    const session = this.#session;
    if (session === null) throw failures.closed();
    this.#hasBegun = true;
    const { host, needs } = this.#parts;
    // What is written where nobody here may write is refused whenever it comes.
    if (host.leads() || needs.storage.writtenElsewhere === true) await this.#initialize(session);
    else this.#whenLed(session).catch(() => {}); // told to whoever asks
  }

  /** This node writes from here on. */
  lead(): void {
    this.#led.resolve();
  }

  get running(): { readonly version: string; readonly sha256: string } {
    const { program, reported = "" } = this.#session ?? {};
    return {
      version: reported || (program?.version ?? this.#parts.version),
      sha256: program?.sha256 ?? "",
    };
  }

  /** That it has now; null while there is none. */
  get held(): HeldProcess | null {
    return this.#session?.held ?? null;
  }

  async call<Q, A>(
    method: Method<"unary", Q, A>,
    request: Q,
    { signal, timeout }: ForeignCall = {},
  ): Promise<A> {
    return await this.#tried(signal, ({ channel }) =>
      callUnary(channel, method, request, {
        ...(signal === undefined ? {} : { signal }),
        ...(timeout === undefined ? {} : { timeout }),
      }),
    );
  }

  /** The same, while it reaches these services as well. */
  async callOffering<Q, A>(
    services: ServiceTable<null>,
    method: Method<"unary", Q, A>,
    request: (id: number) => Q,
    { signal, timeout }: ForeignCall = {},
  ): Promise<A> {
    return await this.#tried(signal, async (held) => {
      const offered = await held.offer(services);
      try {
        return await callUnary(held.channel, method, request(offered.id), {
          ...(signal === undefined ? {} : { signal }),
          ...(timeout === undefined ? {} : { timeout }),
        });
      } finally {
        await offered.close();
      }
    });
  }

  /** Somebody else has changed these of its keys. One that is gone has nothing in memory. */
  async invalidate(keys: readonly string[]): Promise<void> {
    const session = this.#session;
    session?.keys.changed();
    if (session === null || session.held.end !== null || !session.isReady) return;
    try {
      for (const key of keys) {
        const request = { key: unescapeKey(key) };
        await callUnary(session.held.channel, backend.invalidateKey, request, {
          signal: this.#over.signal,
          timeout: ASKED_WITHIN,
        });
      }
    } catch (error) {
      if (this.#over.signal.aborted || session.held.end !== null) return;
      const { log, mount } = this.#parts.needs;
      const cause = describe(error);
      log.warn("a plugin did not take in what was changed; it is set up anew", {
        mount: mount.uuid,
        cause,
      });
      session.isReady = false; // the next request has it set up anew
    }
  }

  /** Nothing of it reaches storage any more. */
  async close(): Promise<void> {
    this.#over.abort(failures.closed());
    await this.#starting?.catch(() => {});
    const session = this.#session;
    this.#session = null;
    if (session === null) return;
    await this.#end(session);
  }

  // --- inside ---

  async #tried<T>(
    signal: AbortSignal | undefined,
    run: (held: HeldProcess) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const session = await this.#ready(signal);
      try {
        return await run(session.held);
      } catch (error) {
        const isGone = error instanceof UnsentCall && session.held.end !== null;
        if (isGone && tries < MAX_TRIES && signal?.aborted !== true) continue;
        throw this.#troubleOf(error, session, signal);
      }
    }
  }

  async #ready(signal: AbortSignal | undefined): Promise<Session> {
    signal?.throwIfAborted();
    this.#over.signal.throwIfAborted();
    const session = this.#session;
    if (session !== null && session.held.end === null && session.isReady === this.#hasBegun)
      return session;
    this.#starting ??= this.#again().finally(() => (this.#starting = null));
    return await orAborted(this.#starting, signal);
  }

  /** Whoever asks for it before waits: nothing is written until this node leads. */
  #whenLed(session: Session): Promise<Session> {
    this.#starting = this.#initializedWhenLed(session);
    return this.#starting;
  }

  async #initializedWhenLed(session: Session): Promise<Session> {
    try {
      await orAborted(this.#led.promise, this.#over.signal);
      if (session.held.end === null) await this.#initialize(session);
      this.trouble = null;
      return session;
    } catch (error) {
      const { log, mount } = this.#parts.needs;
      if (!this.#over.signal.aborted) {
        this.trouble = describe(error);
        log.error("a plugin did not begin", { mount: mount.uuid, cause: describe(error) });
      }
      session.isReady = false; // whoever asks next has it set up anew
      throw error;
    } finally {
      this.#starting = null;
    }
  }

  /** By one for all who wait. */
  async #again(): Promise<Session> {
    const { clock } = this.#parts.needs;
    const wanted = this.#life.want(clock.elapsed());
    if (wanted.kind === "refused") {
      throw waiting(this.#parts.name, this.#lastCause, wanted.wait);
    }
    const before = this.#session;
    this.#session = null;
    if (before !== null) await this.#end(before);
    this.#life.starts(clock.elapsed());
    try {
      const session = await this.#setUp(null);
      this.#take(session);
      if (this.#hasBegun) await this.#initialize(session);
      this.#life.stopped(clock.elapsed());
      this.trouble = null;
      return session;
    } catch (error) {
      this.#lastCause = describe(error);
      if (!this.#over.signal.aborted) this.trouble = this.#lastCause;
      // Who starts processes has pauses of its own.
      const isItsOwn = error instanceof Failure && error.code === "plugin-setup-failed";
      if (isItsOwn) this.#life.failed(clock.elapsed());
      else this.#life.stopped(clock.elapsed());
      throw error;
    }
  }

  #take(session: Session): void {
    this.#session = session;
    this.special = session.special;
    this.own = session.own;
    this.#parts.tell(session.own);
  }

  async #setUp(besides: HeldProcess | null): Promise<Session> {
    const { choose, host, name, version: wanted } = this.#parts;
    const chosen = choose();
    if (chosen === null) throw failures.notInCatalog(name, wanted);
    const { program } = chosen;
    const held = await this.#hold(program, besides);
    try {
      const session = await this.#begun(program, held, host);
      this.#over.signal.throwIfAborted();
      return session;
    } catch (error) {
      await held.release();
      throw error;
    }
  }

  /** Whoever is to get another process than one that is shared has all get another, who ask from now on. */
  async #hold(program: Program, besides: HeldProcess | null): Promise<HeldProcess> {
    const { host, user } = this.#parts;
    const { processes } = host;
    const held = await processes.hold(program, user, this.#over.signal);
    if (besides === null || besides.end !== null || held.pid !== besides.pid) return held;
    await held.release();
    processes.renew(program);
    return await processes.hold(program, user, this.#over.signal);
  }

  async #begun(program: Program, held: HeldProcess, host: ForeignHost): Promise<Session> {
    const { needs, name, engine } = this.#parts;
    const state = { isReady: false, special: new SpecialPaths(NO_PATHS) };
    const isReady = () => state.isReady && !this.#over.signal.aborted;
    const keys = new MountKeys(needs, () => state.special);
    const { clock, random, timers } = needs;
    const transactions = new PluginTransactions({ keys, clock, random, timers });
    const offered = await held.offer(
      serviceTable([
        ...storageService({ keys, transactions, isReady }),
        ...systemViewService(needs, host),
        ...host.own.services(engine, isReady),
      ]),
    );
    const { channel } = held;
    const { signal } = this.#over;
    const ask = <Q, A>(method: Method<"unary", Q, A>, request: Q, within = ASKED_WITHIN) =>
      callUnary(channel, method, request, { signal, timeout: within });
    const unlessUnknown = <T>(answer: Promise<T>) => this.#orUnknown(answer, held);
    const config = new Map([
      ...Object.entries(needs.options),
      ["plugin_name", name],
      ["plugin_type", this.#parts.kind],
      ["plugin_version", program.version],
    ]);
    const request = { brokerId: offered.id, config, backendUuid: needs.mount.uuid };
    const { err } = await this.#setting(() => ask(backend.setup, request, SET_UP_WITHIN), held);
    if (err !== "") throw failures.notSetUp(name, shortened(err));
    const kind = (await unlessUnknown(ask(backend.type, {})))?.type ?? 0;
    this.#checkKind(kind);
    const said = await unlessUnknown(ask(backend.specialPaths, {}));
    state.special = specialOf(said?.paths ?? null);
    const reported = (await unlessUnknown(ask(version.version, {})))?.pluginVersion ?? "";
    const own = await this.#setting(() => host.own.describe(engine, channel, signal), held);
    return {
      program,
      held,
      offered,
      reported: shortened(reported),
      special: state.special,
      own,
      keys,
      get isReady() {
        return state.isReady;
      },
      set isReady(is) {
        state.isReady = is;
      },
    };
  }

  #checkKind(said: number): void {
    const { kind, name } = this.#parts;
    const found =
      said === BackendType.auth ? "auth" : said === BackendType.secret ? "secret" : null;
    if (found !== null && found !== kind) throw failures.ofOtherKind(name, found, kind);
  }

  async #initialize(session: Session): Promise<void> {
    const { name } = this.#parts;
    session.isReady = true;
    const nothing = { mountPoint: "", mountType: "", mountAccessor: "", backendUuid: "" };
    const { held } = session;
    const call = callUnary(held.channel, backend.initialize, nothing, {
      signal: this.#over.signal,
      timeout: SET_UP_WITHIN,
    });
    const answer = await this.#setting(() => this.#orUnknown(call, held), held);
    if (answer === null || answer.err === null) return;
    const refusal = refusalOf(answer.err, null);
    throw failures.notSetUp(name, shortened(refusal.texts.join("; ")), { cause: refusal });
  }

  async #setting<T>(run: () => Promise<T>, held: HeldProcess): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof Failure) throw error;
      const why = held.end === null ? describe(error) : `it exited: ${held.end.cause}`;
      throw failures.notSetUp(this.#parts.name, why, { cause: error });
    }
  }

  /** Null where it does not know what it is asked. */
  async #orUnknown<T>(answer: Promise<T>, held: HeldProcess): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof StatusError && error.status === Status.unimplemented && error.isSaid)
        return null;
      if (error instanceof Failure) throw error;
      const why = held.end === null ? describe(error) : `it exited: ${held.end.cause}`;
      throw failures.notSetUp(this.#parts.name, why, { cause: error });
    }
  }

  async #end({ held, offered }: Session): Promise<void> {
    if (held.end === null) {
      await callUnary(held.channel, backend.cleanup, {}, { timeout: CLEANED_WITHIN }).catch(
        () => {}, // it is let go of whatever it says
      );
    }
    await offered.close();
    await held.release();
  }

  #troubleOf(error: unknown, { held }: Session, signal: AbortSignal | undefined): unknown {
    const { name } = this.#parts;
    if (signal?.aborted === true) return signal.reason;
    if (!(error instanceof StatusError)) return error;
    if (error instanceof UnsentCall && held.end === null) return failures.busy(name);
    if (held.end !== null) return failures.exited(name, held.end.cause);
    if (!error.isSaid) {
      return error.status === Status.deadlineExceeded
        ? failures.slow(name, "it may still work on it")
        : failures.broken(name, `could not be asked: ${error.message}`);
    }
    if (error.status === Status.deadlineExceeded) return failures.slow(name, "it has given up");
    return failures.broken(name, `answered with the status ${error.status} of a call`);
  }
}

function specialOf(said: WirePaths | null): SpecialPaths {
  return new SpecialPaths(said ?? NO_PATHS);
}

function shortened(text: string): string {
  return text.length > 1024 ? `${text.slice(0, 1024)}…` : text;
}
