// What is asked about when somebody wants to know what needs attention: counters and settings of the rooms, and of the
// process. Nothing here reads the store.

import { X509Certificate } from "node:crypto";
import { MILLISECOND, MINUTE } from "@holdfast/shared/text/duration";
import type { ConcernKind } from "@holdfast/plugin-sdk/concern";
import type { Clock, Fs, Instant, Nanos } from "@holdfast/shared/world";
import type { Facts, MountFact } from "../attention/checks.ts";
import type { Config } from "../config/config.ts";
import type { Ground } from "./ground.ts";
import type { Rooms } from "./rooms.ts";

const LOOK_EVERY: Nanos = 10n * MINUTE;
const MAX_CERTIFICATE = 2 ** 20;

export function attentionFacts(rooms: Rooms, { host, store, barrier }: Ground): Facts {
  const { config, world, dev, operatorFiles } = host;
  const certificates = new CertificateEnds(config, operatorFiles, world.clock);
  const mountFact = (uuid: string, count: number): MountFact[] => {
    const record = rooms.mounts.mounts.recordOf(uuid);
    const namespace = record === null ? null : rooms.namespaces.namespaces.byId(record.namespaceId);
    if (record === null || namespace === null) return [];
    return [{ namespace, path: record.path, count }];
  };
  const concerns = (kind: ConcernKind): MountFact[] =>
    (isOpen() ? rooms.mounts.mounts.concerns(kind) : []).flatMap(
      ({ record, concern: { place, count } }) =>
        mountFact(record.uuid, count).map((fact) => ({ ...fact, path: fact.path + place })),
    );
  // A secondary has nothing open that would know of these.
  const isOpen = () =>
    rooms.replication.replication.mode !== "secondary" && !rooms.replication.kinds.isCopying;
  return {
    audit: () => rooms.audit.audit.facts(),
    isConfiguredElsewhere: () => !isOpen(),
    sharesNeeded: () =>
      store.following || store.leavesShared ? null : rooms.seal.keeper.status().t,
    bootstrapOpen: () => isOpen() && rooms.tokens.tokens.bootstrapOpen,
    stuckLeases: () => {
      const stuck = isOpen() ? rooms.leases.leases.stuckByMount() : [];
      return stuck.flatMap(({ uuid, count }) => mountFact(uuid, count));
    },
    orphans: () => {
      const orphans = isOpen() ? rooms.mounts.mounts.orphansByMount() : [];
      return orphans.flatMap(({ uuid, count }) => mountFact(uuid, count));
    },
    unloadedMounts: () => {
      const unloaded = isOpen() ? rooms.mounts.mounts.unloaded() : [];
      return unloaded.flatMap(({ record, isTriedAgain }) =>
        mountFact(record.uuid, 1).map((fact) => ({ ...fact, isTriedAgain })),
      );
    },
    failedRotations: () => concerns("rotation-failed"),
    overdueRotations: () => concerns("rotation-overdue"),
    lockedOrigins: () => concerns("origin-locked"),
    unendingTokens: () => {
      const unending = isOpen() ? rooms.tokens.tokens.unending : [];
      return unending.flatMap(({ namespaceId, accessor }) => {
        const namespace = rooms.namespaces.namespaces.byId(namespaceId);
        return namespace === null ? [] : [{ namespace, accessor }];
      });
    },
    replication: () => {
      const { replication, performance } = rooms.replication;
      return [replication.status.attention, performance.status.attention];
    },
    disk: () => store.room,
    certificates: () => certificates.now(),
    // Of the barrier: it is open before the seal says so, when the first look is taken.
    dataKeyInstalled: () => barrier.keyStatus.installed,
    consolePolicySet: () => isOpen() && rooms.browser.browser.policyIsSet,
    dev: () => dev !== undefined,
    snapshots: () => rooms.snapshots.auto.facts,
    leftByRestores: () => rooms.snapshots.left.asOf(world.clock.now()),
    drills: () => rooms.snapshots.drills.facts,
  };
}

/** When the certificates in the files of the listeners end. Looked up now and then: files change slowly. */
class CertificateEnds {
  readonly #config: Config;
  readonly #files: Pick<Fs, "read">;
  readonly #clock: Clock;
  #found: readonly { readonly listener: string; readonly ends: Instant }[] = [];
  #lookAgainAt: Nanos | null = null;

  constructor(config: Config, files: Pick<Fs, "read">, clock: Clock) {
    this.#config = config;
    this.#files = files;
    this.#clock = clock;
  }

  now(): readonly { readonly listener: string; readonly ends: Instant }[] {
    const now = this.#clock.elapsed();
    if (this.#lookAgainAt === null || now >= this.#lookAgainAt) {
      this.#lookAgainAt = now + LOOK_EVERY;
      this.#found = this.#config.listeners.flatMap((listener) => {
        if (listener.tls === null) return [];
        const ends = this.#endOf(listener.tls.certFile);
        if (ends === null) return [];
        const at = listener.kind === "tcp" ? `${listener.host}:${listener.port}` : listener.path;
        return [{ listener: at, ends }];
      });
    }
    return this.#found;
  }

  /** Null for what cannot be read: a reload that fails tells of that. */
  #endOf(path: string): Instant | null {
    const pem = this.#files.read(path, MAX_CERTIFICATE);
    if (pem === null) return null;
    return BigInt(Date.parse(new X509Certificate(pem).validTo)) * MILLISECOND;
  }
}
