// Plugins in a sandbox of this machine: they see no other process, and none of the server's own files. Files of the machine
// can be read, as far as their user may; nothing can be written but their own folder. The network is the machine's.

import { dirname } from "node:path";
import { utf8 } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { RuntimeEntry } from "../ports.ts";
import { cannotRun, NO_CGROUP, runtimeUnfit } from "./failures.ts";
import { groupsToRemove, isCgroup, limitedWords, NOT_LIMITED, removingWords } from "./limited.ts";
import { runningChild } from "./running-child.ts";
import type { Exit, Folders, Launch, Runner, Running, Translation } from "./runner.ts";
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
const KILLED = 137;
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

  /** Within the limits of the program's runtime, where it has one. */
  async start(launch: Launch): Promise<Running> {
    const { program, id, kept } = launch;
    const { container } = program;
    if (container === null) return await this.#start(launch, []);
    const { files, children } = this.#parts;
    const parent = container.cgroupParent.replace(/\/+$/, "");
    if (parent !== "" && !isCgroup(parent)) throw runtimeUnfit(program.name, NO_CGROUP);
    const name = `holdfast-${id}`;
    const ends = removingWords(await groupsToRemove(files, parent, name));
    await kept.command(ends);
    const running = await this.#start(launch, limitedWords(`${parent}/${name}`, container));
    const exited = running.exited.then(async (exit): Promise<Exit> => {
      const [file = "", ...args] = ends;
      const child = await children.start({ file, args, env: {} }).catch(() => null);
      for (const stream of [child?.stdout, child?.stderr]) stream?.resume();
      await child?.exited;
      return { ...exit, ...whyOf(exit, container) };
    });
    return { ...running, kill: () => running.kill(), memory: () => running.memory(), exited };
  }

  async #start(
    { program, file, env, folders, kept }: Launch,
    before: readonly string[],
  ): Promise<Running> {
    invariant(file !== null, "a process has a file");
    const { children } = this.#parts;
    const hasNoNetwork = program.container !== null && program.network === "none";
    const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
    const hidden = await this.#hidden();
    const options = [
      ...NOTHING_SHARED,
      ...(hasNoNetwork ? ["--unshare-net"] : []),
      "--clearenv",
      ...variables,
      ...MACHINE,
      ...hidden.flatMap(({ path, isFile }) =>
        isFile ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path],
      ),
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
      // When everything has its place in them. Devices are written to all the same.
      ...["/", "/dev", ...hidden.flatMap(({ path, isFile }) => (isFile ? [] : [path]))].flatMap(
        (path) => ["--remount-ro", path],
      ),
      "--chdir",
      "/",
    ];
    const [first = "", ...rest] = [...before, ...this.#words, file, ...program.args];
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

  async #hidden(): Promise<{ readonly path: string; readonly isFile: boolean }[]> {
    const { files, hidden } = this.#parts;
    const there: { readonly path: string; readonly isFile: boolean }[] = [];
    for (const path of hidden) {
      const facts = await files.look(path);
      if (facts !== null) there.push({ path, isFile: facts.isFile });
    }
    return there;
  }
}

function whyOf({ code }: Exit, { memoryBytes }: RuntimeEntry): { readonly why?: string } {
  if (code === NOT_LIMITED) {
    return { why: "its limits could not be set: the server's user may not make control groups" };
  }
  if (code !== KILLED || memoryBytes === 0) return {};
  return { why: "it was ended from outside, as one is that needs more than memory_bytes" };
}

function packed(words: readonly string[]): Buffer {
  return utf8(words.map((word) => `${word}\0`).join(""));
}
