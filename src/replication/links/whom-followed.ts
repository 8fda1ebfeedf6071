// Whom a secondary follows: the primary at its hello, another cluster that has begun the next epoch in its place, or nobody, where
// whoever refuses knows of a later one. What it hears is proved before it is stored.

import { X509Certificate } from "node:crypto";
import { base64 } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import type { Tx, View } from "../../barrier/view.ts";
import { Recurring } from "../../base/recurring.ts";
import type { HelloAnswer } from "../../cluster/hello.ts";
import { isClusterId, isRegionName, type ReplicationKind } from "../../cluster/names.ts";
import type { Store } from "../../storage/store.ts";
import type { SurplusRows } from "../cascades/surplus-rows.ts";
import { TellingFormer } from "../cascades/telling-former.ts";
import { peerUnproven } from "../failures.ts";
import { isRevoked, putRevokedClusters } from "../joining/primary-rows.ts";
import { provesEpoch } from "../joining/proofs.ts";
import type { ReplicationOptions } from "../options.ts";
import { addressesOf, after, type Epoch, isNext, isOlder, type Secondary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { readDecision } from "../stream/decision.ts";
import {
  type Answered,
  exchange,
  type FencingWorld,
  tellDisowned,
  tellSuperseded,
  tellUnclaimed,
} from "./fencing.ts";
import type { Upstream } from "./upstream.ts";

export interface WhomFollowedWorld extends FencingWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  /** Of the rows of that kind. */
  readonly view: View;
  readonly role: StoredRole;
  readonly log: Log;
  readonly takeTicketsFrom: ReplicationOptions["takeTicketsFrom"];
}

export interface WhomFollowedParts {
  /** As which the primary knows this cluster now. */
  readonly member: () => Upstream["member"];
  /** Null where the log here is that of the primary. */
  readonly ahead: () => SurplusRows | null;
  /** What the primary of before has announced beyond that index is missing nowhere. */
  readonly goBack: (last: bigint) => void;
  /** Under which a cluster is known here; empty where it is not. */
  readonly nameOf: (cluster: string) => string;
  /** The one that is followed is called at once. */
  readonly expect: () => void;
  /** Aborted when this cluster stops to receive. */
  readonly closing: AbortSignal;
}

export class WhomFollowed {
  readonly #world: WhomFollowedWorld;
  readonly #parts: WhomFollowedParts;
  readonly #asking: Recurring;
  readonly #telling: TellingFormer;
  #isLogged = false;

