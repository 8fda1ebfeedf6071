// What a member serves that does not lead the set, or leads it in the place of the primary that it has followed: others that follow, or
// have followed, the same primary tell it here who leads, and so does that one, where it leads no more. They know each other by the
// certificates of that primary, which says who they are.

import type { KeyObject } from "node:crypto";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Clock } from "@holdfast/shared/world";
import { type Greeting, type Hello, PROTOCOL } from "../../cluster/hello.ts";
import type { MemberName } from "../../cluster/names.ts";
import type { Credentials } from "../../cluster/tls.ts";
import type { Peer } from "../../cluster/verify.ts";
import { serviceTable } from "../../grpc/method.ts";
import { fenceCall, type FencePorts } from "../joining/calls.ts";
import { notKnown } from "../joining/failures.ts";
import { isItself } from "../joining/whose-id.ts";
import type { Sibling } from "../stream/messages.ts";
import type { ServingPort } from "./serving.ts";

/** Certificates by which the primary has come; it issues another for each time. */
const MAX_PRIMARIES = 8;

export interface BesideWorld extends Pick<
  FencePorts,
  "fenced" | "leads" | "candidates" | "revoke"
> {
  readonly barrier: { readonly rootKey: KeyObject };
  readonly clock: Pick<Clock, "now">;
  readonly version: string;
  readonly clusterId: () => string;
  /** Those that the primary has named last: whom it has revoked is none of them. */
  readonly siblings: () => readonly Sibling[];
}

export class Beside {
  readonly #world: BesideWorld;
  readonly #port: ServingPort;
  readonly #member: MemberName & Credentials;
  /** By the serial of the certificate with which it came: whose authority this is. */
  readonly #primaries = new Map<string, string>();
  /** Who has come first with the authority. */
  #primary: string | null = null;

  constructor(world: BesideWorld, port: ServingPort, member: MemberName & Credentials) {
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
    this.#port.serve({
      ...this.#name,
      authority,
      certificate,
      key,
      table: serviceTable([fenceCall(this.#name, { ...this.#world, secondaries })]),
      greet: async (hello, peer) => this.#greet(hello, peer),
      revoked: [],
    });
  }

  close(): void {
    this.#port.forget(this.#name);
  }

  get #name() {
    const { set, kind } = this.#member;
    return { set, kind, beside: true } as const;
  }

  #greet(hello: Hello, peer: Peer): Greeting {
    this.#meetPrimary(hello, peer);
    this.#clusterOf(peer);
    const { clusterId, version } = this.#world;
    return { clusterId: clusterId(), protocol: PROTOCOL, version };
  }

  /** Who has the authority has issued all certificates, and none that others were told of to itself. It speaks for no other member. */
  #meetPrimary({ clusterId, formers }: Hello, { set, kind, serial }: Peer): void {
    const { siblings, clock } = this.#world;
    const { authority } = this.#member;
    const known = { id: "", authority, serials: [], hasLed: true };
    const place = { set, kind, serial, clusterId };
    if (!isItself(known, formers, place, clock.now())) return;
    const others = [this.#world.clusterId(), ...siblings().map(({ cluster }) => cluster)];
    if (others.includes(clusterId) || !isUuid(clusterId)) return;
    const primaries = this.#primaries;
    this.#primary ??= clusterId;
    if (this.#primary !== clusterId) return; // one authority is one cluster's
    const [oldest] = primaries.keys();
    if (primaries.size >= MAX_PRIMARIES && oldest !== undefined) primaries.delete(oldest);
    primaries.set(serial, clusterId);
  }

  #clusterOf({ serial }: Peer): string {
    const sibling = this.#world.siblings().find(({ serials }) => serials.includes(serial));
    const cluster = sibling?.cluster ?? this.#primaries.get(serial);
    if (cluster === undefined) throw notKnown();
    return cluster;
  }
}
