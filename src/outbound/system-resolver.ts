// Names into addresses, by the system: its hosts file, its search list, its servers.

import { lookup } from "node:dns/promises";

/** All addresses of a name, in the order in which to try them. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const resolveBySystem: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};
