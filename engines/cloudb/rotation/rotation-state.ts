// A rotation of the mount's own secret that is under way, as it is kept: one record beside the
// configuration.

import { jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import type { Holder } from "../provider/graph.ts";

export const ROTATION = "rotation";

/** A password that is not used yet: it is being proved. */
export interface Pending {
  readonly state: "pending";
  readonly secret: string;
  readonly keyId: string;
  readonly displayName: string;
  readonly appObjectId: string;
  readonly tenantId: string;
  /** Nanoseconds since 1970, both. */
  readonly ends: string;
  readonly created: string;
  /** How often in a row it has worked. */
  readonly successes: number;
  /** What is removed when it is in use; null where it is not known which that is. */
  readonly replaces: OldPassword | null;
}

export interface OldPassword {
  readonly holder: Holder;
  readonly id: string;
  readonly keyId: string;
}

/** The last one never worked, and was given up. */
interface Failing {
  readonly state: "failing";
}

export type Rotation = Pending | Failing;

export const rotationCodec = jsonCodec<Rotation>();

export function rotationOf(storage: EngineStorage): Promise<Rotation | null> {
  return storage.get(ROTATION, rotationCodec);
}

/** The write-ahead record by which its password is removed. */
export function recordOf(
  pending: Pick<Pending, "appObjectId" | "displayName" | "tenantId">,
): JsonObject {
  const { appObjectId, displayName, tenantId: tenant } = pending;
  return { appObjectId, displayName, tenant };
}

export function pendingIn(tx: EngineTx): Pending | null {
  const found = tx.get(ROTATION, rotationCodec);
  return found?.state === "pending" ? found : null;
}
