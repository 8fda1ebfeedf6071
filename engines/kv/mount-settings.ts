// What a mount says of all its secrets, and how that and what a secret says of itself go together.

import type { Codec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Secret } from "./secret.ts";

export interface MountSettings {
  /** 0: as many as the engine keeps by itself. */
  readonly maxVersions: number;
  readonly casRequired: boolean;
  /** 0: never. */
  readonly deleteVersionAfter: Nanos;
  /** How long the recycle bin shows what was deleted; 0 for no bin. */
  readonly recycleWindow: Nanos;
}

export const DEFAULT_SETTINGS: MountSettings = {
  maxVersions: 0,
  casRequired: false,
  deleteVersionAfter: 0n,
  recycleWindow: 7n * DAY,
};

const DEFAULT_MAX_VERSIONS = 10;
/** Each takes 21 bytes of the record that every read opens. */
export const MAX_VERSIONS = 1000;

interface Stored {
  readonly max_versions: number;
  readonly cas_required: boolean;
  readonly delete_version_after: string; // nanoseconds
  readonly recycle_window: string;
}

const stored = jsonCodec<Stored>();

export const settingsCodec: Codec<MountSettings> = {
  encode: (settings) =>
    stored.encode({
      max_versions: settings.maxVersions,
      cas_required: settings.casRequired,
      delete_version_after: settings.deleteVersionAfter.toString(),
      recycle_window: settings.recycleWindow.toString(),
    }),
  decode: (bytes) => {
    const found = stored.decode(bytes);
    return {
      maxVersions: found.max_versions,
      casRequired: found.cas_required,
      deleteVersionAfter: BigInt(found.delete_version_after),
      recycleWindow: BigInt(found.recycle_window),
    };
  },
};

export function versionsKept(secret: Secret, mount: MountSettings): number {
  return secret.maxVersions || mount.maxVersions || DEFAULT_MAX_VERSIONS;
}

/** When a version that is made now is deleted: by the shorter of the two; null for never. */
export function deletionOf(secret: Secret, mount: MountSettings, now: Instant): Instant | null {
  const [own, all] = [secret.deleteVersionAfter, mount.deleteVersionAfter];
  const after = own === 0n || (all !== 0n && all < own) ? all : own;
  return after === 0n ? null : now + after;
}
