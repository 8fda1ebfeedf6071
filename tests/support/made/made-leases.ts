// The room of leases over a barrier in memory, in a world that stands still, with a table of mounts whose
// engine counts its secrets in a map: for the room's own tests.

import assert from "node:assert/strict";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { LeaseOffer } from "@holdfast/shared/endpoint/lease";
import type { Leased } from "@holdfast/shared/endpoint/reply";
import type {
  RequestContext,
  Caller,
  MountRef,
  NamespaceRef,
} from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { LeaseMount, RevocationResult } from "../../../src/leases/ports.ts";
import { Leases, type LeasesOptions } from "../../../src/leases/leases.ts";
import { writeAheadKey } from "../../../src/mounts/undo/write-ahead-keys.ts";
import type { EngineType, LeaseFacts, Renewal } from "@holdfast/plugin-sdk/engine";
import { nextTurn } from "../fake-world.ts";
import { crashed, type MadeBarrier, madeBarrier, unsealed } from "./made-barrier.ts";
import { contextIn } from "./made-namespaces.ts";
import { openRoom } from "../jobs.ts";

export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;
export const DAY = 24n * HOUR;
export const TEAM: NamespaceRef = { id: "teamteam", path: "team", created: 3n };
export const OWNER = { namespaceId: "root", accessor: "a0000000-0000-4000-8000-000000000001" };

/** An engine whose secrets are names in a set. */
export class Provider {
  readonly alive = new Set<string>();
  /** Every revocation that was asked for, in order. */
  readonly requests: string[] = [];
  running = 0;
  busiest = 0;
  /** What a revocation does before the secret goes: fails, or waits. */
  trouble: (name: string, signal: AbortSignal) => void | Promise<void> = () => {};
  renewal: Renewal | Error = {};

  async revoke({ internal }: LeaseFacts, signal: AbortSignal): Promise<void> {
    const { name } = internal;
    assert.ok(typeof name === "string");
    this.requests.push(name);
    this.busiest = Math.max(this.busiest, ++this.running);
    try {
      await this.trouble(name, signal);
      this.alive.delete(name);
    } finally {
      this.running--;
    }
  }
}

export interface MadeLeases extends MadeBarrier {
  readonly leases: Leases;
  readonly provider: Provider;
  readonly mounts: Map<string, LeaseMount>;
  /** Accessors of tokens that are gone. */
  readonly goneOwners: Set<string>;
  readonly results: RevocationResult[];
}

interface Tunes {
  readonly usual?: Nanos;
  readonly max?: Nanos;
  readonly deadline?: Nanos;
  readonly namespace?: NamespaceRef;
}

/** A mount of the provider. Its state may be changed. */
export function providerMount(provider: Provider, uuid: string, tunes: Tunes = {}): LeaseMount {
  const { usual = HOUR, max = 24n * HOUR, namespace = ROOT_NAMESPACE } = tunes;
  const type: EngineType<unknown> = {
    type: "fake",
    kind: "secret",
    summary: "",
    version: "v1",
    paths: () => [],
    checkOptions: (options) => options,
    open: () => provider,
    secrets: {
      name: {
        renew: async () => {
          if (provider.renewal instanceof Error) throw provider.renewal;
          return provider.renewal;
        },
        revoke: (engine, lease, signal) => (engine as Provider).revoke(lease, signal),
      },
      fixed: {
        renew: null,
        revoke: (engine, lease, signal) => (engine as Provider).revoke(lease, signal),
      },
    },
    ...(tunes.deadline === undefined ? {} : { jobDeadline: tunes.deadline }),
  };
  const readable = { request: new Set<string>(), response: new Set<string>() };
  const path = `${uuid}/`;
  const ref: MountRef = {
    uuid,
    accessor: `fake_${uuid}`,
    type: "fake",
    path,
    namespace,
    local: false,
    readable,
    engine: provider,
  };
  const record = { state: { kind: "active" } };
  return { ref, type, record, defaultTtl: () => usual, maxTtl: () => max, holds: () => true };
}

