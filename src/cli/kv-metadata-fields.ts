// What can be set on a secret apart from its data.

import { showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type * as kv from "@holdfast/client/api/kv";
import { flag } from "./flag.ts";

export const METADATA_FLAGS = {
  maxVersions: flag.integer("How many versions are kept; 0: as the mount says"),
  casRequired: flag.oneOf(["true", "false"], "Whether writes must give -cas"),
  deleteVersionAfter: flag.duration("New versions are deleted after so long; 0: never"),
  customMetadata: flag.pair("A note").repeated(),
};

export interface MetadataNeeds {
  readonly maxVersions: number | undefined;
  readonly casRequired: "true" | "false" | undefined;
  readonly deleteVersionAfter: Nanos | undefined;
  readonly customMetadata: readonly (readonly [string, string])[];
}

export function metadataFields(given: MetadataNeeds): Omit<kv.WriteMetadataInput, "path"> {
  const { maxVersions, casRequired, deleteVersionAfter, customMetadata } = given;
  return {
    ...(maxVersions === undefined ? {} : { max_versions: maxVersions }),
    ...(casRequired === undefined ? {} : { cas_required: casRequired === "true" }),
    ...(deleteVersionAfter === undefined
      ? {}
      : { delete_version_after: showDuration(deleteVersionAfter) }),
    ...(customMetadata.length === 0 ? {} : { custom_metadata: Object.fromEntries(customMetadata) }),
  };
}
