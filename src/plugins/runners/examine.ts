// Whether plugins can be run on this machine, found out by running some: for who sets it up.

import { join } from "node:path";
import { hex } from "@holdfast/shared/bytes";
import { describe, OwnError } from "@holdfast/shared/failure";
import { MAX_SOCKET_PATH } from "@holdfast/plugin-sdk/wire/handshake";
import type { ChildProcesses, ProgramFiles, Random, TreeFiles } from "@holdfast/shared/world";
import { Images } from "../images/images.ts";
import { PrivateCopies } from "../process/private-copies.ts";
import { BwrapRunner } from "./bwrap.ts";
import { DockerEngine } from "./docker-engine.ts";
import { OciRunner } from "./oci.ts";
import { SAYS, tinyImage } from "./tiny-program.ts";
import { type User, wrapperFor } from "./ways.ts";

const MAX_FILES = 100;
const IMAGES = "images";
/** Below plugin_tmpdir, of a socket with a name of 32 letters. */
const BELOW = "/holdfast-0123456789ab/99999999/ours/".length + 32;

export interface ExamineParts {
  readonly files: ProgramFiles & TreeFiles;
  readonly children: ChildProcesses;
  readonly random: Pick<Random, "bytes">;
  readonly machine: { readonly platform: string; readonly arch: string };
  readonly directory: string | null;
  readonly fileOwner: number | null;
  readonly filePermissions: number;
  readonly temporary: string;
  readonly user: User | null;
  readonly isolation: "auto" | "bwrap" | "none";
  readonly runtimes: readonly string[];
  readonly socket: string | null;
}

export interface PluginFinding {
  readonly check: string;
  readonly result: "good" | "watch" | "wrong";
  readonly found: string;
  /** Empty: nothing. */
  readonly next: string;
}

export async function examinePlugins(parts: ExamineParts): Promise<PluginFinding[]> {
  const findings = [
    ...(await directoryFindings(parts)),
    await temporaryFinding(parts),
    await setprivFinding(parts),
    await sandboxFinding(parts),
  ];
  if (parts.socket !== null) return [...findings, await engineFinding(parts.socket)];
  const image = tinyImage(parts.machine.arch);
  for (const runtime of parts.runtimes) {
    const check = runtime.slice(runtime.lastIndexOf("/") + 1);
    findings.push(
      image === null
        ? watch(check, "no program to try it with is there for this machine", "")
        : await runtimeFinding(parts, check, image),
    );
  }
  return findings;
}

async function directoryFindings(parts: ExamineParts): Promise<PluginFinding[]> {
  const { files, directory, filePermissions } = parts;
  if (directory === null) {
    const next = "set plugin_directory where plugins are to be run";
    return [watch("directory", "plugin_directory is not set: no plugin is run", next)];
  }
  const facts = await files.look(directory);
  if (facts === null || facts.isFile) {
    return [wrong("directory", `${directory} is no directory`, `mkdir -m 755 ${directory}`)];
  }
  if ((facts.mode & 0o022 & ~filePermissions) !== 0) {
    return [wrong("directory", `others may write to ${directory}`, `chmod go-w ${directory}`)];
  }
  const copies = new PrivateCopies(
    files,
    { ...parts, folder: join(parts.temporary, "unused"), isForOthers: false },
    parts.machine,
  );
  const names = (await files.names(directory)).filter((name) => name !== IMAGES);
  const refused: PluginFinding[] = [];
  for (const name of names.slice(0, MAX_FILES)) {
    try {
      await copies.examine(name);
    } catch (error) {
      if (!(error instanceof OwnError)) throw error;
      refused.push(wrong("file", describe(error), "it would not be run: mend or remove it"));
    }
  }
  const found = `${directory}, ${names.length} ${names.length === 1 ? "file" : "files"}`;
  return [good("directory", found), ...refused];
}

async function temporaryFinding({ files, temporary }: ExamineParts): Promise<PluginFinding> {
  const check = "tmpdir";
  const next = "name a short directory of the server's own in plugin_tmpdir";
  const facts = await files.look(temporary);
  if (facts === null || facts.isFile) return wrong(check, `${temporary} is no directory`, next);
  const over = temporary.length + BELOW - MAX_SOCKET_PATH;
  if (over > 0) return wrong(check, `${temporary} is ${over} bytes too long for sockets`, next);
  return good(check, temporary);
}

async function setprivFinding(parts: ExamineParts): Promise<PluginFinding> {
  const check = "setpriv";
  const words = await wrapperFor(parts, parts.user, false);
  if (words !== null) {
    const who = parts.user === null ? "" : ` and run as user ${parts.user.user}`;
    return good(check, `plugins get no new rights, end with the server${who}`);
  }
  if (parts.user !== null) {
    return wrong(check, "plugin_user cannot be used", "install util-linux, run the server as root");
  }
  return watch(check, "plugins keep all rights of the server's user", "install util-linux");
}

