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

export type Access =
  /** Anybody. With `caller: "optional"` a valid token, if sent, widens the answer; a bad one is
   *  as none. */
  | { readonly kind: "open"; readonly caller: "ignored" | "optional" }
  /** A key ceremony: open to callers on this machine, in need of a token, or off, as the listener
   *  says. Where a token is needed, starting one needs the right to write there. */
  | { readonly kind: "ceremony"; readonly starts: boolean }
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
  token: { kind: "token" },
  management: { kind: "management" },
  capability: { kind: "capability", sudo: false, openTo: null },
  sudo: { kind: "capability", sudo: true, openTo: null },
  capabilityUnlessOpen: (openTo: keyof ListenerOpenings): Access => ({
    kind: "capability",
    sudo: false,
    openTo,
  }),
} as const satisfies Record<string, Access | ((openTo: keyof ListenerOpenings) => Access)>;
