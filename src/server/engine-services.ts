// What is around the engine of a mount: ways outside, leases, proofs of who it is, counters.

import type { MountFacts } from "@holdfast/plugin-sdk/engine";
import type { EngineServices, OwnLeases } from "@holdfast/plugin-sdk/engine-services";
import { primaryNotServing } from "../forwarding/failures.ts";
import type { ServicesFor } from "../mounts/open-mount.ts";
import { ProcessDatabases } from "../plugins/databases/database-plugins.ts";
import { engineSettings } from "./engine-types.ts";
import type { Ground } from "./ground.ts";
import type { Rooms } from "./rooms.ts";

export function engineServices(
  rooms: Rooms,
  { outbound, host, primary }: Ground,
): (mount: ServicesFor) => EngineServices {
  const { config, environment, instruments } = host;
  const settings = engineSettings(config);
  const bearer = ({ namespace, accessor }: MountFacts, kind: "secret" | "auth") => ({
    namespaceId: namespace.id,
    kind,
    accessor,
  });
  /** A local mount is nobody else's. */
  const elsewhere = async (mount: string, question: { place: string; revoke: boolean }) => {
    const isLocal = rooms.mounts.mounts.recordOf(mount)?.local ?? true;
    const { performance } = rooms.replication;
    const found = isLocal ? null : await performance.leasesElsewhere({ mount, ...question });
    return { count: found?.count ?? 0, silent: found?.missing.length ?? 0 };
  };
  const leasesOf = (facts: MountFacts): OwnLeases => {
    const own = rooms.leases.leases.of(facts);
    return {
      count: (place) => own.count(place),
      revoke: (place) => own.revoke(place),
      retryStuck: () => own.retryStuck(),
      elsewhere: (place, { revoke }) => elsewhere(facts.uuid, { place, revoke }),
    };
  };
  return ({ facts, type, kind }) => ({
    outbound: outbound.for(facts.uuid),
    environment,
    settings: settings.get(type) ?? {},
    leases: leasesOf(facts),
    identity: {
      token: (audience, ttl) => rooms.identity.identity.token(bearer(facts, kind), audience, ttl),
    },
    uses: {
      take: async (what) => {
        const counting = primary();
        if (counting === null) throw primaryNotServing(); // it is this cluster by now: the next try takes it here
        return await counting.takeUse(facts.uuid, what);
      },
    },
    databases: new ProcessDatabases({
      choice: rooms.plugins.catalog,
      processes: host.plugins,
      random: host.world.random,
      answersWithin: config.plugins.databaseTimeout,
    }),
    metrics: instruments.engines.of({ type, accessor: facts.accessor }),
  });
}
