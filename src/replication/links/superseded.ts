// A primary that was superseded or demoted, at the cluster port: it sends nothing any more. Whoever comes is told so, and who says to
// lead is told who does. Two that were promoted at once do not know each other, and hear of each other here.

import type { Barrier } from "../../barrier/barrier.ts";
import type { View } from "../../barrier/view.ts";
import { type Greeting, type Hello, PROTOCOL } from "../../cluster/hello.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { Peer } from "../../cluster/verify.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Random } from "@holdfast/shared/world";
import { encodeTimeline } from "../../storage/rows/head.ts";
import type { Store } from "../../storage/store.ts";
import { AuthorityHolders } from "../cascades/authority-holders.ts";
import { fenceCall, type FencePorts } from "../joining/calls.ts";
import { showKeysVersion } from "../joining/key-bundle.ts";
import { epochProof } from "../joining/proofs.ts";
import { Secondaries } from "../joining/secondaries.ts";
import type { Primary } from "../roles/role.ts";
import type { ServingPort } from "./serving.ts";
import { sentDecision } from "../stream/decision.ts";

export interface SupersededWorld extends Pick<FencePorts, "fenced" | "candidates" | "signedEpoch"> {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly barrier: Barrier;
  /** Of the rows of that kind. */
  readonly view: View;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  readonly clusterId: () => string;
}

const REASON = "another cluster of the set was promoted: follow that one, with a token of it";
const DEMOTED =
  "it was demoted: follow the cluster that is promoted in its place, with a token of that one";

/** The set that it has led, and in which epoch. */
export interface Led extends Pick<Primary, "set" | "epoch"> {
  /** It gave its place up, and may not know yet for whom. */
  readonly isDemoted: boolean;
  /** The cluster that leads in its place, as far as is known. */
  readonly leader: string;
}

export class Superseded {
  readonly #world: SupersededWorld;
  readonly #port: ServingPort;
  readonly #role: Led;
  readonly #secondaries: Secondaries;
  readonly #holders: AuthorityHolders;

  constructor(world: SupersededWorld, port: ServingPort, role: Led) {
    this.#world = world;
    this.#port = port;
    this.#role = role;
    this.#secondaries = new Secondaries(world);
    this.#holders = new AuthorityHolders({ ...world, secondaries: this.#secondaries });
  }

  open(): void {
    const { authority, server } = this.#secondaries.material;
    const set = this.#name;
    const secondaries = this.#secondaries;
    const ports = {
      ...this.#world,
      secondaries: this.#holders,
      authority: () => authority.certificate,
      leads: () => false,
      revoke: async (serials: readonly string[], by: string) => {
        const { serials: refused, ids } = await secondaries.refuse(serials, by);
        if (ids.length > 0) this.#tellRefused(ids, by);
        for (const one of refused) this.#port.revoke(set, one);
      },
    };
    this.#port.serve({
      ...set,
      authority: authority.certificate,
      certificate: server.certificate,
      key: server.key,
      table: serviceTable([fenceCall(set, ports)]),
      greet: async (hello, peer) => this.#greet(hello, peer),
      revoked: [...secondaries.revokedSerials(), ...secondaries.refusedBy(this.#role.leader)],
    });
  }

  close(): void {
    this.#port.forget(this.#name);
  }

  get #name() {
    return { set: this.#role.set, kind: this.#world.kind };
  }

  /** Who says to lead is believed on its word: whoever looks for the reason later finds who has done it. */
  #tellRefused(members: readonly string[], cluster: string): void {
    this.#world.log.warn("the cluster that leads has revoked members: they are not heard here", {
      event: "replication.members-refused",
      cluster,
      members: members.join(", "),
    });
  }

  #greet(hello: Hello, peer: Peer): Greeting {
    const { kind, store, barrier, clusterId, version } = this.#world;
    const holder = kind === "performance" ? this.#holders.greet(hello, peer) : null;
    if (holder !== null) return holder;
    this.#secondaries.assertKnown(peer);
    const { epoch } = this.#role;
    const { key } = this.#secondaries.material.authority;
    return {
      epoch: epoch.number,
      epochFirst: epoch.first,
      epochProof: epochProof(key, { ...this.#name, epoch }),
      timeline: encodeTimeline(store.timeline!),
      clusterId: clusterId(),
      protocol: PROTOCOL,
      version,
      decision: sentDecision({ kind: "refuse", reason: this.#role.isDemoted ? DEMOTED : REASON }),
      keysVersion: showKeysVersion(barrier.keysVersion),
    };
  }
}
