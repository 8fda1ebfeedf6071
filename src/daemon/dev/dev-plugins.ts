// --dev-plugin: files of whoever writes a plugin are built, registered and mounted, and again whenever somebody saves one: by the
// API, as an operator does it.

import { basename, join, resolve } from "node:path";
import { explain, OwnError } from "@holdfast/shared/failure";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos, Timer, Timers } from "@holdfast/shared/world";
import * as mounts from "@holdfast/client/api/mounts";
import * as plugins from "@holdfast/client/api/plugins";
import { Client } from "@holdfast/client/client";
import { NodeTransport } from "@holdfast/client/node/node-transport";
import { parseServerAddress } from "@holdfast/client/server-address";
import { buildPlugin } from "../../system/bundle/program.ts";
import type { Host } from "../host.ts";
import type { DevCaller } from "./dev-clouds.ts";
import { followSource, makePluginDirectory } from "./followed-source.ts";

/** An editor saves in several steps. */
const SETTLES: Nanos = 50n * MILLISECOND;
const PATIENCE: Nanos = 30n * SECOND;

export interface DevPlugins {
  readonly files: readonly string[];
  /** To be removed at the end. */
  readonly temporary: string;
  /** For the configuration of the server. */
  readonly directory: string;
}

export function prepareDevPlugins(files: readonly string[], host: Host): DevPlugins {
  const temporary = host.makeTemporary();
  const directory = join(temporary, "plugins");
  makePluginDirectory(directory);
  return { files: files.map((file) => resolve(host.directory, file)), temporary, directory };
}

/** Resolves when each is mounted, or it was said why not. Gives how to stop. */
export async function runDevPlugins(
  { files, directory }: DevPlugins,
  caller: DevCaller,
  say: Pick<Host, "out" | "err">,
): Promise<() => void> {
  const { address, authority: ca, token, timers } = caller;
  const tls = { ca, certificate: null, key: null, serverName: null, skipVerify: false };
  const transport = new NodeTransport({
    address: parseServerAddress(address),
    tls,
    timeout: PATIENCE,
    timers,
  });
  const client = new Client({ transport, token: new Secret(token), namespace: "", region: "" });
  const loops = files.map((file) => new Loop({ file, directory, client, timers, say }));
  await Promise.all(loops.map((loop) => loop.run()));
  for (const loop of loops) loop.follow();
  return () => {
    for (const loop of loops) loop.stop();
    client.close();
  };
}

interface LoopParts {
  readonly file: string;
  readonly directory: string;
  readonly client: Client;
  readonly timers: Timers;
  readonly say: Pick<Host, "out" | "err">;
}

class Loop {
  readonly #parts: LoopParts;
  #builds = 0;
  #mounted = false;
  #timer: Timer | null = null;
  #last: Promise<void> = Promise.resolve();
  #leave: (() => void) | null = null;
  #isOver = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  follow(): void {
    const { file, timers } = this.#parts;
    this.#leave = followSource(file, () => {
      this.#timer?.cancel();
      this.#timer = timers.after(SETTLES, () => void this.run());
    });
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#leave?.();
  }

  /** One after the other. */
  run(): Promise<void> {
    this.#last = this.#last.then(() => this.#once());
    return this.#last;
  }

  async #once(): Promise<void> {
    const { file, say } = this.#parts;
    if (this.#isOver) return;
    try {
      say.out(`${await this.#build()}\n`);
    } catch (error) {
      if (!this.#isOver) say.err(`${basename(file)}: ${explain(error)}\n`);
    }
  }

  async #build(): Promise<string> {
    const { file, directory, client } = this.#parts;
    const command = `${basename(file).replace(/\W/g, "-")}-${++this.#builds}.mjs`;
    const { type, kind, version, sha256 } = buildPlugin(file, join(directory, command));
    await plugins.registerPlugin(client, { type: kind, name: type, sha256, command });
    if (this.#mounted) {
      const { data } = await plugins.reloadPlugin(client, { type: kind, name: type });
      const trouble = data.mounts?.find(({ error }) => error !== "");
      if (trouble !== undefined) throw new OwnError(trouble.error);
      return `plugin ${type} ${version} was built anew and reloaded`;
    }
    if (kind === "auth") await mounts.enableAuthMethod(client, { path: type, type });
    else await mounts.enableMount(client, { path: type, type });
    this.#mounted = true;
    const path = kind === "auth" ? `auth/${type}/` : `${type}/`;
    return `plugin ${type} ${version} is mounted at ${path}; ${basename(file)} is watched`;
  }
}
