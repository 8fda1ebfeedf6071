// Secrets that are stored go to the host that they were stored for. Whoever names another one has to know them: he may
// change a configuration, which does not mean that he may have its secrets sent to himself.

import type { TargetSettings } from "../targets/settings.ts";
import { type ConfigInput, type SnapshotConfig, TYPE_FIELDS } from "./config.ts";
import { secretsAgain } from "./failures.ts";
import type { AddressReader } from "./target-host.ts";

/** Throws where a secret that the request leaves out would go to another host, or there by http instead of TLS. */
export function checkSecretsStay(
  before: SnapshotConfig | null,
  { settings }: Pick<SnapshotConfig, "settings">,
  input: ConfigInput,
  read: AddressReader,
): void {
  if (before === null) return;
  const old = before.settings as unknown as Readonly<Record<string, unknown>>;
  const kept = TYPE_FIELDS[settings.storageType].filter(
    ({ wire, key, kind }) => kind === "secret" && old[key] !== "" && input[wire] === undefined,
  );
  if (kept.length === 0) return;
  const address = read(settings);
  if (address === null || address.origin === originOf(before.settings, read)) return;
  throw secretsAgain(
    kept.map(({ wire }) => wire),
    address.origin,
  );
}

/** Null where it cannot be called any more: what was is then not what will be. */
function originOf(settings: TargetSettings, read: AddressReader): string | null {
  try {
    return read(settings)?.origin ?? null;
  } catch {
    return null;
  }
}
