// Plugins in containers of an engine that runs on this machine, by its socket: it has the images, and starts and ends what it
// is told. What it makes of that is looked at before anything is started.

import { Readable } from "node:stream";
import { concat } from "@holdfast/shared/bytes";
import { describe, OwnError } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { ChildProcesses, ProgramFiles } from "@holdfast/shared/world";
import { Variable } from "@holdfast/plugin-sdk/wire/handshake";
import { imageMissing, imageOther } from "../images/failures.ts";
import { isImageName } from "../images/images.ts";
import { TarError, TarReader } from "../images/tar.ts";
import type { Program, RuntimeEntry } from "../ports.ts";
import { DockerEngine, type EngineAnswer, type EngineStreams } from "./docker-engine.ts";
import { runtimeNotAllowed, runtimeUnfit } from "./failures.ts";
import { NOBODY } from "./image-user.ts";
import { INSIDE, insidePaths } from "./inside.ts";
import { isAllowed, USUAL_RUNTIME } from "./oci-runtimes.ts";
import type { ContainerRunner, Exit, Launch, Running, Translation } from "./runner.ts";

const FOR_OUR_GROUP = 0o770;
const MAX_WORDS = 300;
const KILLED = 137;
/** As engines read numbers, which may have a sign. */
const ROOT = /^(?:root|[+-]?0+)?(?::|$)/;
const NUMBER = /^[+-]?\d+(?::|$)/;
const PASSWD = "/etc/passwd";

/** For whoever ends it when we are gone: what Node needs to say one thing to a socket. */
const REMOVE =
  'require("node:http").request({socketPath:process.argv[1],method:"DELETE",path:"/containers/"+process.argv[2]+"?force=1&v=1"}).on("error",()=>{}).end()';

export interface DockerParts {
  readonly files: ProgramFiles;
  readonly children: ChildProcesses;
  /** container_socket. */
  readonly socket: string;
  /** plugin_oci_runtimes; the engine knows them by these names. */
  readonly runtimes: readonly string[];
}

export class DockerRunner implements ContainerRunner {
  readonly name = "docker";
  readonly passesEnvironment = false;
  readonly runsOthers = true;
  readonly #parts: DockerParts;
  readonly #engine: DockerEngine;

  constructor(parts: DockerParts) {
    this.#parts = parts;
    this.#engine = new DockerEngine(parts.socket);
  }

