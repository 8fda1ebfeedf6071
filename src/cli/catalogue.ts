// Every command by its words, loaded when it is needed: a command line that starts slowly is not used.
// Only names are here; the rest is in each command's declaration.

import type { Command } from "./command.ts";
import { nearest } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

type Load = () => Promise<Command>;

const COMMANDS: Readonly<Record<string, Load>> = {
  status: async () => (await import("./commands/status.ts")).status,
  login: async () => (await import("./commands/login.ts")).login,
  read: async () => (await import("./commands/read.ts")).read,
  write: async () => (await import("./commands/write.ts")).write,
  patch: async () => (await import("./commands/patch.ts")).patch,
  delete: async () => (await import("./commands/delete.ts")).remove,
  list: async () => (await import("./commands/list.ts")).list,
  "operator init": async () => (await import("./commands/operator-init.ts")).operatorInit,
  "operator unseal": async () => (await import("./commands/operator-unseal.ts")).operatorUnseal,
  "operator seal": async () => (await import("./commands/operator-seal.ts")).operatorSeal,
  "operator rekey": async () => (await import("./commands/operator-rekey.ts")).operatorRekey,
  "operator rotate": async () => (await import("./commands/operator-rotate.ts")).operatorRotate,
  "operator key-status": async () =>
    (await import("./commands/operator-key-status.ts")).operatorKeyStatus,
  "operator generate-root": async () =>
    (await import("./commands/operator-generate-root.ts")).operatorGenerateRoot,
  "operator step-down": async () =>
    (await import("./commands/operator-step-down.ts")).operatorStepDown,
  "audit list": async () => (await import("./commands/audit-list.ts")).auditList,
  "audit enable": async () => (await import("./commands/audit-enable.ts")).auditEnable,
  "audit disable": async () => (await import("./commands/audit-disable.ts")).auditDisable,
  "audit hash": async () => (await import("./commands/audit-hash.ts")).auditHash,
  "namespace list": async () => (await import("./commands/namespace-list.ts")).namespaceList,
  "namespace lookup": async () => (await import("./commands/namespace-lookup.ts")).namespaceLookup,
  "namespace create": async () => (await import("./commands/namespace-create.ts")).namespaceCreate,
  "namespace patch": async () => (await import("./commands/namespace-patch.ts")).namespacePatch,
  "namespace delete": async () => (await import("./commands/namespace-delete.ts")).namespaceDelete,
  "path-help": async () => (await import("./commands/path-help.ts")).pathHelp,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  completion: async () => (await import("./commands/completion.ts")).completion,
  version: async () => (await import("./commands/version.ts")).version,
  help: async () => (await import("./commands/help.ts")).help,
};

/** Run by the main program, not here. */
export const SERVER = { name: "server", summary: "Run the server" };

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

const GROUP_SUMMARIES: ReadonlyMap<string, string> = new Map([
  ["operator", "Initialise, unseal, seal, and care for keys"],
  ["audit", "Audit devices"],
  ["namespace", "Namespaces"],
]);

export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly string[]; // whole names
}

export const GROUPS: readonly Group[] = Array.from(GROUP_SUMMARIES, ([name, summary]) => ({
  name,
  summary,
  commands: COMMAND_NAMES.filter((command) => command.startsWith(`${name} `)),
}));

export function loadCommand(name: string): Promise<Command> {
  const load = COMMANDS[name];
  if (load === undefined) throw new UsageError(`there is no command ${name}`);
  return load();
}

export function loadAll(): Promise<Command[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}

export type Found =
  | { readonly kind: "command"; readonly name: string; readonly words: number }
  | { readonly kind: "group"; readonly group: Group };

/** Which command the first words name. */
export function findCommand(words: readonly string[]): Found {
  const [first = "", second] = words;
  if (Object.hasOwn(COMMANDS, first)) return { kind: "command", name: first, words: 1 };
  const group = GROUPS.find(({ name }) => name === first);
  if (group === undefined) {
    const tops = [...COMMAND_NAMES.map((name) => name.split(" ")[0]!), SERVER.name];
    throw unknown(first, [...new Set(tops)], "");
  }
  if (second === undefined || second.startsWith("-")) return { kind: "group", group };
  const name = `${first} ${second}`;
  if (Object.hasOwn(COMMANDS, name)) return { kind: "command", name, words: 2 };
  throw unknown(
    second,
    group.commands.map((one) => one.slice(first.length + 1)),
    `${first} `,
  );
}

function unknown(word: string, known: readonly string[], before: string): UsageError {
  if (!/^[a-z][a-z-]{0,23}$/.test(word)) {
    return new UsageError("the command is not one that is known", "run `holdfast help`");
  }
  const guess = nearest(word, known);
  return new UsageError(
    `there is no command ${before}${word}`,
    guess === null
      ? `run \`holdfast help ${before}`.trimEnd() + "`"
      : `did you mean \`holdfast ${before}${guess}\`?`,
  );
}
