// A sender that is not right in its memory: now and then an entry leaves it with another value than it was made with, entries
// leave it twice, or those that come later leave it first. Whoever receives that must see it, and take all of it once and
// in order when it comes as it is.

import { concat } from "@holdfast/shared/bytes";
import type { Peer } from "../../src/cluster/verify.ts";
import type { Served } from "@holdfast/shared/grpc/method";
import { streamLog } from "../../src/replication/stream/messages.ts";
import { decodeEntry, encodeEntry } from "../../src/storage/rows/log-entry.ts";
import type { Prng } from "../prng.ts";
import type { PortWatch } from "./network.ts";

const ALTERED = 0.01;
const REPEATED = 0.01;
const SWAPPED = 0.01;

export function altering(prng: Prng): PortWatch {
  return {
    serve: (served) => (served.shape.path === streamLog.path ? alters(served, prng) : served),
  };
}

function alters(served: Served<Peer>, prng: Prng): Served<Peer> {
  return {
    ...served,
    async *run(requests, call) {
      let late: Uint8Array | null = null; // comes after the next
      for await (const message of served.run(requests, call)) {
        const answer = streamLog.response.decode(message);
        const { batch, checkpoint } = answer;
        if (batch === null) {
          // Only entries and heads change places: the rest is about what came before it.
          if (late !== null && checkpoint.length === 0) {
            yield late;
            late = null;
          }
          yield message;
          continue;
        }
        if (late === null && prng.chance(SWAPPED)) {
          late = message;
          continue;
        }
        if (prng.chance(ALTERED)) {
          const [first, ...rest] = batch.entries;
          const entries = [otherValue(first!), ...rest];
          yield streamLog.response.encode({ ...answer, batch: { ...batch, entries } });
        } else {
          yield message;
          if (prng.chance(REPEATED)) yield message;
        }
        if (late !== null) yield late;
        late = null;
      }
    },
  };
}

function otherValue(bytes: Uint8Array): Uint8Array {
  const entry = decodeEntry(bytes);
  const operations = entry.operations.map((operation) =>
    operation.value === null
      ? operation
      : { ...operation, value: concat(operation.value, Uint8Array.of(1)) },
  );
  return encodeEntry({ ...entry, operations });
}
