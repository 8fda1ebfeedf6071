// The life of a server process: its log, the server, what it announces, reloads, and its end.

import { utf8 } from "@holdfast/shared/bytes";
import { describe, Failure } from "@holdfast/shared/failure";
import { reloadFailed } from "./failures.ts";
import { traceOf } from "@holdfast/shared/fault";
import type { Log } from "@holdfast/shared/log";
import type { World } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import { needRestart } from "../config/differences.ts";
import { type Loaded, loadConfig, type Sources } from "../config/load.ts";
import { ConfigFailure, showProblem } from "../config/problem.ts";
import { checkAuditDevices } from "./checks/audit-check.ts";
import { broken } from "../base/lines.ts";
import { certificateTime } from "./checks/certificate-check.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import {
  announceDev,
  type DevPlace,
  openDev,
  prepareClouds,
  prepareDevPlugins,
  prepareReplicas,
  withoutClouds,
} from "./dev/dev-mode.ts";
import { dump } from "./diagnostics.ts";
import type { DevFlags } from "./flags.ts";
import { FollowedFiles } from "./followed-files.ts";
import { devWarnings, hostWarnings, namedFiles, writableByOthers } from "./hardening.ts";
import type { Host } from "./host.ts";
import { ProcessLog } from "./process-log.ts";
import type { ServerModule, ServerPart, ServerParts } from "./server-part.ts";
import { serve } from "./serving.ts";
import type { Signals } from "./signals.ts";
import { BUILD_DATE, VERSION } from "../system/version.ts";

export const BAD_CONFIGURATION = 2;

export interface HostServices {
  readonly host: Host;
  readonly world: World;
  /** Loads the server itself, which --help and --validate do without. */
  readonly load: () => Promise<ServerModule>;
}

/** What the command line and the configuration came to. */
export interface Start {
  readonly signals: Signals;
  readonly around: HostServices;
  readonly sources: Sources;
  readonly loaded: Loaded;
  readonly dev: { readonly flags: DevFlags; readonly place: DevPlace } | null;
}

/** Gives the exit code. */
export async function start(begun: Start): Promise<number> {
  const { around, loaded } = begun;
  const { host, world } = around;
  let processLog: ProcessLog;
  try {
    processLog = new ProcessLog(loaded.config.log, host, world.clock);
  } catch (error) {
    return complain(host, describe(error), BAD_CONFIGURATION);
  }
  host.onCrash((error) => crash(error, host, processLog.log, loaded.config));
  try {
    return await new ProcessLife(begun, processLog).run();
  } finally {
    processLog.close();
  }
}

class ProcessLife {
  readonly #begun: Start;
  readonly #processLog: ProcessLog;
  readonly #log: Log;
  readonly #watch: CertificateWatch;
  readonly #reloads = new Reloads(() => this.#reload());
  #config: Config;
  #server: ServerPart | null = null;
  #replicas: readonly ServerPart[] = [];
  #leavePlugins: () => void = () => {};

