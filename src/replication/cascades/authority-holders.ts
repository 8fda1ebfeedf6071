// Clusters that have the authority of a set and are no members of it: who stands in for its primary, and the primary that was stood in for.
// They come with certificates that they have issued to themselves, and say who leads; nothing else is heard of them.

import { type Greeting, type Hello, PROTOCOL } from "../../cluster/hello.ts";
import type { Peer } from "../../cluster/verify.ts";
import type { Clock } from "@holdfast/shared/world";
import type { Secondaries } from "../joining/secondaries.ts";
import { PerMinute } from "../per-minute.ts";

/** Sessions that have proved it; a cluster has one at a time. */
const MAX_HOLDERS = 16;
/** Of one certificate, in a minute: whether it holds costs a signature. */
const TRIALS = 6;

export interface HoldersWorld {
  readonly secondaries: Pick<
    Secondaries,
    "isMember" | "hasAuthority" | "assertKnown" | "clusterOf"
  >;
  readonly clock: Pick<Clock, "elapsed">;
  readonly version: string;
  readonly clusterId: () => string;
}

export class AuthorityHolders {
  readonly #world: HoldersWorld;
  /** By the serial of the certificate: which cluster it is. */
  readonly #known = new Map<string, string>();
  readonly #trials: PerMinute;

  constructor(world: HoldersWorld) {
    this.#world = world;
    this.#trials = new PerMinute(world.clock, TRIALS);
  }

  /** What one that holds the authority is answered; null for everybody else. */
  greet(hello: Hello, peer: Peer): Greeting | null {
    const { secondaries, clusterId, version } = this.#world;
    const { serial } = peer;
    if (secondaries.isMember(peer) || hello.formers.length === 0) return null;
    if (hello.clusterId === clusterId()) return null;
    const isKnown = this.#known.get(serial) === hello.clusterId;
    if (!isKnown && (this.#trials.take(serial) > 0 || !secondaries.hasAuthority(peer, hello))) {
      return null;
    }
    const [oldest] = this.#known.keys();
    const isFull = !this.#known.has(serial) && this.#known.size >= MAX_HOLDERS;
    if (isFull && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(serial, hello.clusterId);
    return { clusterId: clusterId(), protocol: PROTOCOL, version };
  }

  /** Throws unless it is one of them, or a member. */
  assertKnown(peer: Peer): void {
    if (!this.#known.has(peer.serial)) this.#world.secondaries.assertKnown(peer);
  }

  /** Which cluster speaks. */
  clusterOf(peer: Peer): string {
    return this.#known.get(peer.serial) ?? this.#world.secondaries.clusterOf(peer);
  }
}
