// The folder of one run of the server, below plugin_tmpdir: sockets of its plugins, and records of what runs, by which the keeper
// and the next start find what is left. And the sweep of those that earlier runs have left.

import { join } from "node:path";
import { hex } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { MAX_SOCKET_PATH } from "@holdfast/plugin-sdk/wire/handshake";
import type { Child, ChildProcesses, ProgramFiles, Random } from "@holdfast/shared/world";
import type { Kept, OuterFolders } from "../runners/runner.ts";
import { RUN_MARK } from "./environment.ts";
import { temporaryUnfit } from "./failures.ts";
import { KEEPER_SCRIPT } from "./keeper-script.ts";

const PREFIX = "holdfast-";
const OF_A_RUN = /^holdfast-[0-9a-f]{12}$/;
const SERVER = "server";
/** For the name of a socket, which plugins choose. */
const NAME_LENGTH = 32;
const SHELL = "/bin/sh";
const WORDS = /^[^\n\0]*$/;

export interface RunFolderParts {
  readonly files: ProgramFiles;
  readonly children: ChildProcesses;
  readonly random: Pick<Random, "bytes">;
  readonly log: Log;
  /** plugin_tmpdir. */
  readonly temporary: string;
  /** Who runs plugins, where that is not us. */
  readonly user: { readonly user: number; readonly group: number } | null;
}

export interface Place {
  readonly id: string;
  readonly folders: OuterFolders;
  readonly kept: Kept;
  /** The process is gone. */
  remove(): Promise<void>;
}

export class RunFolder {
  readonly #parts: RunFolderParts;
  readonly #run: string;
  readonly path: string;
  #count = 0;
  /** Several begin at once: of each there is one, which all wait for. */
  #made: Promise<void> | null = null;
  #keeper: Promise<Child> | null = null;

  constructor(parts: RunFolderParts) {
    this.#parts = parts;
    this.#run = hex(parts.random.bytes(6));
    this.path = join(parts.temporary, `${PREFIX}${this.#run}`);
  }

  /** By which whatever runs for us is known. */
  get mark(): Readonly<Record<string, string>> {
    return { [RUN_MARK]: this.#run };
  }

  /** Of one process, which runs as somebody else where `forOthers`. Made with the first: a server without plugins leaves nothing
   *  anywhere. */
  async place(forOthers = false): Promise<Place> {
    const { files, user } = this.#parts;
    await this.#make();
    await this.#watch();
    const number = ++this.#count;
    const base = join(this.path, String(number));
    const folders = {
      own: join(base, "own"),
      ours: join(base, "ours"),
      aside: join(base, "aside"),
    };
    const mode = user === null && !forOthers ? 0o700 : 0o711;
    for (const [path, bits] of [
      [base, mode],
      [folders.ours, mode],
      [folders.own, 0o700],
    ] as const) {
      await files.makeFolder(path, bits);
    }
    if (user !== null && !forOthers) await files.giveFolder(folders.own, user.user, user.group);
    const record = (kind: string) => join(this.path, `${number}.${kind}`);
    return {
      id: `${this.#run}x${number}`,
      folders,
      kept: {
        group: ({ pid, began }) => files.writeSmall(record("group"), `${pid} ${began}\n`),
        command: async (words) => {
          if (!words.every((word) => WORDS.test(word))) {
            throw temporaryUnfit("a path has a line break in it");
          }
          await files.writeSmall(record("end"), `${words.join("\n")}\n`);
        },
      },
      remove: async () => {
        for (const kind of ["group", "end"]) await files.removeFile(record(kind));
        await files.removeFolder(base);
      },
    };
  }

  /** Nothing of ours runs any more. */
  async close(): Promise<void> {
    const watching = this.#keeper;
    this.#keeper = null;
    const keeper = await watching?.catch(() => null);
    keeper?.killGroup();
    await keeper?.exited;
    const made = this.#made;
    this.#made = null;
    await made?.catch(() => {});
    if (made !== null) await this.#parts.files.removeFolder(this.path);
  }

  /** Where it cannot be made, the next start tries again. */
  #make(): Promise<void> {
    this.#made ??= this.#makeNow().catch((error: unknown) => {
      this.#made = null;
      throw error;
    });
    return this.#made;
  }

  async #makeNow(): Promise<void> {
    const { files, children, temporary } = this.#parts;
    const longest = join(this.path, "99999999", "ours").length + 1 + NAME_LENGTH;
    if (longest > MAX_SOCKET_PATH) {
      throw temporaryUnfit(
        `${temporary} is ${longest - MAX_SOCKET_PATH} bytes too long: paths of sockets may have ${MAX_SOCKET_PATH}`,
      );
    }
    try {
      // Others may pass through it; what is in it has a mode of its own.
      await files.makeFolder(this.path, 0o711);
      const began = children.look(children.pid)?.began ?? "";
      await files.writeSmall(join(this.path, SERVER), `${children.pid} ${began}\n`);
    } catch (error) {
      throw temporaryUnfit(describe(error), { cause: error });
    }
  }

  /** One for all; where somebody has ended it, the next start of a plugin makes another. */
  #watch(): Promise<Child> {
    if (this.#keeper !== null) return this.#keeper;
    const starting = this.#startKeeper();
    this.#keeper = starting;
    void this.#forgetWhenGone(starting);
    return starting;
  }

  async #forgetWhenGone(starting: Promise<Child>): Promise<void> {
    const keeper = await starting.catch(() => null); // told to whoever needs it
    await keeper?.exited;
    if (this.#keeper !== starting) return;
    this.#keeper = null;
    if (keeper === null) return;
    this.#parts.log.warn(
      "the keeper of plugin processes was ended by somebody; the next start of a plugin makes another",
    );
  }

  async #startKeeper(): Promise<Child> {
    const { children } = this.#parts;
    const keeper = await children.start({
      file: SHELL,
      args: ["-c", KEEPER_SCRIPT, "holdfast-keeper", this.path, `${RUN_MARK}=${this.#run}`],
      env: { PATH: "/usr/bin:/bin" },
      isTied: true,
    });
    for (const stream of [keeper.stdout, keeper.stderr]) stream.resume();
    return keeper;
  }
}

