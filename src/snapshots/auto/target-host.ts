// To which host snapshots would go by settings that no target can be opened with yet: for records.

import type { TargetNeeds } from "../targets/open-target.ts";
import type { TargetSettings } from "../targets/settings.ts";

/** The host that a target would speak with if it had credentials. Empty for a directory. Throws a Failure for an
 *  endpoint that cannot be called. */
export async function hostOf(
  settings: TargetSettings,
  { outbound }: Pick<TargetNeeds, "outbound">,
): Promise<string> {
  switch (settings.storageType) {
    case "local":
      return "";
    case "clouda-store": {
      const { bucketUrl } = await import("../clouda/bucket-url.ts");
      return bucketUrl(settings, outbound).of("").host;
    }
    case "cloudb-blob": {
      const { containerUrl } = await import("../cloudb/container-url.ts");
      return new URL(containerUrl(settings, settings.accountName || "unknown", outbound)).host;
    }
    case "cloudc-store": {
      const { baseOf } = await import("../cloudc/cloudc-store.ts");
      return new URL(baseOf(settings, outbound)).host;
    }
  }
}
