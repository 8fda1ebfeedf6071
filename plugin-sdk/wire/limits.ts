// What both ends of a connection between a host and a plugin agree on: sizes, and when nobody is asked whether he is
// still there.

import { LARGEST_MESSAGE } from "@holdfast/shared/grpc/method";
import { replacesPrototype } from "@holdfast/shared/json/json-limits";
import type { ReadJsonOptions } from "@holdfast/shared/json/json-reader";
import type { SessionLimits } from "@holdfast/shared/grpc/session-life";
import { DAY, SECOND } from "@holdfast/shared/text/duration";

/** Of every message that carries what callers send and get: 64 MiB and room around it. */
export const LARGE = { maxRequest: LARGEST_MESSAGE, maxResponse: LARGEST_MESSAGE } as const;

/** Of lists and maps: a few bytes on the wire may be an object. Names of a large folder come in one. */
export const MANY = 65_536;
export const MANY_KEYS = 4_194_304;

/**
 * Both ends are on one machine, where a process that is gone closes its socket. Nobody pings: other implementations end the
 * connection of a caller who does so more than every five minutes, and a plugin that stands still is found by its answers.
 * Bytes that are held are those of one largest message and of many smaller ones beside it.
 */
export const PLUGIN_LIMITS = {
  streams: 256,
  heldBytes: 2 * LARGEST_MESSAGE,
  window: 1024 * 1024,
  allWindows: 8 * 1024 * 1024,
  stall: 90n * SECOND,
  resetBurst: 10_000, // calls that were cancelled, by callers who are bounded already
  resetsPerSecond: 1000,
  pingEvery: 36_500n * DAY,
  silence: 36_500n * DAY,
} as const satisfies Partial<SessionLimits>;

/** Of what one end has said and the other keeps or answers with: bounded by its size, and data whatever its keys are called. What is
 *  refused here may hold a secret, or be all that is known of one. */
export const PLUGIN_JSON = {
  limits: { depth: 34, keys: 1_000_000, elements: 1_000_000, tokens: 4_000_000, keyBytes: 4096 },
  refuses: replacesPrototype,
} as const satisfies ReadJsonOptions;

/** On all connections, in both directions: the only name that there is. */
export const AUTHORITY = "localhost";
