// What a primary tells a secondary of itself and of the set: where it is, who else follows it, who stands in for it and who was revoked.
// What is for the time when the primary is gone is stored.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { isClusterId, isSerial, type ReplicationKind } from "../../cluster/names.ts";
import type { Store } from "../../storage/store.ts";
import {
  clusterAddressText,
  isCalled,
  parseClusterAddress,
  usableAddresses,
  usableApiAddress,
} from "../addresses.ts";
import {
  putRevokedClusters,
  putRevokedThere,
  storedRevokedThere,
} from "../joining/primary-rows.ts";
import type { Secondary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { ADDRESSES, type SetMember, type Sibling } from "../stream/messages.ts";
import type { LinkPorts } from "../stream/receiving.ts";
import type { SetFromAbove } from "../topology/set-members.ts";
import { readable } from "./siblings.ts";
import {
  putSiblings,
  putSiblingsRevoked,
  storedSiblings,
  storedSiblingsRevoked,
} from "./upstream.ts";
import { secondaryIn } from "./whom-followed.ts";

/** The other secondaries, and the certificates of those that are none any more. */
interface Siblings {
  readonly siblings: readonly Sibling[];
  readonly revoked: readonly string[];
}

export interface SetLearnedWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly clock: Clock;
  /** Of the rows of that kind. */
  readonly view: View;
  readonly role: StoredRole;
  readonly log: Log;
  readonly clusterAddress: () => string;
  /** The primary has told whom it has revoked, and it is stored. */
  readonly revoked: () => void;
}

export class SetLearned {
  readonly #world: SetLearnedWorld;
  #apiAddress = "";
  #siblings: Siblings;
  #fromAbove: (Omit<SetFromAbove, "ago"> & { readonly at: Nanos }) | null = null;

  constructor(world: SetLearnedWorld) {
    this.#world = world;
    const { view } = world;
    this.#siblings = { siblings: storedSiblings(view), revoked: storedSiblingsRevoked(view) };
  }

  get #role(): Secondary {
    return secondaryIn(this.#world.role);
  }

  /** Of the primary, as it says itself. */
  get apiAddress(): string {
    return this.#apiAddress;
  }

  /** Under which a cluster is known here as another secondary; empty where it is not. */
  nameOf(cluster: string): string {
    return this.#siblings.siblings.find((one) => one.cluster === cluster)?.id ?? "";
  }

  readonly learn: LinkPorts["learned"] = (apiAddress, clusterAddresses, others) => {
    this.#learnPlaces(apiAddress, clusterAddresses, others.failover);
    this.#learnSiblings(others);
    this.#learnRevoked(others.revokedClusters);
  };

  learnMembers(members: readonly SetMember[]): void {
    this.#fromAbove = { by: this.#role.epoch.cluster, at: this.#world.clock.elapsed(), members };
  }

  /** Of whom the primary has told, and how long ago; null where it has not. */
  get fromAbove(): SetFromAbove | null {
    const from = this.#fromAbove;
    if (from === null) return null;
    return { ...from, ago: this.#world.clock.elapsed() - from.at };
  }

  #learnPlaces(
    apiAddress: string,
    addresses: readonly string[],
    standIns: readonly string[],
  ): void {
    const { role, log } = this.#world;
    this.#apiAddress = usableApiAddress(apiAddress);
    const { known, epoch, failover: before = [] } = this.#role;
    const clusterAddresses = addresses.filter((one) => parseClusterAddress(one) !== null);
    const failover = this.#callable(standIns);
    const isSame = known !== null && known.join() === clusterAddresses.join();
    if (isSame && failover.join() === before.join()) return;
    const where = failover.length + before.length === 0 ? {} : { failover };
    const step = { do: "heard", epoch, known: [...clusterAddresses], ...where } as const;
    role.step(step).catch((error: unknown) => {
      log.warn("could not write down where the primary is", { cause: describe(error) });
    });
  }

  /** Those that may be dialled, each once, and not this cluster itself. */
  #callable(addresses: readonly string[]): readonly string[] {
    const { kind, clusterAddress } = this.#world;
    if (kind === "dr") return []; // whoever follows the log hears of the others by name
    const own = clusterAddressText(clusterAddress());
    const all = new Set(usableAddresses(addresses.slice(0, ADDRESSES)));
    return [...all].filter((one) => one !== own && isCalled(one));
  }

  /** Who stood in for the primary has the authority still, which is trusted here. */
  #learnRevoked(ids: readonly string[]): void {
    const { view, store, log, kind } = this.#world;
    const all = ids.filter(isClusterId);
    if (kind !== "performance" || store.locked) return;
    if (all.join() === storedRevokedThere(view).join()) return;
    view
      .write((tx) => putRevokedThere(tx, all), { essential: true })
      .catch((error: unknown) => {
        log.warn("could not write down who is not to be believed", { cause: describe(error) });
      });
  }

  /** They outlive whoever has named them: they are for when it is gone. */
  #learnSiblings({ siblings, revoked: serials }: Siblings): void {
    const { view, store, log } = this.#world;
    const before = this.#siblings;
    const all = siblings.map((one) => withAddresses(readable(one), before.siblings));
    const revoked = serials.filter(isSerial);
    const named = { siblings: all, revoked };
    if (store.locked || JSON.stringify(named) === JSON.stringify(before)) return;
    this.#siblings = named;
    const isGone = (one: Sibling) => one.serials.some((serial) => revoked.includes(serial));
    const gone = clustersOf(before.siblings.filter(isGone));
    view
      .write(
        (tx) => {
          putSiblings(tx, all);
          putSiblingsRevoked(tx, revoked);
          putRevokedClusters(tx, gone, clustersOf(all));
        },
        { essential: true },
      )
      .then(() => this.#world.revoked())
      .catch((error: unknown) => {
        this.#siblings = before;
        log.warn("could not write down who else follows", { cause: describe(error) });
      });
  }
}

function clustersOf(siblings: readonly Sibling[]): readonly string[] {
  return siblings.map(({ cluster }) => cluster);
}

/** Where it was, if the primary has not met it since it began. */
function withAddresses(one: Sibling, before: readonly Sibling[]): Sibling {
  if (one.addresses.length > 0) return one;
  const same = before.find(({ serials }) => serials.some((serial) => one.serials.includes(serial)));
  return { ...one, addresses: same?.addresses ?? [] };
}
