// The proof of an archive by the server that made it: with the root key that it has, so nobody is asked for shares.

import type { Clock, Timers } from "@holdfast/shared/world";
import { type OwnKeys, whyNotOpened } from "../archive/opening.ts";
import { type DeepReport, deepCheck } from "./deep-check.ts";
import { isRootKeyOf } from "./opened-entries.ts";

/** Throws where the archive is of another cluster or another root key: then it takes shares to prove anything. */
export function proveOwn(
  source: AsyncIterable<Uint8Array>,
  own: OwnKeys,
  world: { readonly clock: Clock; readonly timers: Timers; readonly signal?: AbortSignal },
): Promise<DeepReport> {
  return deepCheck(source, {
    clock: world.clock,
    timers: world.timers,
    ...(world.signal === undefined ? {} : { signal: world.signal }),
    rootKeyFor: (rows, meta) => {
      if (isRootKeyOf(rows, own.rootKey)) return own.rootKey;
      throw whyNotOpened(meta, own);
    },
  });
}
