// What a runtime is told of a container, as its specification has it: no rights, nothing to write to but its own folders, its
// own view of processes, names and network, and the limits of its entry.

import type { Program } from "../ports.ts";
import type { ImageConfig } from "../images/documents.ts";
import type { Ids } from "./image-user.ts";
import { INSIDE } from "./inside.ts";
import { MAX_PROCESSES, quotaOf } from "./limited.ts";
import type { Folders } from "./runner.ts";
import { seccompFor } from "./seccomp.ts";

const VERSION = "1.0.2";
const MAX_FILES = 4096;
/** Of one user, where no group of processes can be counted. */
const MAX_PROCESSES_OF_USER = 4096;
const TEMPORARY = "size=16m";

/** One of the container's ids and those behind it, and what they are on this machine. */
export interface IdRange {
  readonly containerID: number;
  readonly hostID: number;
  readonly size: number;
}

export interface SpecParts {
  readonly program: Program;
  readonly config: ImageConfig;
  /** Of the unpacked image. */
  readonly root: string;
  readonly user: Ids;
  readonly env: Readonly<Record<string, string>>;
  readonly folders: Folders;
  /** Null: no namespace of users. */
  readonly ranges: { readonly users: IdRange; readonly groups: IdRange } | null;
  /** Null: none can be made, and none is asked for. */
  readonly cgroup: string | null;
  readonly limitsSwap: boolean;
  /** Files of the machine by which names are found, for one that has its network. */
  readonly bound: readonly string[];
  readonly arch: string;
}

export function ociSpec(parts: SpecParts): object {
  const { program, config, root, user, ranges, cgroup, arch } = parts;
  const seccomp = seccompFor(arch);
  const { name, type, version } = program;
  return {
    ociVersion: VERSION,
    root: { path: root, readonly: true },
    hostname: "plugin",
    process: {
      terminal: false,
      user: { uid: user.user, gid: user.group },
      args: wordsOf(program, config),
      env: [...config.env, ...Object.entries(parts.env).map(([key, value]) => `${key}=${value}`)],
      cwd: config.folder,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      rlimits: [
        { type: "RLIMIT_CORE", hard: 0, soft: 0 },
        { type: "RLIMIT_NOFILE", hard: MAX_FILES, soft: MAX_FILES },
        ...(cgroup === null
          ? [{ type: "RLIMIT_NPROC", hard: MAX_PROCESSES_OF_USER, soft: MAX_PROCESSES_OF_USER }]
          : []),
      ],
    },
    mounts: mountsOf(parts),
    annotations: {
      "io.holdfast.plugin.name": name,
      "io.holdfast.plugin.type": type,
      "io.holdfast.plugin.version": version,
    },
    linux: {
      namespaces: [
        ...["pid", "ipc", "uts", "mount", "cgroup"].map((kind) => ({ type: kind })),
        ...(program.network === "host" ? [] : [{ type: "network" }]),
        ...(ranges === null ? [] : [{ type: "user" }]),
      ],
      ...(ranges && { uidMappings: [ranges.users], gidMappings: [ranges.groups] }),
      ...(cgroup !== null && { cgroupsPath: cgroup, resources: limitsOf(parts) }),
      ...(seccomp && { seccomp }),
      rootfsPropagation: "private",
      maskedPaths: MASKED,
      readonlyPaths: READ_ONLY,
    },
  };
}

/** The image's own program, or another in it; and the words behind it. */
export function wordsOf({ command, args }: Program, config: ImageConfig): string[] {
  if (command !== "") return [command, ...args];
  return [...config.entrypoint, ...(args.length > 0 ? args : config.words)];
}

function mountsOf({ folders, bound }: SpecParts): object[] {
  const tight = ["nosuid", "nodev", "noexec"];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: tight },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "noexec", "strictatime", "mode=755", "size=64k"],
    },
    {
      destination: "/dev/shm",
      type: "tmpfs",
      source: "shm",
      options: [...tight, "mode=1777", TEMPORARY],
    },
    {
      destination: "/tmp",
      type: "tmpfs",
      source: "tmpfs",
      options: [...tight, "mode=1777", TEMPORARY],
    },
    bind(folders.own, INSIDE.own, ["rw", ...tight]),
    bind(folders.ours, INSIDE.ours, ["ro", ...tight]),
    ...bound.map((path) => bind(path, path, ["ro", ...tight])),
  ];
}

function bind(source: string, destination: string, options: readonly string[]): object {
  return { destination, type: "bind", source, options: ["bind", "private", ...options] };
}

function limitsOf({ program, limitsSwap }: SpecParts): object {
  const { cpuNanos = 0, memoryBytes = 0 } = program.container ?? {};
  return {
    devices: [{ allow: false, access: "rwm" }],
    pids: { limit: MAX_PROCESSES },
    ...(memoryBytes > 0 && {
      memory: { limit: memoryBytes, ...(limitsSwap && { swap: memoryBytes }) },
    }),
    ...(cpuNanos > 0 && {
      cpu: quotaOf(cpuNanos),
    }),
  };
}

const MASKED = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
];

const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
