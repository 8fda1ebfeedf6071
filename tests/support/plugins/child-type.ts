// A type of engine that runs as a process of its own, by the parts that run plugins: for tests that do the same with it built in.

import { join } from "node:path";
import { Failure } from "@holdfast/shared/failure";
import { callUnary, serviceTable } from "@holdfast/shared/grpc/method";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import type { EngineNeeds, EngineType } from "@holdfast/plugin-sdk/engine";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import { DrivenWorld, MemoryStorage } from "@holdfast/plugin-sdk/testing";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { HOUR } from "@holdfast/shared/text/duration";
import { ownSdk } from "../../../src/plugins/own/own-sdk.ts";
import type { ForeignEngine, HeldProcess, OwnPlugin, Program } from "../../../src/plugins/ports.ts";
import type { PluginProcesses } from "../../../src/plugins/process/plugin-processes.ts";
import type { PluginPlace } from "./plugin-place.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const NEVER = new AbortController().signal;
const NOTHING = { mountPoint: "", mountType: "", mountAccessor: "", backendUuid: "" };

export interface Child {
  /** A file of ours, from the root of the repository, and what it exports, with () behind what makes a type. */
  readonly file: string;
  readonly exported: string;
  readonly kind?: "secret" | "auth";
  readonly env?: readonly string[];
  /** What the type declares of its options does not depend on them but for these. */
  readonly options?: Readonly<Record<string, string>>;
}

/** A program that serves it. */
export function served({ file, exported }: Pick<Child, "file" | "exported">): string {
  const imported = (path: string) => `await import(${JSON.stringify(join(ROOT, path))})`;
  return [
    "#!/usr/bin/env node",
    `${imported("scripts/find-own-modules.ts")};`,
    `const { serve } = ${imported("plugin-sdk/serve/serve.ts")};`,
    `const { ${exported.replace("()", "")} } = ${imported(file)};`,
    `await serve(${exported});`,
    "",
  ].join("\n");
}

class ChildEngine implements ForeignEngine {
  readonly kind: "auth" | "secret";
  readonly name: string;
  readonly held: HeldProcess;
  readonly needs: EngineNeeds;
  own: OwnPlugin | null = null;
  isReady = false;

  constructor(held: HeldProcess, needs: EngineNeeds, program: Program) {
    this.held = held;
    this.needs = needs;
    this.kind = program.type === "auth" ? "auth" : "secret";
    this.name = program.name;
  }

  call: ForeignEngine["call"] = (method, request, { signal, timeout } = {}) =>
    callUnary(this.held.channel, method, request, {
      ...(signal === undefined ? {} : { signal }),
      ...(timeout === undefined ? {} : { timeout }),
    });

  callOffering: ForeignEngine["callOffering"] = async (services, method, request, how) => {
    const offered = await this.held.offer(services);
    return await this.call(method, request(offered.id), how);
  };
}

/** `name`: of the type, as it is built in. */
export async function childType(
  processes: PluginProcesses,
  place: PluginPlace,
  name: string,
  child: Child,
): Promise<EngineType<ChildEngine>> {
  const { kind = "secret", env = [] } = child;
  const command = `${name}.mjs`;
  const sha256 = place.put(command, served(child));
  const program = place.program({ type: kind, name, command, sha256, env });
  const sdk = ownSdk({ isLocal: () => false, maxAnswer: 4 << 20 });
  let users = 0;
  const open = async (needs: EngineNeeds): Promise<ChildEngine> => {
    const held = await processes.hold(program, `user ${++users}`, NEVER);
    const engine = new ChildEngine(held, needs, program);
    const offered = await held.offer(serviceTable(sdk.services(engine, () => engine.isReady)));
    const config = new Map(Object.entries(needs.options));
    const setup = { brokerId: offered.id, config, backendUuid: needs.mount.uuid };
    const { err } = await callUnary(held.channel, backend.setup, setup);
    if (err !== "") throw new Failure("upstream", "plugin-setup-failed", err);
    engine.own = await sdk.describe(engine, held.channel, NEVER);
    engine.isReady = true;
    await callUnary(held.channel, backend.initialize, NOTHING);
    return engine;
  };
  const close = async ({ held }: ChildEngine) => {
    await callUnary(held.channel, backend.cleanup, {});
    await held.release();
  };
  const first = await open(someNeeds(child.options ?? {}));
  const own = first.own;
  if (own === null) throw new Error("it is of our own SDK");
  return {
    type: name,
    kind,
    summary: "",
    version: "v1.0.0",
    checkOptions: (options) => options,
    canChangeOptions: () => null,
    open,
    close,
    ...own.type,
    // What it asks is asked of the engine of the mount: all of them have these endpoints.
    paths: () => own.endpoints as unknown as readonly Endpoint<ChildEngine>[],
  };
}

function someNeeds(options: Readonly<Record<string, string>>): EngineNeeds {
  const world = new DrivenWorld();
  const storage = new MemoryStorage(world);
  return {
    ...NO_SERVICES,
    storage,
    writeAhead: storage.writeAhead,
    clock: world.clock,
    timers: world.timers,
    random: world.random,
    log: world.log,
    mount: {
      uuid: "00000000-0000-4000-8000-00000000000f",
      accessor: "first_00000001",
      namespace: ROOT_NAMESPACE,
      path: () => "first/",
      defaultTtl: () => 768n * HOUR,
      maxTtl: () => 768n * HOUR,
    },
    options,
  };
}
