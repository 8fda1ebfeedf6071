// To which host snapshots, and the credentials that go with them, would go by settings that no target can be opened
// with yet.

import type { TargetNeeds } from "../targets/open-target.ts";
import type { StorageType, TargetSettings } from "../targets/settings.ts";

/** Null for a directory. Throws a Failure for an endpoint that cannot be called. */
export type AddressReader = (settings: TargetSettings) => URL | null;

/** Reads where a target of one type would be called if it had credentials. */
export async function addressReader(
  type: StorageType,
  { outbound }: Pick<TargetNeeds, "outbound">,
): Promise<AddressReader> {
  switch (type) {
    case "local":
      return () => null;
    case "clouda-store": {
      const { bucketUrl } = await import("../clouda/bucket-url.ts");
      return (settings) =>
        settings.storageType === type ? bucketUrl(settings, outbound).of("") : null;
    }
    case "cloudb-blob": {
      const { containerUrl } = await import("../cloudb/container-url.ts");
      return (settings) => {
        if (settings.storageType !== type) return null;
        return new URL(containerUrl(settings, settings.accountName || "unknown", outbound));
      };
    }
    case "cloudc-store": {
      const { baseOf } = await import("../cloudc/cloudc-store.ts");
      return (settings) =>
        settings.storageType === type ? new URL(baseOf(settings, outbound)) : null;
    }
  }
}
