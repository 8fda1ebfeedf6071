// A target by its settings. What speaks with a provider is loaded when the first of its kind is used.

import type { Surroundings } from "./credential-files.ts";
import { type LocalNeeds, LocalTarget } from "./local.ts";
import type { TargetSettings } from "./settings.ts";
import type { StoreNeeds } from "./store-calls.ts";
import type { Target } from "./target.ts";

export type TargetNeeds = StoreNeeds &
  Surroundings & { readonly local: Omit<LocalNeeds, "random"> };

/** Throws what says that it cannot be used: a Failure, or a StoreError where credentials are missing. */
export async function openTarget(settings: TargetSettings, needs: TargetNeeds): Promise<Target> {
  switch (settings.storageType) {
    case "local":
      return new LocalTarget(settings, { ...needs.local, random: needs.random });
    case "clouda-store": {
      const { CloudAStore } = await import("../clouda/clouda-store.ts");
      return new CloudAStore(settings, needs, needs);
    }
    case "cloudb-blob": {
      const { CloudBBlob } = await import("../cloudb/cloudb-blob.ts");
      return new CloudBBlob(settings, needs, needs);
    }
    case "cloudc-store": {
      const { CloudCStore } = await import("../cloudc/cloudc-store.ts");
      return new CloudCStore(settings, needs, needs);
    }
  }
}

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
