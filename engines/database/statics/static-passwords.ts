// A new password for the user of a static role. It is stored beside the one that holds before the database hears of it: a
// rotation that was cut off is taken up with the same one, and ends in the same.

import { DatabaseError } from "@holdfast/plugin-sdk/database";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { countRotation } from "../../cloud/metrics.ts";
import { allows, secretsOf } from "../connections/connection.ts";
import type { Connections } from "../connections/connections.ts";
import * as failures from "../failures.ts";
import { newPassword } from "../roles/passwords.ts";
import {
  expirationOf,
  type StaticCreds,
  staticCredsCodec,
  staticCredsKey,
  type StaticRole,
  staticRoleCodec,
  staticRoleKey,
} from "./static-role.ts";

export interface PasswordParts {
  readonly needs: EngineNeeds;
  readonly connections: Connections;
}

/** To be called by whoever holds the lock of the role. `isFirst`: the role was made with the password that comes next, and nobody
 *  has tried to set it yet. */
export async function replacePassword(
  parts: PasswordParts,
  role: StaticRole,
  creds: StaticCreds,
  { isFirst, signal }: { readonly isFirst: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const { needs, connections } = parts;
  const connection = await connections.read(role.dbName);
  if (!allows(connection, role.name)) throw failures.roleNotAllowed(role.name, role.dbName);
  const isTakenUp = creds.nextPassword !== null && !isFirst;
  const password = creds.nextPassword ?? newPassword(needs.random);
  if (creds.nextPassword === null)
    await changeCreds(parts, role.name, (now) => ({ ...now, nextPassword: password }));
  try {
    await set(parts, role, { creds, password, isTakenUp, signal });
  } catch (error) {
    countRotation(needs.metrics, "failed");
    // One that was cut off before may have set it all the same.
    if (!isTakenUp && failures.isHarmless(error)) {
      await changeCreds(parts, role.name, (now) => ({ ...now, nextPassword: null }));
    }
    const secrets = [...secretsOf(connection), password, creds.password];
    throw failures.errorForCaller(error, `setting the password of ${role.username}`, secrets);
  }
  await needs.storage.write((tx) => {
    const now = needs.clock.now();
    // As it is now: somebody may have changed its period meanwhile.
    const current = tx.get(staticRoleKey(role.name), staticRoleCodec) ?? role;
    const fresh = freshCreds(password, now, expirationOf(current, now));
    tx.put(staticCredsKey(role.name), fresh, staticCredsCodec);
  });
  countRotation(needs.metrics, "ok");
}

interface Setting {
  readonly creds: StaticCreds;
  readonly password: string;
  readonly isTakenUp: boolean;
  readonly signal: AbortSignal;
}

async function set(parts: PasswordParts, role: StaticRole, setting: Setting): Promise<void> {
  const { creds, password, isTakenUp } = setting;
  if (!role.isSelfManaged) return await update(parts, role, setting, "");
  // Its own password is the one of before or the one of after.
  if (isTakenUp) {
    try {
      return await update(parts, role, setting, password);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.reason !== "refused") throw error;
    }
  }
  await update(parts, role, setting, creds.password);
}

function update(
  { connections }: PasswordParts,
  { dbName, username, rotationStatements }: StaticRole,
  { password, signal }: Setting,
  own: string,
): Promise<void> {
  const change = {
    username,
    credential: { kind: "password", password } as const,
    statements: rotationStatements,
    ...(own === "" ? {} : { selfManagedPassword: own }),
  };
  return connections.use(dbName, "UpdateUser", (instance) => instance.updateUser(change, signal));
}

export function freshCreds(
  password: string,
  rotatedAt: bigint | null,
  expiration: bigint,
): StaticCreds {
  return {
    password,
    nextPassword: null,
    rotatedAt,
    expiration,
    attempts: 0,
    lastError: "",
    retryAt: null,
  };
}

/** Nothing where the role is gone. */
export async function changeCreds(
  { needs }: Pick<PasswordParts, "needs">,
  name: string,
  make: (now: StaticCreds) => StaticCreds,
): Promise<void> {
  await needs.storage.write((tx) => {
    const now = tx.get(staticCredsKey(name), staticCredsCodec);
    if (now !== null) tx.put(staticCredsKey(name), make(now), staticCredsCodec);
  });
}
