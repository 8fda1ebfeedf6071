// Plugins of whoever writes them, registered and mounted by the API, as an operator does it: files that are built (--dev-plugin) and
// programs of a folder (--dev-plugin-dir), again whenever somebody saves one; and processes that run already (--dev-plugin-reattach).

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
import type { Attachment } from "../../plugins/ports.ts";
import { buildPlugin } from "../../system/bundle/program.ts";
import { devPluginFolderMissing } from "../failures.ts";
import type { DevFlags } from "../flags.ts";
import type { Host } from "../host.ts";
import type { DevCaller } from "./dev-clouds.ts";
import {
  copyProgram,
  followFolder,
  followSource,
  makePluginDirectory,
  programsIn,
  removeProgram,
  writeProgram,
} from "./followed-source.ts";

/** An editor saves in several steps. */
const SETTLES: Nanos = 50n * MILLISECOND;
const PATIENCE: Nanos = 30n * SECOND;
/** Where connections to databases are, for plugins of that kind. */
const DATABASES = "database";

export interface DevPlugins {
  readonly files: readonly string[];
  /** Null: there is none. */
  readonly folder: string | null;
  /** By name. */
  readonly attached: ReadonlyMap<string, Attachment>;
  /** To be removed at the end. */
  readonly temporary: string;
  /** For the configuration of the server. */
  readonly directory: string;
}

type Wanted = Pick<DevFlags, "plugins" | "pluginFolder" | "attached">;

/** Before anything is made for it. */
export function checkDevPlugins({ pluginFolder }: Wanted, host: Pick<Host, "directory">): void {
  if (pluginFolder === null) return;
  const folder = resolve(host.directory, pluginFolder);
  if (programsIn(folder) === null) throw devPluginFolderMissing(folder);
}

export function prepareDevPlugins(wanted: Wanted, host: Host): DevPlugins {
  const temporary = host.makeTemporary();
  const directory = join(temporary, "plugins");
  makePluginDirectory(directory);
  const { plugins: files, pluginFolder, attached } = wanted;
  return {
    files: files.map((file) => resolve(host.directory, file)),
    folder: pluginFolder === null ? null : resolve(host.directory, pluginFolder),
    attached,
    temporary,
    directory,
  };
}

/** Resolves when each is mounted, or it was said why not. Gives how to stop. */
export async function runDevPlugins(
  { files, folder, attached, directory }: DevPlugins,
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
  const place: Place = { client, directory, say, databases: new Databases(client) };
  const built = files.map((file) => ({ file, loop: new Loop(place, new SourceFile(place, file)) }));
  const programs = folder === null ? null : new Programs(place, folder);
  const debugged = [...attached].map(
    ([name, one]) => new Loop(place, new RunningProcess(place, name, one)),
  );
  await Promise.all([
    ...built.map(({ loop }) => loop.run()),
    ...(programs === null ? [] : [programs.look()]),
    ...debugged.map((loop) => loop.run()),
  ]);
  const followed = [
    ...built.map(({ file, loop }) => {
      const soon = new Soon(timers, () => loop.run());
      return { leave: followSource(file, () => soon.call()), soon };
    }),
    ...(programs === null || folder === null ? [] : [followedFolder(folder, programs, timers)]),
  ];
  return () => {
    for (const { leave, soon } of followed) {
      leave();
      soon.stop();
    }
    for (const loop of [...built.map((one) => one.loop), ...debugged]) loop.stop();
    programs?.stop();
    client.close();
  };
}

function followedFolder(folder: string, programs: Programs, timers: Pick<Timers, "after">) {
  const soon = new Soon(timers, () => programs.look());
  return { leave: followFolder(folder, () => soon.call()), soon };
}

interface Place {
  readonly client: Client;
  /** The plugin directory of the server. */
  readonly directory: string;
  readonly say: Pick<Host, "out" | "err">;
  readonly databases: Databases;
}

type Kind = "auth" | "database" | "secret";
const KINDS: readonly Kind[] = ["secret", "auth", "database"];

interface Registered {
  readonly name: string;
  readonly kind: Kind;
  /** Empty where it says none. */
  readonly version: string;
}

