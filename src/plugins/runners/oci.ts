// Plugins in containers, without a daemon: the image is unpacked here, and a runtime is told what to make of it. What cannot be
// made as it was asked for is not started; nothing weaker takes its place.

import { join } from "node:path";
import { describe } from "@holdfast/shared/failure";
import { isObject } from "@holdfast/shared/json/json";
import { invariant } from "@holdfast/shared/invariant";
import type { Child, ChildExit, ChildProcesses, ProgramFiles } from "@holdfast/shared/world";
import type { Images, TakenImage } from "../images/images.ts";
import type { RuntimeEntry } from "../ports.ts";
import { cannotRun, NO_CGROUP, runtimeUnfit } from "./failures.ts";
import { type Ids, userOf } from "./image-user.ts";
import { insidePaths } from "./inside.ts";
import { findRuntime, isAllowed, type OciRuntime } from "./oci-runtimes.ts";
import { type IdRange, ociSpec, wordsOf } from "./oci-spec.ts";
import { CGROUPS, groupsToRemove, isCgroup, REMOVE_GROUPS } from "./limited.ts";
import type { ContainerRunner, Exit, Launch, Running, Translation } from "./runner.ts";

/** First of those that nobody else is given on this machine: above users, and above what systemd gives to containers. */
const FIRST_ID = 1_879_048_192;
const IDS = 65_536;
const PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const MAX_WORDS = 300;
const KILLED = 137;

/** `$1` are groups to remove, the lower ones first; then what ends the container. */
const END = `set -f; groups=$1; shift; "$@" >/dev/null 2>&1; ${REMOVE_GROUPS}`;

export interface OciParts {
  readonly files: ProgramFiles;
  readonly children: ChildProcesses;
  readonly images: Images;
  /** plugin_oci_runtimes. */
  readonly runtimes: readonly string[];
  readonly arch: string;
}

export class OciRunner implements ContainerRunner {
  readonly name = "oci";
  readonly passesEnvironment = false;
  readonly runsOthers: boolean;
  readonly #parts: OciParts;

  constructor(parts: OciParts) {
    this.#parts = parts;
    this.runsOthers = parts.files.us === 0;
  }

  allows(runtime: string): boolean {
    return isAllowed(this.#parts.runtimes, runtime);
  }

  open(): Promise<void> {
    return this.#parts.images.open();
  }

  close(): Promise<void> {
    return this.#parts.images.close();
  }

  translation(folders: Launch["folders"]): Translation {
    return insidePaths(folders);
  }

  async start(launch: Launch): Promise<Running> {
    const { program } = launch;
    const { container } = program;
    invariant(container !== null, "what has an image has a runtime");
    const { files, runtimes, images } = this.#parts;
    const runtime = await findRuntime(files, runtimes, container.ociRuntime);
    if (files.us !== 0 && !container.rootless) {
      throw runtimeUnfit(
        program.name,
        "the server does not run as root, and so runs containers in a namespace of users alone: set rootless of the plugin runtime to true",
      );
    }
    const image = await images.take(program.ociImage, program.sha256);
    try {
      return await this.#run(launch, container, runtime, image);
    } catch (error) {
      await image.release();
      throw error;
    }
  }

  async #run(
    launch: Launch,
    container: RuntimeEntry,
    runtime: OciRuntime,
    image: TakenImage,
  ): Promise<Running> {
    const { files, arch } = this.#parts;
    const { program, folders, id, kept, env } = launch;
    const { aside } = folders;
    const who = this.#who(container, image);
    if (wordsOf(program, image.config).length === 0) {
      throw runtimeUnfit(program.name, "its image names no program: give command");
    }
    await files.makeFolder(aside, 0o700);
    const { outside } = who;
    if (outside !== null) await files.giveFolder(folders.own, outside.user, outside.group);
    const group = await this.#groupOf(program.name, container, id);
    const spec = ociSpec({
      program,
      config: image.config,
      root: image.root,
      user: who.inside,
      env,
      folders,
      ranges: who.ranges,
      cgroup: group?.path ?? null,
      limitsSwap: await this.#limitsSwap(),
      bound: program.network === "host" ? await this.#bound() : [],
      arch,
    });
    await files.writeSmall(join(aside, "config.json"), JSON.stringify(spec));
    const words = this.#wordsOf(runtime, launch, container);
    const logged = [...words, "--log", logOf(aside), "--log-format", "json"];
    const ends = [
      "/bin/sh",
      "-c",
      END,
      "holdfast-end",
      (group?.removed ?? []).join(" "),
      ...words,
      "delete",
      "--force",
      id,
    ];
    await kept.command(ends);
    const run = ["run", "--bundle", aside, "--pid-file", join(aside, "pid"), id];
    const child = await this.#started(program.name, [...logged, ...run]);
    const started = new Container(this.#parts, child, ends, aside, container, runtime.name);
    void started.exited.then(() => image.release());
    try {
      await kept.group(child);
    } catch (error) {
      started.kill();
      throw error;
    }
    return started;
  }

  async #started(name: string, words: readonly string[]): Promise<Child> {
    const [file = "", ...args] = words;
    try {
      return await this.#parts.children.start({ file, args, env: { PATH: PATHS } });
    } catch (error) {
      throw cannotRun(name, describe(error), { cause: error });
    }
  }