  constructor(world: WhomFollowedWorld, parts: WhomFollowedParts) {
    this.#world = world;
    this.#parts = parts;
    const { timers, log } = world;
    this.#asking = new Recurring({
      trouble: "could not find out who leads the set",
      run: () => this.#askWhoLeads(),
      atOnce: false,
      timers,
      log,
    });
    this.#telling = new TellingFormer({
      timers,
      log,
      exchange: (addresses) =>
        exchange(addresses, parts.member(), this.#role.epoch, world, { signal: parts.closing }),
    });
  }

  open(): void {
    this.#asking.open();
    this.#telling.open();
  }

  async close(): Promise<void> {
    await this.#asking.close();
    await this.#telling.close();
  }

  /** Whoever was called refuses: it may know who leads. */
  ask(): void {
    this.#asking.wake();
  }

  get #role(): Secondary {
    return secondaryIn(this.#world.role);
  }

  /** A later epoch of the same authority is proved by it; an earlier one is a primary that was superseded. */
  async accept(answer: HelloAnswer): Promise<void> {
    const known = this.#role.epoch;
    const epoch = epochOf(answer);
    // One that refuses sends nothing, and its reason says more.
    if (isOlder(epoch, known) && readDecision(answer.decision)?.kind === "refuse") return;
    const heard = { do: "heard", epoch, known: this.#role.known ?? [] } as const;
    after(this.#role, heard, this.#parts.member().kind); // throws where it is older
    if (isOlder(known, epoch)) await this.#hearEpoch(answer, epoch);
    else if (this.#world.kind === "performance" && this.#role.superseded === true) {
      await this.#hearFollowed(answer, epoch);
    }
    await this.#hearRegion(answer.region);
  }

  /** Of performance replication another cluster may have begun it, which stands in for the one that was followed: by the same authority. */
  async #hearEpoch(answer: HelloAnswer, epoch: Epoch): Promise<void> {
    const { role, kind } = this.#world;
    const proof = this.#proofOf(answer, epoch);
    const now = this.#role;
    const { cluster: before } = now.epoch;
    const step = { do: "heard", epoch, known: now.known ?? [] } as const;
    if (kind === "dr") return void (await role.step(step));
    await role.step({ ...step, proof }, (tx) => this.#giveUp(tx, epoch));
    this.#goBack(epoch);
    if (before !== epoch.cluster) this.#tellMoved(now, epoch);
  }

  /** It was heard of before it was reached. */
  async #hearFollowed(answer: HelloAnswer, epoch: Epoch): Promise<void> {
    const { role } = this.#world;
    const proof = this.#proofOf(answer, epoch);
    const now = this.#role;
    await role.step({ do: "followed", epoch, proof }, (tx) => this.#giveUp(tx, epoch));
    this.#goBack(epoch);
    this.#tellMoved(now, epoch);
  }

  #giveUp(tx: Tx, epoch: Epoch): void {
    const { log } = this.#world;
    if (this.#parts.ahead()?.beginIn(tx, epoch) !== true) return;
    log.warn("the new primary lacks entries that are here: they are given up, and kept apart", {
      event: "replication.gone-back",
      epoch: epoch.number,
      last_in_common: String(BigInt(epoch.first) - 1n),
    });
  }

  #goBack({ first }: Epoch): void {
    this.#parts.goBack(BigInt(first) - 1n);
  }

  /** Throws unless the authority that is trusted here has signed for it. */
  #proofOf({ epochProof }: HelloAnswer, epoch: Epoch): string {
    const { set, kind, authority } = this.#parts.member();
    if (kind === "performance" && isRevoked(this.#world.view, epoch.cluster)) {
      throw peerUnproven(
        "the primary that was followed has revoked the cluster that leads in its place",
      );
    }
    if (!provesEpoch(epochProof, new X509Certificate(authority), { set, kind, epoch })) {
      throw peerUnproven("the primary names a later epoch, and no proof of it");
    }
    return base64(epochProof);
  }

  /** The one of before may be there still, and is to hear of it. */
  #tellMoved({ known, address }: Secondary, { number: epoch, cluster }: Epoch): void {
    this.#world.log.info("another cluster leads in the place of the primary, and is followed", {
      event: "replication.primary-moved",
      epoch,
      cluster,
    });
    this.#telling.tell([...new Set([...(known ?? []), address])].filter((one) => one !== ""));
  }

  /** Kept: who names it while the primary is out of reach is told that, and not that there is no such region. */
  async #hearRegion(region: string): Promise<void> {
    const { role, store } = this.#world;
    if (!isRegionName(region) || region === this.#role.region || store.locked) return;
    await role.step({ do: "named", region });
  }

  /** One that refuses may know of a later primary; or there is one known here, which it is to hear of. */
  async #askWhoLeads(): Promise<void> {
    const { role, view, log } = this.#world;
    const now = this.#role;
    const member = this.#parts.member();
    const answer = await exchange(addressesOf(now), member, now.epoch, this.#world);
    if (answer === null) return;
    const { leading } = answer;
    if (isRefuted(now, answer)) {
      // Both say to lead. Whoever took over has said that the other one is not to be believed: operators decide.
      if (isRevoked(view, leading.cluster)) return this.#tellDisowned(now.epoch, leading);
      await this.#refute(now.epoch, leading);
    }
    if (!isNext(this.#role.epoch, leading)) return;
    if (isRevoked(view, leading.cluster)) return; // the one that refuses has not heard of that
    await role.step({ do: "superseded", epoch: leading });
    tellSuperseded(log, leading, this.#parts.nameOf(leading.cluster));
  }

  /** Said once. */
  #tellDisowned({ number: epoch, cluster }: Epoch, former: Epoch): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    tellDisowned(this.#world.log, { epoch, cluster }, former);
  }

  /** One that the primary has revoked has said that it leads, while this cluster heard nothing else. */
  async #refute(claimed: Epoch, leading: Epoch): Promise<void> {
    const { role, view, log, takeTicketsFrom } = this.#world;
    if (this.#role.epoch !== claimed) return;
    await role.step({ do: "refuted", epoch: leading }, (tx) => {
      takeTicketsFrom(tx.on(view), leading.number);
      putRevokedClusters(tx.on(view), [claimed.cluster]);
    });
    tellUnclaimed(log, claimed, leading);
    this.#parts.expect();
  }
}

/** Throws where it is none any more. */
export function secondaryIn({ now }: StoredRole): Secondary {
  if (now.mode !== "secondary") throw peerUnproven("this cluster is no secondary any more");
  return now;
}

/** Whether the primary that is followed, which has proved to be it, leads still and has revoked the one that was taken for its
 *  successor. */
function isRefuted({ superseded, epoch }: Secondary, answer: Answered): boolean {
  const { leading, leads, cluster, isRevoked: isGone } = answer;
  const isLed = leads && cluster === leading.cluster && isOlder(leading, epoch);
  return superseded === true && isGone && isLed;
}

function epochOf({ epoch, clusterId, epochFirst: first }: HelloAnswer): Epoch {
  if (!/^\d{1,20}$/.test(first))
    throw peerUnproven("the primary does not say where its epoch began");
  if (!isClusterId(clusterId)) throw peerUnproven("the primary does not say which cluster it is");
  return { number: epoch, cluster: clusterId, first };
}
