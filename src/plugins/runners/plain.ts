// Plugins as plain processes: without new rights, and dead when the server is. They can do what their user can.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { invariant } from "@holdfast/shared/invariant";
import { cannotRun } from "./failures.ts";
import { runningChild } from "./running-child.ts";
import type { Folders, Launch, Runner, Running, Translation } from "./runner.ts";
import { samePaths } from "./same-paths.ts";
import { type User, type WaysWorld, wrapperFor } from "./ways.ts";

export interface PlainParts extends WaysWorld {
  readonly log: Log;
  /** Who they run as, where that is not us. */
  readonly user: User | null;
}

export class PlainRunner implements Runner {
  readonly name = "plain";
  readonly passesEnvironment = true;
  readonly runsOthers = false;
  readonly #parts: PlainParts;
  #wrapper: Promise<readonly string[]> | null = null;

  constructor(parts: PlainParts) {
    this.#parts = parts;
  }

  translation(folders: Folders): Translation {
    return samePaths(folders);
  }

  async start({ program, file, env, kept }: Launch): Promise<Running> {
    invariant(file !== null, "a process has a file");
    this.#wrapper ??= this.#findWrapper();
    const wrapper = await this.#wrapper;
    const [first = file, ...rest] = [...wrapper, file, ...program.args];
    const { children } = this.#parts;
    try {
      const child = await children.start({ file: first, args: rest, env });
      return await runningChild(children, child, kept);
    } catch (error) {
      throw cannotRun(program.name, describe(error), { cause: error });
    }
  }

  async #findWrapper(): Promise<readonly string[]> {
    const { user, log } = this.#parts;
    const found = await wrapperFor(this.#parts, user, false);
    if (found !== null) return found;
    if (user !== null) {
      this.#wrapper = null;
      throw cannotRun("", "plugin_user needs setpriv (util-linux), and a server that runs as root");
    }
    log.warn("plugins run with all rights of the server's user: setpriv (util-linux) is not there");
    return [];
  }
}
