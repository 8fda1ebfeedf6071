// A connection goes when nothing uses it any more. With force what uses it is ended first: leases outside, then the roles.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { pause } from "@holdfast/shared/pause";
import { SECOND } from "@holdfast/shared/text/duration";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { Nanos } from "@holdfast/shared/world";
import { regions } from "../../cloud/leases-elsewhere.ts";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import * as failures from "../failures.ts";
import { roleKey } from "../roles/role.ts";
import { staticCredsKey, staticRoleKey } from "../statics/static-role.ts";
import { connectionCodec, connectionKey } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { connectionLock } from "./root-rotation.ts";
import { forgetAll, inWords, leasesAt, type Uses, usesOf } from "./uses.ts";

/** How long leases that were told to end are waited for. */
export const ENDED_WITHIN: Nanos = 75n * SECOND;
const LOOKED_AT_EVERY: Nanos = SECOND / 5n;

export interface DeletionParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
}

/** Gives warnings. */
export async function deleteConnection(
  parts: DeletionParts,
  name: string,
  { force, request }: { readonly force: boolean; readonly request: EngineRequest },
): Promise<string[]> {
  const { needs, locks, connections } = parts;
  return await locks.run(connectionLock(name), request, async () => {
    if ((await connections.find(name)) === null) return [];
    const uses = await usesOf(needs, name);
    if (!force) checkUnused(name, uses);
    else await end(parts, name, uses, request.signal);
    await needs.storage.write((tx) => {
      for (const role of uses.roles) tx.delete(roleKey(role));
      for (const { name: role } of uses.staticRoles) {
        tx.delete(staticRoleKey(role));
        tx.delete(staticCredsKey(role));
      }
      forgetAll(tx, name);
      tx.delete(connectionKey(name));
    });
    connections.drop(name);
    return warningsOf(uses);
  });
}

function checkUnused(name: string, uses: Uses): void {
  const used = inWords(uses);
  const silent = uses.silent === 0 ? "" : `${regions(uses.silent)} not said what it has given`;
  const all = [used, silent].filter((text) => text !== "").join("; ");
  if (all === "") return;
  throw failures.connectionInUse(
    `connection ${JSON.stringify(name)} is in use: ${all}; end that first, or give force=true`,
  );
}

async function end(
  { needs }: DeletionParts,
  name: string,
  { places }: Uses,
  signal: AbortSignal,
): Promise<void> {
  const { storage, leases, clock, timers } = needs;
  // From here on nobody is given anything new, in any cluster and after any crash.
  await storage.write((tx) => {
    const stored = tx.get(connectionKey(name), connectionCodec);
    if (stored !== null)
      tx.put(connectionKey(name), { ...stored, isEnding: true }, connectionCodec);
  });
  for (const place of places) {
    await leases.revoke(place);
    await leases.elsewhere(place, { revoke: true });
  }
  const until = clock.elapsed() + ENDED_WITHIN;
  for (;;) {
    const { count, silent } = await leasesAt(needs, places);
    if (count === 0 && silent === 0) return;
    if (clock.elapsed() < until && (await pause(timers, LOOKED_AT_EVERY, signal))) continue;
    const left = [
      ...(count === 0 ? [] : [`${count} leases have not ended yet`]),
      ...(silent === 0 ? [] : [`${regions(silent)} not answered`]),
    ].join(", and ");
    throw failures.notEndedYet(
      `${left}: connection ${JSON.stringify(name)} is kept for them and gives nothing new`,
    );
  }
}

function warningsOf({ staticRoles }: Uses): string[] {
  if (staticRoles.length === 0) return [];
  const users = staticRoles.slice(0, 20).map(({ username }) => username);
  return [
    `static roles were deleted, and nobody knows the passwords of their users any more: ${users.join(", ")}`,
  ];
}