/** Ends what servers that are gone have left running, and removes their folders. A number that another process has by now is
 *  left alone: it began at another time, or was not started for that run. */
export async function sweepRuns(
  parts: Pick<RunFolderParts, "files" | "children" | "log" | "temporary">,
): Promise<void> {
  const { files, children, log, temporary } = parts;
  if (children.look(children.pid) === null) return; // nothing can be known of processes here
  for (const name of await files.names(temporary)) {
    const path = join(temporary, name);
    if (!OF_A_RUN.test(name)) continue;
    try {
      const facts = await files.look(path);
      if (facts === null || facts.isFile || facts.user !== files.us) continue;
      if (await isAbandoned(parts, path)) await endRun(parts, path, name.slice(PREFIX.length));
    } catch (error) {
      log.warn("could not sweep what an earlier run has left of its plugins", {
        folder: path,
        cause: describe(error),
      });
    }
  }
}

async function isAbandoned(
  { files, children }: Pick<RunFolderParts, "files" | "children">,
  path: string,
): Promise<boolean> {
  const record = readRecord(await files.readSmall(join(path, SERVER)));
  return record !== null && children.look(record.pid)?.began !== record.began;
}

async function endRun(
  { files, children, log }: Pick<RunFolderParts, "files" | "children" | "log">,
  path: string,
  run: string,
): Promise<void> {
  let ended = 0;
  for (const name of await files.names(path)) {
    if (name.endsWith(".group")) {
      const record = readRecord(await files.readSmall(join(path, name)));
      if (record === null || record.pid < 2) continue;
      if (children.look(record.pid)?.began !== record.began) continue;
      children.killGroup(record.pid);
      ended++;
    } else if (name.endsWith(".end")) {
      const words = (await files.readSmall(join(path, name)))?.trimEnd().split("\n") ?? [];
      await runToEnd(children, words);
      ended++;
    }
  }
  const mark = `${RUN_MARK}=${run}`;
  for (const pid of children.all()) {
    if (pid === children.pid || !children.hasVariable(pid, mark)) continue;
    children.kill(pid);
    ended++;
  }
  await files.removeFolder(path);
  log.info("swept what an earlier run has left of its plugins", { folder: path, ended });
}

async function runToEnd(children: ChildProcesses, words: readonly string[]): Promise<void> {
  const [file = "", ...args] = words;
  if (!file.startsWith("/")) return;
  const child = await children.start({
    file,
    args,
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
  });
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  await child.exited;
}

function readRecord(text: string | null): { readonly pid: number; readonly began: string } | null {
  const [, pid, began = ""] = /^(\d{1,10}) (\d{1,20})\n?$/.exec(text ?? "") ?? [];
  return pid === undefined ? null : { pid: Number(pid), began };
}
