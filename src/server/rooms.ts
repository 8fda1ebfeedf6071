// The rooms of the server: the one list of them. In its order they are built, open, lead and are documented;
// what each is given stands in who-gets-what.ts.

import { invariant } from "@holdfast/shared/invariant";
import { attentionRoom } from "../attention/room.ts";
import { auditRoom } from "../audit/room.ts";
import { browserRoom } from "../browser/room.ts";
import { carriedRoom } from "../carried/room.ts";
import { evidenceRoom } from "../evidence/room.ts";
import { buildRoom, type Room, type RoomPlan } from "../house/room.ts";
import { identityRoom } from "../identity/room.ts";
import { introspectionRoom } from "../introspection/room.ts";
import { leasesRoom } from "../leases/room.ts";
import { mountsRoom } from "../mounts/room.ts";
import { namespacesRoom } from "../namespaces/room.ts";
import { pluginsRoom } from "../plugins/room.ts";
import { policiesRoom } from "../policies/room.ts";
import { quotasRoom } from "../quotas/room.ts";
import { replicationRoom } from "../replication/room.ts";
import { sealRoom } from "../seal/room.ts";
import { snapshotsRoom } from "../snapshots/room.ts";
import { tokensRoom } from "../tokens/room.ts";
import { wrappingRoom } from "../wrapping/room.ts";

export const ROOMS = {
  seal: sealRoom,
  tokens: tokensRoom,
  namespaces: namespacesRoom,
  plugins: pluginsRoom,
  mounts: mountsRoom,
  leases: leasesRoom,
  wrapping: wrappingRoom,
  identity: identityRoom,
  policies: policiesRoom,
  carried: carriedRoom,
  evidence: evidenceRoom,
  audit: auditRoom,
  quotas: quotasRoom,
  browser: browserRoom,
  attention: attentionRoom,
  introspection: introspectionRoom,
  snapshots: snapshotsRoom,
  replication: replicationRoom,
} as const;

export type RoomName = keyof typeof ROOMS;
type Plans = typeof ROOMS;
type NeedsOf<Plan> = Plan extends RoomPlan<infer Needs, infer _> ? Needs : never;
type PartsOf<Plan> = Plan extends RoomPlan<infer _, infer Parts> ? Parts : never;

/** By name. One that is asked for before it is built throws: whoever needs it that early is built too early. */
export type Rooms = { readonly [Name in RoomName]: PartsOf<Plans[Name]> & Room };

/** Who gets what. */
export type Table = { readonly [Name in RoomName]: () => NeedsOf<Plans[Name]> };

export function buildRooms(tableFor: (rooms: Rooms) => Table): Rooms {
  const rooms = {} as Rooms;
  const names = Object.keys(ROOMS) as RoomName[];
  for (const name of names) {
    const get = () => invariant(false, `the room ${name} is not built yet`);
    Object.defineProperty(rooms, name, { get, enumerable: true, configurable: true });
  }
  const table = tableFor(rooms);
  const build = <Name extends RoomName>(name: Name) => {
    const plan = ROOMS[name] as unknown as RoomPlan<NeedsOf<Plans[Name]>, object>;
    const value = buildRoom(plan, table[name]());
    Object.defineProperty(rooms, name, { value, enumerable: true });
  };
  for (const name of names) build(name);
  return rooms;
}
