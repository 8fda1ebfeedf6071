// What kind of place an IP address is, by the registries of special addresses (RFC 6890 and its
// successors) and by where clouds tell machines who they are. What no row names is the public network.

import {
  type Address,
  type AddressRange,
  isWithin,
  readAddress,
  readRange,
} from "@holdfast/shared/text/addresses";
import { invariant } from "@holdfast/shared/invariant";

export type AddressKind =
  | "public"
  | "private"
  | "loopback"
  | "metadata" // link-local, and where a platform talks to its machines
  | "translated" // leads to the address of the older family inside it
  | "unusable"; // no single host: unspecified, multicast, reserved, mapped

export interface PlacedAddress {
  readonly address: Address;
  readonly kind: AddressKind;
  /** Of those of its kind, the one that it lies in; null for public ones. */
  readonly range: AddressRange | null;
}

// The first row that fits decides: narrow ranges stand before those around them.
const ROWS: readonly (readonly [AddressKind, AddressRange])[] = [
  ...rows("loopback", "127.0.0.0/8", "::1"),
  // 168.63.129.16 is no special address, yet on every machine of one cloud it is that machine's agent.
  ...rows("metadata", "169.254.0.0/16", "168.63.129.16", "192.0.0.192"),
  ...rows("metadata", "fe80::/10", "fd00:ec2::/64", "fd20:ce::/64"),
  ...rows("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
  ...rows("private", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "fec0::/10"),
  ...rows("unusable", "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24"),
  ...rows("unusable", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
  ...rows("translated", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
  ...rows("unusable", "2001::/23", "2001:db8::/32", "3fff::/20"),
  ["public", range("2000::/3")],
  ["public", range("0.0.0.0/0")],
];

export function placeOf(text: string): PlacedAddress | null {
  const address = readAddress(text);
  if (address === null) return null;
  // The reader gives what is mapped as its older form. Nobody needs to call it by that spelling.
  if (address.bits === 32 && text.includes(":")) return { address, kind: "unusable", range: null };
  const row = ROWS.find(([, one]) => isWithin(address, one));
  if (row === undefined) return { address, kind: "unusable", range: null };
  const [kind, within] = row;
  return { address, kind, range: kind === "public" ? null : within };
}

/** What a translated address leads to; null where that depends on the network. */
export function insideOf({ address: { value }, range: within }: PlacedAddress): string | null {
  if (within === null) return null;
  if (within.length === 96) return showV4(value & 0xffffffffn);
  if (within.length === 16) return showV4((value >> 80n) & 0xffffffffn);
  return null;
}

function showV4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

function rows(kind: AddressKind, ...texts: string[]): (readonly [AddressKind, AddressRange])[] {
  return texts.map((text) => [kind, range(text)]);
}

function range(text: string): AddressRange {
  const read = readRange(text);
  invariant(read !== null, "the table holds ranges");
  return read;
}