  /** Who it is inside, and on this machine where that is not us. */
  #who(container: RuntimeEntry, image: TakenImage): Who {
    const { files } = this.#parts;
    if (files.us !== 0) {
      // Of all users we may stand for ourselves alone.
      const range = (hostID: number): IdRange => ({ containerID: 0, hostID, size: 1 });
      return {
        inside: { user: 0, group: 0 },
        outside: null,
        ranges: { users: range(files.us), groups: range(files.ourGroup) },
      };
    }
    const inside = userOf(image, container.rootless);
    if (!container.rootless) return { inside, outside: inside, ranges: null };
    const range: IdRange = { containerID: 0, hostID: FIRST_ID, size: IDS };
    const outside = { user: FIRST_ID + inside.user, group: FIRST_ID + inside.group };
    return { inside, outside, ranges: { users: range, groups: range } };
  }

  /** Where its limits are kept. Null where we may make no group and none is asked for. */
  async #groupOf(
    plugin: string,
    { cgroupParent, cpuNanos, memoryBytes }: RuntimeEntry,
    id: string,
  ): Promise<Group | null> {
    if (cgroupParent !== "" && !isCgroup(cgroupParent)) {
      throw runtimeUnfit(plugin, NO_CGROUP);
    }
    const hasLimits = cgroupParent !== "" || cpuNanos > 0 || memoryBytes > 0;
    if (this.#parts.files.us !== 0 && !hasLimits) return null;
    const name = `holdfast-${id}`;
    if (cgroupParent === "") return { path: name, removed: [] };
    const parent = cgroupParent.replace(/\/+$/, "");
    const removed = await groupsToRemove(this.#parts.files, parent, name);
    return { path: `${parent}/${name}`, removed };
  }

  async #limitsSwap(): Promise<boolean> {
    const { files } = this.#parts;
    if ((await files.look(join(CGROUPS, "cgroup.controllers"))) !== null) return true;
    return (await files.look(join(CGROUPS, "memory", "memory.memsw.limit_in_bytes"))) !== null;
  }

  async #bound(): Promise<string[]> {
    const there: string[] = [];
    for (const path of ["/etc/resolv.conf", "/etc/hosts"]) {
      if ((await this.#parts.files.look(path)) !== null) there.push(path);
    }
    return there;
  }

  /** Its own state is kept with the run: what is left of it goes with that. */
  #wordsOf(
    { name, path }: OciRuntime,
    { program, folders }: Launch,
    container: RuntimeEntry,
  ): string[] {
    const { aside } = folders;
    const words = [path, "--root", join(aside, "state")];
    if (!name.startsWith("runsc")) return words;
    const unprivileged = this.#parts.files.us !== 0;
    return [
      ...words,
      `--network=${program.network}`,
      "--host-uds=all",
      ...(unprivileged ? ["--rootless"] : []),
      ...(unprivileged || container.rootless ? ["--ignore-cgroups"] : []),
    ];
  }
}

