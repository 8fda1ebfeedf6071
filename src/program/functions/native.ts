// What a function of ours is: values in, value out, without the engine's search through overloads.

import {
  type CelList,
  type CelMap,
  type CelUint,
  type CelValue,
  isCelList,
  isCelMap,
  isCelUint,
} from "@bufbuild/cel";
import { isReflectMessage, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import {
  type Duration,
  DurationSchema,
  type Timestamp,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";
import type { Zones } from "./zones.ts";

export interface Tools {
  readonly meter: Meter;
  readonly zones: Zones;
}

/**
 * `values` are the target, if there is one, and the arguments. Undefined: these are not for us, but
 * perhaps for the engine's own function of that name. Throws Problem.
 */
export type Native = (values: readonly CelValue[], tools: Tools) => CelValue | undefined;

export function isText(value: CelValue | undefined): value is string {
  return typeof value === "string";
}

export function isInt(value: CelValue | undefined): value is bigint {
  return typeof value === "bigint";
}

export { isCelList as isList, isCelMap as isMap, isCelUint as isUint };
export type { CelList, CelMap, CelUint };

/** A timestamp or a duration. */
type Timed<T> = ReflectMessage & { readonly message: T };

export function isTimestamp(value: unknown): value is Timed<Timestamp> {
  return isReflectMessage(value, TimestampSchema);
}

export function isDuration(value: unknown): value is Timed<Duration> {
  return isReflectMessage(value, DurationSchema);
}

export function nanosOf({ message }: Timed<Timestamp | Duration>): Nanos {
  const { seconds, nanos } = message;
  return seconds * SECOND + BigInt(nanos);
}

export function grown(text: string): string {
  if (text.length > MAX_TEXT) throw textTooLong();
  return text;
}

export function textTooLong(): Problem {
  return new Problem(`text grew beyond ${MAX_TEXT} characters`);
}

export function listTooLong(): Problem {
  return new Problem(`a list grew beyond ${MAX_ELEMENTS} elements`);
}