function leasesOver(
  made: MadeBarrier,
  provider: Provider,
  more: Partial<LeasesOptions>,
): MadeLeases {
  const mounts = new Map([["m1", providerMount(provider, "m1")]]);
  const goneOwners = new Set<string>();
  const results: RevocationResult[] = [];
  const leases = new Leases({
    local: made.barrier.view("local/"),
    mounts: { byUuid: (uuid) => mounts.get(uuid) ?? null },
    owners: { isThere: (_tx, { accessor }) => !goneOwners.has(accessor) },
    namespaces: { childrenOf: ({ id }) => (id === "root" ? [TEAM] : []) },
    writeAheadKey,
    metrics: { revoked: (result) => void results.push(result) },
    ...made.world,
    ...more,
  });
  return { ...made, leases, provider, mounts, goneOwners, results };
}

export async function madeLeases(more: Partial<LeasesOptions> = {}): Promise<MadeLeases> {
  const made = leasesOver(await madeBarrier(), new Provider(), more);
  openRoom(made.leases);
  return made;
}

/** The process dies with what it has on its way; the next one is unsealed `later`. */
export async function restarted(
  before: MadeLeases,
  { later = 0n, open = true }: { readonly later?: Nanos; readonly open?: boolean } = {},
): Promise<MadeLeases> {
  const next = await crashed(before);
  next.world.clock.jump(before.world.clock.now() + later);
  assert.equal(unsealed(next.barrier), true);
  const made = leasesOver(next, before.provider, {});
  for (const [uuid, mount] of before.mounts) made.mounts.set(uuid, mount);
  for (const accessor of before.goneOwners) made.goneOwners.add(accessor);
  if (open) openRoom(made.leases);
  return made;
}

export interface Ask {
  readonly name?: string;
  readonly mount?: string;
  readonly path?: string;
  readonly namespace?: NamespaceRef;
  readonly accessor?: string;
  readonly signal?: AbortSignal;
}

export function contextFor(made: MadeLeases, ask: Ask = {}): RequestContext {
  const { mount = "m1", namespace = ROOT_NAMESPACE, path = `${mount}/creds/r` } = ask;
  const found = made.mounts.get(mount);
  assert.ok(found !== undefined, mount);
  return {
    ...contextIn(namespace),
    path: CanonicalPath.of(path.split("/")),
    mount: found.ref,
    caller: callerOf(ask.accessor ?? OWNER.accessor),
    signal: ask.signal ?? new AbortController().signal,
  };
}

let made = 0;

/** Makes a secret and its lease. */
export async function issue(
  to: MadeLeases,
  ask: Ask & Partial<LeaseOffer> = {},
): Promise<Leased & { readonly warnings: readonly string[]; readonly name: string }> {
  const name = ask.name ?? `secret-${++made}`;
  const { ttl = null, maxTtl = null, renewable = true, settles = [], secretType = "name" } = ask;
  to.provider.alive.add(name);
  const internal = { name };
  const offer = { secretType, internal, ttl, maxTtl, renewable, settles };
  const { leased, warnings } = await to.leases.issue(offer, contextFor(to, ask));
  return { ...leased, warnings, name };
}

export async function noteWriteAhead({ barrier }: MadeBarrier, id: string, mount = "m1") {
  const key = writeAheadKey("root", mount, id);
  await barrier.view("local/").write((tx) => tx.put(key, new Uint8Array(1), bytesCodec));
}

/** Time passes in steps, each with turns for what it sets off. */
export async function pass({ world }: MadeBarrier, length: Nanos, step: Nanos = length) {
  for (let left = length; left > 0n; left -= step) {
    await world.timers.advance(left < step ? left : step);
    for (let i = 0; i < 30; i++) await nextTurn();
  }
}

export function isThere({ leases }: MadeLeases, id: string, namespace = ROOT_NAMESPACE): boolean {
  try {
    leases.lookup(namespace, id);
    return true;
  } catch (error) {
    assert.ok(error instanceof Failure && error.code === "lease-invalid", String(error));
    return false;
  }
}

/** For assert.rejects: a Failure with exactly this text. */
export function refused(says: string | RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Failure, String(error));
    if (typeof says === "string") assert.equal(error.message, says);
    else assert.match(error.message, says);
    return true;
  };
}

export const queue = { sync: false, signal: new AbortController().signal };
export const now = { sync: true, signal: new AbortController().signal };

function callerOf(accessor: string): Caller {
  return {
    accessor,
    type: "client",
    name: "",
    policies: [],
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
  };
}
