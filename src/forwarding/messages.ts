// A request that one cluster sends another, and what that answers. The numbers stand in docs/formats/cluster.md.

import {
  bytes,
  flag,
  list,
  maybe,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "@holdfast/shared/grpc/message";
import { LARGEST_MESSAGE, method } from "@holdfast/shared/grpc/method";

const KIB = 1024;
const MIB = 1024 * KIB;
/** Everything around a body, and more. */
const AROUND = 2 * MIB;
/** What a body may have at most; a listener may let less pass. */
export const MAX_SENT_BODY: number = LARGEST_MESSAGE - AROUND;
/** Of an answer that is no JSON: it is collected, since it goes back in one message. */
export const MAX_SENT_ANSWER: number = MAX_SENT_BODY;
const MAX_HEADERS = 256;
const MAX_WARNINGS = 1024;
export const MAX_POLICIES = 4096;
const MAX_METADATA = 1024;
/** In a session, which has 64 streams: the log, echoes and the rest of replication always find one. */
const FORWARD_AT_ONCE = 24;
const ASK_AT_ONCE = 20;
const USES_AT_ONCE = 8;
const FINDS_AT_ONCE = 4;
/** Of what an engine says of a use. */
const MAX_USE = 8 * KIB;

const pair = message({ name: text(1), value: text(2) });
export type Pair = MessageOf<typeof pair>;

const origin = message({
  namespaceId: text(1),
  mount: text(2),
  login: text(3),
  name: text(4),
  metadata: list(part(5, pair), MAX_METADATA),
  owner: list(part(6, pair), MAX_METADATA),
  hasOwner: flag(7),
  first: text(8),
});

const terms = message({
  period: uint64(1),
  longest: uint64(2),
  path: text(3),
  usesLeft: uint64(4),
});

/** Whose token the sender alone knows. */
const attested = message({
  accessor: text(1),
  name: text(2),
  policies: list(text(3), MAX_POLICIES),
  namespaceId: text(4),
  namespacePath: text(5),
  created: uint64(6),
  expires: uint64(7), // 0: never
  isWithoutDefault: flag(8),
  origin: part(9, origin),
  terms: part(10, terms),
});
export type SentCaller = MessageOf<typeof attested>;

const request = message({
  id: text(1),
  verb: text(2),
  target: text(3),
  namespace: text(4),
  credential: text(5),
  attested: part(6, attested),
  body: bytes(7),
  contentType: text(8),
  headers: list(part(9, pair), MAX_HEADERS),
  address: text(10), // of the client
  port: uint32(11),
  wrapTtl: uint64(12), // in nanoseconds; 0: not wrapped
  isWrappedAsJwt: flag(13),
  wrapsItself: flag(14), // the sender wraps the answer
  policyOverride: flag(15),
  clusterId: text(16), // of the sender
});
export type ForwardedRequest = MessageOf<typeof request>;

/** Values of JSON stand as its text; empty where there is none. */
const done = message({
  status: uint32(1), // 0: the usual one
  data: text(2),
  contentType: text(3), // of what is no JSON
  warnings: list(text(4), MAX_WARNINGS),
  headers: list(part(5, pair), MAX_HEADERS),
  index: uint64(6), // 0: none of its own
  auth: text(7),
  leased: text(8),
  wrapInfo: text(9),
  /** Of an answer that is no text: its type stands in contentType. */
  bytes: maybe(bytes(10)),
});
export type SentReply = MessageOf<typeof done>;

const refused = message({
  kind: text(1),
  code: text(2),
  message: text(3),
  texts: list(text(4), MAX_WARNINGS),
  retryAfter: uint32(5), // in seconds; 0: as usual
  headers: list(part(6, pair), MAX_HEADERS),
  isOfNoUse: flag(7), // to try again
});
export type SentRefusal = MessageOf<typeof refused>;

const answer = message({
  done: part(1, done),
  refused: part(2, refused),
  /** The last index with anything shared, when it was answered. */
  shared: uint64(3),
});
export type ForwardAnswer = MessageOf<typeof answer>;

/** Of something that a mount counts, as its engine names it. */
const use = message({ mount: text(1), what: text(2) });
const taken = message({ isTaken: flag(1) });

/** By the salted hash of its secret. */
const secret = message({ hash: text(1) });
const found = message({
  isKnown: flag(1),
  /** The last index with anything shared, when it was answered. */
  shared: uint64(2),
});

const SERVICE = "/holdfast.cluster.v1.Forwarding";
const BOUNDS = { maxRequest: LARGEST_MESSAGE, maxResponse: LARGEST_MESSAGE };

/** What was judged where it was asked, and is written at the primary. */
export const forward = method("unary", `${SERVICE}/Forward`, request, answer, {
  ...BOUNDS,
  atOnce: FORWARD_AT_ONCE,
});

/** What names the region of the primary: it may wait there for minutes, and takes no place of what is written. */
export const ask = method("unary", `${SERVICE}/Ask`, request, answer, {
  ...BOUNDS,
  atOnce: ASK_AT_ONCE,
});

/** What runs where it was asked, and takes a use of something that is counted at the primary. */
export const takeUse = method("unary", `${SERVICE}/TakeUse`, use, taken, {
  maxRequest: MAX_USE + KIB,
  maxResponse: KIB,
  atOnce: USES_AT_ONCE,
});

/** Whether there is a global token that may not have come to the sender yet. */
export const findToken = method("unary", `${SERVICE}/FindToken`, secret, found, {
  maxRequest: KIB,
  maxResponse: KIB,
  atOnce: FINDS_AT_ONCE,
});
