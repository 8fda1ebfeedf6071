// A plugin directory with the small plugin in it, and processes of it by the real parts.

import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HeldProcess, Program } from "../../../src/plugins/ports.ts";
import {
  PluginProcesses,
  type ProcessParts,
  type ProcessSettings,
} from "../../../src/plugins/process/plugin-processes.ts";
import { Images } from "../../../src/plugins/images/images.ts";
import { OciRunner } from "../../../src/plugins/runners/oci.ts";
import { SystemChildProcesses } from "../../../src/system/child-processes.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemProgramFiles } from "../../../src/system/program-files.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import { callUnary } from "@holdfast/shared/grpc/method";
import { type Log, makeLog } from "@holdfast/shared/log";
import { ask } from "./small-plugin-calls.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const NEVER = new AbortController().signal;

export class PluginPlace {
  readonly base: string;
  readonly directory: string;
  readonly copies: string;
  readonly temporary: string;
  readonly lines: string[] = [];
  readonly log: Log;
  readonly clock = new SystemClock();

  /** One that is there already is used as it is. */
  constructor(base = mkdtempSync(join(realpathSync(tmpdir()), "hf-"))) {
    this.base = base;
    this.directory = join(base, "plugins");
    this.copies = join(base, "copies");
    this.temporary = join(base, "tmp");
    chmodSync(base, 0o711); // who runs in a container passes through
    for (const path of [this.directory, this.temporary]) {
      mkdirSync(path, { recursive: true, mode: 0o755 });
    }
    const write = (line: string) => void this.lines.push(line);
    this.log = makeLog({ level: "debug", format: "standard", write, clock: this.clock });
  }

  /** A file in the plugin directory; gives its sum. */
  put(name: string, content: string | Uint8Array, mode = 0o755): string {
    const path = join(this.directory, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  }

  /** `salt` makes it another file. */
  putSmall(name = "small.mjs", salt = ""): string {
    return this.put(name, smallPlugin(salt));
  }

  program(changes: Partial<Program> = {}): Program {
    const command = changes.command ?? "small.mjs";
    return {
      type: "secret",
      name: "small",
      version: "",
      sha256: changes.sha256 ?? this.putSmall(command),
      command,
      args: [],
      env: [],
      ociImage: "",
      runtime: "",
      network: "none",
      container: null,
      ...changes,
    };
  }

  settings(changes: Partial<ProcessSettings> = {}): ProcessSettings {
    return {
      directory: this.directory,
      fileOwner: null,
      filePermissions: 0o755,
      temporary: this.temporary,
      copies: this.copies,
      user: null,
      isolation: "none",
      inheritEnv: false,
      withoutMultiplexing: [],
      hidden: [],
      ...changes,
    };
  }

  parts(
    settings: Partial<ProcessSettings> = {},
    changes: Partial<ProcessParts> = {},
  ): ProcessParts {
    return {
      settings: this.settings(settings),
      children: new SystemChildProcesses(),
      files: new SystemProgramFiles(),
      clock: this.clock,
      timers: new SystemTimers(),
      random: new SystemRandom(),
      env: process.env,
      machine: { platform: process.platform, arch: process.arch },
      log: this.log.child("plugin"),
      containers: null,
      ...changes,
    };
  }

  async open(
    settings: Partial<ProcessSettings> = {},
    changes: Partial<ProcessParts> = {},
  ): Promise<PluginProcesses> {
    const processes = new PluginProcesses(this.parts(settings, changes));
    await processes.open();
    return processes;
  }

  /** What runs images of the directory, without a daemon. */
  containers(runtimes: readonly string[] = ["runc"]): OciRunner {
    const files = new SystemProgramFiles();
    const folder = join(this.base, "images");
    const images = new Images({ files, directory: this.directory, folder, arch: process.arch });
    const children = new SystemChildProcesses();
    return new OciRunner({ files, children, images, runtimes, arch: process.arch });
  }

  /** Folders of runs that are there. */
  runs(): string[] {
    return readdirSync(this.temporary);
  }

  remove(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** A file that does what small-plugin.ts does, wherever it lies. */
export function smallPlugin(salt = ""): string {
  const modules = join(ROOT, "scripts", "find-own-modules.ts");
  const plugin = join(import.meta.dirname, "small-plugin.ts");
  return `#!/usr/bin/env node\n// ${salt}\nawait import(${JSON.stringify(modules)});\nawait import(${JSON.stringify(plugin)});\n`;
}

export function hold(
  processes: PluginProcesses,
  program: Program,
  user = "one",
): Promise<HeldProcess> {
  return processes.hold(program, user, NEVER);
}

export async function say(
  held: HeldProcess,
  what: string,
  text = "",
  options: { readonly timeout?: bigint; readonly signal?: AbortSignal } = {},
): Promise<string> {
  return (await callUnary(held.channel, ask, { what, text }, options)).text;
}

/** Who watches over processes of the place: each leads a group of its own. */
export function keepersOf(place: PluginPlace): number[] {
  const folders = place.runs().map((name) => join(place.temporary, name));
  return new SystemChildProcesses().all().filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes("holdfast-keeper") && folders.some((folder) => words.includes(folder));
    } catch {
      return false; // gone meanwhile
    }
  });
}

/** Whether anything runs under the number. */
export function runs(pid: number): boolean {
  return new SystemChildProcesses().look(pid) !== null;
}
