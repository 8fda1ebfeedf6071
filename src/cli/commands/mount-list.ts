// `holdfast secrets list` and `holdfast auth list`

import type { JsonValue } from "@holdfast/shared/json/json";
import type * as mounts from "@holdfast/client/api/mounts";
import { command, type Command } from "../command.ts";
import { flag } from "../flag.ts";
import { stateOf, troubleOf } from "../mount-state.ts";
import { AUTH, SECRETS, type MountKind } from "../mount-kinds.ts";
import { secondsText } from "../seconds-text.ts";
import type { View } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { shown } from "../terminal/value.ts";

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
  const { default_lease_ttl: usual, max_lease_ttl: most } = config;
  const lifetimes = [
    ...(usual === 0 || usual === undefined ? [] : [secondsText(usual)]),
    ...(most === 0 || most === undefined ? [] : [`at most ${secondsText(most)}`]),
  ];
  const given = Object.entries(options ?? {});
  const told = given.map(([name, value]) => `${name}=${shown(value)}`);
  return [
    lifetimes.length === 0 ? "the server's" : lifetimes.join(", "),
    [...told, ...(local === true ? ["local"] : [])].join(" "),
    uuid,
  ];
}
