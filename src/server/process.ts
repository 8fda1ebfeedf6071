// The process around the house: configuration, log, measurements, listeners. What stays when the house is exchanged
// for another one; it holds the house that there is now, and asks that one each time.

import type { EngineType } from "@holdfast/plugin-sdk/engine";
import type { Failure } from "@holdfast/shared/failure";
import type { Log, LogDial } from "@holdfast/shared/log";
import type { Fs, World } from "@holdfast/shared/world";
import type { ClusterPort } from "../cluster/port.ts";
import { showHostPort } from "../config/address.ts";
import type { Config } from "../config/config.ts";
import { RequestState } from "../core/request-state.ts";
import { type Bound, HttpServer } from "../http/server.ts";
import { Instruments } from "../introspection/instruments.ts";
import { TimedEngine } from "../introspection/timed-engine.ts";
import { Held } from "../carried/held.ts";
import { RestoreBook } from "../snapshots/restore/restore-book.ts";
import type { StorageEngine } from "../storage/engines/engine.ts";
import type { Generations } from "../storage/generations/generations.ts";
import type { Retention } from "../storage/trimming.ts";
import { RuntimeStats } from "../system/runtime-stats.ts";
import { declaredDevices } from "./audit-devices.ts";
import { HouseExchange, type Replacement } from "./house-exchange.ts";
import { exchanging, reloadFailed, reloadUnknown, serverStopping } from "./failures.ts";
import { makeServerDirectory, openGenerations } from "./foundations.ts";
import {
  ALONE,
  type DevParts,
  type ProcessGround,
  type Standing,
  type WitnessedWrites,
} from "./ground.ts";
import { House } from "./house.ts";
import { inEffect, openDescriptors } from "./in-effect.ts";
import { listenerSettings, responseHeaders } from "./listeners.ts";
import { LogLevels } from "./log-levels.ts";
import { pluginProcesses } from "./plugins/plugin-processes.ts";

export interface ServerParts {
  readonly world: World;
  readonly log: Log;
  readonly version: string;
  readonly buildDate: string;
  /** Development mode: insecure by definition. A root token may be chosen. */
  readonly dev?: DevParts;
  /** How much the log tells; turned by sys/loggers. */
  readonly dial: LogDial;
  /** Files that operators put there for us (certificates, keys): links are followed, as secrets of a
   *  container platform are links. Default: the world's. */
  readonly operatorFiles?: Fs;
  /** Does what SIGHUP does. Default: only certificates and audit files can be read again. */
  readonly reload?: () => Promise<void>;
  /** Default: the one that the configuration names. */
  readonly generations?: Generations;
  /** Types of engines beside the built-in ones. Default none. */
  readonly engineTypes?: readonly EngineType<unknown>[];
  /** Variables that engines look for: of the process, or of a test. Default none. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Whether this node becomes the active one of its cluster when it is unsealed. Default: always. */
  readonly leads?: () => boolean;
  /** How long the log of the store is kept. Default: that of trimming.ts. */
  readonly logRetention?: Retention;
  /** What this node is in its cluster, and its cluster among others. Default: active, and there are no others. */
  readonly standing?: Standing;
  /** Rooms beside those of the list. Default none. */
  readonly rooms?: ProcessGround["furtherRooms"];
  /** Default: nobody looks. */
  readonly witnessed?: WitnessedWrites;
}

/** In their order they start, and they stop in the opposite one. */
interface ProcessPart {
  readonly name: string;
  start(): void | Promise<void>;
  stop(): void | Promise<void>;
}

export class ServerProcess {
  readonly #parts: ServerParts;
  readonly #runtime = new RuntimeStats();
  readonly #instruments: Instruments;
  readonly #http: HttpServer;
  #clusterPort: ClusterPort | null = null;
  #clusterAddress: string | null = null;
  readonly #bound: Bound[] = [];
  readonly #list: readonly ProcessPart[];
  readonly #started: Config;
  #current: Config;
  readonly #ground: ProcessGround;
  readonly #lost = Promise.withResolvers<unknown>();
  #generations: Generations | null = null;
  #exchange: HouseExchange | null = null;
  /** Between two houses. */
  #paused = false;
  #house: House | null = null;
  /** The same, but for an exchange: then it is the one that is about to take its place. */
  #newest: House | null = null;

