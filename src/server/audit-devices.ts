// From the configuration's audit devices to what the audit room takes.

import type { DeclaredDevice } from "../audit/device-set.ts";
import type { Config } from "../config/config.ts";

export function declaredDevices({ audit }: Config): DeclaredDevice[] {
  return audit.devices.map(({ path, type, description, local, options }) => ({
    path,
    type,
    description,
    local,
    options: Object.fromEntries(options),
  }));
}
