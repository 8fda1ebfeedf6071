// Arguments in, exit code out: finds the command, reads its flags, runs it, and turns a failure into a
// line that says what went wrong and one that says what to do. The one table of exit codes of client
// commands: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 permission denied.

import { SystemClock } from "../system/clock.ts";
import { Failure } from "@holdfast/shared/failure";
import { SystemFs } from "../system/fs.ts";
import { SystemTimers } from "../system/timers.ts";
import { ApiError } from "@holdfast/client/api-error";
import type { Setting } from "@holdfast/client/node/environment";
import { adviceFor, METRICS_ONLY } from "./advice/advice.ts";
import { readArguments } from "./line/argument.ts";
import { findCommand, loadCommand, type Group } from "./catalogue.ts";
import { SystemChildCommands } from "./exec/child-command.ts";
import { byName, readFlags, readLine, type Line } from "./line/command-line.ts";
import type { Command } from "./command.ts";
import type { FlagValues } from "./line/flag.ts";
import type { CliIo, CliWorld } from "./io.ts";
import { governedDenial } from "./advice/policy-advice.ts";
import { onOneLine } from "./advice/refusal-text.ts";
import { Running } from "./running.ts";
import { GLOBAL_FLAGS, Settings } from "./settings.ts";
import { Output } from "./terminal/output.ts";
import { Interrupted } from "./terminal/prompt.ts";
import { ArchiveFailure } from "../snapshots/archive/failures.ts";
import { UsageError } from "./line/usage-error.ts";
import { SystemUserFiles } from "./line/user-file.ts";

export type { CliIo, CliWorld } from "./io.ts";

const INTERRUPTED = 130; // 128 and the number of SIGINT, as shells have it

export async function runCli(
  args: readonly string[],
  io: CliIo,
  world: CliWorld = systemWorld(),
): Promise<number> {
  // `holdfast … | head` closes the pipe early; that is the reader's right and no failure of ours. It stays: what was written
  // last fails when the command has ended.
  const ignore = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  };
  io.stdout.on("error", ignore);
  io.stderr.on("error", ignore);
  return await new Invocation(io, world).run(args);
}

class Invocation {
  readonly #io: CliIo;
  readonly #world: CliWorld;
  #command = "";
  #settings: Settings;
  #running: Running | null = null;

  constructor(io: CliIo, world: CliWorld) {
    this.#io = io;
    this.#world = world;
    this.#settings = settingsOf(new Map(), io.env);
  }

  async run(args: readonly string[]): Promise<number> {
    try {
      return await this.#run(args);
    } catch (error) {
      return this.#report(error);
    } finally {
      this.#running?.close();
    }
  }

