// Every command by its words, loaded when it is needed: a command line that starts slowly is not used.
// Only names are here; the rest is in each command's declaration.

import type { Command } from "./command.ts";
import { nearest } from "./line/nearest.ts";
import { UsageError } from "./line/usage-error.ts";

type Load = () => Promise<Command>;

const COMMANDS: Readonly<Record<string, Load>> = {
  status: async () => (await import("./commands/status.ts")).status,
  login: async () => (await import("./commands/login.ts")).login,
  read: async () => (await import("./commands/path.ts")).read,
  write: async () => (await import("./commands/path.ts")).write,
  patch: async () => (await import("./commands/path.ts")).patch,
  recover: async () => (await import("./commands/path.ts")).recover,
  delete: async () => (await import("./commands/path.ts")).remove,
  list: async () => (await import("./commands/path.ts")).list,
  wrap: async () => (await import("./commands/wrapping.ts")).wrap,
  unwrap: async () => (await import("./commands/wrapping.ts")).unwrap,
  exec: async () => (await import("./exec/exec.ts")).exec,
  "kv get": async () => (await import("./kv/secrets.ts")).kvGet,
  "kv put": async () => (await import("./kv/secrets.ts")).kvPut,
  "kv patch": async () => (await import("./kv/secrets.ts")).kvPatch,
  "kv list": async () => (await import("./kv/lists.ts")).kvList,
  "kv search": async () => (await import("./kv/lists.ts")).kvSearch,
  "kv delete": async () => (await import("./kv/removal.ts")).kvDelete,
  "kv undelete": async () => (await import("./kv/removal.ts")).kvUndelete,
  "kv destroy": async () => (await import("./kv/removal.ts")).kvDestroy,
  "kv rollback": async () => (await import("./kv/secrets.ts")).kvRollback,
  "kv recover": async () => (await import("./kv/recover.ts")).kvRecover,
  "kv move": async () => (await import("./kv/secrets.ts")).kvMove,
  "kv copy": async () => (await import("./kv/secrets.ts")).kvCopy,
  "kv metadata get": async () => (await import("./kv/metadata.ts")).kvMetadataGet,
  "kv metadata put": async () => (await import("./kv/metadata.ts")).kvMetadataPut,
  "kv metadata patch": async () => (await import("./kv/metadata.ts")).kvMetadataPatch,
  "kv metadata delete": async () => (await import("./kv/metadata.ts")).kvMetadataDelete,
  "secrets list": async () => (await import("./mount/mounts.ts")).secretsList,
  "secrets enable": async () => (await import("./mount/mounts.ts")).secretsEnable,
  "secrets tune": async () => (await import("./mount/mounts.ts")).secretsTune,
  "secrets move": async () => (await import("./mount/moving.ts")).secretsMove,
  "secrets disable": async () => (await import("./mount/ending.ts")).secretsDisable,
  "auth list": async () => (await import("./mount/mounts.ts")).authList,
  "auth enable": async () => (await import("./mount/mounts.ts")).authEnable,
  "auth tune": async () => (await import("./mount/mounts.ts")).authTune,
  "auth move": async () => (await import("./mount/moving.ts")).authMove,
  "auth disable": async () => (await import("./mount/ending.ts")).authDisable,
  "lease lookup": async () => (await import("./commands/lease.ts")).leaseLookup,
  "lease list": async () => (await import("./commands/lease.ts")).leaseList,
  "lease renew": async () => (await import("./commands/lease.ts")).leaseRenew,
  "lease revoke": async () => (await import("./commands/lease.ts")).leaseRevoke,
  "operator init": async () => (await import("./operator/operator.ts")).operatorInit,
  "operator unseal": async () => (await import("./operator/operator.ts")).operatorUnseal,
  "operator seal": async () => (await import("./operator/operator.ts")).operatorSeal,
  "operator rekey": async () => (await import("./operator/rekey.ts")).operatorRekey,
  "operator rotate": async () => (await import("./operator/operator.ts")).operatorRotate,
  "operator key-status": async () => (await import("./operator/operator.ts")).operatorKeyStatus,
  "operator generate-root": async () =>
    (await import("./operator/generate-root.ts")).operatorGenerateRoot,
  "operator step-down": async () => (await import("./operator/operator.ts")).operatorStepDown,
  "audit list": async () => (await import("./commands/audit.ts")).auditList,
  "audit enable": async () => (await import("./commands/audit.ts")).auditEnable,
  "audit disable": async () => (await import("./commands/audit.ts")).auditDisable,
  "audit hash": async () => (await import("./commands/audit.ts")).auditHash,
  "audit verify": async () => (await import("./evidence/audit-verify.ts")).auditVerify,
  "evidence list": async () => (await import("./evidence/evidence.ts")).evidenceList,
  "evidence read": async () => (await import("./evidence/evidence.ts")).evidenceRead,
  "evidence keys": async () => (await import("./evidence/evidence.ts")).evidenceKeys,
  "evidence verify": async () => (await import("./evidence/verify.ts")).evidenceVerify,
  "namespace list": async () => (await import("./commands/namespace.ts")).namespaceList,
  "namespace lookup": async () => (await import("./commands/namespace.ts")).namespaceLookup,
  "namespace create": async () => (await import("./commands/namespace.ts")).namespaceCreate,
  "namespace patch": async () => (await import("./commands/namespace.ts")).namespacePatch,
  "namespace delete": async () => (await import("./commands/namespace.ts")).namespaceDelete,
  "policy list": async () => (await import("./policy/stored.ts")).policyList,
  "policy read": async () => (await import("./policy/stored.ts")).policyRead,
  "policy write": async () => (await import("./policy/stored.ts")).policyWrite,
  "policy delete": async () => (await import("./policy/stored.ts")).policyDelete,
  "policy fmt": async () => (await import("./policy/documents.ts")).policyFmt,
  "policy test": async () => (await import("./policy/documents.ts")).policyTest,
  "policy why": async () => (await import("./policy/why.ts")).policyWhy,
  "plugin list": async () => (await import("./plugin/registered.ts")).pluginList,
  "plugin info": async () => (await import("./plugin/registered.ts")).pluginInfo,
  "plugin register": async () => (await import("./plugin/registering.ts")).pluginRegister,
  "plugin deregister": async () => (await import("./plugin/registered.ts")).pluginDeregister,
  "plugin pin": async () => (await import("./plugin/pins.ts")).pluginPin,
  "plugin unpin": async () => (await import("./plugin/pins.ts")).pluginUnpin,
  "plugin pins": async () => (await import("./plugin/pins.ts")).pluginPins,
  "plugin upgrade": async () => (await import("./plugin/upgrade.ts")).pluginUpgrade,
  "plugin reload": async () => (await import("./plugin/reloading.ts")).pluginReload,
  "plugin reload-status": async () => (await import("./plugin/reloading.ts")).pluginReloadStatus,
  "plugin new": async () => (await import("./authoring/making.ts")).pluginNew,
  "plugin build": async () => (await import("./authoring/making.ts")).pluginBuild,
  "plugin test": async () => (await import("./authoring/trying.ts")).pluginTest,
  "plugin runtime list": async () => (await import("./plugin/runtimes.ts")).pluginRuntimeList,
  "plugin runtime info": async () => (await import("./plugin/runtimes.ts")).pluginRuntimeInfo,
  "plugin runtime register": async () =>
    (await import("./plugin/runtimes.ts")).pluginRuntimeRegister,
  "plugin runtime deregister": async () =>
    (await import("./plugin/runtimes.ts")).pluginRuntimeDeregister,
  "acl bootstrap": async () => (await import("./token/bootstrap.ts")).aclBootstrap,
  "acl bootstrap status": async () => (await import("./token/bootstrap.ts")).bootstrapStatus,
  "acl bootstrap reset": async () => (await import("./token/bootstrap.ts")).bootstrapReset,
  "acl token create": async () => (await import("./token/management.ts")).tokenCreate,
  "acl token clone": async () => (await import("./token/management.ts")).tokenClone,
  "acl token upload": async () => (await import("./token/management.ts")).tokenUpload,
  "acl token update": async () => (await import("./token/management.ts")).tokenUpdate,
  "acl token list": async () => (await import("./token/reading.ts")).tokenList,
  "acl token info": async () => (await import("./token/reading.ts")).tokenInfo,
  "acl token self": async () => (await import("./token/reading.ts")).tokenSelf,
  "acl token delete": async () => (await import("./token/management.ts")).tokenDelete,
  "acl token lookup": async () => (await import("./token/holder.ts")).tokenLookup,
  "acl token renew": async () => (await import("./token/holder.ts")).tokenRenew,
  "acl token capabilities": async () => (await import("./token/holder.ts")).tokenCapabilities,
  "acl token revoke": async () => (await import("./token/holder.ts")).tokenRevoke,
  "acl token revoke-self": async () => (await import("./token/holder.ts")).tokenRevokeSelf,
  "acl token export": async () => (await import("./token/transfer.ts")).tokenExport,
  "acl token import": async () => (await import("./token/transfer.ts")).tokenImport,
  "acl token one-time create": async () => (await import("./token/holder.ts")).oneTimeCreate,
  "acl token one-time exchange": async () => (await import("./token/holder.ts")).oneTimeExchange,
  "acl replication status": async () =>
    (await import("./token/replication.ts")).aclReplicationStatus,
  "snapshot list": async () => (await import("./snapshot/list.ts")).snapshotList,
  "snapshot save": async () => (await import("./snapshot/save.ts")).snapshotSave,
  "snapshot restore": async () => (await import("./snapshot/restore.ts")).snapshotRestore,
  "snapshot load": async () => (await import("./snapshot/loaded.ts")).snapshotLoad,
  "snapshot loaded": async () => (await import("./snapshot/loaded.ts")).snapshotLoaded,
  "snapshot unload": async () => (await import("./snapshot/loaded.ts")).snapshotUnload,
  "snapshot inspect": async () => (await import("./snapshot/inspect.ts")).snapshotInspect,
  "snapshot verify": async () => (await import("./snapshot/inspect.ts")).snapshotVerify,
  "snapshot drill": async () => (await import("./snapshot/drill.ts")).snapshotDrill,
  "snapshot diff": async () => (await import("./snapshot/diff.ts")).snapshotDiff,
  "replication status": async () => (await import("./replication/status.ts")).replicationStatus,
  "replication enable": async () => (await import("./replication/primary.ts")).replicationEnable,
  "replication public-key": async () =>
    (await import("./replication/joining.ts")).replicationPublicKey,
  "replication token": async () => (await import("./replication/primary.ts")).replicationToken,
  "replication join": async () => (await import("./replication/joining.ts")).replicationJoin,
  "replication demote": async () => (await import("./replication/primary.ts")).replicationDemote,
  "replication promote": async () => (await import("./replication/takeover.ts")).replicationPromote,
  "replication failover": async () =>
    (await import("./replication/takeover.ts")).replicationFailover,
  "replication update-primary": async () =>
    (await import("./replication/joining.ts")).replicationUpdatePrimary,
  "replication revoke": async () => (await import("./replication/primary.ts")).replicationRevoke,
  "replication filter set": async () =>
    (await import("./replication/filters.ts")).replicationFilterSet,
  "replication filter show": async () =>
    (await import("./replication/filters.ts")).replicationFilterShow,
  "replication filter delete": async () =>
    (await import("./replication/filters.ts")).replicationFilterDelete,
  "replication disable": async () => (await import("./replication/primary.ts")).replicationDisable,
  "replication recover": async () => (await import("./replication/takeover.ts")).replicationRecover,
  "replication merkle-check": async () =>
    (await import("./replication/trees.ts")).replicationMerkleCheck,
  "replication reindex": async () => (await import("./replication/trees.ts")).replicationReindex,
  "replication divergent list": async () =>
    (await import("./replication/divergent.ts")).divergentList,
  "replication divergent export": async () =>
    (await import("./replication/divergent.ts")).divergentExport,
  "replication operation-token": async () =>
    (await import("./replication/operation-token.ts")).replicationOperationToken,
  "replication ticket": async () => (await import("./replication/primary.ts")).replicationTicket,
  "path-help": async () => (await import("./commands/path.ts")).pathHelp,
  attention: async () => (await import("./commands/attention.ts")).attentionShow,
  "attention snooze": async () => (await import("./commands/attention.ts")).attentionSnooze,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  "doctor plugins": async () => (await import("./commands/doctor-plugins.ts")).doctorPlugins,
  completion: async () => (await import("./commands/completion.ts")).completion,
  "completion values": async () => (await import("./commands/completion.ts")).completionValues,
  version: async () => (await import("./commands/program.ts")).version,
  help: async () => (await import("./commands/program.ts")).help,
};

