// What a member serves that does not lead the set, or leads it in the place of the primary that it has followed: others that follow, or
// have followed, the same primary tell it here who leads, and so does that one, where it leads no more. They know each other by the
// certificates of that primary, which says who they are.

import type { KeyObject } from "node:crypto";
import { equalBytes } from "@holdfast/shared/bytes";
import type { Clock } from "@holdfast/shared/world";
import { type Greeting, type Hello, PROTOCOL } from "../../cluster/hello.ts";
import { isClusterId, type MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import { isAmong, type Peer } from "../../cluster/verify.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { fenceCall, type FencePorts } from "../joining/calls.ts";
import { notKnown } from "../joining/failures.ts";
import { isItself } from "../joining/whose-id.ts";
import { PerMinute } from "../per-minute.ts";
import type { Sibling } from "../stream/messages.ts";
import type { ServingPort } from "./serving.ts";

/** Certificates by which the primary has come; it issues another for each time. */
const MAX_PRIMARIES = 8;
/** Of one certificate, in a minute: whether it is the primary's costs a signature. */
const TRIALS = 6;

export interface BesideWorld extends Pick<
  FencePorts,
  "fenced" | "leads" | "candidates" | "revoke" | "signedEpoch"
> {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clock: Pick<Clock, "now" | "elapsed">;
  readonly version: string;
  readonly clusterId: () => string;
  /** Those that the primary has named last: whom it has revoked is none of them. */
  readonly siblings: () => readonly Sibling[];
  /** Serials of those, as far as is known. */
  readonly revoked: () => readonly string[];
}

export class Beside {
  readonly #world: BesideWorld;
  readonly #port: ServingPort;
  readonly #member: MemberName & Credentials;
  /** By the serial of the certificate with which it came: whose authority this is. */
  readonly #primaries = new Map<string, string>();
  /** Who has come first with the authority. */
  #primary: string | null = null;
  readonly #trials: PerMinute;

  constructor(world: BesideWorld, port: ServingPort, member: MemberName & Credentials) {
    this.#trials = new PerMinute(world.clock, TRIALS);
    this.#world = world;
    this.#port = port;
    this.#member = member;
  }

  open(): void {
    const { authority, certificate, key } = this.#member;
    const secondaries = {
      assertKnown: (peer: Peer) => void this.#clusterOf(peer),
      clusterOf: (peer: Peer) => this.#clusterOf(peer),
    };
    const revoke = async (serials: readonly string[], by: string, disowned: string) => {
      await this.#world.revoke?.(serials, by, disowned);
      this.refuse();
    };
    this.#port.serve({
      ...this.#name,
      authority,
      certificate,
      key,
      table: serviceTable([
        fenceCall(this.#name, {
          ...this.#world,
          secondaries,
          revoke,
          authority: () => authority,
        }),
      ]),
      greet: async (hello, peer) => this.#greet(hello, peer),
      revoked: this.#world.revoked(),
    });
  }

  /** Others are revoked by now: the port answers those nothing else from here on, and whoever is none of them any more. */
  refuse(): void {
    this.#port.refuseOnly(this.#name, this.#world.revoked());
  }

  close(): void {
    this.#port.forget(this.#name);
  }

  get #name() {
    const { set, kind } = this.#member;
    return { set, kind, beside: true } as const;
  }

  #greet(hello: Hello, peer: Peer): Greeting {
    if (this.#knownAs(peer) === undefined) this.#meetPrimary(hello, peer);
    this.#clusterOf(peer);
    const { clusterId, version } = this.#world;
    return { clusterId: clusterId(), protocol: PROTOCOL, version };
  }

  /** Who has the authority has issued all certificates, and none that others were told of to itself. It speaks for no other member. */
  #meetPrimary({ clusterId, formers }: Hello, { set, kind, serial }: Peer): void {
    const { siblings, clock } = this.#world;
    if (siblings().some(({ serials }) => serials.includes(serial))) return; // as one of those
    const others = [this.#world.clusterId(), ...siblings().map(({ cluster }) => cluster)];
    if (others.includes(clusterId) || !isClusterId(clusterId)) return;
    // One authority is one cluster's, but that of a performance set, which goes over to who stands in for its primary.
    if (kind === "dr" && (this.#primary ?? clusterId) !== clusterId) return;
    const { authority } = this.#member;
    if (!formers.some(({ certificate }) => equalBytes(certificate, authority))) return;
    if (this.#trials.take(serial) > 0) return;
    const known = { id: "", authority, serials: [], digests: [], hasLed: true };
    const place = { set, kind, serial, clusterId };
    if (!isItself(known, formers, place, clock.now())) return;
    this.#primary = clusterId;
    const primaries = this.#primaries;
    const [oldest] = primaries.keys();
    if (primaries.size >= MAX_PRIMARIES && oldest !== undefined) primaries.delete(oldest);
    primaries.set(serial, clusterId);
  }

  #knownAs({ serial, digest }: Peer): string | undefined {
    const sibling = this.#world.siblings().find((one) => isAmong(one, serial, digest));
    return sibling?.cluster ?? this.#primaries.get(serial);
  }

  #clusterOf(peer: Peer): string {
    const cluster = this.#knownAs(peer);
    if (cluster === undefined) throw notKnown();
    return cluster;
  }
}
