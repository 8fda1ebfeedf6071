// What a request, an answer and an error of `pb.Backend` say besides between our SDK and our server: whatever an engine
// knows that the wire of others has no word for. Under another host none of it is there.

import {
  double,
  flag,
  int64,
  list,
  mapOf,
  maybe,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "@holdfast/shared/grpc/message";
import { MANY } from "./limits.ts";
import { wireFailure } from "./own-failure.ts";

const texts = (number: number) => list(text(number), MANY);
const textMap = (number: number) => mapOf(number, text(2), MANY);

export const wireNamespace = message({ id: text(1), path: text(2), created: uint64(3) });

const origin = message({
  namespaceId: text(1),
  mount: maybe(text(2)),
  login: text(3),
  name: text(4),
  metadata: textMap(5),
  owner: part(6, message({ metadata: textMap(1) })),
  first: maybe(text(7)),
});

const terms = message({
  usesLeft: maybe(int64(1)),
  period: maybe(int64(2)),
  longest: maybe(int64(3)),
  path: text(4),
});

/** Who asks, as `Caller` has it; empty texts and lists are its defaults. */
export const wireCaller = message({
  accessor: text(1),
  type: text(2),
  name: text(3),
  policies: texts(4),
  namespace: part(5, wireNamespace),
  global: flag(6),
  created: int64(7),
  expires: maybe(int64(8)),
  withoutDefault: flag(9),
  counted: flag(10),
  wrapping: text(11),
  boundTo: texts(12),
  origin: part(13, origin),
  terms: part(14, terms),
});
export type WireCaller = MessageOf<typeof wireCaller>;

export const requestExtras = message({
  /** JSON of query and body apart; `data` of the request is not read then. A parameter without a value is true. */
  query: text(1),
  body: text(2),
  namespace: part(3, wireNamespace),
  caller: part(4, wireCaller),
  loopback: flag(5),
  /** What holdfast.Host/Ask calls this request. */
  number: uint64(6),
  mountPath: text(7),
  mountLocal: flag(8),
  /** Facts of the mount that hold for it: waited for where they are not there yet. */
  factsVersion: uint64(9),
});
export type RequestExtras = MessageOf<typeof requestExtras>;

const receipt = message({ role: text(1), objects: texts(2), goodUntil: maybe(int64(3)) });

export const responseExtras = message({
  /** 0: the usual one. */
  status: uint32(1),
  /** There is no data, and not even an empty object. */
  hasNothing: flag(2),
  index: maybe(uint64(3)),
  /** Besides `secret`. */
  lease: part(
    4,
    message({
      secretType: text(1),
      needsOneOf: part(2, message({ keys: texts(1) })),
      settles: texts(3),
      receipt: part(4, receipt),
    }),
  ),
  /** Besides `auth`. */
  login: part(
    5,
    message({
      identity: maybe(text(1)),
      notes: textMap(2),
      owner: part(3, message({ metadata: textMap(1) })),
      global: flag(4),
    }),
  ),
  /** Of a revocation. */
  requestIds: texts(6),
  /** Of a renewal: which of its times are said at all, since 0 is one. */
  renewal: part(7, message({ ttl: maybe(int64(1)), maxTtl: maybe(int64(2)) })),
  /** How long the answer is good, where nothing ends it. */
  leased: part(8, message({ id: text(1), seconds: double(2), renewable: flag(3) })),
});
export type ResponseExtras = MessageOf<typeof responseExtras>;

export const errorExtras = message({
  failure: part(1, wireFailure),
  /** It was judged as a creation and is a change, or the other way round: whether what the path names is there. */
  found: maybe(flag(2)),
});
