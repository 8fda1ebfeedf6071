// One process of a plugin, from its start to its end: it shakes hands, is asked for its health, and is ours to call until it
// ends by itself, does not answer, or is stopped.

import { describe, Failure, OwnError } from "@holdfast/shared/failure";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import { callStream, callUnary, type ServiceTable } from "@holdfast/shared/grpc/method";
import type { SessionWorld } from "@holdfast/shared/grpc/session-life";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import {
  HandshakeError,
  type Handshake,
  MAX_LINE,
  readHandshake,
} from "@holdfast/plugin-sdk/wire/handshake";
import type { OneTimeCertificate } from "@holdfast/plugin-sdk/wire/certificate";
import { AUTHORITY, PLUGIN_LIMITS } from "@holdfast/plugin-sdk/wire/limits";
import {
  controller,
  health,
  HEALTH_SERVICE,
  multiplexing,
  SERVING,
  STDERR,
  stdio,
} from "@holdfast/plugin-sdk/wire/processes";
import type { Attachment, Offered, ProcessEnd } from "../ports.ts";
import type { Exit, Folders, Running, Translation } from "../runners/runner.ts";
import { Broker } from "./broker.ts";
import { Calls, MAX_CALL_BYTES } from "./calls.ts";
import { notStarted } from "./failures.ts";
import { type CallTimes, measured } from "./figures.ts";
import { firstLine } from "./first-line.ts";
import { dialPlugin, type Pair } from "./link.ts";
import { Lines, type OutputPace, type PluginLog, readPaced } from "./output.ts";

/** Of everything that a plugin is asked about itself. */
const ANSWERS_WITHIN: Nanos = 5n * SECOND;
const STOPS_WITHIN: Nanos = 2n * SECOND;
/** From the end of its connection: whoever runs it may hear of its end later. */
const ENDS_WITHIN: Nanos = 2n * SECOND;
/** For what it printed last. */
const DRAINS_WITHIN: Nanos = SECOND / 2n;

export interface StartedParts {
  readonly name: string;
  readonly runner: string;
  readonly world: SessionWorld;
  readonly running: Running;
  readonly folders: Folders;
  readonly translation: Translation;
  /** Null of one that was attached to: it speaks without TLS. */
  readonly own: OneTimeCertificate | null;
  /** It runs already, and is somebody else's: it says nothing, is never told to end, and its connection stays until nobody wants any
   *  plugin any more, since libraries take no second one for what they are offered. Null: we have started it. */
  readonly attached: Attachment | null;
  readonly protocols: readonly number[];
  /** From its start to its line. */
  readonly within: Nanos;
  readonly pace: OutputPace;
  readonly log: PluginLog;
  readonly isForOthers: boolean;
  /** Whether it may be asked to serve several users. */
  readonly mayShare: boolean;
  /** Aborted when nobody wants any plugin any more. */
  readonly signal: AbortSignal;
  /** Null: nobody measures. */
  readonly times: CallTimes | null;
  /** Errors of services that it calls. */
  readonly trouble: (path: string, error: unknown) => void;
}

export interface StartedEnd extends ProcessEnd {
  /** It was stopped. */
  readonly isWanted: boolean;
}

const TOO_OLD =
  "it is built with a plugin library older than 1.4.4, which takes no connection of this server; build it with a newer one";

export class StartedProcess {
  readonly #parts: StartedParts;
  readonly #ended = Promise.withResolvers<StartedEnd>();
  readonly #exited: Promise<Exit>;
  #session: ClientSession | null = null;
  #calls: Calls | null = null;
  #broker: Broker | null = null;
  /** Why we end it, or think that it ended. */
  #cause: string | null = null;
  #checks = false;
  #isWanted = false;
  #end: StartedEnd | null = null;
  #protocol = 0;
  #isShared = false;
  /** Whether somebody has it who has not let it go. */
  #isTaken = false;

