// Messages that everybody has: nothing, a point in time, and JSON as protobuf writes it.

import {
  double,
  flag,
  int32,
  int64,
  lazily,
  list,
  MalformedMessage,
  mapOf,
  mapped,
  maybe,
  message,
  type MessageCodec,
  part,
  text,
} from "@holdfast/shared/grpc/message";
import { invariant } from "@holdfast/shared/invariant";
import { isObject, isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import { MANY } from "./limits.ts";

export type Nothing = Record<never, never>;
export const nothing: MessageCodec<Nothing> = message({});
export const NOTHING: Nothing = {};

const SECOND = 1_000_000_000n;
const FIRST_SECOND = -62_135_596_800n; // the year 1
const LAST_SECOND = 253_402_300_799n; // the year 9999

/** What others mean by a time that was never set: the beginning of the year 1. */
export const NO_TIME: Instant = FIRST_SECOND * SECOND;

/** google.protobuf.Timestamp. */
export const timestamp: MessageCodec<Instant> = mapped(
  message({ seconds: int64(1), nanos: int32(2) }),
  {
    read: ({ seconds, nanos }) => {
      if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= SECOND) {
        throw new MalformedMessage("no time");
      }
      return seconds * SECOND + BigInt(nanos);
    },
    write: (at) => {
      const nanos = ((at % SECOND) + SECOND) % SECOND;
      const seconds = (at - nanos) / SECOND;
      invariant(
        seconds >= FIRST_SECOND && seconds <= LAST_SECOND,
        "a time has four digits of a year",
      );
      return { seconds, nanos: Number(nanos) };
    },
  },
);

/** Of what comes: a structure nests in itself, and is read by functions that call themselves. */
const MAX_DEPTH = 64;

/** Null is a value, and a message that is not there is none. */
interface Boxed {
  readonly json: JsonValue;
}

interface Value {
  readonly none: number | null;
  readonly number: number | null;
  readonly text: string | null;
  readonly is: boolean | null;
  readonly object: JsonObject | null;
  readonly array: readonly Boxed[] | null;
}

const NO_VALUE: Value = {
  none: null,
  number: null,
  text: null,
  is: null,
  object: null,
  array: null,
};

let depth = 0;

/** Decoding is synchronous, so that one count serves everybody. */
function deeper<T>(codec: MessageCodec<T>): MessageCodec<T> {
  return {
    ...codec,
    decode: (sent) => {
      if (depth >= MAX_DEPTH) throw new MalformedMessage("a structure that is too deep");
      depth++;
      try {
        return codec.decode(sent);
      } finally {
        depth--;
      }
    },
  };
}

/** google.protobuf.Value. */
const value: MessageCodec<Boxed> = deeper(
  mapped(
    message({
      none: maybe(int32(1)),
      number: maybe(double(2)),
      text: maybe(text(3)),
      is: maybe(flag(4)),
      object: part(
        5,
        lazily(() => struct),
      ),
      array: part(
        6,
        lazily(() => values),
      ),
    }),
    { read: (sent) => ({ json: valueOf(sent) }), write: ({ json }) => ({ ...valueFrom(json) }) },
  ),
);

function valueOf({ none, number, text: words, is, object, array }: Value): JsonValue {
  const found = [number, words, is, object, array].filter((one) => one !== null);
  if (found.length + (none === null ? 0 : 1) !== 1) throw new MalformedMessage("one value");
  const listed = array?.map(({ json }) => json) ?? null;
  return number ?? words ?? is ?? object ?? listed;
}

function valueFrom(json: JsonValue): Value {
  if (json === null) return { ...NO_VALUE, none: 0 };
  if (isRawNumber(json)) return { ...NO_VALUE, number: Number(json.rawJSON) };
  if (typeof json === "number") return { ...NO_VALUE, number: json };
  if (typeof json === "string") return { ...NO_VALUE, text: json };
  if (typeof json === "boolean") return { ...NO_VALUE, is: json };
  if (isObject(json)) return { ...NO_VALUE, object: json };
  return { ...NO_VALUE, array: (json as readonly JsonValue[]).map((one) => ({ json: one })) };
}

const values: MessageCodec<readonly Boxed[]> = mapped(
  message({ values: list(part(1, value), MANY) }),
  { read: ({ values: found }) => found, write: (found) => ({ values: found }) },
);

/** google.protobuf.Struct. Numbers are doubles: one with more digits loses them. */
export const struct: MessageCodec<JsonObject> = mapped(
  message({ fields: mapOf(1, part(2, value), MANY) }),
  {
    read: ({ fields }) => Object.fromEntries([...fields].map(([name, { json }]) => [name, json])),
    write: (object) => ({
      fields: new Map(
        Object.entries(object).flatMap(([name, json]) =>
          json === undefined ? [] : [[name, { json }] as const],
        ),
      ),
    }),
  },
);