/** Other names of commands and groups. */
export const EQUAL_NAMES: ReadonlyMap<string, string> = new Map([
  ["token", "acl token"],
  ["acl token read", "acl token info"],
  ["acl token onetime", "acl token one-time"],
]);

/** Run by the main program, not here. */
export const SERVER = { name: "server", summary: "Run the server" };

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

const GROUP_SUMMARIES: ReadonlyMap<string, string> = new Map([
  ["kv", "Secrets of key/value mounts"],
  ["kv metadata", "Versions, settings and notes of a secret"],
  ["secrets", "Secrets engines and where they are mounted"],
  ["auth", "Auth methods: ways to log in"],
  ["lease", "Leases of secrets that end"],
  ["operator", "Initialise, unseal, seal, and care for keys"],
  ["audit", "Audit devices"],
  ["evidence", "Reports that the server has signed"],
  ["namespace", "Namespaces"],
  ["snapshot", "Snapshots of everything stored: save, check, open"],
  ["replication", "Other clusters: one that takes over, others that serve their region"],
  ["replication divergent", "What only this cluster had when another was promoted"],
  ["replication filter", "What a performance secondary is not sent"],
  ["plugin", "Plugins: register, pin, upgrade, reload"],
  ["plugin runtime", "By what images of plugins are run, and with which limits"],
  ["policy", "Policies: what tokens may do, and what governs every request"],
  ["acl", "Tokens: the first one, and all others"],
  ["acl token", "Create, list, read, change, renew and end tokens; `token` for short"],
  ["acl replication", "Global tokens and policies of another region"],
  ["acl token one-time", "Hand over a token by a secret that works once"],
]);

export interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly string[]; // whole names, those of groups below it too
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
  let group: Group | null = null;
  for (const [i, word] of words.entries()) {
    const before = group === null ? "" : `${group.name} `;
    const name: string = EQUAL_NAMES.get(before + word) ?? before + word;
    if (Object.hasOwn(COMMANDS, name)) {
      const longer = `${name} ${words[i + 1] ?? ""}`;
      return Object.hasOwn(COMMANDS, longer)
        ? { kind: "command", name: longer, words: i + 2 }
        : { kind: "command", name, words: i + 1 };
    }
    const inner = GROUPS.find((one) => one.name === name);
    if (inner !== undefined) group = inner;
    else if (group !== null && word.startsWith("-")) break;
    else throw unknown(word, before);
  }
  if (group === null) throw unknown("", "");
  return { kind: "group", group };
}

/** The words that may follow `before`, which is empty or ends with a space. */
function wordsAfter(before: string): string[] {
  const names = before === "" ? [...COMMAND_NAMES, SERVER.name] : COMMAND_NAMES;
  const following = names
    .filter((name) => name.startsWith(before))
    .map((name) => name.slice(before.length).split(" ")[0]!);
  return [...new Set(following)];
}

/** What people look for who know other tools, and what is meant to come. */
const NOT_HERE: ReadonlyMap<string, readonly [why: string, next: string]> = new Map([
  ["ui", ["there is no console to open yet", "the command line does everything: `holdfast help`"]],
  [
    "acl role",
    [
      "there are no roles of tokens",
      "give policies to the token: `holdfast acl token create -policy`",
    ],
  ],
  ["acl policy", ["policies have a command of their own", "see `holdfast policy`"]],
  ["logout", ["there is no command logout", "`holdfast token revoke-self` ends the token"]],
]);

function unknown(word: string, before: string): UsageError {
  const known = NOT_HERE.get(before + word);
  if (known !== undefined) return new UsageError(...known);
  if (!/^[a-z][a-z-]{0,23}$/.test(word)) {
    return new UsageError("the command is not one that is known", "run `holdfast help`");
  }
  const guess = nearest(word, wordsAfter(before));
  return new UsageError(
    `there is no command ${before}${word}`,
    guess === null
      ? `run \`holdfast help ${before}`.trimEnd() + "`"
      : `did you mean \`holdfast ${before}${guess}\`?`,
  );
}
