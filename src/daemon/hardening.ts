// What on this host would let secrets out of the process: some of it is refused, the rest is warned
// about once, at the start.

import { dirname } from "node:path";
import { Failure } from "@holdfast/shared/failure";
import type { FileInfo, Fs } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import type { Host } from "./host.ts";

/** Variables that would run foreign code, print traffic, or switch off the check of certificates. */
const REFUSED_VARIABLES: readonly [name: string, why: string][] = [
  ["NODE_OPTIONS", "it can load foreign code and open a debugger"],
  ["NODE_DEBUG", "it prints what passes through the server"],
  ["NODE_DEBUG_NATIVE", "it prints what passes through the server"],
];

const REFUSED_FLAGS =
  /^--(?:inspect|heapsnapshot|heap-prof|report-(?:on|uncaught|signal)|report-on-fatalerror|abort-on-uncaught-exception|tls-keylog|trace-tls)/;

/** Why the server does not start here. In dev mode a debugger is the developer's own business. */
export function refusals({ env, runtime }: Host, dev: boolean): string[] {
  const variables = REFUSED_VARIABLES.flatMap(([name, why]) =>
    (env[name] ?? "") === "" ? [] : [`${name} is set in the environment: ${why}; unset it`],
  );
  if (env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    variables.push(
      "NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates; unset it",
    );
  }
  return dev ? variables : [...variables, ...runtimeOpenings(runtime)];
}

/** The same as warnings, where they are not refused. */
export function devWarnings({ runtime }: Host): string[] {
  return runtimeOpenings(runtime);
}

function runtimeOpenings({ flags, inspecting }: Host["runtime"]): string[] {
  const found = flags.filter((flag) => REFUSED_FLAGS.test(flag)).map((flag) => flag.split("=")[0]);
  const texts = [...new Set(found)].map((flag) => `the runtime was started with ${flag}`);
  return inspecting && texts.length === 0 ? ["the runtime's debugger is open"] : texts;
}

export function hostWarnings(host: Host): string[] {
  return [...looseRuntime(host), ...coreDumps(host), ...swap(host), ...user(host)];
}

const HARDENING = ["--disallow-code-generation-from-strings", "--disable-proto=delete"];

/** What bin/holdfast starts the runtime with. */
function looseRuntime({ runtime }: Host): string[] {
  const missing = HARDENING.filter((flag) => !runtime.flags.includes(flag));
  const sealed = runtime.intrinsicsSealed ? [] : ["prototypes of the language can be changed"];
  if (missing.length === 0) return sealed;
  return [
    `the runtime was started without ${missing.join(" and ")}; start through bin/holdfast`,
    ...sealed,
  ];
}

function coreDumps(host: Host): string[] {
  const limits = host.kernelFile("/proc/self/limits");
  const [, soft] = /^Max core file size\s+(\S+)/m.exec(limits ?? "") ?? [];
  if (soft === undefined || soft === "0") return [];
  return [
    "a crash could write memory with keys to disk: the core dump limit is not 0; " +
      "start through bin/holdfast, or set LimitCORE=0 or ulimit -c 0",
  ];
}

function swap(host: Host): string[] {
  const swaps = (host.kernelFile("/proc/swaps") ?? "").split("\n").slice(1).filter(Boolean);
  const open = swaps
    .map((line) => line.split(/\s+/)[0] ?? "")
    .filter((device) => !isSafe(device, host));
  if (open.length === 0 || ownSwapIsForbidden(host)) return [];
  return [
    `memory with keys could be swapped to ${open.join(", ")}, which is not known to be encrypted; ` +
      "set MemorySwapMax=0 for this service, encrypt swap, or turn it off",
  ];
}

/** Compressed memory, or a mapped device that says of itself that it is encrypted. */
function isSafe(device: string, host: Host): boolean {
  const name = host.realPath(device).split("/").at(-1) ?? "";
  if (name.startsWith("zram")) return true;
  return host.kernelFile(`/sys/block/${name}/dm/uuid`)?.startsWith("CRYPT-") === true;
}

function ownSwapIsForbidden(host: Host): boolean {
  const [, group] = /^0::(\/.*)$/m.exec(host.kernelFile("/proc/self/cgroup") ?? "") ?? [];
  if (group === undefined) return false;
  return host.kernelFile(`/sys/fs/cgroup${group}/memory.swap.max`)?.trim() === "0";
}

function user({ runtime }: Host): string[] {
  return runtime.user === 0 ? ["running as root: a user of its own is enough for this server"] : [];
}

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** Files that decide what the server does or serves, and that others can change or replace. */
export function writableByOthers(paths: readonly string[], fs: Pick<Fs, "info">): string[] {
  return [...new Set(paths)].flatMap((path) => {
    const file = infoOf(path, fs);
    const directory = infoOf(dirname(path), fs);
    if (file !== null && (file.mode & OTHERS_WRITE) !== 0) {
      return [`${path} can be written by others (mode ${file.mode.toString(8)}); chmod go-w it`];
    }
    const loose = directory !== null && (directory.mode & OTHERS_WRITE) !== 0;
    if (loose && (directory.mode & STICKY) === 0) {
      return [`${path} can be replaced by others, who can write its directory; chmod go-w that`];
    }
    return [];
  });
}

/** What may not be looked at is told by whoever reads it, as the failure that it is. */
function infoOf(path: string, fs: Pick<Fs, "info">): FileInfo | null {
  try {
    return fs.info(path);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return null;
  }
}

/** Files that a configuration names and the server reads. */
export function namedFiles({ listeners, seal }: Config): string[] {
  const tls = listeners.flatMap(({ tls: one }) =>
    one === null
      ? []
      : [one.certFile, one.keyFile, ...(one.clientCaFile === null ? [] : [one.clientCaFile])],
  );
  const key = seal.type === "static" && "file" in seal.key ? [seal.key.file] : [];
  return [...tls, ...key];
}
