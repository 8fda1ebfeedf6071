// What a registration must be to become an entry: looked at in a fixed order, before anything is started or kept.

import { envProblem } from "../process/environment.ts";
import type { PluginType } from "../ports.ts";
import * as failures from "./failures.ts";
import { checkPluginName } from "./names.ts";
import type { KeptEntry } from "./rows.ts";
import { canonicalVersion } from "./version.ts";

const MAX_COMMAND = 255; // bytes of a file's name
const MAX_IMAGE = 512;
const MAX_ARGS = 128;
const MAX_ARGS_BYTES = 64 * 1024;
const DIGITS = /^[0-9a-fA-F]*$/;
const SUM = /^[0-9a-f]{64}$/;
/** Host and port, folders and a name: no tag, no sum. */
const IMAGE =
  /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?::[0-9]{1,5})?(?:\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)*$/;

export interface EntryInput {
  readonly type: PluginType;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly ociImage: string;
  readonly runtime: string;
  readonly network: "none" | "host";
}

/** What of an entry is asked for. */
export type Entry = Omit<KeptEntry, "reportedVersion" | "declared">;

/** As it is kept. Throws where it cannot be one, whatever there is on this machine. */
export function readEntry(input: EntryInput): Entry {
  const { type, name, ociImage, runtime, network, env } = input;
  checkPluginName(name);
  const version = canonicalVersion(input.version);
  checkSum(input.sha256);
  if (input.command === "" && ociImage === "") throw failures.commandMissing();
  const { command, args } = splitCommand(input.command, input.args);
  checkCommand(command, ociImage !== "");
  checkArgs(args);
  const problem = envProblem(env);
  if (problem !== null) throw failures.envRefused(problem);
  if (ociImage === "") {
    // A file with a runtime is run by its sandbox, which has limits and a network of its own.
    if (runtime === "" && network !== "none") throw failures.imageMissing();
  } else if (ociImage.length > MAX_IMAGE || !IMAGE.test(ociImage)) {
    throw failures.imageMalformed();
  }
  const { sha256 } = input;
  return { type, name, version, sha256, command, args, env, ociImage, runtime, network };
}

function checkSum(sum: string): void {
  if (sum === "") throw failures.sumMissing();
  if (SUM.test(sum)) return;
  const isOfOtherCase = DIGITS.test(sum) && sum.length === 64;
  throw failures.sumMalformed(
    sum,
    isOfOtherCase ? "its letters must be in lower case" : "expected 64 hexadecimal digits",
  );
}

/** Older clients give both in one line. */
function splitCommand(
  command: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (!command.includes(" ")) return { command, args };
  if (args.length > 0) throw failures.argsTwice();
  const [program = "", ...rest] = command.split(" ").filter((word) => word !== "");
  return { command: program, args: rest };
}

function checkCommand(command: string, isInImage: boolean): void {
  if (command === "" && isInImage) return;
  if (command.split("/").includes("..")) throw failures.parentReference();
  if (/\p{Cc}/u.test(command))
    throw failures.commandRefused("it has characters that no name of a program has");
  if (Buffer.byteLength(command) > MAX_COMMAND)
    throw failures.commandRefused(`it is longer than ${MAX_COMMAND} bytes`);
  if (command.startsWith("-")) throw failures.commandRefused("it begins with a dash");
  if (isInImage) return;
  if (command.includes("/")) throw failures.outsideDirectory(command);
  if (command === "" || command === ".") throw failures.commandRefused("it names no file");
}

function checkArgs(args: readonly string[]): void {
  const bytes = args.reduce((sum, arg) => sum + Buffer.byteLength(arg), 0);
  if (args.length > MAX_ARGS)
    throw failures.argsRefused(`there may be ${MAX_ARGS}, and there are ${args.length}`);
  if (bytes > MAX_ARGS_BYTES)
    throw failures.argsRefused(`they may have ${MAX_ARGS_BYTES} bytes together, and have ${bytes}`);
  if (args.some((arg) => arg.includes("\0"))) throw failures.argsRefused("one holds a NUL");
}