  private constructor(parts: StartedParts) {
    this.#parts = parts;
    const { running, pace, log } = parts;
    const lines = new Lines(log);
    readPaced(running.stderr, pace, (bytes) => lines.add(bytes));
    running.stderr.once("close", () => lines.flush());
    this.#exited = running.exited.then(async (exit) => {
      pace.close();
      await this.#drained();
      lines.flush();
      this.#over(exit);
      return exit;
    });
  }

  /** Throws a Failure; then nothing of it is left. */
  static async start(parts: StartedParts): Promise<StartedProcess> {
    const started = new StartedProcess(parts);
    const give = () => started.#die("the server ends it");
    parts.signal.addEventListener("abort", give, { once: true });
    try {
      parts.signal.throwIfAborted();
      await started.#begin();
      return started;
    } catch (error) {
      started.#die("it could not be started");
      await started.#exited;
      throw error instanceof Failure
        ? error
        : notStarted(parts.name, describe(error), { cause: error });
    } finally {
      parts.signal.removeEventListener("abort", give);
    }
  }

  get pid(): number {
    return this.#parts.running.pid;
  }

  get runner(): string {
    return this.#parts.runner;
  }

  get memory(): number | null {
    return this.#parts.running.memory();
  }

  get protocol(): number {
    return this.#protocol;
  }

  get isShared(): boolean {
    return this.#isShared;
  }

  get isAttached(): boolean {
    return this.#parts.attached !== null;
  }

  /** Of one that was attached to: whether it has room for one more. */
  take(): boolean {
    const isFree = this.#isShared || !this.#isTaken;
    this.#isTaken = true;
    return isFree;
  }

  get end(): StartedEnd | null {
    return this.#end;
  }

  get ended(): Promise<StartedEnd> {
    return this.#ended.promise;
  }

  get calls(): Calls {
    if (this.#calls === null) throw new OwnError("the plugin is not there yet");
    return this.#calls;
  }

  offer(services: ServiceTable<null>): Promise<Offered> {
    if (this.#broker === null) throw new OwnError("the plugin is not there yet");
    const { times, world } = this.#parts;
    if (times === null) return this.#broker.offer(services);
    const took = (seconds: number) => times.storageCalls.observe(seconds);
    return this.#broker.offer(measured(services, world.clock, took));
  }

  /** In order: it is told, has its time, and is ended. */
  async stop(): Promise<void> {
    const { running, world, signal } = this.#parts;
    this.#isTaken = false;
    if (this.isAttached && !signal.aborted) return;
    this.#cause ??= "it was stopped";
    this.#isWanted = true;
    const timer = world.timers.after(STOPS_WITHIN, () => running.kill());
    await this.#broker?.close();
    const session = this.#session;
    if (this.isAttached) running.kill(); // which lets go of it
    else if (session?.isOpen === true) {
      // It often ends before it answers.
      const shutdown = callUnary(session, controller.shutdown, {}, { timeout: STOPS_WITHIN });
      void shutdown.catch(() => {});
    }
    if (session === null) running.kill();
    await this.#exited;
    timer.cancel();
  }

  async #begin(): Promise<void> {
    const { world, name } = this.#parts;
    const { path, pair } = this.#isThere() ?? (await this.#shakenHands());
    const session = await this.#connect(path, pair);
    const calls = new Calls({
      channel: session,
      clock: world.clock,
      suspect: () => void this.#askHealth(),
      over: this.#ended.promise,
      took: (seconds) => this.#parts.times?.requests.observe(seconds),
    });
    this.#calls = calls;
    await this.#healthy(session);
    this.#openBroker(session, pair);
    void this.#readStdio(session);
    this.#isShared = this.#parts.mayShare && (await this.#multiplexes(session));
    if (this.#cause !== null) throw notStarted(name, this.#cause);
  }

  /** Where it is, if it runs already. */
  #isThere(): { readonly path: string; readonly pair: null } | null {
    const { attached, protocols, name } = this.#parts;
    if (attached === null) return null;
    const { protocol, address } = attached;
    if (!protocols.includes(protocol)) {
      const ours = protocols.join(" and ");
      throw notStarted(name, `it speaks version ${protocol}, and the server ${ours}`);
    }
    this.#protocol = protocol;
    return { path: address, pair: null };
  }

  async #shakenHands(): Promise<{ readonly path: string; readonly pair: Pair }> {
    const { running, protocols, folders, translation, own, name } = this.#parts;
    const shake = await this.#line();
    readPaced(running.stdout, this.#parts.pace, () => {}); // for ever, and thrown away
    running.stdout.resume();
    let said: Handshake;
    try {
      said = readHandshake(shake, protocols);
    } catch (error) {
      if (!(error instanceof HandshakeError)) throw error;
      const why = "what it printed first is not what a plugin says";
      throw notStarted(name, why, {
        cause: error,
        texts: [`plugin "${name}" could not be started: ${error.message}`],
      });
    }
    this.#protocol = said.protocol;
    if (said.network !== "unix")
      throw notStarted(name, "it wants to be reached by TCP, and is by Unix sockets alone");
    const path = translation.fromPlugin(said.address);
    if (path === null || !path.startsWith(`${folders.own}/`)) {
      throw notStarted(name, "the socket that it names lies outside of the folder that is its own");
    }
    if (own === null || said.certificate === null) {
      throw notStarted(
        name,
        "it has no certificate: it must be built to speak TLS with who starts it (AutoMTLS)",
      );
    }
    return { path, pair: { own, theirs: said.certificate } };
  }

  /** The first line; throws where none comes. */
  async #line(): Promise<string> {
    const { running, within, world, name } = this.#parts;
    const late = Promise.withResolvers<"late">();
    const timer = world.timers.after(within, () => late.resolve("late"));
    const first = await Promise.race([firstLine(running.stdout), late.promise]);
    timer.cancel();
    if (first === "late") throw notStarted(name, "timeout while waiting for plugin to start");
    if (first === null) {
      this.#die("it printed nothing");
      const exit = await this.#exited;
      throw notStarted(
        name,
        `plugin exited before we could connect: it ${ending(exit)}${hintOf(exit)}`,
      );
    }
    return first.length > MAX_LINE ? first.slice(0, MAX_LINE) : first;
  }

  async #connect(path: string, pair: Pair | null): Promise<ClientSession> {
    const { world } = this.#parts;
    const late = new AbortController();
    const timer = world.timers.after(ANSWERS_WITHIN, () =>
      late.abort(new OwnError("it did not take a connection in time")),
    );
    try {
      const socket = await dialPlugin(path, pair, late.signal);
      const session = new ClientSession(socket, AUTHORITY, world, {
        ...PLUGIN_LIMITS,
        heldBytes: Math.max(PLUGIN_LIMITS.heldBytes, MAX_CALL_BYTES),
      });
      this.#session = session;
      // One that has ended is gone in a moment, and how it ended says more.
      void session.closed.then(() =>
        world.timers.after(ENDS_WITHIN, () => {
          if (this.#end === null) this.#die("it closed its connection");
        }),
      );
      return session;
    } finally {
      timer.cancel();
    }
  }

  async #healthy(session: ClientSession): Promise<void> {
    const { status } = await callUnary(
      session,
      health.check,
      { service: HEALTH_SERVICE },
      { timeout: ANSWERS_WITHIN },
    );
    if (status !== SERVING) throw new OwnError("it says that it is not healthy");
  }

  /** After a call that nobody answered: one that stands still is ended, one that is only busy with that is not. */
  async #askHealth(): Promise<void> {
    const session = this.#session;
    if (this.#checks || session === null || this.#end !== null) return;
    this.#checks = true;
    try {
      await this.#healthy(session);
    } catch (error) {
      // What it says of itself is an answer.
      if (error instanceof StatusError && error.isSaid) return;
      this.#die("it did not answer in time, nor when it was asked whether it is well");
    } finally {
      this.#checks = false;
    }
  }

  #openBroker(session: ClientSession, pair: Pair | null): void {
    const { world, folders, isForOthers, translation, pace, trouble } = this.#parts;
    this.#broker = new Broker({
      channel: session,
      world,
      pace,
      pair,
      folder: folders.ours,
      isForOthers,
      translation,
      tooOld: () => this.#die(TOO_OLD),
      // With its connection everything ends: how the process ended says more.
      lost: () => {
        if (session.isOpen) this.#die("it ended the stream by which it is told where services are");
      },
      trouble,
    });
  }

  async #readStdio(session: ClientSession): Promise<void> {
    const { pace, log } = this.#parts;
    const lines = new Lines(log);
    try {
      for await (const { channel, data } of callStream(session, stdio.streamStdio, {})) {
        if (channel === STDERR) lines.add(Buffer.from(data));
        await pace.message(data.length);
      }
    } catch {
      // It has none, or is gone.
    }
    lines.flush();
  }

  async #multiplexes(session: ClientSession): Promise<boolean> {
    try {
      const { supported } = await callUnary(
        session,
        multiplexing.support,
        {},
        { timeout: ANSWERS_WITHIN },
      );
      return supported;
    } catch (error) {
      if (error instanceof StatusError && error.status === Status.unimplemented) return false;
      throw error;
    }
  }

  #die(cause: string): void {
    this.#cause ??= cause;
    this.#parts.running.kill();
  }

  /** Who started something that has its pipe would keep it open for ever. */
  async #drained(): Promise<void> {
    const { running, world } = this.#parts;
    if (running.stderr.closed || running.stderr.readableEnded) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = world.timers.after(DRAINS_WITHIN, resolve);
    running.stderr.once("end", resolve).once("close", resolve);
    await promise;
    timer.cancel();
    running.stderr.destroy();
  }

  #over(exit: Exit): void {
    const { log, running } = this.#parts;
    log.close();
    running.stdout.destroy();
    const cause = this.#cause ?? `it ${ending(exit)}`;
    this.#end = { cause, isWanted: this.#isWanted };
    this.#session?.destroy();
    this.#calls?.close();
    void this.#broker?.close();
    this.#ended.resolve(this.#end);
  }
}

function ending({ code, signal, why }: Exit): string {
  const how = signal === null ? `exited with code ${code ?? "?"}` : `was ended by ${signal}`;
  return why === undefined ? how : `${how}: ${why}`;
}

/** What those who start others for us exit with. */
function hintOf({ code }: Exit): string {
  return code === 126 || code === 127 ? " (the file could not be executed)" : "";
}