  async #run(args: readonly string[]): Promise<number> {
    const globals = byName(GLOBAL_FLAGS).set("h", GLOBAL_FLAGS.help);
    if (/^--?(v|version)$/.test(args[0] ?? "")) return this.#run(["version", ...args.slice(1)]);
    const front = readLine(args, globals, { stopAtWord: true });
    if (front.rest.length === 0) return this.#run(["help"]);
    const found = findCommand(front.rest);
    if (found.kind === "group") return this.#groupHelp(found.group, front.rest);
    this.#command = found.name;
    const command = await loadCommand(found.name);
    const known = new Map([...globals, ...byName(command.flags)]);
    const line = readLine(front.rest.slice(found.words), known);
    const flags = mergeNeeds(front.flags, line.flags);
    this.#settings = settingsOf(flags, this.#io.env);
    if (flags.has("help") || flags.has("h")) {
      const { commandHelp, helpWidth } = await import("./help.ts");
      return this.#print(commandHelp(command, helpWidth(this.#io.stdout)));
    }
    return this.#execute(command, { ...line, flags });
  }

  async #execute(command: Command, { flags, rest, beforeDashes }: Line): Promise<number> {
    const input = {
      ...readFlags(command.flags, flags),
      ...readArguments(command.args, rest, beforeDashes),
    };
    if (this.#settings.regionFlag !== null && !command.takesRegion(input)) throw noRegion();
    this.#running = new Running(this.#io, this.#world, this.#settings, command);
    return command.run(this.#running, input);
  }

  /** A group alone is half a command: its help is the answer, on standard error unless asked for. */
  async #groupHelp(group: Group, words: readonly string[]): Promise<number> {
    const { groupHelp, helpWidth } = await import("./help.ts");
    const { stdout, stderr } = this.#io;
    if (words.some((word) => /^--?h(elp)?$/.test(word))) {
      return this.#print(await groupHelp(group, helpWidth(stdout)));
    }
    stderr.write(await groupHelp(group, helpWidth(stderr)));
    return 2;
  }

  /** For messages, so that one that cannot be read is none. */
  #namespace(): Setting<string> | null {
    try {
      return this.#settings.namespaceSetting;
    } catch {
      return null;
    }
  }

  #login(): string {
    try {
      return this.#settings.login;
    } catch {
      return "holdfast login";
    }
  }

  #base(): Setting<string> | null {
    try {
      return this.#settings.base;
    } catch {
      return null;
    }
  }

  /** Programs that read JSON go by the code; people are not bothered with it. */
  get #showsCode(): boolean {
    if (this.#settings.debug) return true;
    try {
      return this.#settings.format === "json";
    } catch {
      return false; // that it cannot be read is what is being told
    }
  }

  #print(text: string): number {
    this.#io.stdout.write(text);
    return 0;
  }

  #report(error: unknown): number {
    const { stdout, stderr } = this.#io;
    if (error instanceof Interrupted) {
      stderr.write("\n");
      return INTERRUPTED;
    }
    this.#running?.quiet();
    const colours = { stdout: false, stderr: this.#settings.colours(stderr.isTTY === true) };
    const { chosen } = this.#settings;
    const out = new Output({ stdout, stderr, format: "table", field: null, colours, chosen });
    const tokenFrom = this.#running?.tokenFrom ?? null;
    const details = error instanceof ApiError ? governedDenial(error)?.trace : undefined;
    const next = adviceFor(error, {
      command: this.#command,
      tokenFrom,
      login: this.#login(),
      namespace: this.#namespace(),
      base: this.#base(),
    });
    out.error(lineOf(error), next, details);
    if (this.#showsCode) out.hint(error instanceof Failure ? wordOf(error) : framesOf(error));
    return exitCodeOf(error);
  }
}

/** Whoever names a region would be answered by another one. */
function noRegion(): UsageError {
  return new UsageError(
    "-region does not belong here: this command asks the server at -address, whatever its region",
    "leave -region out; commands on tokens (`holdfast help acl token`) and paths in acl/ take it",
  );
}

function settingsOf(values: Line["flags"], env: CliIo["env"]): Settings {
  const flags = readFlags(GLOBAL_FLAGS, values);
  // Read by the declarations that the type is derived from.
  return new Settings(flags as FlagValues<typeof GLOBAL_FLAGS>, env);
}

function mergeNeeds(front: Line["flags"], back: Line["flags"]): Line["flags"] {
  const merged = new Map(front);
  for (const [name, values] of back) merged.set(name, [...(merged.get(name) ?? []), ...values]);
  return merged;
}

/** By which the page on errors knows it. */
function wordOf({ code }: Failure): string {
  return `Code: ${code} (docs/errors.md)`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  if (!(error instanceof Failure)) return 1;
  if (error.code === METRICS_ONLY) return 1;
  // A file that is not what it should be was looked at, and that is what was found.
  if (error instanceof ArchiveFailure) return 1;
  if (error.kind === "not-found" || isAbsent(error)) return 3;
  if (error.kind === "denied") return 4;
  // What we refuse before anything is sent is the command line's or the environment's fault.
  return error.kind === "invalid" && !(error instanceof ApiError) ? 2 : 1;
}

/** The API calls it an invalid request; for people it is something that is not there. */
function isAbsent(error: Failure): boolean {
  return (
    error instanceof ApiError &&
    (/^no .+ is mounted at /.test(error.message) ||
      error.code === "creds_role_unknown" ||
      error.says("invalid lease") ||
      error.says("lease not found"))
  );
}

function lineOf(error: unknown): string {
  if (error instanceof ApiError) {
    const governing = governedDenial(error)?.policies.map((policy) => `denied by ${policy}`);
    const text = governing?.join(", ") ?? onOneLine(error.message);
    return `${error.method} ${error.path}: ${text} (status ${error.status})`;
  }
  if (error instanceof Failure) return error.message;
  // The text of an unforeseen error can quote whatever was being handled, secrets included.
  return `this program failed unexpectedly (${error instanceof Error ? error.name : typeof error})`;
}

/** Where it happened, without the message. */
function framesOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
}

function systemWorld(): CliWorld {
  return {
    clock: new SystemClock(),
    timers: new SystemTimers(),
    fs: new SystemFs(),
    files: new SystemUserFiles(),
    children: new SystemChildCommands(),
  };
}
