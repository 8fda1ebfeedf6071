// How a program is started here with as few rights as the machine lets us take away: found out once, by trying.

import { describe } from "@holdfast/shared/failure";
import type { Child, ChildProcesses, ProgramFiles } from "@holdfast/shared/world";

export interface User {
  readonly user: number;
  readonly group: number;
}

export interface WaysWorld {
  readonly children: ChildProcesses;
  readonly files: Pick<ProgramFiles, "look" | "names" | "us">;
}

const PLACES = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];
const TRUE = ["/bin/true", "/usr/bin/true"];

export async function find(
  files: Pick<ProgramFiles, "look">,
  names: readonly string[],
): Promise<string | null> {
  for (const name of names) if ((await files.look(name)) !== null) return name;
  return null;
}

export function placesOf(program: string): string[] {
  return PLACES.map((place) => `${place}/${program}`);
}

/** Null where it ends well, else why it does not. */
export async function tried(
  children: ChildProcesses,
  words: readonly string[],
  third?: Uint8Array,
): Promise<string | null> {
  const [file = "", ...args] = words;
  let said = "";
  try {
    const child = await children.start({ file, args, env: {}, ...(third && { third }) });
    child.stdout.resume();
    child.stderr.on("data", (bytes: Buffer) => {
      if (said.length < 512) said += bytes.toString("utf8");
    });
    const exit = await child.exited;
    if (exit.code === 0) return null;
    await ended(child);
    return said.trim() || `it ended with ${exit.code ?? exit.signal}`;
  } catch (error) {
    return describe(error);
  }
}

function ended({ stderr }: Child): Promise<void> {
  if (stderr.readableEnded || stderr.closed) return Promise.resolve();
  return new Promise((resolve) => stderr.once("close", resolve));
}

export function trueProgram(files: Pick<ProgramFiles, "look">): Promise<string | null> {
  return find(files, TRUE);
}

/** Words before those of a program, from the way that takes most away to the one that still works; null where none does. */
export async function wrapperFor(
  { children, files }: WaysWorld,
  user: User | null,
  keepsCapabilities: boolean,
): Promise<readonly string[] | null> {
  const setpriv = await find(files, placesOf("setpriv"));
  const nothing = await trueProgram(files);
  if (setpriv === null || nothing === null) return null;
  const bound = keepsCapabilities ? [] : ["--bounding-set", "-all"];
  const tied = ["--no-new-privs", "--pdeathsig", "KILL"];
  const who =
    user === null
      ? []
      : ["--reuid", String(user.user), "--regid", String(user.group), "--clear-groups"];
  for (const some of [bound, []]) {
    const words = [setpriv, ...who, ...some, ...tied, "--"];
    if ((await tried(children, [...words, nothing])) === null) return words;
    if (bound.length === 0) break;
  }
  return null;
}
