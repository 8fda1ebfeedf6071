// The room of namespaces: the tree that every request is found in.

import type { Log } from "@holdfast/shared/log";
import type { Random, Timers } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { namespacesApi } from "./api.ts";
import type { NamespaceContents } from "./contents.ts";
import {
  Namespaces,
  type NamespacesOptions,
  type PathsTaken,
  type Resident,
} from "./namespaces.ts";

export interface NamespacesNeeds {
  /** Of everything below shared/ and local/. */
  readonly shared: View;
  readonly local: View;
  /** What rooms keep for a namespace, to be removed in this order. */
  readonly contents: () => readonly NamespaceContents[];
  readonly isUsed: NonNullable<NamespacesOptions["isUsed"]>;
  readonly isWithheld: NonNullable<NamespacesOptions["isWithheld"]>;
  readonly came: NonNullable<NamespacesOptions["came"]>;
  readonly residents: readonly Resident[];
  readonly pathsTaken: readonly PathsTaken[];
  readonly random: Random;
  readonly timers: Timers;
  readonly log: Log;
}

export interface NamespacesParts {
  readonly namespaces: Namespaces;
}

export const namespacesRoom: RoomPlan<NamespacesNeeds, NamespacesParts> = {
  name: "namespaces",
  declares: [
    declares(
      "src/namespaces/api.ts",
      namespacesApi,
      ({ namespaces }: NamespacesParts) => namespaces,
    ),
  ],
  build: ({ shared, local, contents, log, ...needs }) => {
    const namespaces = new Namespaces({
      view: shared.sub("namespaces/"),
      local,
      ...needs,
      spaces: [shared.sub("ns/"), local.sub("ns/")],
      get contents() {
        return contents(); // of rooms that are built later
      },
      log: log.child("namespaces"),
    });
    return {
      namespaces,
      whileFollowing: "opens",
      open: () => namespaces.open(),
      close: () => namespaces.close(),
      jobs: namespaces.jobs,
      followers: [namespaces.follower],
    };
  },
};