  constructor(begun: Start, processLog: ProcessLog) {
    const { around, sources, loaded } = begun;
    this.#begun = begun;
    this.#processLog = processLog;
    this.#log = processLog.log;
    this.#config = loaded.config;
    this.#watch = new CertificateWatch({
      timers: around.world.timers,
      log: this.#log,
      files: sources.files,
      changed: () => {
        this.#log.info("certificate files have changed");
        this.#askForReload();
      },
    });
  }

  async run(): Promise<number> {
    const { around, dev } = this.#begun;
    const { host, load } = around;
    const module = await load();
    try {
      this.#warn();
      this.#server = await module.openServer(this.#config, this.#parts());
    } catch (error) {
      this.#log.error("could not start", { cause: describe(error) });
      const code = error instanceof ConfigFailure ? BAD_CONFIGURATION : module.exitCodeOf(error);
      if (dev !== null && error instanceof Failure && error.code === "listen-failed") {
        return complain(host, "choose another address: --dev-listen-address 127.0.0.1:8210", code);
      }
      // Where the log is elsewhere, whoever started us should not have to look for it.
      const { file, level } = this.#config.log;
      return file === null && level !== "off" ? code : complain(host, describe(error), code);
    }
    return this.#live(this.#server, module);
  }

  #parts(): ServerParts {
    const { around, dev } = this.#begun;
    const { host, world } = around;
    return {
      world,
      log: this.#log,
      dial: this.#processLog.dial,
      operatorFiles: new FollowedFiles(world.fs, host),
      version: VERSION,
      buildDate: BUILD_DATE,
      // What is set for real clouds would go before what the stand-ins are told of by.
      environment: dev?.flags.clouds === true ? withoutClouds(host.env) : host.env,
      reload: () => this.#reloads.run(),
      ...(dev === null
        ? {}
        : { dev: { rootToken: dev.flags.rootToken, attached: dev.flags.attached } }),
    };
  }

  async #live(server: ServerPart, module: ServerModule): Promise<number> {
    const { signals, around } = this.#begun;
    const { host, world } = around;
    const { fs, clock, timers } = world;
    const startedAt = clock.elapsed();
    const { pidFile } = this.#config;
    try {
      await this.#announce(server, module);
      if (pidFile !== null) fs.replace(pidFile, utf8(`${host.pid}\n`));
    } catch (error) {
      this.#log.error("could not start", { cause: describe(error) });
      await server.stop().catch(() => {});
      return module.exitCodeOf(error);
    }
    this.#watch.watch(this.#config);
    host.started();
    try {
      return await serve(server, {
        signals,
        timers,
        log: this.#log,
        shutdownTimeout: () => this.#config.shutdownTimeout,
        reload: () => this.#askForReload(),
        dump: () => {
          const uptime = clock.elapsed() - startedAt;
          dump(this.#log, { server, config: this.#config, host, version: VERSION, uptime });
        },
      });
    } finally {
      this.#leavePlugins();
      for (const one of this.#replicas) await one.stop().catch(() => {});
      this.#watch.stop();
      if (pidFile !== null) removePid(pidFile, host, world);
    }
  }

  async #announce(server: ServerPart, module: ServerModule): Promise<void> {
    const { dev, around, sources } = this.#begun;
    const { host, world } = around;
    if (dev !== null) {
      const keys = await openDev(server, dev.flags, dev.place, world.fs);
      await prepareClouds(server, keys, dev.place, world);
      const replicas = await prepareReplicas(server, keys, dev.place, {
        module,
        server: { ...this.#parts(), log: this.#log.child("replica"), dev: { rootToken: null } },
        load: async (text) =>
          (await loadConfig({ ...sources, inline: { name: "--dev-replica", text } })).config,
        world,
      });
      this.#replicas = replicas.map((one) => one.server).toReversed();
      announceDev(server, keys, dev.place, { host, fs: world.fs, version: VERSION, replicas });
      this.#leavePlugins = await prepareDevPlugins(server, keys, dev.place, { host, world });
    }
    const { sealed, initialized, type } = server.keeper.status();
    const addresses = server.addresses.join(" ");
    this.#log.info("ready", { version: VERSION, initialized, sealed, addresses });
    // Whoever starts a server for the first time looks here.
    if (!initialized)
      this.#log.info(
        "not initialised: run `holdfast operator init` once if it is new; if it was initialised before, its disk is not mounted; `holdfast snapshot restore FILE` brings a backup back",
      );
    else if (sealed && type === "shamir") {
      this.#log.info("sealed: run `holdfast operator unseal` and give key shares");
    }
  }

  // --- reloading ---

  /** For those who do not wait for it: what went wrong is in the log. */
  #askForReload(): void {
    this.#reloads.run().catch((error: unknown) => {
      this.#log.error("could not reload everything", { cause: describe(error) });
    });
  }

  /** Everything that can be taken over is; then throws if something could not be. */
  async #reload(): Promise<void> {
    const server = this.#server;
    if (server === null) return; // it has just read the files, or is about to
    const next = await this.#readAgain();
    this.#processLog.reload(next.log);
    const problems = await server.reload(next);
    for (const setting of needRestart(this.#config, next)) {
      this.#log.warn("this setting takes effect at the next start", { setting });
    }
    this.#config = next;
    this.#watch.watch(next);
    this.#warnOfCertificates(next);
    if (problems.length > 0) {
      throw reloadFailed(problems.join("; "), { texts: problems });
    }
    this.#log.info("reloaded");
  }

  /** A configuration that is broken is not taken over, not even in part. */
  async #readAgain(): Promise<Config> {
    const { config, warnings } = await loadConfig(this.#begun.sources);
    for (const problem of warnings) this.#log.warn(showProblem(problem));
    return config;
  }

  /** They are in use, as somebody said so; whoever looks for why clients stay away finds it here. */
  #warnOfCertificates({ listeners }: Config): void {
    const { around, sources } = this.#begun;
    const now = around.world.clock.now();
    const texts = listeners.flatMap(({ tls }) =>
      tls === null ? [] : (certificateTime(tls, sources.files, now) ?? []),
    );
    for (const text of new Set(texts)) this.#log.warn(text);
  }

  // --- the start ---

  #warn(): void {
    const { dev, around, loaded, sources } = this.#begun;
    for (const problem of loaded.warnings) this.#log.warn(showProblem(problem));
    const paths = [...loaded.files, ...namedFiles(loaded.config)];
    const texts = [
      ...(dev === null ? hostWarnings(around.host) : devWarnings(around.host)),
      ...writableByOthers(paths, sources.files),
    ];
    for (const text of texts) this.#log.warn(text);
    this.#warnOfCertificates(loaded.config);
    const { host, world } = around;
    for (const { device, problem } of checkAuditDevices(loaded.config, host, world.fs)) {
      if (problem === null) continue;
      this.#log.warn(`${device}: ${problem}; without a device that opens the server cannot unseal`);
    }
  }
}

function crash(error: unknown, host: Host, log: Log, config: Config): void {
  const cause = describe(error);
  log.error("a mistake in the server itself; ending at once", { cause, at: traceOf(error) });
  if (config.log.file !== null) host.err(`holdfast: ${cause}\n`);
  host.exit(1);
}

/** Only if it is still ours: the next server may have written its own already. */
function removePid(path: string, host: Host, { fs }: World): void {
  try {
    if (fs.read(path, 64)?.toString("utf8").trim() === String(host.pid)) fs.remove(path);
  } catch {
    // a file that stays behind harms nobody
  }
}

export function complain(host: Host, text: string, code: number): number {
  const label = "holdfast: ";
  for (const line of text.split("\n")) {
    const shaped = host.columns === null ? [line] : broken(line, host.columns - label.length);
    host.err(`${label}${shaped.join(`\n${" ".repeat(label.length)}`)}\n`);
  }
  return code;
}

// --- reloads ---

// One reload at a time. What asks meanwhile, once or often, gets one more after it: the files may have
// changed since they were read.

export class Reloads {
  readonly #reload: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(reload: () => Promise<void>) {
    this.#reload = reload;
  }

  /** Settles with a reload that began after the call. */
  run(): Promise<void> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.catch(() => {}).then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = null;
    this.#running = this.#reload().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }
}
