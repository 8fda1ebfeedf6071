// `holdfast secrets tune` and `holdfast auth tune`

import { argument } from "../argument.ts";
import { command, type Command } from "../command.ts";
import {
  AUTH,
  configOf,
  MOUNT_FLAGS,
  mountPath,
  SECRETS,
  type MountConfig,
  type MountKind,
} from "../mount-kinds.ts";
import { secondsText } from "../seconds-text.ts";

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
    async run({ client, out }, { path: typed, description, option, ...given }) {
      const path = mountPath(kind, typed);
      const changes: MountConfig = {
        ...configOf(given),
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
