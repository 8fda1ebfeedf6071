// `holdfast secrets` and `holdfast auth`: `list`, `enable` and `tune`.

import type { JsonValue } from "@holdfast/shared/json/json";
import type * as mounts from "@holdfast/client/api/mounts";
import { command, type Command } from "../command.ts";
import {
  AUTH,
  configOf,
  MOUNT_FLAGS,
  mountPath,
  SECRETS,
  type MountConfig,
  type MountKind,
} from "./kinds.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { stateOf, troubleOf } from "./state.ts";
import type { View } from "../terminal/output.ts";
import { secondsText } from "../terminal/relative-time.ts";
import { oneLine } from "../terminal/text.ts";
import { showValue } from "../terminal/value.ts";

export const secretsList: Command = mountList(SECRETS, "List secrets engines");
export const authList: Command = mountList(AUTH, "List auth methods");

type MountRecord = mounts.ListMountsAnswer[string];
type Cell = JsonValue | undefined;

function mountList(kind: MountKind, summary: string): Command {
  const { group } = kind;
  return command({
    name: `${group} list`,
    summary,
    description: "A mount that is not at work says so: it is being disabled or moved.",
    examples: [`holdfast ${group} list`, `holdfast ${group} list -detailed`],
    flags: { detailed: flag.switch("More columns: lifetimes of leases, options, UUID") },
    args: {},
    async run({ client, out }, { detailed }) {
      const { data } = await kind.calls.list(client);
      const found = mountsOf(data);
      const states = found.some(([, mount]) => stateOf(mount) !== null);
      const columns = [
        "Path",
        "Type",
        "Accessor",
        ...(detailed ? ["Lifetimes", "Options", "UUID"] : []),
        ...(states ? ["State"] : []),
        "Description",
      ];
      const rows = found.map(([path, mount]): Cell[] => [
        path,
        mount.type,
        mount.accessor,
        ...(detailed ? detailsOf(mount) : []),
        ...(states ? [stateOf(mount) ?? "at work"] : []),
        mount.description,
      ]);
      const members = Object.fromEntries(found);
      const list: View = { columns, rows, whole: ["Path", "Accessor", "UUID"] };
      // Below the table, where there is room for sentences.
      const troubles = found.flatMap(([path, mount]) => {
        const trouble = troubleOf(mount);
        return trouble === null ? [] : [`${oneLine(path)}: ${oneLine(trouble)}`];
      });
      const below: View = { text: troubles.join("\n"), flows: () => true };
      await out.show(members, troubles.length === 0 ? list : { parts: [list, below] });
    },
  });
}

/** In the order of their paths. */
function mountsOf(data: mounts.ListMountsAnswer): (readonly [string, MountRecord])[] {
  return Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function detailsOf({ config, options, local, uuid }: MountRecord): Cell[] {
  const { default_lease_ttl: usual, max_lease_ttl: max } = config;
  const lifetimes = [
    ...(usual === 0 || usual === undefined ? [] : [secondsText(usual)]),
    ...(max === 0 || max === undefined ? [] : [`at most ${secondsText(max)}`]),
  ];
  const pairs = Object.entries(options ?? {});
  const texts = pairs.map(([name, value]) => `${name}=${showValue(value)}`);
  return [
    lifetimes.length === 0 ? "the server's" : lifetimes.join(", "),
    [...texts, ...(local === true ? ["local"] : [])].join(" "),
    uuid,
  ];
}

export const secretsEnable: Command = mountEnable(
  SECRETS,
  "Makes a new mount of a type at a path: its name, unless -path says another. Nothing else may be " +
    "mounted inside it or around it.",
  [
    "holdfast secrets enable kv",
    "holdfast secrets enable -path team/secret -description 'of the team' kv",
    "holdfast secrets enable -path old kv-v1",
  ],
);

export const authEnable: Command = mountEnable(
  AUTH,
  "Makes a new way to log in at auth/ and a path: its type, unless -path says another.",
  ["holdfast auth enable userpass", "holdfast auth enable -path ci -max-lease-ttl 1h approle"],
);

function mountEnable(kind: MountKind, description: string, examples: readonly string[]): Command {
  const { group, noun } = kind;
  return command({
    name: `${group} enable`,
    summary: `Enable ${noun === "auth method" ? "an" : "a"} ${noun}`,
    description,
    examples,
    flags: {
      path: flag.string("Where it is mounted (its type)", "PATH"),
      ...MOUNT_FLAGS,
      local: flag.switch("Of this region alone, and of who stands in for it"),
    },
    args: { type: argument.required(kind.typesHelp, { choices: kind.types }) },
    async run(
      { client, out },
      { type: typed, path: wanted, local, description: note, ...settings },
    ) {
      // Names that people know for the two versions of one type.
      const [, version] = /^kv-v([12])$/.exec(typed) ?? [];
      const type = version === undefined ? typed : "kv";
      const path = mountPath(kind, wanted ?? type);
      const config = configOf(settings);
      const options: Record<string, string> = {
        ...(version === undefined ? {} : { version }),
        ...Object.fromEntries(settings.option),
      };
      await kind.calls.enable(client, {
        path,
        type,
        ...(note === undefined ? {} : { description: note }),
        ...(Object.keys(config).length === 0 ? {} : { config }),
        ...(Object.keys(options).length === 0 ? {} : { options }),
        ...(local ? { local } : {}),
      });
      out.done(`Success! Enabled the ${type} ${noun} at: ${kind.prefix}${path}/`);
    },
  });
}

export const secretsTune: Command = mountTune(SECRETS, [
  "holdfast secrets tune -max-lease-ttl 24h secret",
  "holdfast secrets tune secret",
]);

export const authTune: Command = mountTune(AUTH, [
  "holdfast auth tune -default-lease-ttl 1h userpass",
  "holdfast auth tune -field max_lease_ttl userpass",
]);

function mountTune(kind: MountKind, examples: readonly string[]): Command {
  const { group, noun } = kind;
  return command({
    name: `${group} tune`,
    summary: `Change the settings of ${noun === "auth method" ? "an" : "a"} ${noun}, or show them`,
    description:
      "What is not given stays as it is. Without any setting it shows those that hold. Leases that " +
      "exist keep their end until they are renewed.",
    examples,
    flags: MOUNT_FLAGS,
    args: { path: argument.required(kind.pathHelp, { words: kind.group }) },
    async run({ client, out }, { path: typed, description, option, ...settings }) {
      const path = mountPath(kind, typed);
      const changes: MountConfig = {
        ...configOf(settings),
        ...(description === undefined ? {} : { description }),
        ...(option.length === 0 ? {} : { options: Object.fromEntries(option) }),
      };
      if (Object.keys(changes).length === 0) {
        const { data } = await kind.calls.readTuning(client, { path });
        const pairs = Object.entries(data).map(
          ([name, value]) => [name, name.endsWith("_ttl") ? secondsText(value) : value] as const,
        );
        return out.show(data, { pairs });
      }
      await kind.calls.tune(client, { path, ...changes });
      out.done(`Success! Tuned the ${noun} at: ${kind.prefix}${path}/`);
    },
  });
}
