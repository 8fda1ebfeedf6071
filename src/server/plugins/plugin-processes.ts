// Processes of plugins as this server runs them: by its configuration, from where it keeps its own files. What starts them is
// loaded with the first.

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Log } from "@holdfast/shared/log";
import type { World } from "@holdfast/shared/world";
import type { Config } from "../../config/config.ts";
import type { Attachment } from "../../plugins/ports.ts";
import { ProcessesAtNeed, type RunningProcesses } from "../../plugins/processes-at-need.ts";
import { pluginUserUnknown } from "../failures.ts";

/** What systemd says that the service has for itself. */
const RUNTIME_DIRECTORY = "RUNTIME_DIRECTORY";
const LEFT = /^holdfast-[0-9a-f]{12}$/; // a folder of a run

export interface PluginProcessParts {
  readonly config: Config;
  readonly world: World;
  /** Under `plugin`. */
  readonly log: Log;
  /** The server's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of development mode. */
  readonly attached: ReadonlyMap<string, Attachment>;
}

export function pluginProcesses(parts: PluginProcessParts): ProcessesAtNeed {
  const { config, world } = parts;
  const temporary = temporaryOf(parts);
  return new ProcessesAtNeed({
    make: () => make(parts, temporary),
    isSomethingLeft: () => {
      if (config.directories.plugins === null) return false;
      try {
        return world.fs.list(temporary).some((name) => LEFT.test(name));
      } catch {
        return false; // told when the first plugin is started
      }
    },
  });
}

function temporaryOf({ config, environment }: PluginProcessParts): string {
  const [own] = (environment[RUNTIME_DIRECTORY] ?? "").split(":");
  return config.plugins.tmpdir ?? (own || "/tmp");
}

async function make(parts: PluginProcessParts, temporary: string): Promise<RunningProcesses> {
  const { config, world, log, environment, attached } = parts;
  const { plugins, directories } = config;
  const [{ PluginProcesses }, { containersOf }, { SystemChildProcesses }, { SystemProgramFiles }] =
    await Promise.all([
      import("../../plugins/process/plugin-processes.ts"),
      import("../../plugins/runners/containers.ts"),
      import("../../system/child-processes.ts"),
      import("../../system/program-files.ts"),
    ]);
  const children = new SystemChildProcesses();
  const user = plugins.user === null ? null : children.user(plugins.user);
  if (plugins.user !== null && user === null) throw pluginUserUnknown(plugins.user);
  const { clock, timers, random } = world;
  const files = new SystemProgramFiles();
  return new PluginProcesses({
    settings: {
      directory: directories.plugins,
      fileOwner: plugins.fileOwner,
      filePermissions: plugins.filePermissions,
      temporary,
      copies: copiesAt(config, temporary),
      user,
      isolation: plugins.isolation,
      inheritEnv: plugins.inheritEnv,
      withoutMultiplexing: plugins.withoutMultiplexing,
      hidden: hiddenOf(config),
    },
    children,
    files,
    clock,
    timers,
    random,
    env: environment,
    machine: { platform: process.platform, arch: process.arch },
    log,
    attached,
    containers: containersOf({
      files,
      children,
      directory: directories.plugins,
      folder: forOthers(config, temporary, "images"),
      runtimes: plugins.ociRuntimes,
      socket: plugins.containerSocket,
      arch: process.arch,
    }),
  });
}

function copiesAt(config: Config, temporary: string): string {
  if (config.plugins.user !== null) return forOthers(config, temporary, "copies");
  return join(config.directories.server, "plugins");
}

/** Another user reaches none of the server's own folders. */
function forOthers({ directories }: Config, temporary: string, what: string): string {
  const own = createHash("sha256").update(directories.server).digest("hex").slice(0, 12);
  return join(temporary, `holdfast-${what}-${own}`);
}

/** What the server keeps and is configured with. */
function hiddenOf({ directories, listeners, seal }: Config): string[] {
  const { data, store, server, audit, snapshots } = directories;
  const keys = listeners.flatMap(({ tls }) => (tls === null ? [] : [tls.keyFile]));
  const sealKey = seal.type === "static" && "file" in seal.key ? [seal.key.file] : [];
  const folders = [data, store, server, audit, snapshots].filter((path) => path !== null);
  const outer = folders.filter(
    (path) => !folders.some((other) => other !== path && path.startsWith(`${other}/`)),
  );
  return [...new Set([...outer, ...keys, ...sealKey])];
}
