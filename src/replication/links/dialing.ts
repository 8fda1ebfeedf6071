// A link to the cluster port of a primary, by its address as text. What carries it is TLS, unless whoever runs both ends in one
// process hands in something else.

import { placeOf } from "../../outbound/address-kinds.ts";
import { parseClusterAddress } from "../addresses.ts";
import type { Address, Clock, Net, Timers } from "@holdfast/shared/world";
import { Sweep } from "../../base/sweep.ts";
import { CarriedLink, type Carrier, type PeerLink } from "../../cluster/peer-link.ts";
import type { MemberName } from "../../cluster/names.ts";
import { TlsCarrier } from "../../cluster/tls-carrier.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { addressUnusable } from "../failures.ts";

export interface DialingWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly net: Net;
  /** What carries a link to an address. Default: TLS. */
  readonly carrierTo?: (at: Address, member: MemberName & Credentials) => Carrier;
}

export function linkTo(
  address: string,
  member: MemberName & Credentials,
  world: DialingWorld,
): PeerLink {
  const at = parseClusterAddress(address);
  // Clusters are where networks are private; where a platform tells machines who they are there is none.
  if (at === null || placeOf(at.host)?.kind === "metadata") throw addressUnusable();
  return linkAt(at, member, world);
}

export function linkAt(
  at: Address,
  member: MemberName & Credentials,
  { clock, timers, net, carrierTo }: DialingWorld,
): PeerLink {
  if (carrierTo !== undefined) return new CarriedLink(carrierTo(at, member), member);
  const sweep = new Sweep(clock, timers); // there are few links, and it rests without one
  const carrier = new TlsCarrier({ clock, timers, net, sweep }, at, member);
  return new CarriedLink(carrier, member);
}
