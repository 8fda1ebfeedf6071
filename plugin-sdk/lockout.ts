// How often one may fail to log in as somebody: `user_lockout_config` of an auth mount.
// What it says, its defaults, and how it is written; who counts is the engine.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import { wire } from "@holdfast/shared/endpoint/wire";
import { inSeconds } from "./login-terms.ts";

export interface LockoutConfig {
  /** So many failures in a row lock. */
  readonly threshold: number;
  readonly duration: Nanos;
  /** After so long without a failure the count starts anew. */
  readonly counterReset: Nanos;
  readonly disabled: boolean;
}

export const DEFAULT_LOCKOUT: LockoutConfig = {
  threshold: 5,
  duration: 15n * MINUTE,
  counterReset: 15n * MINUTE,
  disabled: false,
};

const bounds = { min: SECOND, max: 365n * 24n * 60n * MINUTE };
const threshold = wire
  .body("lockout_threshold")
  .integer("Failures in a row that lock.", { min: 1, max: 1_000_000 })
  .optional();
const duration = wire.body("lockout_duration").duration("How long.", bounds).optional();
const counterReset = wire
  .body("lockout_counter_reset_duration", { aliases: ["lockout_counter_reset"] })
  .duration("After how long the count starts anew.", bounds)
  .optional();
const disabled = wire.body("lockout_disable").boolean("Whether nobody is locked out.").optional();

export const LOCKOUT_FIELDS = [threshold, duration, counterReset, disabled];

/** What is left out stays as it was. */
export function readLockout(values: JsonObject, before = DEFAULT_LOCKOUT): LockoutConfig {
  const reset = values["lockout_counter_reset_duration"] ?? values["lockout_counter_reset"];
  return {
    threshold: threshold.read(values["lockout_threshold"]) ?? before.threshold,
    duration: duration.read(values["lockout_duration"]) ?? before.duration,
    counterReset: counterReset.read(reset) ?? before.counterReset,
    disabled: disabled.read(values["lockout_disable"]) ?? before.disabled,
  };
}

/** As it is answered, and as readLockout takes it back. */
export function showLockout(config: LockoutConfig) {
  return {
    lockout_threshold: config.threshold,
    lockout_duration: inSeconds(config.duration),
    lockout_counter_reset_duration: inSeconds(config.counterReset),
    lockout_disable: config.disabled,
  };
}
