// The room of introspection: what the server tells about itself.

import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { introspectionApi } from "./api.ts";
import { loggersApi } from "./api-loggers.ts";
import { Introspection, type IntrospectionOptions } from "./introspection.ts";
import { VersionHistory } from "./version-history.ts";

export interface IntrospectionNeeds extends Omit<IntrospectionOptions, "versions" | "node"> {
  /** Of everything below core/. */
  readonly node: View;
  readonly buildDate: string;
  readonly nodeFacts: IntrospectionOptions["node"];
}

export interface IntrospectionParts {
  readonly introspection: Introspection;
}

export const introspectionRoom: RoomPlan<IntrospectionNeeds, IntrospectionParts> = {
  name: "introspection",
  declares: [
    declares(
      "src/introspection/api.ts",
      introspectionApi,
      ({ introspection }: IntrospectionParts) => introspection,
    ),
    declares(
      "src/introspection/api-loggers.ts",
      loggersApi,
      ({ introspection }: IntrospectionParts) => introspection,
    ),
  ],
  build: (needs) => {
    const { version, buildDate } = needs;
    const versions = new VersionHistory({ view: needs.node.sub("versions/"), version, buildDate });
    return {
      introspection: new Introspection({ ...needs, node: needs.nodeFacts, versions }),
      whileFollowing: "leads",
      lead: () => versions.record(),
    };
  },
};
