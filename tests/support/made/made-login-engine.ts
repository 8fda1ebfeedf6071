// A login method over a barrier in memory, in a world that stands still: for the methods' own tests.

import { jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { MountStorage } from "../../../src/mounts/mount-storage.ts";
import { WriteAheadLog } from "../../../src/mounts/undo/write-ahead.ts";
import type { EngineNeeds, EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import { type LockoutConfig, DEFAULT_LOCKOUT } from "@holdfast/plugin-sdk/lockout";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import { type Ask, answering } from "../answering.ts";
import { type MadeBarrier, madeBarrier } from "./made-barrier.ts";

export const CHEAP = { n: 16, r: 1, p: 1 };
export const HOUR = 3_600_000_000_000n;
export const MINUTE = 60_000_000_000n;
export const SECOND = 1_000_000_000n;

const UUID = "6f0d5d6c-3d53-4a4e-9a0a-0f4a3c7d2b11";

export interface MadeLoginEngine<E> extends MadeBarrier {
  readonly method: E;
  readonly type: EngineType<E>;
  readonly ask: Ask;
  /** What the mount is tuned to; a test may set another. */
  readonly tuned: { lockout: LockoutConfig };
  /** Of everything that the method keeps. */
  readonly keys: () => string[];
  readonly stored: (key: string) => JsonObject | null;
  /** Another opening of the same mount: what is in memory is gone. */
  readonly again: () => Promise<E>;
}

export async function madeLoginEngine<E>(
  type: EngineType<E>,
  options: EngineOptions = {},
): Promise<MadeLoginEngine<E>> {
  const made = await madeBarrier();
  const data = made.barrier.view("shared/").sub(`ns/root/mounts/${UUID}/data/`);
  const writeAhead = new WriteAheadLog({
    view: made.barrier.view("local/").sub("wal/"),
    ...made.world,
    takesNew: () => false, // a login makes nothing outside
  });
  const tuned = { lockout: DEFAULT_LOCKOUT };
  const needs: EngineNeeds = {
    ...made.world,
    ...NO_SERVICES,
    storage: new MountStorage(data, { ended: false }, writeAhead),
    writeAhead,
    mount: {
      uuid: UUID,
      accessor: `${type.type}_1`,
      namespace: ROOT_NAMESPACE,
      path: () => `auth/${type.type}/`,
      defaultTtl: () => HOUR,
      maxTtl: () => 24n * HOUR,
      lockout: () => tuned.lockout,
    },
    options: type.checkOptions(options),
  };
  const method = await type.open(needs);
  const ask = answering(method, type.paths(needs.options));
  const keys = () => data.keys("", { limit: 10_000 });
  const stored = (key: string) => data.get(key, jsonCodec<JsonObject>());
  return { ...made, method, type, ask, tuned, keys, stored, again: async () => type.open(needs) };
}
