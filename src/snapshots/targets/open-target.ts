// A target by its settings. What speaks with a provider is loaded when the first of its kind is used.

import type { Surroundings } from "./credential-files.ts";
import { type LocalNeeds, LocalTarget } from "./local.ts";
import { checkOutsideCredentials, type CredentialRules } from "./outside-credentials.ts";
import type { TargetSettings } from "./settings.ts";
import type { StoreNeeds } from "./store-calls.ts";
import type { Target } from "./target.ts";

export type TargetNeeds = StoreNeeds &
  Surroundings &
  CredentialRules & { readonly local: Omit<LocalNeeds, "random"> };

/** Throws what says that it cannot be used: a Failure, or a StoreError where credentials are missing. */
export async function openTarget(settings: TargetSettings, needs: TargetNeeds): Promise<Target> {
  checkOutsideCredentials(settings, needs);
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
