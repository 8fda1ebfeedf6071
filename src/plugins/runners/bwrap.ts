// Plugins in a sandbox of this machine: they see no other process, and none of the server's own files. Files of the machine
// can be read, as far as their user may; nothing can be written but their own folder. The network is the machine's.

import { dirname } from "node:path";
import { utf8 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { cannotRun } from "./failures.ts";
import { runningChild } from "./running-child.ts";
import type { Folders, Launch, Runner, Running, Translation } from "./runner.ts";
import { samePaths } from "./same-paths.ts";
import {
  find,
  placesOf,
  tried,
  trueProgram,
  type User,
  type WaysWorld,
  wrapperFor,
} from "./ways.ts";

export interface BwrapParts extends WaysWorld {
  readonly user: User | null;
  /** Files and folders that are empty inside. */
  readonly hidden: readonly string[];
}

/** It drops them itself; without namespaces of its own it needs them first. */
const NOTHING_SHARED = ["--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL"];
const MACHINE = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
const FROM_THIRD = ["--args", "3", "--"];

export class BwrapRunner implements Runner {
  readonly name = "bwrap";
  readonly passesEnvironment = true;
  readonly runsOthers = false;
  readonly #parts: BwrapParts;
  readonly #words: readonly string[];

  private constructor(parts: BwrapParts, words: readonly string[]) {
    this.#parts = parts;
    this.#words = words;
  }

  /** Or why it does not work here. */
  static async find(parts: BwrapParts): Promise<BwrapRunner | string> {
    const { files, children, user } = parts;
    const bwrap = await find(files, placesOf("bwrap"));
    const nothing = await trueProgram(files);
    if (bwrap === null || nothing === null) return "bwrap (bubblewrap) is not installed";
    const asRoot = files.us === 0 && user === null;
    const wrapper = await wrapperFor(parts, user, asRoot);
    if (wrapper === null && user !== null)
      return "setpriv (util-linux) does not work, which plugin_user needs";
    const words = [...(wrapper ?? []), bwrap, ...FROM_THIRD];
    const problem = await tried(
      children,
      [...words, nothing],
      packed([...NOTHING_SHARED, ...MACHINE]),
    );
    return problem ?? new BwrapRunner(parts, words);
  }

  translation(folders: Folders): Translation {
    return samePaths(folders);
  }

  async start({ program, file, env, folders, kept }: Launch): Promise<Running> {
    invariant(file !== null, "a process has a file");
    const { children } = this.#parts;
    const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
    const options = [
      ...NOTHING_SHARED,
      "--clearenv",
      ...variables,
      ...MACHINE,
      ...(await this.#hiding()),
      // What it needs of the hidden: read from outside, before anything is hidden.
      "--ro-bind",
      dirname(file),
      dirname(file),
      "--bind",
      folders.own,
      folders.own,
      "--ro-bind",
      folders.ours,
      folders.ours,
      "--remount-ro",
      "/",
      "--chdir",
      "/",
    ];
    const [first = "", ...rest] = [...this.#words, file, ...program.args];
    try {
      // Arguments can be read by everybody on the machine, and the wrapper's own environment from inside.
      const child = await children.start({
        file: first,
        args: rest,
        env: {},
        third: packed(options),
      });
      return await runningChild(children, child, kept);
    } catch (error) {
      throw cannotRun(program.name, describe(error), { cause: error });
    }
  }

  async #hiding(): Promise<string[]> {
    const { files, hidden } = this.#parts;
    const words: string[] = [];
    for (const path of hidden) {
      const facts = await files.look(path);
      if (facts === null) continue;
      words.push(...(facts.isFile ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path]));
    }
    return words;
  }
}

function packed(words: readonly string[]): Buffer {
  return utf8(words.map((word) => `${word}\0`).join(""));
}
