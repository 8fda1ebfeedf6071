// Which addresses may be called: the public network, and of the rest what the
// server's configuration lists, what dev mode opens, and what a machine asks about itself.

import { type AddressRange, isWithin, readRange } from "@holdfast/shared/text/addresses";
import { type AddressKind, insideOf, type PlacedAddress, placeOf } from "./address-kinds.ts";

export interface Destination {
  /** As in the URL, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** The caller asks about this machine's own identity. */
  readonly metadata: boolean;
}

const WORDS: Readonly<Record<AddressKind, string>> = {
  public: "a public address",
  private: "a private address",
  loopback: "a loopback address",
  metadata: "a link-local or metadata address",
  translated: "an address that is translated into another",
  unusable: "an address that nothing is called at",
};

/** Which addresses a call may go to. */
export interface AddressRules {
  /** Why an address that `to.host` stands for may not be called; null when it may. */
  refusal(address: string, to: Destination): string | null;
  /** Ends the sentence that says so. */
  cure(refusal: string): string;
}

const UNLISTED = "which outbound_allow of the server's configuration does not list";
const UNCALLED = "where no other cluster is called";

export class AllowedAddresses implements AddressRules {
  readonly #dev: boolean;
  readonly #ranges: readonly AddressRange[];
  readonly #hosts: ReadonlySet<string>;

  /** `allow`: addresses, networks, and names of hosts. */
  constructor({ allow, dev }: { readonly allow: readonly string[]; readonly dev: boolean }) {
    this.#dev = dev;
    this.#ranges = allow.flatMap((text) => readRange(text) ?? []);
    this.#hosts = new Set(allow.filter((text) => readRange(text) === null).map(nameOf));
  }

  cure(): string {
    return UNLISTED;
  }

  refusal(address: string, to: Destination): string | null {
    const placed = placeOf(address);
    if (placed === null) return WORDS.unusable;
    if (!this.#opens(placed, to)) return WORDS[placed.kind];
    if (placed.kind === "translated") {
      const inside = insideOf(placed);
      if (inside !== null && this.refusal(inside, to) !== null) return WORDS.translated;
    }
    return this.#portIsOpen(placed, to) ? null : "a port that is not the usual one";
  }

  #opens(placed: PlacedAddress, { host, metadata }: Destination): boolean {
    switch (placed.kind) {
      case "public":
        return true;
      case "private":
      case "loopback":
        return this.#dev || this.#hosts.has(nameOf(host)) || this.#lists(placed);
      case "metadata":
        // A name is not enough: who answers for it could then read the machine's own credentials.
        return metadata || this.#lists(placed);
      case "translated":
        return this.#lists(placed);
      case "unusable":
        return false;
    }
  }

  /** A listed network counts for what is not public only where it lies within that: 0.0.0.0/0 was
   *  hardly written to open loopback. */
  #lists({ address, range }: PlacedAddress): boolean {
    return this.#ranges.some(
      (one) =>
        isWithin(address, one) &&
        (range === null || (one.length >= range.length && isWithin(one, range))),
    );
  }

  /** Of public hosts the usual ports, unless they are listed; the rest was opened by somebody. */
  #portIsOpen(placed: PlacedAddress, { host, port, secure }: Destination): boolean {
    if (this.#dev || placed.kind !== "public" || port === (secure ? 443 : 80)) return true;
    return this.#hosts.has(nameOf(host)) || this.#lists(placed);
  }
}

/**
 * For other clusters, whose addresses an operator names: they are mostly private, and at ports of their own. This machine
 * only in dev mode or where it is listed; where a machine learns of its own identity never.
 */
export class PeerAddresses implements AddressRules {
  readonly #others: AllowedAddresses;

  constructor(options: { readonly allow: readonly string[]; readonly dev: boolean }) {
    this.#others = new AllowedAddresses(options);
  }

  refusal(address: string, to: Destination): string | null {
    const kind = placeOf(address)?.kind ?? "unusable";
    if (kind === "public" || kind === "private") return null;
    if (kind !== "loopback") return WORDS[kind];
    return this.#others.refusal(address, to);
  }

  cure(refusal: string): string {
    return refusal === WORDS.loopback ? UNLISTED : UNCALLED;
  }
}

/** For their cluster ports, which prove by a certificate of the set whose they are: wherever machines are, also on this one. */
export class ClusterAddresses implements AddressRules {
  refusal(address: string): string | null {
    const placed = placeOf(address);
    if (placed === null || placed.kind === "unusable") return WORDS.unusable;
    if (placed.kind === "metadata") return WORDS.metadata;
    if (placed.kind !== "translated") return null;
    const inside = insideOf(placed);
    return inside !== null && this.refusal(inside) === null ? null : WORDS.translated;
  }

  cure(): string {
    return UNCALLED;
  }
}

function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
