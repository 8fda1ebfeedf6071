// Processes of plugins: each started once for all who may share it, from a copy of the registered file, and started again by
// whoever finds it gone. Nothing is started before somebody needs it, and nothing is left when the server is gone.

import type { Log } from "@holdfast/shared/log";
import { describe, Failure } from "@holdfast/shared/failure";
import type { SessionWorld } from "@holdfast/shared/grpc/session-life";
import { Sweep } from "@holdfast/shared/sweep";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type {
  ChildProcesses,
  Clock,
  Nanos,
  ProgramFiles,
  Random,
  Timers,
} from "@holdfast/shared/world";
import { makeCertificate } from "@holdfast/plugin-sdk/wire/certificate";
import {
  DATABASE_COOKIE,
  DATABASE_PROTOCOLS,
  ENGINE_COOKIE,
  ENGINE_PROTOCOLS,
  environmentFor,
} from "@holdfast/plugin-sdk/wire/handshake";
import type {
  Attachment,
  HeldProcess,
  PluginFiles,
  ProbeReport,
  Processes,
  Program,
  RuntimeEntry,
} from "../ports.ts";
import { BwrapRunner } from "../runners/bwrap.ts";
import { runtimeNotAllowed, runtimeUnfit } from "../runners/failures.ts";
import { chooseRunner, type Isolation } from "../runners/isolation.ts";
import type { ContainerRunner, Runner } from "../runners/runner.ts";
import { BWRAP } from "../runners/oci-runtimes.ts";
import type { User } from "../runners/ways.ts";
import { attachedTo } from "../runners/running-child.ts";
import { samePaths } from "../runners/same-paths.ts";
import { environmentOf } from "./environment.ts";
import { noContainers, NOT_STARTED, notStarted, processesClosed } from "./failures.ts";
import { Family } from "./family.ts";
import { ProcessFigures, type ProcessReport } from "./figures.ts";
import { OutputPace, PluginLog } from "./output.ts";
import { PrivateCopies } from "./private-copies.ts";
import { askWhatItIs } from "./probe.ts";
import { RunFolder, sweepRuns } from "./run-folder.ts";
import { StartedProcess } from "./started-process.ts";
import { Turns } from "./turns.ts";

const STARTS_AT_ONCE = 4;
/** Of those that were silent the last time: they wait for each other alone. */
const SILENT_AT_ONCE = 2;
/** After so long what starts only waits, and others need not. */
const GIVES_WAY_AFTER: Nanos = 2n * SECOND;
const MAX_SILENT = 1000;
const STARTS_WITHIN: Nanos = MINUTE;
const PROBES_WITHIN: Nanos = 15n * SECOND;
const ID_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 10;

export interface ProcessSettings {
  /** plugin_directory; null: no file is run. */
  readonly directory: string | null;
  readonly fileOwner: number | null;
  readonly filePermissions: number;
  /** plugin_tmpdir. */
  readonly temporary: string;
  /** Where copies of files go, where we run them ourselves: a folder of the server's own, for this alone. */
  readonly copies: string;
  readonly user: User | null;
  readonly isolation: Isolation;
  readonly inheritEnv: boolean;
  readonly withoutMultiplexing: readonly string[];
  /** Files and folders that a sandbox hides. */
  readonly hidden: readonly string[];
}

export interface ProcessParts {
  readonly settings: ProcessSettings;
  readonly children: ChildProcesses;
  readonly files: ProgramFiles;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** The server's own. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly machine: { readonly platform: string; readonly arch: string };
  /** Under `plugin`. */
  readonly log: Log;
  /** For programs with an image; null where none are run. */
  readonly containers: ContainerRunner | null;
  /** What runs already, by the name of a plugin: it is never started here. Default: none. */
  readonly attached?: ReadonlyMap<string, Attachment>;
  /** Of handshakes. Default: a minute, and 15 s for one that is only asked what it is. */
  readonly startsWithin?: Nanos;
  /** How long a start that is not done holds up others. Default two seconds. */
  readonly givesWayAfter?: Nanos;
}

