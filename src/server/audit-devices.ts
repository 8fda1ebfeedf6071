// From the configuration's audit devices to what the audit room takes.

import type { DeclaredDevice } from "../audit/device-set.ts";
import type { Config } from "../config/config.ts";
import { placeOf } from "../outbound/address-kinds.ts";

export function declaredDevices({ audit }: Config): DeclaredDevice[] {
  return audit.devices.map(({ path, type, description, local, options }) => ({
    path,
    type,
    description,
    local,
    options: Object.fromEntries(options),
  }));
}

/** A collector of records may well be a neighbour, but is never what a cloud tells its machines secrets by. */
export function isAuditTarget(address: string): boolean {
  const kind = placeOf(address)?.kind ?? "unusable";
  return kind === "public" || kind === "private" || kind === "loopback";
}
