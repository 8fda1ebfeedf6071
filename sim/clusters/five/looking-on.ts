// Looks on at the port of a cluster that sends shared data: whatever leaves it, nothing of it is withheld from whom it goes to.

import { hex } from "@holdfast/shared/bytes";
import { scopeOfKey } from "../../../src/barrier/scope.ts";
import type { Peer } from "../../../src/cluster/verify.ts";
import type { Served } from "@holdfast/shared/grpc/method";
import type { Filter } from "../../../src/replication/filters/filter.ts";
import { storedFilters } from "../../../src/replication/filters/stored-filters.ts";
import {
  copyScope,
  fetchKeys,
  leaves,
  streamLog,
} from "../../../src/replication/stream/messages.ts";
import { decodeSharedPart } from "../../../src/storage/rows/log-entry.ts";
import { Violation } from "../../state.ts";
import type { Tick } from "../../world.ts";
import type { SimCluster } from "../cluster.ts";
import type { PortWatch } from "../network.ts";
import type { Scene } from "../scene.ts";
import { learn, type Places, withheldScopes } from "./expected.ts";
import { PlacedData } from "./places.ts";

const FILTERS = "local/replication/performance/filters/";
const PLACES = /^shared\/(?:namespaces|mounts|ns\/[^/]+\/mount-table)\//;

interface Known {
  readonly places: Places;
  filters: ReadonlyMap<string, Filter>;
  /** By the member. */
  readonly withheld: Map<string, Set<string>>;
  /** Whoever made one was answered at the end of this instant, and not before. */
  filteredAt: Tick;
  isOld: boolean;
}

export class LookingOn {
  readonly #scene: Scene;
  readonly #known = new Map<SimCluster, Known>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Something has become durable there. */
  committed(cluster: SimCluster, keys: Iterable<string>): void {
    const known = this.#knownOf(cluster);
    for (const key of keys) {
      const isFilter = key.startsWith(FILTERS);
      if (isFilter) known.filteredAt = this.#scene.world.now;
      if (isFilter || PLACES.test(key)) known.isOld = true;
    }
  }

  /** It may have other data. */
  began(cluster: SimCluster): void {
    this.#knownOf(cluster).isOld = true;
  }

  /** What a member of that primary may not have. */
  withheldFrom(primary: SimCluster, id: string, clusterId: string): Set<string> {
    const known = this.#refreshed(primary);
    const names = [id, clusterId];
    const there = new Map([...known.places].filter(([, { isThere }]) => isThere));
    return withheldScopes(
      names.flatMap((name) => known.filters.get(name) ?? []),
      there,
    );
  }

  watch(primary: SimCluster): PortWatch {
    return {
      serve: (served, { kind }) => {
        const scopesIn = SCOPES.get(served.shape.path);
        if (kind !== "performance" || scopesIn === undefined) return served;
        return this.#seen(primary, served, scopesIn);
      },
    };
  }

  #seen(primary: SimCluster, served: Served<Peer>, scopesIn: ScopesIn): Served<Peer> {
    const look = (id: string, message: Uint8Array) => this.#look(primary, id, scopesIn(message));
    return {
      ...served,
      async *run(requests, call) {
        for await (const message of served.run(requests, call)) {
          look(call.peer.id, message);
          yield message;
        }
      },
    };
  }

  #look(primary: SimCluster, id: string, scopes: readonly Sent[]): void {
    if (scopes.length === 0 || primary.running === null) return;
    const known = this.#refreshed(primary);
    if (known.filters.size === 0 || known.filteredAt === this.#scene.world.now) return;
    let withheld = known.withheld.get(id);
    if (withheld === undefined) {
      withheld = withheldScopes([known.filters.get(id) ?? []].flat(), known.places);
      known.withheld.set(id, withheld);
    }
    if (withheld.size === 0) return;
    this.#scene.count("looked at");
    const wrong = scopes.find(({ scope }) => withheld.has(scope));
    if (wrong === undefined) return;
    this.#scene.report(
      new Violation(`${primary.name} sends ${wrong.key} to ${id}: it is withheld`),
    );
  }

  #knownOf(cluster: SimCluster): Known {
    let known = this.#known.get(cluster);
    if (known === undefined) {
      known = {
        places: new Map(),
        filters: new Map(),
        withheld: new Map(),
        filteredAt: -1,
        isOld: true,
      };
      this.#known.set(cluster, known);
    }
    return known;
  }

  #refreshed(cluster: SimCluster): Known {
    const known = this.#knownOf(cluster);
    if (!known.isOld) return known;
    known.isOld = false;
    const { barrier } = cluster.unsealed;
    learn(known.places, new PlacedData(barrier.view("shared/")));
    known.filters = storedFilters(barrier.view("local/replication/performance/"));
    known.withheld.clear();
    return known;
  }
}

interface Sent {
  readonly scope: string;
  readonly key: string;
}
type ScopesIn = (message: Uint8Array) => readonly Sent[];

const sent = ({ key, scope }: { readonly key: string; readonly scope: Uint8Array }): Sent => ({
  key,
  scope: hex(scope),
});

/** By the method: of what is in its answers. */
const SCOPES: ReadonlyMap<string, ScopesIn> = new Map<string, ScopesIn>([
  [
    streamLog.path,
    (message) =>
      (streamLog.response.decode(message).batch?.entries ?? []).flatMap((bytes) =>
        decodeSharedPart(bytes).operations.map(sent),
      ),
  ],
  [copyScope.path, (message) => copyScope.response.decode(message).rows.map(sent)],
  [
    fetchKeys.path,
    // Of what it asks for by name it may hear that there is none.
    (message) =>
      fetchKeys.response
        .decode(message)
        .rows.filter(({ isAbsent }) => !isAbsent)
        .map(sent),
  ],
  [
    leaves.path,
    (message) =>
      leaves.response
        .decode(message)
        .leaves.map(({ key }) => sent({ key, scope: scopeOfKey(key) })),
  ],
]);
