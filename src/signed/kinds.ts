// The kinds of reports that the server signs. A new one is a row here: what it is called, and what it does not
// prove, which is never nothing. What no report proves stands in each of them besides.

export interface ReportKind {
  readonly kind: string;
  /** What somebody could think that it proves. */
  readonly notProven: readonly [string, ...string[]];
}

export const KEY_MADE = {
  kind: "evidence.key",
  notProven: ["that nobody has copied the private half of the key while it was there"],
} as const satisfies ReportKind;

export const AUDIT_CHECKPOINT = {
  kind: "audit.checkpoint",
  notProven: [
    "that the server wrote a record for everything it did: only that these bytes were written, in this order",
    "anything about lines behind the last checkpoint of a file",
  ],
} as const satisfies ReportKind;

export const LEASES_ENDED = {
  kind: "leases.ended",
  notProven: [
    "that a provider refuses a credential from the moment at which it took its deletion",
    "what the holder of a credential has made for itself outside while it was good",
  ],
} as const satisfies ReportKind;

export const SNAPSHOT_DRILL = {
  kind: "snapshot.drill",
  notProven: [
    "that people still have the shares which open the snapshot: the server opened it with the root key that it has",
    "that the copy is still there, or still the same, at any time after it was read",
    "that what secrets in it lead to outside is as it was when the snapshot was made",
  ],
} as const satisfies ReportKind;

export const FAILOVER_REHEARSAL = {
  kind: "replication.rehearsal",
  notProven: [
    "what the primary has written since this secondary last heard of it",
    "that a promotion at any other time finds the same",
    "that clients would have reached this cluster, or that people hold what its promotion needs",
  ],
} as const satisfies ReportKind;

/** Every kind, by its name. */
export const REPORT_KINDS: readonly ReportKind[] = [
  KEY_MADE,
  AUDIT_CHECKPOINT,
  LEASES_ENDED,
  SNAPSHOT_DRILL,
  FAILOVER_REHEARSAL,
];

/** Of every report, whatever it is about. */
export const NEVER_PROVEN: readonly [string, ...string[]] = [
  "more than that this key said so, in this order: who holds the root key and the host together can make it say anything",
  "that the clock of the server was right",
];
