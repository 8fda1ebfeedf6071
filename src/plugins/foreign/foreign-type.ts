// The type of engine that a plugin of the catalog is. Nothing that speaks to processes is loaded before a mount of it is opened.

import type {
  EngineNeeds,
  EngineType,
  LeaseFacts,
  RunningProgram,
  SortedPaths,
} from "@holdfast/plugin-sdk/engine";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import type { Nanos } from "@holdfast/shared/world";
import { passes } from "../passing.ts";
import type { OwnPlugin } from "../ports.ts";
import { SETS } from "./api.ts";
import type { ForeignMount } from "./foreign-mount.ts";
import { SpecialPaths } from "./special-paths.ts";

/** The one kind of secret that plugins of others have: what it is stands in what it comes with. */
export const PLUGIN_SECRET = "plugin";

export interface ForeignTypeOptions {
  readonly kind: "auth" | "secret";
  readonly name: string;
  /** `tell`: what our own SDK says of it, as soon as it is known. */
  readonly open: (
    needs: EngineNeeds,
    tell: (own: OwnPlugin | null) => void,
  ) => Promise<ForeignMount>;
}

type Type = EngineType<ForeignMount>;
type Own = keyof OwnPlugin["type"];

const OWN: readonly Own[] = [
  "abandoned",
  "concerns",
  "described",
  "invalidate",
  "jobDeadline",
  "lead",
  "leave",
  "mayChangeOptions",
  "metrics",
  "minUndoAge",
  "periodic",
  "renewLogin",
  "rest",
  "secrets",
  "takeUse",
  "undo",
];

export function foreignType({ kind, name, open }: ForeignTypeOptions): Type {
  const type: { -readonly [K in keyof Type]: Type[K] } = {
    type: name,
    kind,
    summary: `Plugin ${name}`,
    version: "",
    paths: () => SETS[kind].ordinary,
    checkOptions: (options) => options,
    canChangeOptions: () => null,
    open: (needs) => open(needs, (own) => describe(type, others, own)),
    begin: (mount) => mount.begin(),
    sorts: (mount) => sortsOf(kind, mount),
    closed: {
      keep: (mount) => mount.special.toJson(),
      sorts: (kept) => sorted(kind, () => SpecialPaths.fromJson(kept)),
    },
    running: (mount): RunningProgram => mount.running,
    trouble: (mount) => mount.trouble,
    triesAgain: passes,
    lead: (mount) => mount.lead(),
    close: (mount) => mount.close(),
    ...othersOf(kind),
  };
  const others = othersOf(kind);
  return type;
}

/** What it does where our own SDK says nothing. */
function othersOf(kind: "auth" | "secret"): Partial<Type> {
  return {
    described: (mount) => mount.described(),
    secrets: { [PLUGIN_SECRET]: secretType },
    periodic: (mount, signal) => mount.rollBack(false, signal),
    leave: (mount, signal) => mount.rollBack(true, signal),
    invalidate: (mount, keys) => mount.invalidate(keys),
    ...(kind === "auth"
      ? { renewLogin: (mount, owner, request) => mount.renewLogin(owner, request) }
      : {}),
  };
}

const secretType = {
  renew: (mount: ForeignMount, lease: LeaseFacts, increment: Nanos | null) =>
    mount.renew(lease, increment),
  revoke: (mount: ForeignMount, lease: LeaseFacts, signal: AbortSignal) =>
    mount.revoke(lease, signal),
};

function describe(
  type: { -readonly [K in keyof Type]: Type[K] },
  others: Partial<Type>,
  own: OwnPlugin | null,
): void {
  const from: Partial<Type> = own === null ? others : own.type;
  const { lead } = from;
  type.lead = (mount, leading) => {
    mount.lead();
    lead?.(mount, leading);
  };
  for (const key of OWN) {
    if (key === "lead") continue;
    delete type[key];
    const value = from[key];
    if (value !== undefined) Object.assign(type, { [key]: value });
  }
}

function sortsOf(kind: "auth" | "secret", mount: ForeignMount): SortedPaths<ForeignMount> {
  const { own } = mount;
  return own === null ? sorted(kind, () => mount.special) : ownPaths(own);
}

function sorted(kind: "auth" | "secret", special: () => SpecialPaths): SortedPaths<ForeignMount> {
  return { sets: SETS[kind], sort: (path) => special().sort(path) };
}

const kept = new WeakMap<OwnPlugin, SortedPaths<ForeignMount>>();

function ownPaths(own: OwnPlugin): SortedPaths<ForeignMount> {
  let paths = kept.get(own);
  if (paths === undefined) {
    // A ForeignMount is what they are told of it, and more.
    const endpoints = own.endpoints as unknown as readonly Endpoint<ForeignMount>[];
    paths = { sets: { own: endpoints }, sort: () => "own" };
    kept.set(own, paths);
  }
  return paths;
}