/** Where a plugin comes from. */
interface Origin {
  /** For people. */
  readonly called: string;
  /** What begins, and what ends, the name of its file in the plugin directory. */
  readonly file: readonly [begin: string, end: string];
  /** What becomes of it later on. */
  readonly follows: string;
  /** How it has come about anew. */
  readonly anew: string;
  /** Puts it there, and registers it. `kind`: that it has had before. */
  register(path: string, kind: Kind | null): Promise<Registered>;
}

/** When nothing has happened for a moment. */
class Soon {
  readonly #timers: Pick<Timers, "after">;
  readonly #work: () => Promise<void>;
  #timer: Timer | null = null;

  constructor(timers: Pick<Timers, "after">, work: () => Promise<void>) {
    this.#timers = timers;
    this.#work = work;
  }

  call(): void {
    this.stop();
    this.#timer = this.#timers.after(SETTLES, () => void this.#work());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

class Loop {
  readonly #place: Place;
  readonly #origin: Origin;
  #builds = 0;
  /** Files of it in the plugin directory. */
  #files: string[] = [];
  /** As what it is mounted. */
  #kind: Kind | null = null;
  #last: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(place: Place, origin: Origin) {
    this.#place = place;
    this.#origin = origin;
  }

  stop(): void {
    this.#isOver = true;
  }

  /** One after the other. */
  run(): Promise<void> {
    this.#last = this.#last.then(() => this.#once());
    return this.#last;
  }

  async #once(): Promise<void> {
    const { say } = this.#place;
    if (this.#isOver) return;
    try {
      say.out(`${await this.#build()}\n`);
    } catch (error) {
      if (!this.#isOver) say.err(`${this.#origin.called}: ${explain(error)}\n`);
    }
  }

  async #build(): Promise<string> {
    const { called, file, follows, anew } = this.#origin;
    const path = join(this.#place.directory, `${file[0]}-${++this.#builds}${file[1]}`);
    this.#files.push(path);
    const made = await this.#origin.register(path, this.#kind);
    const { name, version } = made;
    const plugin = ["plugin", name, ...(version === "" ? [] : [version])].join(" ");
    const where = this.#kind === null ? await this.#mount(made) : await this.#reload(made);
    for (const before of this.#files.splice(0, this.#files.length - 1)) removeProgram(before);
    return where === null
      ? `${plugin} was ${anew} and reloaded`
      : `${plugin} is ${where}; ${called} ${follows}`;
  }

  /** Says where. */
  async #mount({ name, kind }: Registered): Promise<string> {
    const { client, databases } = this.#place;
    let where = `mounted at ${name}/`;
    if (kind === "auth") {
      await mounts.enableAuthMethod(client, { path: name, type: name });
      where = `mounted at auth/${name}/`;
    } else if (kind === "secret") await mounts.enableMount(client, { path: name, type: name });
    else {
      await databases.mount();
      where = `registered: write ${DATABASES}/config/NAME plugin_name=${name} …`;
    }
    this.#kind = kind;
    return where;
  }

  async #reload({ name, kind }: Registered): Promise<null> {
    const { data } = await plugins.reloadPlugin(this.#place.client, { type: kind, name });
    const trouble = data.mounts?.find(({ error }) => error !== "");
    if (trouble !== undefined) throw new OwnError(trouble.error);
    return null;
  }
}

/** --dev-plugin. */
class SourceFile implements Origin {
  readonly called: string;
  readonly file: readonly [string, string];
  readonly follows = "is watched";
  readonly anew = "built anew";
  readonly #client: Client;
  readonly #path: string;

  constructor({ client }: Place, path: string) {
    this.#client = client;
    this.#path = path;
    this.called = basename(path);
    this.file = [this.called.replace(/\W/g, "-"), ".mjs"];
  }

  async register(path: string): Promise<Registered> {
    const { type, kind, version, sha256 } = buildPlugin(this.#path, path);
    const command = basename(path);
    await plugins.registerPlugin(this.#client, { type: kind, name: type, sha256, command });
    return { name: type, kind, version };
  }
}

/** --dev-plugin-dir: each program of the folder by the name of its file. */
class Programs {
  readonly #place: Place;
  readonly #folder: string;
  readonly #known = new Map<string, { readonly state: string; readonly loop: Loop }>();
  #isOver = false;

  constructor(place: Place, folder: string) {
    this.#place = place;
    this.#folder = folder;
  }

  /** What has come or was replaced since. One that is gone goes on. */
  async look(): Promise<void> {
    if (this.#isOver) return;
    const found = programsIn(this.#folder) ?? [];
    if (found.length === 0 && this.#known.size === 0) {
      this.#place.say.out(`there are no programs in ${this.#folder}; it is watched\n`);
    }
    const changed = found.flatMap(({ name, state }) => {
      const known = this.#known.get(name);
      if (known?.state === state) return [];
      const program = new FolderProgram(this.#place, join(this.#folder, name));
      const loop = known?.loop ?? new Loop(this.#place, program);
      this.#known.set(name, { state, loop });
      return [loop];
    });
    await Promise.all(changed.map((loop) => loop.run()));
  }

  stop(): void {
    this.#isOver = true;
    for (const { loop } of this.#known.values()) loop.stop();
  }
}

class FolderProgram implements Origin {
  readonly called: string;
  readonly file: readonly [string, string];
  readonly follows = "is watched";
  readonly anew = "replaced";
  readonly #client: Client;
  readonly #path: string;
  /** That of its file, but for the ending of a script of ours. */
  readonly #name: string;

  constructor({ client }: Place, path: string) {
    this.#client = client;
    this.#path = path;
    this.called = basename(path);
    this.#name = this.called.replace(/\.[mc]?js$/, "");
    this.file = [this.#name.replace(/\W/g, "-"), this.called.slice(this.#name.length)];
  }

  async register(path: string, kind: Kind | null): Promise<Registered> {
    const sha256 = copyProgram(this.#path, path);
    return await registeredAsFits(this.#client, { name: this.#name, path, sha256, kind });
  }
}

/** --dev-plugin-reattach: what stands in the plugin directory for it is never run. */
class RunningProcess implements Origin {
  readonly called: string;
  readonly file: readonly [string, string];
  readonly follows = "answers for it";
  readonly anew = "asked anew";
  readonly #client: Client;
  readonly #name: string;
  readonly #attached: Attachment;

  constructor({ client }: Place, name: string, attached: Attachment) {
    this.#client = client;
    this.#name = name;
    this.#attached = attached;
    this.called = `process ${attached.pid}`;
    this.file = [name.replace(/\W/g, "-"), ""];
  }

  async register(path: string, kind: Kind | null): Promise<Registered> {
    const { pid, address } = this.#attached;
    const text = `#!/bin/sh\n# Process ${pid} answers for it, at ${address}.\nexit 1\n`;
    const sha256 = writeProgram(path, text);
    return await registeredAsFits(this.#client, { name: this.#name, path, sha256, kind });
  }
}

interface Unknown {
  readonly name: string;
  readonly path: string;
  readonly sha256: string;
  /** Null: whichever it is. */
  readonly kind: Kind | null;
}

/** As the first of all kinds that it starts as, and says of itself that it is. */
async function registeredAsFits(
  client: Client,
  { name, path, sha256, kind }: Unknown,
): Promise<Registered> {
  const command = basename(path);
  const refusals: unknown[] = [];
  for (const type of kind === null ? KINDS : [kind]) {
    try {
      await plugins.registerPlugin(client, { type, name, sha256, command, verify: true });
      const { data } = await plugins.readPlugin(client, { type, name });
      return { name, kind: type, version: data.reported_version ?? "" };
    } catch (error) {
      refusals.push(error);
    }
  }
  throw refusals[0];
}

/** The engine whose connections use plugins for databases. */
class Databases {
  readonly #client: Client;
  #mounted: Promise<unknown> | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  async mount(): Promise<void> {
    this.#mounted ??= mounts.enableMount(this.#client, { path: DATABASES, type: DATABASES });
    await this.#mounted;
  }
}
