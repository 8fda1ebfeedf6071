// Who a container runs as: whom its image names, but never root, unless that is nobody on this machine.

import type { Unpacked } from "../images/images.ts";
import { imageRefused } from "../images/failures.ts";

export interface Ids {
  readonly user: number;
  readonly group: number;
}

/** Nobody's, as many images have it. */
export const NOBODY: Ids = { user: 65_532, group: 65_532 };
/** Those that namespaces of users hold here. */
export const MAX_ID = 65_535;

export function userOf(image: Unpacked, mayBeRoot: boolean): Ids {
  const named = readUser(image);
  return named.user === 0 && !mayBeRoot ? NOBODY : named;
}

function readUser({ config, passwd, group }: Unpacked): Ids {
  if (config.user === "") return { user: 0, group: 0 };
  const [user = "", of] = config.user.split(":");
  const row = rowsOf(passwd).find(([name, , id]) => name === user || (isId(user) && id === user));
  const id = isId(user) ? user : row?.[2];
  const first = of === undefined || of === "" ? (row?.[3] ?? "0") : groupOf(of, group);
  if (id === undefined || !isId(id) || !isId(first)) {
    throw imageRefused(
      `its user ${JSON.stringify(config.user.slice(0, 64))} is not in its /etc/passwd`,
    );
  }
  const ids = { user: Number(id), group: Number(first) };
  if (ids.user > MAX_ID || ids.group > MAX_ID) {
    throw imageRefused(`its user is above ${MAX_ID}, which no plugin runs as`);
  }
  return ids;
}

function groupOf(name: string, group: string | null): string {
  if (isId(name)) return name;
  return rowsOf(group).find(([known]) => known === name)?.[2] ?? "";
}

function rowsOf(text: string | null): string[][] {
  return text?.split("\n").map((row) => row.split(":")) ?? [];
}

function isId(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}
