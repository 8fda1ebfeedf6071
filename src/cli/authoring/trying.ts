// `holdfast plugin test`: for whoever writes one, or is handed one.

import { basename, join } from "node:path";
import { makeLog } from "@holdfast/shared/log";
import { conform } from "../../plugins/conform/conform.ts";
import type { Finding } from "../../plugins/conform/finding.ts";
import { PluginProcesses } from "../../plugins/process/plugin-processes.ts";
import { buildPlugin } from "../../system/bundle/program.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { SystemRandom } from "../../system/random.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { PLUGIN_TYPES } from "../plugin/arguments.ts";
import { variable } from "../plugin/described.ts";
import { copyProgram, isProgram, makeTrialPlace, type TrialPlace } from "./project-files.ts";

const MAX_LINES = 20;

export const pluginTest = command({
  name: "plugin test",
  summary: "Try whether a program is a plugin that a server can run",
  description:
    "FILE is a program, in any language, or the source of a plugin in TypeScript, which is built first. It is started and asked by what " +
    "a server does so with, over the same sockets, for two mounts whose storage is in memory. What it is asked only reads; no server is " +
    "needed. Exit code 1 when something is wrong.",
  examples: [
    "holdfast plugin test doorbell.ts",
    "holdfast plugin test -option region=eu ./secrets-plugin",
    "holdfast plugin test -type database -env PGSSLMODE ./postgres-plugin",
  ],
  flags: {
    type: flag.oneOf(PLUGIN_TYPES, "What it is (what it says; database must be said)"),
    args: flag.string("An argument that it is started with", "ARGUMENT").repeated(),
    env: flag
      .string("A variable to start it with: its value is taken from the environment here", "NAME")
      .repeated(),
    option: flag.string("An option of the mounts", "KEY=VALUE").repeated(),
  },
  args: { file: argument.required("Program, or source in TypeScript") },
  withoutToken: true,
  async run(context, { file, type, args, env, option }) {
    const source = context.files.real(file);
    if (!context.files.isFile(source)) throw new UsageError(`${file} is no file`);
    const options = Object.fromEntries(option.map(optionOf));
    const entry = env.map((one) => variable(context, one));
    const place = makeTrialPlace();
    try {
      const { name, command, sha256 } = put(source, place);
      const lines: string[] = [];
      const findings = await context.untilInterrupted((signal) =>
        findingsOf(context, place, {
          lines,
          signal,
          type,
          name,
          command,
          sha256,
          args,
          entry,
          options,
        }),
      );
      await show(context, findings, lines);
      return findings.some(({ result }) => result === "wrong") ? 1 : 0;
    } finally {
      place.remove();
    }
  },
});

function optionOf(text: string): [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new UsageError("-option takes KEY=VALUE");
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function put(source: string, { directory }: TrialPlace) {
  const base = basename(source);
  if (isProgram(source)) {
    return {
      name: wordOf(base),
      command: base,
      sha256: copyProgram(source, join(directory, base)),
    };
  }
  const command = `${base.replace(/\.\w+$/, "")}.mjs`;
  const { type, sha256 } = buildPlugin(source, join(directory, command));
  return { name: type, command, sha256 };
}

/** As a mount would call it. */
function wordOf(file: string): string {
  return (
    file
      .replace(/\.\w+$/, "")
      .replace(/\W+/g, "-")
      .toLowerCase() || "plugin"
  );
}

interface Trial {
  readonly lines: string[];
  readonly signal: AbortSignal;
  readonly type: (typeof PLUGIN_TYPES)[number] | undefined;
  readonly name: string;
  readonly command: string;
  readonly sha256: string;
  readonly args: readonly string[];
  readonly entry: readonly string[];
  readonly options: Readonly<Record<string, string>>;
}

async function findingsOf(
  context: Context,
  { directory, temporary, copies }: TrialPlace,
  trial: Trial,
): Promise<Finding[]> {
  const { clock, timers, env } = context;
  const { lines, signal, type = null, name, command, sha256, args, entry, options } = trial;
  const log = makeLog({
    level: "info",
    format: "standard",
    write: (line) => void lines.push(line),
    clock,
  });
  const children = new SystemChildProcesses();
  const random = new SystemRandom();
  const processes = new PluginProcesses({
    settings: {
      directory,
      fileOwner: null,
      filePermissions: 0o755,
      temporary,
      copies,
      user: null,
      isolation: "none", // it is its author who runs it
      inheritEnv: false,
      withoutMultiplexing: [],
      hidden: [],
    },
    children,
    files: new SystemProgramFiles(),
    clock,
    timers,
    random,
    env,
    machine: { platform: process.platform, arch: process.arch },
    log: log.child("plugin"),
    containers: null,
  });
  await processes.open();
  const close = () => void processes.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    const findings: Finding[] = [];
    const program = {
      type,
      name,
      version: "",
      sha256,
      command,
      args,
      env: entry,
      ociImage: "",
      runtime: "",
      network: "none" as const,
      container: null,
    };
    const around = { clock, timers, random, log, processes, children, env };
    const file = join(directory, command);
    for await (const finding of conform({ ...around, program, file, options })) {
      if (signal.aborted) break;
      findings.push(finding);
      context.progress(`${findings.length} checks, last: ${finding.check}`);
    }
    return findings;
  } finally {
    context.quiet();
    await processes.close();
  }
}

async function show({ out }: Context, findings: readonly Finding[], lines: readonly string[]) {
  await out.show(
    findings.map((finding) => ({ ...finding })),
    {
      columns: ["Check", "Result", "Found"],
      unbroken: ["Found"],
      rows: findings.map(({ check, result, found }) => [check, result, found]),
    },
  );
  const wrong = findings.filter(({ result }) => result === "wrong").length;
  if (wrong > 0) {
    for (const line of lines.slice(-MAX_LINES)) out.hint(line);
    out.hint(`${wrong} of ${findings.length} checks are wrong.`);
  }
}
