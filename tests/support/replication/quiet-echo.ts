// What a secondary says when it has nothing to say.

import type { EchoSent } from "../../../src/replication/stream/messages.ts";

export function quietEcho(instance: string): EchoSent {
  return {
    epoch: 1,
    t0: 0n,
    before: null,
    state: "stream-wals",
    applied: 0n,
    durable: 0n,
    apiAddress: "",
    clusterAddresses: [],
    version: "1",
    keysVersion: "1",
    encryptions: 0n,
    evacuations: [],
    isBare: false,
    instance,
  };
}
