// The built-ins that reach the real world: time, timers, randomness, files, sockets, processes. Each
// belongs to one file, everything else is handed an interface of shared/world.ts; otherwise the
// simulator would run something else than the product.

import { PRODUCT } from "./files.ts";
import { importsOf, lineAt, readCode } from "./source.ts";

export type Use =
  | "time"
  | "timers"
  | "randomness"
  | "files"
  | "sockets"
  | "environment"
  | "processes"
  | "threads"
  | "sqlite"
  | "http" // an import of it loads the runtime's fetch: base/node-http.ts has it without
  | "loader"; // ways round the import statement, and round these rules

interface Permission {
  readonly file: RegExp;
  readonly may: readonly Use[];
  readonly why: string;
}

/** The whole list of exceptions. A new row needs a reason that a reviewer accepts. */
export const PERMISSIONS: readonly Permission[] = [
  { file: /^src\/system\/clock\.ts$/, may: ["time"], why: "it is the clock" },
  {
    file: /^plugin-sdk\/testing\/driven-world\.ts$/,
    may: ["timers"],
    why: "of tests: time stands still there, and what is under way gets a real turn of the loop",
  },
  {
    file: /^plugin-sdk\/serve\/own-world\.ts$/,
    may: ["time", "timers", "randomness"],
    why: "a plugin is a process of its own; no simulator runs one",
  },
  {
    file: /^plugin-sdk\/serve\/door\.ts$/,
    may: ["sockets"],
    why: "TLS on the Unix sockets between a plugin and the server that has started it",
  },
  {
    file: /^plugin-sdk\/serve\/(?:plugin-process|serve)\.ts$/,
    may: ["environment", "files"],
    why: "the first line and the last words of a plugin's process, and what it was started with",
  },
  {
    file: /^engines\/database\/roles\/passwords\.ts$/,
    may: ["randomness"],
    why: "the runtime makes RSA keys from its own source; no simulator runs what they open",
  },
  {
    file: /^plugins\/postgresql\/(?:certificates|logins|pool|scram|sockets)\.ts$/,
    may: ["time", "randomness", "files", "sockets"],
    why: "a plugin is a process of its own: the age of a session, when it logs in again, salts, its database, a certificate that its operator names",
  },
  {
    file: /^src\/system\/timers\.ts$/,
    may: ["time", "timers"],
    why: "long waits go in stages, measured on the monotonic clock",
  },
  { file: /^src\/system\/random\.ts$/, may: ["randomness"], why: "it is the source" },
  {
    file: /^src\/base\/same-bytes\.ts$/,
    may: ["randomness"],
    why: "the process's own key for comparing in constant time; it decides nothing",
  },
  {
    file: /^src\/system\/runtime-stats\.ts$/,
    may: ["time"],
    why: "delay and use of the event loop are measured by the runtime; they decide nothing",
  },
  { file: /^src\/system\/fs\.ts$/, may: ["files"], why: "it is the file system" },
  {
    file: /^src\/system\/log-file\.ts$/,
    may: ["files"],
    why: "the log must be writable when nothing else is",
  },
  {
    file: /^src\/config\/address\.ts$/,
    may: ["sockets"],
    why: "isIP and BlockList, which read texts and open nothing",
  },
  {
    file: /^src\/daemon\/system-host\.ts$/,
    may: ["files", "loader", "sockets", "processes"],
    why: "the process and its host: links, /proc, process number, Unix sockets, compile cache, helpers",
  },
  {
    file: /^src\/daemon\/dev\/followed-source\.ts$/,
    may: ["files"],
    why: "--dev-plugin and --dev-plugin-dir look whether somebody has saved a file, and copy programs",
  },
  {
    file: /^src\/daemon\/dev\/dev-certificate\.ts$/,
    may: ["randomness"],
    why: "WebCrypto makes the key pair of a development certificate",
  },
  {
    file: /^src\/identity\/rsa-key\.ts$/,
    may: ["randomness"],
    why: "the runtime makes RSA keys from its own source; no simulator runs what they sign",
  },
  {
    file: /^src\/system\/append-file\.ts$/,
    may: ["files"],
    why: "files that only grow, reached without ever waiting for a disk in the main thread",
  },
  {
    file: /^src\/system\/(snapshot-files|directory-facts)\.ts$/,
    may: ["files"],
    why: "files of snapshots, reached through the descriptor of their directory; what a directory is",
  },
  {
    file: /^src\/snapshots\/clouda\/bucket-url\.ts$/,
    may: ["sockets"],
    why: "isIP, which reads a text and opens nothing",
  },
  {
    file: /^src\/system\/work-file\.ts$/,
    may: ["files"],
    why: "large files (snapshots), reached without ever waiting for a disk in the main thread",
  },
  {
    file: /^src\/system\/child-processes\.ts$/,
    may: ["processes", "files"],
    why: "other programs are started and looked at here, by the kernel's own files; no simulator runs any",
  },
  {
    file: /^src\/system\/program-files\.ts$/,
    may: ["files"],
    why: "files of plugins, reached through the descriptor of their directory, and the folders of those that run",
  },
  {
    file: /^src\/plugins\/process\/link\.ts$/,
    may: ["sockets"],
    why: "TLS on the Unix sockets between the server and its plugins",
  },
  {
    file: /^src\/plugins\/runners\/docker-engine\.ts$/,
    may: ["sockets"],
    why: "HTTP on the socket of a container engine of this machine",
  },
  {
    file: /^src\/audit\/devices\/connector\.ts$/,
    may: ["sockets", "processes"],
    why: "the ways out of audit records: local and datagram sockets, and the system's logger program",
  },
  {
    file: /^src\/storage\/generations\/sqlite-gaps\.ts$/,
    may: ["files"],
    why: "gaps in the pages of SQLite's file, in the thread of its writer: the simulator has another engine",
  },
  { file: /^src\/system\/net\.ts$/, may: ["sockets"], why: "it is the network" },
  {
    file: /^src\/http\/(?:[a-z0-9]+\/)?[a-z0-9-]+\.ts$/,
    may: ["sockets"],
    why: "HTTP and TLS need the sockets themselves: half-closing, resetting, the bytes before the parser",
  },
  {
    file: /^shared\/grpc\/(?:client|server)-(?:call|session)\.ts$/,
    may: ["sockets"],
    why: "HTTP/2 on a connection that is handed in; nothing is opened",
  },
  {
    file: /^src\/cluster\/(?:port|port-set|tls-carrier)\.ts$/,
    may: ["sockets"],
    why: "TLS on connections of system/net.ts, on both sides",
  },
  {
    file: /^plugin-sdk\/wire\/certificate\.ts$/,
    may: ["randomness"],
    why: "the runtime makes the key pair of a connection's certificate; no simulator runs TLS",
  },
  {
    file: /^src\/cluster\/authority\.ts$/,
    may: ["randomness"],
    why: "WebCrypto makes key pairs from its own source; no simulator runs TLS",
  },
  {
    file: /^src\/outbound\/(connections|dialling|endpoint-url|exchange|system-resolver)\.ts$/,
    may: ["sockets"],
    why: "HTTP and TLS as a client, and the system's name service; connections come from system/net.ts",
  },
  {
    file: /^src\/storage\/engines\/sqlite[a-z-]*\.ts$/,
    may: ["sqlite", "threads", "files"],
    why: "storage engines are a part of the world themselves",
  },
  {
    file: /^client\/node\/(node-transport|tls-probe)\.ts$/,
    may: ["sockets"],
    why: "the client's own way to the server; no simulator runs the command line",
  },
  {
    file: /^(?:src\/base\/node-http|client\/node\/node-transport)\.ts$/,
    may: ["loader"],
    why: "Node's HTTP without the fetch that an import of it loads",
  },
  {
    file: /^src\/system\/own-modules\.ts$/,
    may: ["files", "loader"],
    why: "it says where our own modules are, before any other part is there",
  },
  {
    file: /^client\/fetch-transport\.ts$/,
    may: ["sockets", "timers"],
    why: "fetch, and its time-out, wherever a program of a user runs",
  },
  {
    file: /^client\/node(?:\/machine)?\.ts$/,
    may: ["files", "timers", "environment"],
    why: "programs of users are handed no world: timers, token file, certificates, variables",
  },
  {
    file: /^src\/cli\/line\/user-file\.ts$/,
    may: ["files"],
    why: "files that a user names may be links and pipes, which system/fs.ts refuses",
  },
  {
    file: /^src\/cli\/authoring\/project-files\.ts$/,
    may: ["files"],
    why: "`holdfast plugin new` makes a folder, with links to our own packages",
  },
  {
    file: /^src\/system\/bundle\/program\.ts$/,
    may: ["files", "processes"],
    why: "a plugin is made of its source, and asked what it is",
  },
  {
    file: /^src\/system\/bundle\/bundle\.ts$/,
    may: ["loader"],
    why: "types are left out by the runtime's own hand; nothing is loaded",
  },
  {
    file: /^src\/cli\/exec\/child-command\.ts$/,
    may: ["processes"],
    why: "`holdfast exec` runs a command for its user",
  },
  { file: /^src\/main\.ts$/, may: ["environment"], why: "the environment is read here, once" },
];

