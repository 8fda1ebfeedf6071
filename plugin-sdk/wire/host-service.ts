// What only our server answers a plugin of our SDK, on the connection that its storage is on: transactions, and the rest
// of what an engine is given. All of it is of the mount that the connection is for.

import { createHash } from "node:crypto";
import { utf8 } from "@holdfast/shared/bytes";
import {
  bytes,
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
import { method } from "@holdfast/shared/grpc/method";
import { nothing } from "./known-types.ts";
import { LARGE, MANY, MANY_KEYS } from "./limits.ts";
import { wireNamespace } from "./own-extras.ts";
import { wireFailure } from "./own-failure.ts";

const textMap = (number: number) => mapOf(number, text(2), MANY);

/** What an engine reads of its mount without asking: sent when it is asked for, and again when something of it changes. */
const facts = message({
  uuid: text(1),
  accessor: text(2),
  namespace: part(3, wireNamespace),
  path: text(4),
  defaultTtl: int64(5),
  maxTtl: int64(6),
  lockout: part(
    7,
    message({
      threshold: uint32(1),
      duration: int64(2),
      counterReset: int64(3),
      disabled: flag(4),
    }),
  ),
  options: textMap(8),
  settings: text(9), // JSON
  local: flag(10),
  /** Another cluster writes what the mount keeps. */
  writtenElsewhere: flag(11),
  time: int64(12), // of the server, now
  /** Rises with each of them: requests say which they need. */
  version: uint64(13),
});
export type Facts = MessageOf<typeof facts>;

/** Of everything that one transaction reads or writes. */
export const MAX_READS = 65_536;

/**
 * What a transaction has read, and what it is to write. `seen` says what the plugin believes: nothing where it is not there
 * (it does not know), no bytes where it believes that there is no such key, else the sum of what it has. The host writes
 * only where all of it is still so, in one transaction of its own; otherwise it writes nothing and says what there is
 * instead of each that differs.
 */
const transaction = message({
  /** Without it nothing is written: it only says what differs. */
  commit: flag(1),
  deletion: flag(2),
  /** The time that the transaction has looked at; nothing: it has not. The host refuses one that is over a second old, or
   *  earlier than that of a transaction before. */
  time: maybe(int64(3)),
  reads: list(part(4, message({ key: text(1), seen: maybe(bytes(2)) })), MAX_READS),
  ranges: list(
    part(
      5,
      message({
        kind: text(1), // keys, list or records
        prefix: text(2),
        after: maybe(text(3)),
        limit: uint32(4),
        reverse: flag(5),
        seen: maybe(bytes(6)),
      }),
    ),
    MAX_READS,
  ),
  /** In no order: each key stands once. A value that is not there deletes. */
  puts: list(part(6, message({ key: text(1), value: maybe(bytes(2)) })), MAX_READS),
  /** Write-ahead records that go, and that come: by ids that the plugin has drawn. */
  settles: list(text(7), MAX_READS),
  begins: list(part(8, message({ id: text(1), kind: text(2), data: text(3) })), MAX_READS),
  /** Of what stays in this cluster. */
  local: flag(9),
});
export type WireTransaction = MessageOf<typeof transaction>;

const transacted = message({
  failure: part(1, wireFailure),
  committed: flag(2),
  time: int64(3), // of the server, now
  /** Of those that differ, by their place in what was sent. */
  reads: list(part(4, message({ at: uint32(1), value: maybe(bytes(2)) })), MAX_READS),
  ranges: list(
    part(
      5,
      message({
        at: uint32(1),
        /** Keys, or names of a list. */
        names: list(text(2), MANY_KEYS),
        /** Of records: one for each name. */
        values: list(bytes(3), MANY_KEYS),
      }),
    ),
    MAX_READS,
  ),
});
export type Transacted = MessageOf<typeof transacted>;

/** What `seen` is of a value. */
export function seenValue(value: Uint8Array | null): Uint8Array {
  return value === null ? new Uint8Array(0) : createHash("sha256").update(value).digest();
}

/** What `seen` is of a range: its names, and for records their values. */
export function seenRange(
  names: readonly string[],
  values: readonly Uint8Array[] = [],
): Uint8Array {
  const sum = createHash("sha256");
  const length = Buffer.alloc(4);
  const add = (part: Uint8Array) => {
    length.writeUInt32BE(part.length);
    sum.update(length).update(part);
  };
  names.forEach((name, i) => {
    add(utf8(name));
    const value = values[i];
    if (value !== undefined) add(value);
  });
  return sum.digest();
}

const outcome = message({ failure: part(1, wireFailure) });

const outboundRequest = message({
  method: text(1),
  url: text(2),
  headers: textMap(3),
  body: maybe(bytes(4)),
  plain: flag(5),
  metadata: flag(6),
  identity: text(7),
  maxBytes: uint32(8), // 0: as usual
  within: uint32(9), // ms; 0: as usual
});

const outboundAnswer = message({
  /** An OutboundTrouble, with its words; empty where an answer came. */
  trouble: text(1),
  message: text(2),
  status: uint32(3),
  headers: textMap(4),
  body: bytes(5),
});

export const hostService = {
  /** Another host does not know it: then there is nothing of this service. */
  facts: method("serverStream", "/holdfast.Host/Facts", nothing, facts),
  transact: method("unary", "/holdfast.Host/Transact", transaction, transacted, LARGE),
  /** Replaces what a write-ahead record says. */
  note: method("unary", "/holdfast.Host/Note", message({ id: text(1), data: text(2) }), outcome),
  orphan: method(
    "unary",
    "/holdfast.Host/Orphan",
    message({ kind: text(1), data: text(2), cause: text(3) }),
    message({ failure: part(1, wireFailure), id: text(2) }),
  ),
  leases: method(
    "unary",
    "/holdfast.Host/Leases",
    /** `what`: count, revoke, retryStuck, countElsewhere or revokeElsewhere. */
    message({ what: text(1), place: text(2) }),
    message({ failure: part(1, wireFailure), count: uint64(2), silent: uint32(3) }),
  ),
  takeUse: method(
    "unary",
    "/holdfast.Host/TakeUse",
    message({ what: text(1) }),
    message({ failure: part(1, wireFailure), taken: flag(2) }),
  ),
  /** A call outside, by the rules and in the name of the server. */
  send: method("unary", "/holdfast.Host/Send", outboundRequest, outboundAnswer, LARGE),
  /** A proof that it is this mount. */
  token: method(
    "unary",
    "/holdfast.Host/Token",
    message({ audience: text(1), ttl: int64(2) }),
    message({ failure: part(1, wireFailure), token: text(2) }),
  ),
  /** What only the server knows of a request that it waits for, by the number that came with it. */
  ask: method(
    "unary",
    "/holdfast.Host/Ask",
    message({
      number: uint64(1),
      what: text(2), // may, mightEver, isPrivileged, issues or allow
      capability: text(3),
      path: text(4),
      fields: maybe(text(5)), // JSON
      duration: int64(6), // of allow
    }),
    message({ failure: part(1, wireFailure), answer: flag(2) }),
  ),
  /** What was counted since the last time. */
  count: method(
    "unary",
    "/holdfast.Host/Count",
    message({
      counts: list(
        part(
          1,
          message({
            what: text(1), // count, observe or since
            name: text(2),
            labels: textMap(3),
            value: maybe(double(4)),
          }),
        ),
        MANY,
      ),
    }),
    nothing,
  ),
} as const;
