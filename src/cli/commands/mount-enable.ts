// `holdfast secrets enable` and `holdfast auth enable`

import { argument } from "../argument.ts";
import { command, type Command } from "../command.ts";
import { flag } from "../flag.ts";
import { AUTH, configOf, MOUNT_FLAGS, mountPath, SECRETS, type MountKind } from "../mount-kinds.ts";

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
      local: flag.switch("Not on replicas"),
    },
    args: { type: argument.required(kind.typesHelp, { choices: kind.types }) },
    async run({ client, out }, { type: typed, path: wanted, local, description: note, ...given }) {
      // Names that people know for the two versions of one type.
      const [, version] = /^kv-v([12])$/.exec(typed) ?? [];
      const type = version === undefined ? typed : "kv";
      const path = mountPath(kind, wanted ?? type);
      const config = configOf(given);
      const options: Record<string, string> = {
        ...(version === undefined ? {} : { version }),
        ...Object.fromEntries(given.option),
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
