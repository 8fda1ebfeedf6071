// What uses a connection: roles, and leases by them. Leases are of the cluster that gave them and are counted by the path
// that gave them, so that roles which are gone are remembered as long as leases of theirs may live.

import { jsonCodec } from "@holdfast/shared/codec";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { type Role, roleCodec, ROLES } from "../roles/role.ts";
import { STATIC_ROLES, type StaticRole, staticRoleCodec } from "../statics/static-role.ts";

const LEFT = "left/";
const PAGE = 500;

/** Of a role that is gone, by its connection. */
export const leftKey = (connection: string, role: string) => `${LEFT}${connection}/${role}`;

const leftCodec = jsonCodec<Readonly<Record<string, never>>>();

export interface LeaseCount {
  readonly count: number;
  /** Clusters that have not said how many they have. */
  readonly silent: number;
}

export interface Uses extends LeaseCount {
  readonly roles: readonly string[];
  readonly staticRoles: readonly StaticRole[];
  /** Below the mount, of roles that there are and of those that there were. */
  readonly places: readonly string[];
}

export const placeOf = (role: string) => `creds/${role}`;

type Needs = Pick<EngineNeeds, "storage" | "leases">;

export async function usesOf(needs: Needs, connection: string): Promise<Uses> {
  const roles = (await allOf(needs, ROLES, roleCodec))
    .filter(({ dbName }) => dbName === connection)
    .map(({ name }) => name);
  const staticRoles = (await allOf(needs, STATIC_ROLES, staticRoleCodec)).filter(
    ({ dbName }) => dbName === connection,
  );
  const left = await namesBelow(needs, `${LEFT}${connection}/`);
  const places = [...new Set([...roles, ...left])].map(placeOf);
  return { roles, staticRoles, places, ...(await leasesAt(needs, places)) };
}

/** Here and everywhere else. */
export async function leasesAt(
  { leases }: Pick<EngineNeeds, "leases">,
  places: readonly string[],
): Promise<LeaseCount> {
  let [count, silent] = [0, 0];
  for (const place of places) {
    const found = await leases.elsewhere(place, { revoke: false });
    count += found.count + (await leases.count(place));
    silent = Math.max(silent, found.silent);
  }
  return { count, silent };
}

/** In the transaction that deletes the role. */
export function remember(tx: EngineTx, { dbName, name }: Role): void {
  tx.put(leftKey(dbName, name), {}, leftCodec);
}

/** In the transaction that deletes the connection. */
export function forgetAll(tx: EngineTx, connection: string): void {
  const prefix = `${LEFT}${connection}/`;
  for (const name of tx.list(prefix, { limit: 100_000 })) tx.delete(`${prefix}${name}`);
}

async function namesBelow({ storage }: Pick<EngineNeeds, "storage">, prefix: string) {
  const all: string[] = [];
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const names = await storage.list(prefix, page);
    all.push(...names);
    after = names.at(-1);
    if (names.length < PAGE || after === undefined) return all;
  }
}

async function allOf<T>(
  { storage }: Pick<EngineNeeds, "storage">,
  prefix: string,
  codec: Parameters<typeof storage.records<T>>[1],
): Promise<T[]> {
  const all: T[] = [];
  for (let after: string | undefined; ;) {
    const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const records = await storage.records(prefix, codec, page);
    all.push(...records.map(({ value }) => value));
    after = records.at(-1)?.key;
    if (records.length < PAGE || after === undefined) return all;
  }
}

/** In words, for a refusal; empty: nothing uses it. */
export function inWords({ roles, staticRoles, count }: Uses): string {
  const some = (number: number, what: string) =>
    number === 0 ? [] : [`${number} ${what}${number === 1 ? "" : "s"}`];
  return [
    ...some(roles.length, "role"),
    ...some(staticRoles.length, "static role"),
    ...some(count, "live lease"),
  ].join(", ");
}