async function sandboxFinding(parts: ExamineParts): Promise<PluginFinding> {
  const check = "bwrap";
  if (parts.isolation === "none") {
    return watch(check, "plugin_isolation is none: files of plugins run without a sandbox", "");
  }
  const sandbox = await BwrapRunner.find({ ...parts, hidden: [] });
  if (typeof sandbox !== "string") return good(check, "files of plugins run in a sandbox");
  const next = "install bubblewrap, and let the server's user make namespaces";
  return (parts.isolation === "bwrap" ? wrong : watch)(check, oneLine(sandbox), next);
}

async function engineFinding(socket: string): Promise<PluginFinding> {
  try {
    const { status, data } = await new DockerEngine(socket).call("GET", "/version");
    const version = typeof data["Version"] === "string" ? data["Version"].slice(0, 32) : "?";
    if (status === 200) return good("engine", `version ${version} answers at ${socket}`);
    return wrong("engine", `${socket} answers with ${status}`, "it is no container engine");
  } catch (error) {
    if (!(error instanceof OwnError)) throw error;
    const next = "start the engine, and let the server's user use its socket";
    return wrong("engine", `${socket}: ${describe(error)}`, next);
  }
}

async function runtimeFinding(
  parts: ExamineParts,
  name: string,
  image: NonNullable<ReturnType<typeof tinyImage>>,
): Promise<PluginFinding> {
  const { files, children, temporary, runtimes, random, machine } = parts;
  const id = `doctor${hex(random.bytes(6))}`;
  const base = join(temporary, `holdfast-${id}`);
  const directory = join(base, "directory");
  const runner = new OciRunner({
    files,
    children,
    images: new Images({ files, directory, folder: join(base, "unpacked"), arch: machine.arch }),
    runtimes,
    arch: machine.arch,
  });
  try {
    await files.makeFolder(base, 0o711);
    await putImage(files, directory, image.files);
    const folders = {
      own: join(base, "own"),
      ours: join(base, "ours"),
      aside: join(base, "aside"),
    };
    for (const path of [folders.own, folders.ours]) await files.makeFolder(path, 0o711);
    const rootless = files.us !== 0;
    const running = await runner.start({
      program: {
        type: "secret",
        name: "tiny",
        version: "",
        sha256: image.sha256,
        command: "",
        args: [],
        env: [],
        ociImage: "tiny",
        runtime: "",
        network: "none",
        container: {
          name: "",
          ociRuntime: name,
          rootless,
          cgroupParent: "",
          cpuNanos: 0,
          memoryBytes: 0,
        },
      },
      file: null,
      env: {},
      folders,
      id,
      kept: { group: async () => {}, command: async () => {} },
    });
    let said = "";
    running.stdout.on("data", (bytes: Buffer) => (said = (said + bytes.toString()).slice(0, 100)));
    running.stderr.resume();
    const { code, why } = await running.exited;
    if (code === 0 && said === SAYS) {
      return good(name, rootless ? "runs images, where the runtime has rootless" : "runs images");
    }
    const next = "use another runtime, or mend what it says";
    return wrong(name, oneLine(why ?? `it ended with ${code} and did not run the program`), next);
  } catch (error) {
    if (!(error instanceof OwnError)) throw error;
    const isMissing = "code" in error && error.code === "plugin-runtime-missing";
    if (isMissing)
      return watch(
        name,
        "is not installed",
        `install ${name}, or leave it out of plugin_oci_runtimes`,
      );
    return wrong(name, oneLine(describe(error)), "use another runtime, or mend what it says");
  } finally {
    await files.removeFolder(base);
  }
}

async function putImage(
  files: ProgramFiles,
  directory: string,
  all: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  for (const part of [
    "",
    "images",
    "images/tiny",
    "images/tiny/blobs",
    "images/tiny/blobs/sha256",
  ]) {
    await files.makeFolder(join(directory, part), 0o700);
  }
  for (const [path, bytes] of all) {
    const content = async function* () {
      yield bytes;
    };
    await files.write(join(directory, "images/tiny", path), content(), 0o600);
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

function good(check: string, found: string): PluginFinding {
  return { check, result: "good", found, next: "" };
}

function watch(check: string, found: string, next: string): PluginFinding {
  return { check, result: "watch", found, next };
}

function wrong(check: string, found: string, next: string): PluginFinding {
  return { check, result: "wrong", found, next };
}
