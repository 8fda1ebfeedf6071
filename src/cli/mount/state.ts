// What the API says of a mount that is not at work: it is being disabled or moved, how many leases are
// left, and what is the matter with it.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";

/** What stands in its way, which may be long; null where nothing does. */
export function troubleOf({ trouble }: JsonObject): string | null {
  return typeof trouble === "string" && trouble !== "" ? trouble : null;
}

/** For people, in a few words; null for a mount that is at work. */
export function stateOf(mount: JsonObject): string | null {
  const { state } = mount;
  const left = leasesLeft(mount);
  const stopped = troubleOf(mount) !== null;
  // What stops a login method is a lease of another mount: none left of its own would be no news.
  const leases =
    left === null || (stopped && left === 0)
      ? []
      : [`${left} ${left === 1 ? "lease" : "leases"} left`];
  const doing = typeof state === "string" && state !== "" ? [state, ...leases] : [];
  const said = [...doing, ...(stopped ? ["in trouble"] : [])];
  return said.length === 0 ? null : said.join(", ");
}

export function isDisabling(mount: JsonObject): boolean {
  return mount["state"] === "disabling";
}

/** Null where the answer does not tell. */
export function leasesLeft(answer: JsonValue | undefined): number | null {
  const { leases_left } = isObject(answer) ? answer : {};
  return typeof leases_left === "number" ? leases_left : null;
}
