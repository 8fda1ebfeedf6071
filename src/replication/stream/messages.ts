// What a primary and its secondaries say to each other after the hello: rows, sums, leaves, the log itself, and an
// echo that tells how both are. Every request carries the epoch of the set. The numbers stand in
// docs/formats/cluster.md.

import { cursor } from "../../cluster/hello.ts";
import {
  bytes,
  bytesWithin,
  type Field,
  flag,
  list,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "@holdfast/shared/grpc/message";
import { LARGEST_MESSAGE, method } from "@holdfast/shared/grpc/method";

const SERVICE = "/holdfast.cluster.v1.Replication";
const KIB = 1024;
const MIB = 1024 * KIB;

/** Of rows, leaves and entries in one message; the last of them may go beyond the bytes. */
export const CHUNK_BYTES: number = MIB;
export const CHUNK_ROWS = 1024;
export const CHUNK_LEAVES = 1024;
export const BATCH_ENTRIES = 256;
/** Pages and slots that one request may name. */
export const MAX_PAGES = 16;
export const MAX_SLOTS = 1024;
export const MAX_KEYS = 512;
/** Slots that a primary may ask for at once, and how much of an answer it takes. */
export const MAX_HEALED_SLOTS = 64;
export const HEALED_BYTES: number = 32 * MIB;
/** Mounts that one echo tells of. */
export const MAX_EVACUATIONS = 256;
/** What a sender may have sent and not heard to be durable. */
export const CREDIT: number = 8 * MIB;
const SKIP_BYTES = 64; // so that it is answered like entries are

const LARGEST_ROWS = 16 * MIB; // a chunk, and a value beyond it
const LARGEST_KEYS = MIB;
export const ADDRESSES = 16;
export const SIBLINGS = 64;
/** Of their certificates. */
export const MAX_REVOKED = 512;
/** Of those what an echo tells: the latest. */
export const TOLD_REVOKED = 128;
/** Of one of them. */
export const SIBLING_ADDRESSES = 2;

// ── taking over rows ──

// A thousand values with memory of their own cost more than what is in them. Scopes are kept with leaves, values by nobody.
const row = message({ key: text(1), scope: bytes(2), value: bytesWithin(3), isAbsent: flag(4) });
export type SentRow = MessageOf<typeof row>;
const rows: Field<readonly SentRow[]> = rowsAt(1);

function rowsAt(number: number): Field<readonly SentRow[]> {
  return list(part(number, row), CHUNK_ROWS);
}

/** Where a log stands, and what of its rows is shared: the sum of their leaves, and how many there are. */
const sharedHead = message({
  lineage: bytes(1),
  epoch: uint32(2),
  index: uint64(3),
  chain: bytes(4),
  sum: bytes(5),
  count: uint64(6),
});
export type SharedHead = MessageOf<typeof sharedHead>;

/** Where the log stands, and with it the hashes of all pages: of the shared tree, then of the local one. Whoever is sent shared
 *  rows alone is told `shared` in the place of the head, and the pages of that tree. */
export const beginDiff = method(
  "unary",
  `${SERVICE}/BeginDiff`,
  message({ epoch: uint32(1), isCopy: flag(2), filter: text(3) }),
  message({
    head: bytes(1),
    timeline: bytes(2),
    pages: bytes(3),
    shared: part(5, sharedHead),
  }),
  { maxRequest: KIB, maxResponse: 2 * MIB, atOnce: 2 },
);
export type Begun = MessageOf<(typeof beginDiff)["response"]>;

/** The rows after a key, in order, as they are now. */
export const copyScope = method(
  "unary",
  `${SERVICE}/CopyScope`,
  message({ epoch: uint32(1), after: text(2) }),
  message({ rows, isDone: flag(2), index: uint64(3) }),
  { maxRequest: 8 * KIB, maxResponse: LARGEST_ROWS, atOnce: 2 },
);
export type CopiedChunk = MessageOf<(typeof copyScope)["response"]>;

/** Sum and count of all subpages of some pages; a page is named by two bytes, those of the local tree from 256 on. */
export const subpages = method(
  "unary",
  `${SERVICE}/Subpages`,
  message({ epoch: uint32(1), pages: bytes(2) }),
  message({ sums: bytes(1) }),
  { maxRequest: KIB, maxResponse: MIB, atOnce: 2 },
);

const leaf = message({ slot: uint32(1), key: text(2), hash: bytes(3) });
export type SentLeaf = MessageOf<typeof leaf>;

/** The leaves of some slots, each named by four bytes. */
export const leaves = method(
  "serverStream",
  `${SERVICE}/Leaves`,
  message({ epoch: uint32(1), slots: bytes(2) }),
  message({ leaves: list(part(1, leaf), CHUNK_LEAVES), index: uint64(2) }),
  { maxRequest: 8 * KIB, maxResponse: 8 * MIB, atOnce: 2 },
);

/** The rows of some keys, as they are now. */
export const fetchKeys = method(
  "serverStream",
  `${SERVICE}/FetchKeys`,
  message({ epoch: uint32(1), keys: list(text(2), MAX_KEYS) }),
  message({ rows, index: uint64(2) }),
  { maxRequest: LARGEST_KEYS, maxResponse: LARGEST_ROWS, atOnce: 2 },
);

// ── the log ──

/** `filter`: the version of the one by which its rows are here; empty: there is none. */
const start = message({ epoch: uint32(1), cursor: part(2, cursor), filter: text(3) });
const ack = message({ received: uint64(1), durable: uint64(2), credit: uint64(3) });
const toSender = message({ start: part(1, start), ack: part(2, ack) });
export type ToSender = MessageOf<typeof toSender>;
export type Start = MessageOf<typeof start>;

const batch = message({ entries: list(bytes(1), BATCH_ENTRIES) });
export type Batch = MessageOf<typeof batch>;
const place = message({ index: uint64(1), chain: bytes(2) });
export type Place = MessageOf<typeof place>;

/** Damage at the primary: what the secondary has at these keys, or which keys it has in these slots (four bytes each). */
const heal = message({ id: uint64(1), keys: list(text(2), MAX_KEYS), slots: bytes(3) });
export type Heal = MessageOf<typeof heal>;

/** Before a role goes: how many leases the secondary has given below a place of a mount, which may be queued for revocation. */
const leasesWanted = message({ id: uint64(1), mount: text(2), place: text(3), isRevoked: flag(4) });
export type LeasesWanted = MessageOf<typeof leasesWanted>;

const toReceiver = message({
  batch: part(1, batch),
  /** The head after what was sent so far, as stored. */
  checkpoint: bytes(2),
  /** What comes next is no longer kept: the first index that is. */
  trimmed: uint64(3),
  /** The log goes another way here. */
  isDiverged: flag(4),
  goodbye: text(5),
  /** The last entry of one who does not lead any more. */
  final: part(6, place),
  /** It is answered by Healed. */
  heal: part(7, heal),
  /** There are other members than the last echo has told, or elsewhere: another echo is due. */
  hasNews: flag(8),
  /** Where shared rows alone are sent: before each entry of the batch, how many have nothing for it; four bytes each. */
  skipped: bytes(9),
  /** There too: after the batch, entries up to this place have nothing for it. */
  skip: part(10, place),
  /** There too, in the place of a checkpoint. */
  shared: part(11, sharedHead),
  /** It is answered by CountedLeases. */
  leases: part(12, leasesWanted),
  /** With entries, where more wait here than these: the last index. An echo that tells it stands behind all that was sent. */
  head: uint64(13),
  /** There too: something else is withheld from it than it has said. It asks what, and begins anew. */
  isFiltered: flag(14),
});
export type ToReceiver = MessageOf<typeof toReceiver>;

/** What of the credit a message takes. */
export function creditOf({ batch, skip }: ToReceiver): number {
  let bytes = skip === null ? 0 : SKIP_BYTES;
  for (const entry of batch?.entries ?? []) bytes += entry.length;
  return bytes;
}

export const NO_WORDS: ToReceiver = {
  batch: null,
  checkpoint: new Uint8Array(0),
  trimmed: 0n,
  isDiverged: false,
  goodbye: "",
  final: null,
  heal: null,
  hasNews: false,
  skipped: new Uint8Array(0),
  skip: null,
  shared: null,
  leases: null,
  head: 0n,
  isFiltered: false,
};

export const streamLog = method("bidirectional", `${SERVICE}/StreamLog`, toSender, toReceiver, {
  maxRequest: 4 * KIB,
  maxResponse: LARGEST_MESSAGE,
  atOnce: 2, // one that is about to end, and the one in its place
});

/** An answer to a question of the primary, in as many parts as it needs. */
export const healed = method(
  "unary",
  `${SERVICE}/Healed`,
  message({
    epoch: uint32(1),
    id: uint64(2),
    rows: rowsAt(3),
    keys: list(text(4), CHUNK_LEAVES),
    isDone: flag(5),
  }),
  message({}),
  { maxRequest: LARGEST_ROWS, maxResponse: KIB, atOnce: 1 },
);
export type Healed = MessageOf<(typeof healed)["request"]>;

export const countedLeases = method(
  "unary",
  `${SERVICE}/CountedLeases`,
  message({ epoch: uint32(1), id: uint64(2), count: uint64(3) }),
  message({}),
  { maxRequest: KIB, maxResponse: KIB, atOnce: 1 },
);
export type CountedLeases = MessageOf<(typeof countedLeases)["request"]>;

// ── filters ──

/** Of mounts, and of namespaces: more are withheld, and found by comparing. */
export const MAX_WITHHELD = 8192;
const withheldPlace = message({ id: text(1), path: text(2) });
export type WithheldPlace = MessageOf<typeof withheldPlace>;

/** What a member is not sent. It removes what it has of it before it takes anything else. */
export const withheld = method(
  "unary",
  `${SERVICE}/Withheld`,
  message({ epoch: uint32(1), version: text(2) }),
  message({
    version: text(1), // empty: nothing is
    /** The version that was asked with is still the one: the rest is left out. */
    isSame: flag(2),
    mounts: list(part(3, withheldPlace), MAX_WITHHELD),
    namespaces: list(part(4, withheldPlace), MAX_WITHHELD),
  }),
  { maxRequest: KIB, maxResponse: 32 * MIB, atOnce: 2 }, // the longest paths, and as many as there may be
);
export type WithheldAnswer = MessageOf<(typeof withheld)["response"]>;

// ── who there is ──

/** Clusters that one answer tells of, and those that a member tells of: who stands in for it. */
export const MAX_SET_MEMBERS = 128;
export const MAX_STAND_INS = 16;

/** A cluster, as whoever tells of it sees it, and how far it is with what it follows. */
const setMember = message({
  cluster: text(1), // its id; empty where it has not come yet
  name: text(2), // as whom it follows knows it; empty: it follows nobody
  kind: text(3), // in which it follows: dr or performance; empty: in none
  follows: text(4), // a cluster; empty: nobody
  region: text(5),
  state: text(6),
  isConnected: flag(7),
  /** In entries; without the second nobody knows. */
  lag: uint64(8),
  isLagKnown: flag(9),
  behindFor: uint64(10), // nanoseconds
  /** How long ago it was heard of, in nanoseconds; without the second never. */
  heardAgo: uint64(11),
  isHeard: flag(12),
  /** Mounts and namespaces that it is not sent. */
  withheld: uint32(13),
  apiAddress: text(14),
  /** It has said who stands in for it. */
  hasTold: flag(15),
  leadsDr: flag(16),
  leadsPerformance: flag(17),
});
export type SetMember = MessageOf<typeof setMember>;

/** A member tells who stands in for it, and is told of all that are known. For people alone: nothing is decided by it. One of an earlier version
 *  does not know this call. */
export const aroundMe = method(
  "unary",
  `${SERVICE}/AroundMe`,
  message({ epoch: uint32(1), standIns: list(part(2, setMember), MAX_STAND_INS) }),
  message({ members: list(part(1, setMember), MAX_SET_MEMBERS) }),
  { maxRequest: 16 * KIB, maxResponse: 128 * KIB, atOnce: 1 },
);

// ── the echo ──

/** Sent, received, answered, and received again: two clocks, in nanoseconds since 1970. */
const times = message({ t0: uint64(1), t1: uint64(2), t2: uint64(3), t3: uint64(4) });
export type EchoTimes = MessageOf<typeof times>;

/** Another secondary of the same primary: where it is, the serials of its certificates, by which id the primary knows it and as
 *  which cluster. */
export const sibling = message({
  addresses: list(text(1), SIBLING_ADDRESSES),
  serials: list(text(2), 16),
  id: text(3),
  cluster: text(4),
  digests: list(text(5), 16), // of those certificates, empty where one is not known; none where none is
});
export type Sibling = MessageOf<typeof sibling>;

/** What a member has given by a mount that the primary disables or moves. */
const evacuation = message({
  mount: text(1), // its uuid
  move: text(2), // id of the move; empty: it is being disabled
  left: uint32(3), // leases that are not revoked yet
  isDone: flag(4), // nothing is left, also not of what was begun
});
export type Evacuation = MessageOf<typeof evacuation>;

export const echo = method(
  "unary",
  `${SERVICE}/Echo`,
  message({
    epoch: uint32(1),
    t0: uint64(2),
    /** Of the echo before. */
    before: part(3, times),
    state: text(4),
    applied: uint64(5),
    durable: uint64(6),
    apiAddress: text(7),
    clusterAddresses: list(text(8), ADDRESSES),
    version: text(9),
    keysVersion: text(10),
    /** Under the keys that all members share, since they were made. */
    encryptions: uint64(11),
    /** Drawn by who receives when it begins: two of one identity differ by it. */
    instance: text(12),
    evacuations: list(part(13, evacuation), MAX_EVACUATIONS),
    /** The first copy is under way: it has given nothing by any mount. */
    isBare: flag(14),
  }),
  message({
    epoch: uint32(1),
    t1: uint64(2),
    t2: uint64(3),
    head: uint64(4),
    apiAddress: text(6),
    clusterAddresses: list(text(7), ADDRESSES),
    keysVersion: text(8),
    siblings: list(part(9, sibling), SIBLINGS),
    /** Serials of members that are none any more. */
    revoked: list(text(10), TOLD_REVOKED),
    /** Where those are that stand in for the primary, where that is not who follows its log. */
    failover: list(text(11), ADDRESSES),
    /** There too, ids of clusters that are not believed to lead: those that have stood in for it and were revoked, and others. */
    revokedClusters: list(text(12), TOLD_REVOKED),
  }),
  { maxRequest: 64 * KIB, maxResponse: 128 * KIB, atOnce: 2 },
);
export type EchoSent = MessageOf<(typeof echo)["request"]>;
export type EchoAnswer = MessageOf<(typeof echo)["response"]>;