  allows(runtime: string): boolean {
    return isAllowed(this.#parts.runtimes, runtime);
  }

  async open(): Promise<void> {}
  async close(): Promise<void> {}

  translation(folders: Launch["folders"]): Translation {
    return insidePaths(folders);
  }

  async start(launch: Launch): Promise<Running> {
    const { program, folders, id, kept } = launch;
    const { container } = program;
    invariant(container !== null, "what has an image has a runtime");
    const { files, children, socket } = this.#parts;
    const runtime = this.#runtimeOf(container);
    const named = await this.#imageOf(program);
    const name = `holdfast-${id}`;
    await kept.command([children.runtime, "-e", REMOVE, socket, name]);
    const create = async (isNobody: boolean) => {
      // Where we may and know whom, it is his; else he is in our group, as servers that are not root need it.
      const isHis = files.us === 0 && isNobody;
      if (isHis) await files.giveFolder(folders.own, NOBODY.user, NOBODY.group);
      else await files.makeFolder(folders.own, FOR_OUR_GROUP);
      const user = isNobody ? `${NOBODY.user}:${NOBODY.group}` : "";
      const group = isHis ? null : String(files.ourGroup);
      const body = this.#bodyOf(launch, container, runtime, { user, group });
      await this.#said(program, "create it", "POST", `/containers/create?name=${name}`, body);
    };
    const isRoot = !container.rootless && ROOT.test(named);
    await create(isRoot);
    try {
      if (!container.rootless && !isRoot && (await this.#isRootInside(program, name, named))) {
        await remove(this.#engine, name);
        await create(true);
      }
      await this.#checkRuntime(program, name, runtime);
      const streams = await this.#orUnfit(program, this.#engine.attach(name));
      const waited = this.#engine.call(
        "POST",
        `/containers/${name}/wait?condition=next-exit`,
        undefined,
        true,
      );
      const running = new EngineContainer(this.#engine, name, streams, waited, container);
      await this.#said(program, "start it", "POST", `/containers/${name}/start`).catch(
        (error: unknown) => {
          running.kill();
          throw error;
        },
      );
      return running;
    } catch (error) {
      await remove(this.#engine, name);
      throw error;
    }
  }

  #runtimeOf({ ociRuntime }: RuntimeEntry): string {
    const name = ociRuntime === "" ? USUAL_RUNTIME : ociRuntime;
    const known = this.#parts.runtimes.map((one) => one.slice(one.lastIndexOf("/") + 1));
    if (!known.includes(name)) throw runtimeNotAllowed(name, known);
    return name;
  }

  /** Checks that it is the registered one; gives whom it names as its user. */
  async #imageOf({ name, ociImage, version, sha256 }: Program): Promise<string> {
    const tag = version === "" ? "latest" : version.replace(/^v/, "");
    const reference = `${ociImage}:${tag}`;
    const missing = imageMissing(reference, `${this.#parts.socket}, in the container engine`);
    if (!isImageName(ociImage)) throw missing;
    const path = `/images/${encodeURI(reference)}/json`;
    const { status, data } = await this.#orUnfit({ name }, this.#engine.call("GET", path));
    if (status === 404) throw missing;
    if (status !== 200)
      throw runtimeUnfit(name, `the container engine does not show the image: ${saidOf(data)}`);
    const id = typeof data["Id"] === "string" ? data["Id"].replace(/^sha256:/, "") : "";
    if (id !== sha256) throw imageOther(reference, sha256, [`sha256:${id}`]);
    const config = isObject(data["Config"]) ? data["Config"] : {};
    return typeof config["User"] === "string" ? config["User"] : "";
  }

  /** Whether root has that name, too, in the image: its own list of users is looked at before anything runs. */
  async #isRootInside(program: Program, name: string, named: string): Promise<boolean> {
    if (NUMBER.test(named)) return false;
    const path = `/containers/${name}/archive?path=${PASSWD}`;
    const { status, bytes } = await this.#orUnfit(program, this.#engine.read(path));
    if (status === 404) return false; // whoever has no list knows nobody, and nothing is started
    const passwd = status === 200 ? await firstFile(bytes) : null;
    if (passwd === null) {
      throw runtimeUnfit(program.name, `the container engine does not show ${PASSWD} of the image`);
    }
    const [user] = named.split(":");
    return passwd.split("\n").some((row) => {
      const [known, , number = ""] = row.split(":");
      return known === user && ROOT.test(number.trim());
    });
  }

  #bodyOf(
    { program, env, folders }: Launch,
    container: RuntimeEntry,
    runtime: string,
    { user, group }: { readonly user: string; readonly group: string | null },
  ): object {
    const { children } = this.#parts;
    const { name, type, version, command, args, sha256, network } = program;
    const { rootless, cgroupParent, cpuNanos, memoryBytes } = container;
    const all = { ...env, ...(group !== null && { [Variable.socketGroup]: group }) };
    const bind = (source: string, target: string, readOnly: boolean) => ({
      Type: "bind",
      Source: source,
      Target: target,
      ReadOnly: readOnly,
      BindOptions: { Propagation: "private", NonRecursive: true },
    });
    return {
      Image: `sha256:${sha256}`,
      ...(command !== "" && { Entrypoint: [command] }),
      ...((command !== "" || args.length > 0) && { Cmd: args }),
      Env: Object.entries(all).map(([key, value]) => `${key}=${value}`),
      ...(user !== "" && { User: user }),
      AttachStdout: true,
      AttachStderr: true,
      Labels: {
        "io.holdfast.pid": String(children.pid),
        "io.holdfast.plugin.name": name,
        "io.holdfast.plugin.type": type,
        "io.holdfast.plugin.version": version,
      },
      HostConfig: {
        Runtime: runtime,
        NetworkMode: network,
        CapDrop: ["ALL"],
        CapAdd: rootless ? ["DAC_OVERRIDE"] : [],
        SecurityOpt: ["no-new-privileges"],
        Privileged: false,
        ReadonlyRootfs: true,
        Tmpfs: { "/tmp": "rw,nosuid,nodev,noexec,size=16m,mode=1777" },
        Mounts: [bind(folders.own, INSIDE.own, false), bind(folders.ours, INSIDE.ours, true)],
        GroupAdd: group === null ? [] : [group],
        PidsLimit: 256,
        Ulimits: [
          { Name: "nofile", Soft: 1024, Hard: 1024 },
          { Name: "nproc", Soft: 4096, Hard: 4096 },
        ],
        ...(memoryBytes > 0 && { Memory: memoryBytes, MemorySwap: memoryBytes }),
        ...(cpuNanos > 0 && { NanoCpus: cpuNanos }),
        ...(cgroupParent !== "" && { CgroupParent: cgroupParent }),
        // What it prints we read; nobody else keeps it.
        LogConfig: { Type: "none" },
        RestartPolicy: { Name: "" },
      },
    };
  }

  /** Engines take a name that they do not know, or pass it over. */
  async #checkRuntime(program: Program, name: string, wanted: string): Promise<void> {
    const { data } = await this.#said(program, "show it", "GET", `/containers/${name}/json`);
    const host = isObject(data["HostConfig"]) ? data["HostConfig"] : {};
    if (host["Runtime"] === wanted) return;
    const own = await this.#engine.call("GET", `/v4.0.0/libpod/containers/${name}/json`);
    const used = own.status === 200 ? own.data["OCIRuntime"] : host["Runtime"];
    if (used === wanted) return;
    const other = typeof used === "string" && /^[\w.-]{1,64}$/.test(used) ? used : "another one";
    throw runtimeUnfit(
      program.name,
      `the container engine would run it by ${other} and not by ${wanted}: have the engine use that (podman: "runtime" in containers.conf), or set oci_runtime of the plugin runtime to what it uses`,
    );
  }

  async #said(
    program: Program,
    what: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<EngineAnswer> {
    const answer = await this.#orUnfit(program, this.#engine.call(method, path, body));
    if (answer.status < 300) return answer;
    throw runtimeUnfit(
      program.name,
      `the container engine did not ${what}: ${saidOf(answer.data)}`,
    );
  }

  async #orUnfit<T>({ name }: { readonly name: string }, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof OwnError)) throw error;
      throw runtimeUnfit(
        name,
        `the container engine at ${this.#parts.socket}: ${describe(error)}`,
        {
          cause: error,
        },
      );
    }
  }
}

