// A link to the cluster port of a primary, by its address as text. What carries it is TLS, unless whoever runs both ends in one
// process hands in something else.

import type { Duplex } from "node:stream";
import { OutboundError } from "@holdfast/plugin-sdk/outbound";
import { networkFailed } from "@holdfast/shared/failures";
import { readAddress } from "@holdfast/shared/text/addresses";
import type { Address, Clock, Net, Timers } from "@holdfast/shared/world";
import { Sweep } from "@holdfast/shared/sweep";
import type { DialledName, MemberName } from "../../cluster/names.ts";
import { CarriedLink, type Carrier, type PeerLink } from "../../cluster/peer-link.ts";
import { TlsCarrier } from "../../cluster/tls-carrier.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { ClusterAddresses } from "../../outbound/allowed-addresses.ts";
import { Dialling } from "../../outbound/dialling.ts";
import { type Resolve, resolveBySystem } from "../../outbound/system-resolver.ts";
import { parseClusterAddress } from "../addresses.ts";
import { addressUnusable } from "../failures.ts";
import { inWords } from "../joining/plain-words.ts";

// Clusters are where networks are private; where a platform tells machines who they are there is none.
const ALLOWED = new ClusterAddresses();

/** Who dials, and whom: the primary of its set, or another member. */
export type DialledMember = MemberName & DialledName & Credentials;

export interface DialingWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly net: Net;
  /** Default: as the system does. */
  readonly resolve?: Resolve;
  /** What carries a link to an address. Default: TLS. */
  readonly carrierTo?: (at: Address, member: DialledMember) => Carrier;
}

export function linkTo(address: string, member: DialledMember, world: DialingWorld): PeerLink {
  const at = parseClusterAddress(address);
  if (at === null || (readAddress(at.host) !== null && ALLOWED.refusal(at.host) !== null)) {
    throw addressUnusable();
  }
  return linkAt(at, member, world);
}

export function linkAt(at: Address, member: DialledMember, world: DialingWorld): PeerLink {
  const { clock, timers, carrierTo } = world;
  if (carrierTo !== undefined) return new CarriedLink(carrierTo(at, member), member);
  const sweep = new Sweep(clock, timers); // there are few links, and it rests without one
  const net = { connect: (to: Address, signal?: AbortSignal) => judged(to, world, signal) };
  const carrier = new TlsCarrier({ clock, timers, net, sweep }, at, member);
  return new CarriedLink(carrier, member);
}

/** What a name stands for is judged whenever it is connected to: who answers for it may say something else each time. */
async function judged(
  { host, port }: Address,
  { net, timers, resolve = resolveBySystem }: DialingWorld,
  signal: AbortSignal = new AbortController().signal,
): Promise<Duplex> {
  const dialling = new Dialling({ allowed: ALLOWED, net, timers, resolve });
  try {
    return await dialling.dial({ host, port, secure: false, metadata: false }, signal);
  } catch (error) {
    signal.throwIfAborted(); // that says more
    if (!(error instanceof OutboundError)) throw error;
    throw error.trouble === "forbidden" ? addressUnusable() : networkFailed(inWords(error.message));
  }
}
