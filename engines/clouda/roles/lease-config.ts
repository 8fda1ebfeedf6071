// How long the leases of IAM users are: `config/lease`. They are asked for at issue and
// again at every renewal.

import { jsonCodec } from "@holdfast/shared/codec";
import { parseDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { showGoDuration } from "../../cloud/go-duration.ts";
import { invalid } from "../failures.ts";

const KEY = "config/lease";

/** As it was written, in canonical text. */
interface StoredLease {
  readonly lease: string;
  readonly lease_max: string;
}

/** Null: as the mount says. */
export interface LeaseTerms {
  readonly ttl: Nanos | null;
  readonly maxTtl: Nanos | null;
}

export const leaseConfigCodec = jsonCodec<StoredLease>();

export class LeaseConfig {
  readonly #needs: EngineNeeds;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  async write(lease: Nanos | undefined, leaseMax: Nanos | undefined): Promise<void> {
    const ttl = needed("lease", lease);
    const max = needed("lease_max", leaseMax);
    if (max > 0n && ttl > max) throw invalid("lease-order", "lease exceeds lease_max");
    const stored = { lease: showGoDuration(ttl), lease_max: showGoDuration(max) };
    await this.#needs.storage.write((tx) => tx.put(KEY, stored, leaseConfigCodec));
  }

  /** What holds: as the mount says where nothing, or 0, was written. */
  async effective(): Promise<StoredLease> {
    const { ttl, maxTtl } = await this.terms();
    const { mount } = this.#needs;
    return {
      lease: showGoDuration(ttl ?? mount.defaultTtl()),
      lease_max: showGoDuration(maxTtl ?? mount.maxTtl()),
    };
  }

  async terms(): Promise<LeaseTerms> {
    const stored = await this.#needs.storage.get(KEY, leaseConfigCodec);
    if (stored === null) return { ttl: null, maxTtl: null };
    const ttl = parseDuration(stored.lease);
    const maxTtl = parseDuration(stored.lease_max);
    return { ttl: ttl === 0n ? null : ttl, maxTtl: maxTtl === 0n ? null : maxTtl };
  }
}

function needed(field: string, length: Nanos | undefined): Nanos {
  if (length === undefined) throw invalid("field-invalid", `${field} is required`);
  return length;
}