  constructor(config: Config, parts: ServerParts) {
    this.#parts = parts;
    this.#started = config;
    this.#current = config;
    const runtime = this.#runtime;
    this.#instruments = this.#newInstruments();
    this.#ground = this.#newGround();
    this.#http = this.#newHttp();
    this.#list = [
      {
        name: "cluster port",
        start: () => this.#openClusterPort(),
        stop: () => this.#clusterPort?.close(0n),
      },
      {
        name: "house",
        start: async () => {
          if (!this.house.store.initialised) this.house.rooms.snapshots.restores.secret.make();
          await this.house.start();
        },
        stop: () => this.house.stop(),
      },
      {
        name: "listeners",
        start: () => this.#listen(),
        stop: () => this.#http.close(this.#current.shutdownTimeout),
      },
      { name: "measurements", start: () => runtime.start(), stop: () => runtime.stop() },
    ];
  }

  /** The house that there is now. */
  get house(): House {
    if (this.#house === null) throw new TypeError("there is no house yet");
    return this.#house;
  }

  /** Resolves with the cause when the storage fails; never otherwise. */
  get failed(): Promise<unknown> {
    return this.#lost.promise;
  }

  get addresses(): readonly string[] {
    return this.#bound.map(({ url }) => url);
  }

  async start(): Promise<void> {
    const { world, log } = this.#parts;
    const config = this.#started;
    makeServerDirectory(config, world, log);
    const generations = this.#parts.generations ?? (await openGenerations(config, world, log));
    try {
      this.#house = this.#build(await generations.open());
    } catch (error) {
      await generations.close();
      throw error;
    }
    this.#generations = generations;
    this.#exchange = this.#newExchange(generations);
    try {
      for (const part of this.#list) await part.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Takes no more requests, lets running ones end, flushes audit, seals. */
  async stop(): Promise<void> {
    await this.#exchange?.close();
    await this.house.interrupt(); // what was begun goes on after the next start
    for (const part of this.#list.toReversed()) await part.stop();
    await this.#generations?.close();
  }

  /** Puts other data in the place of the house's; listeners stay. */
  async exchange(replacement: Replacement): Promise<void> {
    if (this.#exchange === null) throw serverStopping();
    await this.#exchange.run(replacement);
  }

  /** Takes over what can change while the server runs; gives the problems, in words. */
  async reload(next: Config): Promise<readonly string[]> {
    this.#current = next;
    for (const [at, listener] of next.listeners.entries()) {
      this.#bound[at]?.setResponseHeaders(responseHeaders(listener));
    }
    const { seal, audit, plugins } = this.house.rooms;
    const problems = [...(await this.#http.reload())];
    if (seal.keeper.sealed) return problems;
    problems.push(...(await audit.audit.reload(declaredDevices(next))));
    problems.push(...(await plugins.declaredPlugins.reload(next.plugins.declared)));
    return problems;
  }

  #build(engine: StorageEngine): House {
    const house = new House(this.#ground, this.#timed(engine));
    this.#newest = house;
    void house.store.failed.then((cause) => {
      if (this.#newest === house) this.#lost.resolve(cause); // one that was left is nobody's loss
    });
    return house;
  }

  #newExchange(generations: Generations): HouseExchange {
    return new HouseExchange({
      log: this.#parts.log.child("server"),
      generations,
      house: () => this.house,
      build: (engine) => this.#build(engine),
      pause: () => {
        this.#paused = true;
      },
      resume: (house) => {
        this.#house = house;
        this.#paused = false;
      },
      lost: (cause) => this.#lost.resolve(cause),
    });
  }

  async #listen(): Promise<void> {
    for (const listener of this.#started.listeners) {
      this.#bound.push(await this.#http.listen(listenerSettings(listener)));
    }
  }

  /** Before the house, which says who may come in; until then everybody is refused. Loaded where there is one. */
  async #openClusterPort(): Promise<void> {
    const { clusterPort } = this.#started;
    if (clusterPort === null) return;
    const { world, log } = this.#parts;
    const { ClusterPort: Port } = await import("../cluster/port.ts");
    const isSealed = () => {
      const keeper = this.#house?.rooms.seal.keeper;
      return keeper !== undefined && keeper.initialised && keeper.sealed;
    };
    const port = new Port({ ...world, log: log.child("cluster"), isSealed });
    const at = await port.listen(clusterPort);
    this.#clusterPort = port;
    this.#clusterAddress = `https://${showHostPort(at)}`;
  }

  /** What the house is given of it. */
  #newGround(): ProcessGround {
    const { world, log, version, buildDate, dev, dial, environment = {} } = this.#parts;
    const config = this.#started;
    const plugins = pluginProcesses({
      config,
      world,
      log: log.child("plugin"),
      environment,
      attached: dev?.attached ?? new Map(),
    });
    return {
      config,
      plugins,
      world,
      log,
      version,
      buildDate,
      dev,
      operatorFiles: this.#operatorFiles(),
      engineTypes: this.#parts.engineTypes ?? [],
      environment: (name) => variableOf(environment, name),
      instruments: this.#instruments,
      runtime: this.#runtime,
      apiAddress: () => config.apiAddr ?? this.#bound[0]?.url ?? "",
      clusterPort: () => this.#clusterPort,
      clusterAddress: () => config.clusterAddr ?? this.#clusterAddress ?? "",
      configuration: () => inEffect(this.#current),
      reload: (what) => this.#reloadPart(what),
      loggers: new LogLevels(dial, () => this.#current.log.level),
      leads: this.#parts.leads ?? (() => true),
      logRetention: {
        bytes: BigInt(config.replication.logBytes),
        age: config.replication.logAge,
        ...this.#parts.logRetention,
      },
      standing: this.#parts.standing ?? ALONE,
      furtherRooms: this.#parts.rooms ?? [],
      witnessed: this.#parts.witnessed,
      restores: new RestoreBook(world.clock),
      held: new Held(),
      exchange: (replacement) => this.exchange(replacement),
    };
  }

  #newInstruments(): Instruments {
    const { world, version } = this.#parts;
    const read = () => this.house.readings;
    const sealed = () => this.house.rooms.seal.keeper.sealed;
    return new Instruments({
      clock: world.clock,
      version,
      runtime: () => this.#runtime.read(),
      requestsInFlight: () => this.house.running.count,
      openDescriptors: () => openDescriptors(world.fs),
      sealState: () => read().sealState?.() ?? "uninitialised",
      barrierEncryptions: () => read().barrierEncryptions?.() ?? null,
      barrierIntegrityErrors: () => read().barrierIntegrityErrors?.() ?? 0,
      recordsHealed: () => read().recordsHealed?.() ?? 0,
      storageIndexes: () => read().storageIndexes?.() ?? null,
      auditDevicesHealthy: () => read().auditDevicesHealthy?.() ?? null,
      leases: () => (sealed() ? null : (read().leases?.() ?? null)),
      orphans: () => (sealed() ? [] : (read().orphans?.() ?? [])),
      plugins: () => (sealed() ? [] : (read().plugins?.() ?? [])),
      attention: () => (sealed() ? [] : (read().attention?.() ?? [])),
      mounted: (accessor) => read().mounted?.(accessor) ?? false,
      snapshots: () => read().snapshots?.() ?? [],
      automatedSnapshots: () => (sealed() ? null : (read().automatedSnapshots?.() ?? null)),
      drills: () => (sealed() ? null : (read().drills?.() ?? null)),
      replication: () => (sealed() ? null : (read().replication?.() ?? null)),
    });
  }

  #newHttp(): HttpServer {
    const { world, log } = this.#parts;
    const { clock, timers, random } = world;
    const { compat, ui, apiAddr, replication } = this.#started;
    const requests = log.child("request");
    const browser = () => this.house.rooms.browser.browser;
    return new HttpServer({
      core: {
        handle: async (incoming) =>
          this.#paused
            ? new RequestState(incoming, clock.now()).outcome(exchanging(), null)
            : this.house.pipeline.handle(incoming),
        streams: (request) => this.house.pipeline.streams(request),
      },
      clock,
      timers,
      random,
      fs: this.#operatorFiles(),
      log: log.child("http"),
      browser: {
        allows: (origin) => browser().allows(origin),
        corsHeaders: (origin, preflight) => browser().corsHeaders(origin, preflight),
        consoleHeaders: () => browser().consoleHeaders(),
      },
      compat,
      forwardsByHeader: replication.forwardsByHeader,
      ui,
      apiAddress: apiAddr,
      observe: ({ operation, mountType, status, nanos }) => {
        const seconds = Number(nanos) / 1e9;
        this.#instruments.requestDone(operation ?? "", mountType, status, seconds);
        const { requests: level } = this.#current.log;
        if (level !== "off") {
          requests[level]("answered", { operation: operation ?? "", status, ms: seconds * 1e3 });
        }
      },
    });
  }

  #timed(engine: StorageEngine): StorageEngine {
    return new TimedEngine(engine, this.#parts.world.clock, {
      get: this.#instruments.storageOp("get"),
      scan: this.#instruments.storageOp("scan"),
      commit: this.#instruments.storageOp("commit"),
    });
  }

  #operatorFiles(): Fs {
    return this.#parts.operatorFiles ?? this.#parts.world.fs;
  }

  async #reloadPart(what: string): Promise<void> {
    const { reload } = this.#parts;
    const { audit } = this.house.rooms.audit;
    const problems =
      what === "listener"
        ? await this.#http.reload()
        : what === "audit"
          ? await audit.reload()
          : null;
    if (problems === null) {
      if (what !== "all" || reload === undefined) throw unknownPart(reload !== undefined);
      return reload();
    }
    if (problems.length > 0) throw reloadFailed(problems.join("; "));
  }
}

/** An empty one counts as none; names of a prototype are none. */
function variableOf(
  variables: Readonly<Record<string, string | undefined>>,
  name: string,
): string | null {
  return (Object.hasOwn(variables, name) ? variables[name] : undefined) || null;
}

function unknownPart(all: boolean): Failure {
  const known = ["listener", "audit", ...(all ? ["all"] : [])].join(", ");
  return reloadUnknown(`what can be reloaded: ${known}`);
}
