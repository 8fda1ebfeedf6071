// What an engine is given of its host, by calls: everything but storage, time and randomness.

import { OwnError } from "@holdfast/shared/failure";
import {
  callUnary,
  type CallOptions,
  type Channel,
  type Method,
} from "@holdfast/shared/grpc/method";
import type { EngineServices } from "../engine-services.ts";
import type { WriteAhead } from "../engine.ts";
import { hostService } from "../wire/host-service.ts";
import { failureFromWire, type WireFailure } from "../wire/own-failure.ts";
import { CountedMetrics } from "./counted-metrics.ts";
import { remoteOutbound } from "./remote-outbound.ts";
import type { RemoteStorage } from "../remote/remote-storage.ts";
import { timers } from "./own-world.ts";

export interface HostCalls extends Omit<EngineServices, "environment" | "settings" | "databases"> {
  readonly writeAhead: WriteAhead;
  close(): void;
}

/** A call whose answer may be a failure, which is thrown. */
export async function askHost<Q, A extends { readonly failure: WireFailure | null }>(
  host: Channel,
  method: Method<"unary", Q, A>,
  request: Q,
  options?: CallOptions,
): Promise<A> {
  const answer = await callUnary(host, method, request, options);
  if (answer.failure !== null) throw failureFromWire(answer.failure);
  return answer;
}

export function hostCalls(host: Channel, storage: RemoteStorage): HostCalls {
  const leases = (what: string, place: string) =>
    askHost(host, hostService.leases, { what, place });
  const metrics = new CountedMetrics(timers, async (counts) => {
    await callUnary(host, hostService.count, { counts });
  });
  return {
    metrics,
    outbound: remoteOutbound(host),
    leases: {
      count: async (place) => Number((await leases("count", place)).count),
      revoke: async (place) => void (await leases("revoke", place)),
      retryStuck: async () => void (await leases("retryStuck", "")),
      elsewhere: async (place, { revoke }) => {
        const what = revoke ? "revokeElsewhere" : "countElsewhere";
        const { count, silent } = await leases(what, place);
        return { count: Number(count), silent };
      },
    },
    identity: {
      token: async (audience, ttl) =>
        (await askHost(host, hostService.token, { audience, ttl })).token,
    },
    uses: {
      take: async (what) =>
        (await askHost(host, hostService.takeUse, { what: JSON.stringify(what) })).taken,
    },
    writeAhead: {
      begin: (kind, data) => storage.write((tx) => tx.begin(kind, data)),
      note: async (id, data) =>
        void (await askHost(host, hostService.note, { id, data: JSON.stringify(data) })),
      drop: (id) => storage.write((tx) => tx.settle(id), { deletion: true }),
      orphan: async (kind, data, cause) => {
        const { id } = await askHost(host, hostService.orphan, {
          kind,
          data: JSON.stringify(data),
          cause,
        });
        if (id === "") throw new OwnError("the host gave the record no id");
        return id;
      },
    },
    close: () => metrics.flush(),
  };
}