class EngineContainer implements Running {
  readonly pid = 0;
  readonly #engine: DockerEngine;
  readonly #name: string;
  readonly #streams: EngineStreams;
  readonly #container: RuntimeEntry;
  readonly exited: Promise<Exit>;
  /** Whether it was us who ended it; null: we did not try. */
  #killed: Promise<boolean> | null = null;

  constructor(
    engine: DockerEngine,
    name: string,
    streams: EngineStreams,
    waited: Promise<EngineAnswer>,
    container: RuntimeEntry,
  ) {
    this.#engine = engine;
    this.#name = name;
    this.#streams = streams;
    this.#container = container;
    this.exited = this.#over(waited);
  }

  get stdout() {
    return this.#streams.stdout;
  }

  get stderr() {
    return this.#streams.stderr;
  }

  kill(): void {
    const path = `/containers/${this.#name}/kill?signal=KILL`;
    this.#killed ??= this.#engine.call("POST", path).then(
      ({ status }) => status < 300, // else it does not run any more
      async () => {
        await remove(this.#engine, this.#name);
        return true;
      },
    );
  }

  memory(): null {
    return null;
  }

  async #over(waited: Promise<EngineAnswer>): Promise<Exit> {
    const exit = await waited.then(
      ({ data }) => this.#exitOf(data),
      (error: unknown) => ({
        code: null,
        signal: null,
        why: `the container engine no longer tells of it: ${describe(error)}`,
      }),
    );
    await remove(this.#engine, this.#name);
    return exit;
  }

  async #exitOf(data: JsonObject): Promise<Exit> {
    const code = typeof data["StatusCode"] === "number" ? data["StatusCode"] : null;
    const isOver =
      code === KILLED && this.#container.memoryBytes > 0 && (await this.#killed) !== true;
    const why = "it was ended from outside, as one is that needs more than memory_bytes";
    return { code, signal: null, ...(isOver && { why }) };
  }
}

/** Whatever becomes of that: the record of it stays until the run is over. */
async function remove(engine: DockerEngine, name: string): Promise<void> {
  await engine.call("DELETE", `/containers/${name}?force=1&v=1`).catch(() => {});
}

/** The text of what an archive begins with; null where that is no plain file. */
async function firstFile(archive: Buffer): Promise<string | null> {
  const reader = new TarReader(Readable.from([archive]));
  try {
    if ((await reader.next())?.kind !== "file") return null;
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.content()) pieces.push(piece);
    return concat(...pieces).toString("utf8");
  } catch (error) {
    if (error instanceof TarError) return null;
    throw error;
  }
}

function saidOf(data: JsonObject): string {
  const { message } = data;
  const text = typeof message === "string" ? message : "it does not say why";
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .slice(0, MAX_WORDS)
    .trim();
}