export class PluginProcesses implements Processes, PluginFiles {
  readonly #parts: ProcessParts;
  readonly #log: Log;
  readonly #world: SessionWorld;
  readonly #copies: PrivateCopies;
  readonly #turns = new Turns(STARTS_AT_ONCE);
  readonly #silentTurns = new Turns(SILENT_AT_ONCE);
  /** Keys of programs whose last start gave way and came to nothing. */
  readonly #silent = new Set<string>();
  readonly #families = new Map<string, Family>();
  /** Programs of which new processes are made beside these. */
  readonly #old = new Set<Family>();
  readonly #probes = new Set<StartedProcess>();
  /** By name. */
  readonly #attached = new Map<string, Promise<StartedProcess>>();
  readonly figures = new ProcessFigures();
  #run: RunFolder | null = null;
  #runner: Promise<Runner> | null = null;
  #closing = new AbortController();
  #isOpen = false;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.#log = parts.log;
    const { clock, timers, settings, files, machine } = parts;
    this.#world = { clock, timers, sweep: new Sweep(clock, timers) };
    this.#copies = new PrivateCopies(
      files,
      { ...settings, folder: settings.copies, isForOthers: settings.user !== null },
      machine,
    );
  }

  /** Ends and removes what earlier runs have left. */
  async open(): Promise<void> {
    const { files, children, settings } = this.#parts;
    await sweepRuns({ files, children, log: this.#log, temporary: settings.temporary });
    await this.#copies.open();
    await this.#parts.containers?.open();
    this.#closing = new AbortController();
    this.#run = this.#newRun();
    this.#isOpen = true;
  }

  /** Stops all that run; nothing of them is left. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#closing.abort(processesClosed());
    await Promise.all([this.#turns.idle(), this.#silentTurns.idle()]);
    const families = [...this.#families.values(), ...this.#old];
    await Promise.all([
      ...families.map((family) => family.stop()),
      ...[...this.#probes].map((probe) => probe.stop()),
      ...[...this.#attached.values()].map((one) =>
        one.then((started) => started.stop()).catch(() => {}),
      ),
    ]);
    this.#attached.clear();
    this.#families.clear();
    this.#old.clear();
    await this.#run?.close();
    this.#run = null;
    this.#runner = null;
    await this.#copies.close();
    await this.#parts.containers?.close();
  }

  async hold(program: Program, user: string, signal: AbortSignal): Promise<HeldProcess> {
    if (!this.#isOpen) throw processesClosed();
    return await this.#familyOf(program).hold(user, signal);
  }

  renew(program: Program): void {
    const key = keyOf(program);
    const family = this.#families.get(key);
    if (family === undefined) return;
    this.#families.delete(key);
    if (!family.isIdle) this.#old.add(family);
  }

  async probe(program: Program, signal: AbortSignal): Promise<ProbeReport> {
    if (!this.#isOpen) throw processesClosed();
    signal.throwIfAborted();
    const started = await this.#start(program, true);
    this.#probes.add(started);
    const give = () => void started.stop();
    signal.addEventListener("abort", give, { once: true });
    try {
      const report = await askWhatItIs(started, program.type, this.#newId());
      // One that was started by its cookie is what that is for.
      if (started.isAttached && program.type !== "database" && report.kind === null)
        throw notStarted(program.name, "it does not say that it is an engine");
      return report;
    } finally {
      signal.removeEventListener("abort", give);
      await started.stop();
      this.#probes.delete(started);
    }
  }

  async check(command: string): Promise<void> {
    await this.#copies.check(command);
  }

  /** What runs, or was to run: at most one line for each process. */
  reports(): ProcessReport[] {
    return [...this.#families.values(), ...this.#old].flatMap((family) =>
      family.seats.map((seat): ProcessReport => {
        const { type, name, version, sha256 } = family.program;
        const { started, state, restarts, lastCause } = seat;
        return {
          type,
          name,
          version,
          sha256,
          state,
          pid: started?.pid ?? null,
          memory: started?.memory ?? null,
          runner: started?.runner ?? null,
          users: started === null ? 0 : family.usersOf(seat),
          restarts,
          lastCause,
        };
      }),
    );
  }

  #familyOf(program: Program): Family {
    this.#forgetIdle();
    const key = keyOf(program);
    const known = this.#families.get(key);
    if (known !== undefined) return known;
    const family = new Family({
      clock: this.#parts.clock,
      program,
      start: () => this.#startFor(program),
      newId: () => this.#newId(),
    });
    this.#families.set(key, family);
    return family;
  }

  #forgetIdle(): void {
    for (const [key, family] of this.#families) {
      if (family.isIdle) this.#families.delete(key);
    }
    for (const family of this.#old) if (family.isIdle) this.#old.delete(family);
  }

  async #startFor(program: Program): Promise<StartedProcess> {
    const counts = this.figures.of(program.name);
    try {
      const started = await this.#start(program, false);
      counts.starts.ok++;
      return started;
    } catch (error) {
      const isRefused = error instanceof Failure && error.code !== NOT_STARTED;
      counts.starts[isRefused ? "refused" : "failed"]++;
      throw error;
    }
  }

  /** One that says nothing holds up others for a moment, and the next time those alone that were as silent. */
  #start(program: Program, isProbe: boolean): Promise<StartedProcess> {
    const { timers, givesWayAfter = GIVES_WAY_AFTER } = this.#parts;
    const key = keyOf(program);
    const turns = this.#silent.has(key) ? this.#silentTurns : this.#turns;
    return turns.take(async (give) => {
      let isLate = false;
      const timer = timers.after(givesWayAfter, () => {
        isLate = true;
        give();
      });
      try {
        const started = await this.#startNow(program, isProbe);
        this.#silent.delete(key);
        return started;
      } catch (error) {
        if (isLate && this.#silent.size < MAX_SILENT) this.#silent.add(key);
        else if (!isLate) this.#silent.delete(key);
        throw error;
      } finally {
        timer.cancel();
      }
    });
  }

  async #startNow(program: Program, isProbe: boolean): Promise<StartedProcess> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    const attached = this.#parts.attached?.get(program.name);
    if (attached !== undefined) return await this.#attach(program, attached);
    const { settings, clock, random, children, startsWithin } = this.#parts;
    const runner = await this.#runnerFor(program);
    const copy =
      program.ociImage === "" ? await this.#copies.take(program.command, program.sha256) : null;
    const run = this.#run ?? this.#newRun();
    const forOthers = settings.user !== null || runner.runsOthers;
    const place = await run.place(runner.runsOthers).catch(async (error: unknown) => {
      await copy?.release();
      throw error;
    });
    const remove = async () => {
      await place.remove();
      await copy?.release();
    };
    const counts = this.figures.of(program.name);
    const { pace, log } = this.#outputOf(program, isProbe);
    try {
      const own = makeCertificate({ clock, random });
      const translation = runner.translation(place.folders);
      const isDatabase = program.type === "database";
      const protocols = isDatabase ? DATABASE_PROTOCOLS : ENGINE_PROTOCOLS;
      const protocol = environmentFor({
        cookie: isDatabase ? DATABASE_COOKIE : ENGINE_COOKIE,
        protocols,
        certificate: own.certificatePem,
        socketDirectory: translation.own,
        metadataMode: isProbe,
      });
      const env = environmentOf({
        ours: runner.passesEnvironment ? this.#parts.env : null,
        inherits: settings.inheritEnv,
        entry: program.env,
        protocol: { ...protocol, ...run.mark },
        runtime: children.runtime,
      });
      const running = await runner.start({
        program,
        file: copy?.path ?? null,
        env,
        folders: place.folders,
        id: place.id,
        kept: place.kept,
      });
      const started = await StartedProcess.start({
        name: program.name,
        runner: runner.name,
        world: this.#world,
        running,
        folders: place.folders,
        translation,
        own,
        attached: null,
        protocols,
        within: startsWithin ?? (isProbe ? PROBES_WITHIN : STARTS_WITHIN),
        pace,
        log,
        isForOthers: forOthers,
        mayShare: !settings.withoutMultiplexing.includes(program.name),
        signal,
        times: isProbe ? null : counts,
        trouble: (path, error) => this.#failedInside(program, path, error),
      });
      void started.ended.then(({ cause, isWanted }) => {
        if (!isWanted) this.#crashed(program, cause, log);
        void remove().catch((error: unknown) => this.#left(error));
      });
      return started;
    } catch (error) {
      const last = log.last();
      if (!isProbe && error instanceof Failure) {
        this.#log.error("a plugin could not be started", {
          plugin: program.name,
          cause: describe(error),
          ...(last === "" ? {} : { last_lines: last }),
        });
      }
      await remove();
      throw isProbe && last !== "" ? withOutput(error, last) : error;
    }
  }

  /** The same one for all who want it, over the one connection that there is as long as it runs. */
  async #attach(program: Program, attached: Attachment): Promise<StartedProcess> {
    const { name } = program;
    let attaching = this.#attached.get(name);
    if (attaching === undefined) {
      attaching = this.#attachNow(program, attached);
      this.#attached.set(name, attaching);
      const gone = () => void this.#attached.delete(name);
      void attaching.then(({ ended }) => ended.then(gone), gone);
    }
    const started = await attaching;
    if (started.take()) return started;
    throw notStarted(name, "the process that is debugged serves one mount, and does so already");
  }

  async #attachNow(program: Program, attached: Attachment): Promise<StartedProcess> {
    const { children, startsWithin } = this.#parts;
    const { pid, address, protocol } = attached;
    const place = await (this.#run ?? this.#newRun()).place(false);
    const remove = async () => await place.remove().catch((error: unknown) => this.#left(error));
    const { pace, log } = this.#outputOf(program, false);
    try {
      const started = await StartedProcess.start({
        name: program.name,
        runner: "attached",
        world: this.#world,
        running: attachedTo(attached, children),
        folders: place.folders,
        translation: samePaths(place.folders),
        own: null,
        attached,
        protocols: program.type === "database" ? DATABASE_PROTOCOLS : ENGINE_PROTOCOLS,
        within: startsWithin ?? STARTS_WITHIN,
        pace,
        log,
        isForOthers: false,
        mayShare: true,
        signal: this.#closing.signal,
        times: this.figures.of(program.name),
        trouble: (path, error) => this.#failedInside(program, path, error),
      });
      this.#log.info("a plugin that runs already is attached to", {
        plugin: program.name,
        pid,
        protocol,
      });
      void started.ended.then(({ cause, isWanted }) => {
        if (!isWanted) this.#crashed(program, cause, log);
        void remove();
      });
      return started;
    } catch (error) {
      await remove();
      if (!(error instanceof Failure)) throw error;
      const hint = `process ${pid} is to answer at ${address}: where it was started anew, so is the server, with what it prints now`;
      throw notStarted(program.name, `${error.message}; ${hint}`, { cause: error });
    }
  }

  #outputOf(program: Program, isProbe: boolean): { pace: OutputPace; log: PluginLog } {
    const { clock } = this.#parts;
    const pace = new OutputPace(this.#parts);
    const counts = this.figures.of(program.name);
    const dropped = (lines: number) => (counts.droppedLines += lines);
    const log = new PluginLog({
      log: this.#log,
      name: program.name,
      pace,
      clock,
      isProbe,
      dropped,
    });
    return { pace, log };
  }

  #failedInside({ name: plugin }: Program, call: string, error: unknown): void {
    const cause = describe(error);
    this.#log.warn("a call of a plugin failed inside the server", { plugin, call, cause });
  }

  #crashed(program: Program, cause: string, log: PluginLog): void {
    this.figures.of(program.name).restarts++;
    this.#log.error("a plugin ended; the next request to it starts it again", {
      plugin: program.name,
      cause,
      last_lines: log.last(),
    });
  }

  #left(error: unknown): void {
    this.#log.warn("what a plugin has left could not be removed", { cause: describe(error) });
  }

  async #runnerFor(program: Program): Promise<Runner> {
    const { containers, settings, children, files } = this.#parts;
    if (program.ociImage !== "") {
      if (containers === null) throw noContainers();
      return containers;
    }
    if (program.container !== null) return await this.#boxFor(program.name, program.container);
    this.#runner ??= chooseRunner({
      children,
      files,
      log: this.#log,
      isolation: settings.isolation,
      user: settings.user,
      hidden: settings.hidden,
    });
    try {
      return await this.#runner;
    } catch (error) {
      this.#runner = null; // what was missing may be there the next time
      throw error;
    }
  }

  /** For a file with limits: the sandbox, and nothing in its place. */
  async #boxFor(plugin: string, { ociRuntime }: RuntimeEntry): Promise<Runner> {
    const { containers, settings, children, files } = this.#parts;
    if (ociRuntime !== BWRAP) {
      throw runtimeUnfit(plugin, `it has no image, and only ${BWRAP} runs a file within limits`);
    }
    if (containers?.allows(BWRAP) !== true) throw runtimeNotAllowed(BWRAP, []);
    const { user, hidden } = settings;
    const found = await BwrapRunner.find({ children, files, user, hidden });
    if (typeof found !== "string") return found;
    throw runtimeUnfit(plugin, found);
  }

  #newRun(): RunFolder {
    const { files, children, random, settings } = this.#parts;
    const { temporary, user } = settings;
    return new RunFolder({ files, children, random, log: this.#log, temporary, user });
  }

  #newId(): string {
    return Array.from(
      this.#parts.random.bytes(ID_LENGTH),
      (byte) => ID_LETTERS[byte % ID_LETTERS.length],
    ).join("");
  }
}

/** With what the plugin wrote, for the caller alone. */
function withOutput(error: unknown, last: string): unknown {
  if (!(error instanceof Failure)) return error;
  const { kind, code, message, cause } = error;
  return new Failure(kind, code, message, { cause, texts: [...error.texts, `it wrote: ${last}`] });
}

/** Two that are equal can share a process. It holds variables of entries: it is kept here alone. */
function keyOf(program: Program): string {
  const { type, name, version, command, args, env, sha256, ociImage, container, network } = program;
  return JSON.stringify([
    type,
    name,
    version,
    command,
    args,
    env,
    sha256,
    ociImage,
    container,
    network,
  ]);
}