interface Who {
  readonly inside: Ids;
  readonly outside: Ids | null;
  readonly ranges: { readonly users: IdRange; readonly groups: IdRange } | null;
}

interface Group {
  /** Whole, or below the one that we are in. */
  readonly path: string;
  /** Made for it, the lower ones first. */
  readonly removed: readonly string[];
}

function logOf(aside: string): string {
  return join(aside, "log");
}

class Container implements Running {
  readonly #parts: OciParts;
  readonly #child: Child;
  readonly #ends: readonly string[];
  readonly #aside: string;
  readonly #container: RuntimeEntry;
  readonly #runtime: string;
  readonly exited: Promise<Exit>;
  #isOver = false;
  #isKilled = false;
  /** Of its first process on this machine; 0: not found yet. */
  #pid = 0;
  #isLooking = false;

  constructor(
    parts: OciParts,
    child: Child,
    ends: readonly string[],
    aside: string,
    container: RuntimeEntry,
    runtime: string,
  ) {
    this.#parts = parts;
    this.#child = child;
    this.#ends = ends;
    this.#aside = aside;
    this.#container = container;
    this.#runtime = runtime;
    this.exited = this.#over();
  }

  get pid(): number {
    return this.#child.pid;
  }

  get stdout() {
    return this.#child.stdout;
  }

  get stderr() {
    return this.#child.stderr;
  }

  kill(): void {
    if (this.#isOver || this.#isKilled) return;
    this.#isKilled = true;
    // The runtime's process is not above the container: it goes on without it.
    void this.#end().then(() => this.#child.killGroup());
  }

  memory(): number | null {
    const { children } = this.#parts;
    if (this.#pid === 0 && !this.#isLooking) void this.#find();
    if (this.#isOver || this.#pid === 0) return null;
    const group = children.look(this.#pid)?.group;
    if (group === undefined) return null;
    let sum = 0;
    for (const pid of children.all()) {
      const facts = children.look(pid);
      if (facts?.group === group) sum += facts.memory;
    }
    return sum;
  }

  async #over(): Promise<Exit> {
    const exit = await this.#child.exited;
    await this.#end();
    this.#isOver = true;
    return { ...exit, ...(await this.#why(exit)) };
  }

  async #why({ code }: ChildExit): Promise<{ readonly why?: string }> {
    if (code === 0) return {};
    const said = lastError(await this.#parts.files.readSmall(logOf(this.#aside)).catch(() => null));
    if (said !== null) return { why: `${this.#runtime} says: ${said.slice(0, MAX_WORDS)}` };
    if (code === KILLED && !this.#isKilled && this.#container.memoryBytes > 0) {
      return { why: `it was ended from outside, as one is that needs more than memory_bytes` };
    }
    return {};
  }

  async #end(): Promise<void> {
    const [file = "", ...args] = this.#ends;
    const { children } = this.#parts;
    try {
      const child = await children.start({ file, args, env: { PATH: PATHS } });
      for (const stream of [child.stdout, child.stderr]) stream.resume();
      await child.exited;
    } catch {
      // What could not be ended now is ended with the server, by the record of it.
    }
  }

  async #find(): Promise<void> {
    this.#isLooking = true;
    const text = await this.#parts.files.readSmall(join(this.#aside, "pid")).catch(() => null);
    if (/^\d{1,9}\s*$/.test(text ?? "")) this.#pid = Number(text);
    this.#isLooking = false;
  }
}

/** Runtimes write lines of JSON. */
function lastError(text: string | null): string | null {
  let last: string | null = null;
  for (const line of text?.split("\n") ?? []) {
    try {
      const said: unknown = JSON.parse(line);
      if (!isObject(said) || typeof said["msg"] !== "string") continue;
      const level = said["level"];
      if (level === "error" || level === "fatal" || level === "warning") last = said["msg"];
    } catch {
      // not one of theirs
    }
  }
  return last === null ? null : last.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}