const MODULES: readonly [Use, RegExp][] = [
  ["time", /^node:perf_hooks$/],
  ["timers", /^node:timers(\/|$)/],
  ["files", /^node:fs(\/|$)/],
  ["sockets", /^node:(net|tls|https|http2|dgram|dns)(\/|$)|\/node-http\.ts$/],
  ["http", /^node:http$/],
  ["environment", /^node:process$/],
  ["processes", /^node:(child_process|cluster)$/],
  ["threads", /^node:worker_threads$/],
  ["sqlite", /^node:sqlite$/],
  ["loader", /^node:(module|vm|repl|wasi)$/],
];

// Most start with "not a member of something else": socket.setTimeout is not the timer.
const NAMES: readonly [Use, RegExp][] = [
  // A Date made from a given number is no clock; libraries ask for one.
  ["time", /(?<![.\w$#])Date\s*\.\s*now\b|\bnew\s+Date\b(?!\s*\(\s*[^\s)])/g],
  ["time", /(?<![.\w$#]|\bnew\s+)Date\s*\(|=\s*Date\s*[;,)]/g],
  ["time", /(?<![.\w$#])performance\s*\.\s*(?:now|timeOrigin|mark|measure)\b/g],
  ["time", /\bprocess\s*\.\s*(?:hrtime|uptime)\b/g],
  ["time", /\bTemporal\s*\.\s*Now\b/g],
  ["timers", /(?<![.\w$#])(?:setTimeout|setInterval|setImmediate)\b/g],
  ["timers", /\bAbortSignal\s*\.\s*timeout\b/g],
  ["randomness", /\bMath\s*\.\s*random\b/g],
  ["randomness", /\b(?:randomBytes|randomUUID|randomInt|randomFill(?:Sync)?|getRandomValues)\b/g],
  ["randomness", /\bgenerate(?:Key|KeyPair|Prime)(?:Sync)?\b/g],
  ["sockets", /(?<![.\w$#])fetch\s*\(|\bnew\s+(?:WebSocket|EventSource)\b/g],
  ["environment", /\bprocess\s*\??\.\s*(?:env|loadEnvFile)\b|=\s*process\s*[;,)]/g],
  [
    "loader",
    /\b(?:getBuiltinModule|createRequire|globalThis)\b|(?<![.\w$#])(?:require|eval)\s*\(/g,
  ],
];

/** Uses of the real world in the product by a file that has no permission for them. Tests are free. */
export function worldUse(path: string, source: string): string[] {
  if (!PRODUCT.test(path) || path.endsWith(".test.ts")) return [];
  const code = readCode(source);
  const used = [
    ...importsOf(code).flatMap(({ to, typeOnly, line }) =>
      MODULES.filter(([, module]) => to !== null && !typeOnly && module.test(to)).map(([use]) => ({
        use,
        what: to ?? "",
        line,
      })),
    ),
    ...NAMES.flatMap(([use, name]) =>
      Array.from(code.text.matchAll(name), (match) => ({
        use,
        what: match[0],
        line: lineAt(code.text, match.index),
      })),
    ),
  ];
  const allowed = PERMISSIONS.filter(({ file }) => file.test(path)).flatMap(({ may }) => may);
  return used
    .filter(({ use }) => !allowed.includes(use))
    .map(({ use, what, line }) => `${path}:${line}: ${use} is not for this file (${what})`);
}

/**
 * Memory from Node's shared pool: what lay there before may be anyone's secret, and ours stays.
 * Buffer.concat() takes from it as well; tests have no secrets, and may.
 */
export function pooledMemory(path: string, source: string): string[] {
  const { text } = readCode(source);
  const product = PRODUCT.test(path) && !path.endsWith(".test.ts");
  const pooled = product
    ? /\ballocUnsafe(?:Slow)?\b|\bBuffer\s*\.\s*concat\b/g
    : /\ballocUnsafe(?:Slow)?\b/g;
  return Array.from(text.matchAll(pooled), (match) => {
    const place = `${path}:${lineAt(text, match.index)}`;
    return `${place}: ${match[0]}: use alloc() or concat() of shared/bytes.ts`;
  });
}
