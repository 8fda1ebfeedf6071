// Who may call an endpoint. Every declaration names one of these; there is no default, so a new
// endpoint cannot be open by omission.

export type Capability =
  | "create"
  | "read"
  | "update"
  | "patch"
  | "delete"
  | "list"
  | "scan"
  | "sudo";

/** What a disaster-recovery secondary can be told to do, and what can be read of it. It knows no tokens and no policies:
 *  who holds an operation token may do all of it, who holds an operator ticket what the ticket names. */
export const DR_OPERATIONS = [
  "promote",
  "disable",
  "update-primary",
  "reindex",
  "merkle-check",
  "recover",
  "generate-public-key",
  "operation-token",
  "seal",
  "snapshot",
  "read",
] as const;

export type DrOperation = (typeof DR_OPERATIONS)[number];

export type Access =
  /** Anybody. With `caller: "optional"` a valid token, if sent, widens the answer; a bad one is
   *  as none. */
  | { readonly kind: "open"; readonly caller: "ignored" | "optional" }
  /** A key ceremony: open to callers on this machine, in need of a token, or off, as the listener
   *  says. Where a token is needed, starting one needs the right to write there. */
  | {
      readonly kind: "ceremony";
      readonly starts: boolean;
      /** Of a disaster-recovery secondary, and of nothing else: nobody has a token there, so it is open wherever
       *  the listener does not turn ceremonies off. Default false. */
      readonly ofDrSecondary?: boolean;
    }
  /** An operation of a disaster-recovery secondary: with an operation token or a ticket, in the header or in the
   *  body. Any other cluster refuses it, whoever asks. */
  | { readonly kind: "drOperation"; readonly operation: DrOperation }
  /** Any valid token; the handler looks only at what belongs to it. */
  | { readonly kind: "token" }
  /** A management token. */
  | { readonly kind: "management" }
  /** What the operation needs on this path by the caller's policies, with `sudo` beside it or not. */
  | {
      readonly kind: "capability";
      readonly sudo: boolean;
      /** Where the listener lets anybody in. */
      readonly openTo: keyof ListenerOpenings | null;
      /** What it is on a disaster-recovery secondary, where an operation token or a ticket opens it instead.
       *  Default: it does not answer there. */
      readonly operation?: DrOperation;
      /** It is that on no disaster-recovery secondary, but on a performance secondary whose first copy is under way: that knows no tokens
       *  either. Default false. */
      readonly whileCopying?: boolean;
    };

/** What a listener can open to callers without a token. */
export interface ListenerOpenings {
  readonly metrics: boolean;
}

export const access = {
  open: { kind: "open", caller: "ignored" },
  openWithCaller: { kind: "open", caller: "optional" },
  ceremony: { kind: "ceremony", starts: false },
  ceremonyStart: { kind: "ceremony", starts: true },
  drCeremony: { kind: "ceremony", starts: false, ofDrSecondary: true },
  drOperation: (operation: DrOperation): Access => ({ kind: "drOperation", operation }),
  token: { kind: "token" },
  management: { kind: "management" },
  capability: { kind: "capability", sudo: false, openTo: null },
  sudo: { kind: "capability", sudo: true, openTo: null },
  capabilityOr: (operation: DrOperation): Access => ({
    kind: "capability",
    sudo: false,
    openTo: null,
    operation,
  }),
  capabilityOrCopying: (operation: DrOperation): Access => ({
    kind: "capability",
    sudo: false,
    openTo: null,
    operation,
    whileCopying: true,
  }),
  sudoOr: (operation: DrOperation): Access => ({
    kind: "capability",
    sudo: true,
    openTo: null,
    operation,
  }),
  capabilityUnlessOpen: (openTo: keyof ListenerOpenings, operation?: DrOperation): Access => ({
    kind: "capability",
    sudo: false,
    openTo,
    ...(operation === undefined ? {} : { operation }),
  }),
} as const satisfies Record<string, Access | ((...names: never[]) => Access)>;

/** What it is on a disaster-recovery secondary; null where it is none of its operations. */
export function drOperationOf(declared: Access): DrOperation | null {
  if (declared.kind === "drOperation") return declared.operation;
  return (declared.kind === "capability" ? declared.operation : undefined) ?? null;
}

/** Whether an operation token opens it during a first copy alone. */
export function isOfCopying(declared: Access): boolean {
  return declared.kind === "capability" && declared.whileCopying === true;
}

/** Whether it is answered by disaster-recovery secondaries alone. */
export function isOfDrSecondary(declared: Access): boolean {
  if (declared.kind === "drOperation") return true;
  return declared.kind === "ceremony" && declared.ofDrSecondary === true;
}
