// A caller as it is vouched for, on its way to another cluster and there.

import type { Caller, Origin } from "@holdfast/shared/endpoint/request";
import type { AttestedCaller } from "../core/incoming.ts";
import type { Pair, SentCaller } from "./messages.ts";

export function sentCaller({
  accessor,
  name,
  policies,
  namespace,
  created,
  expires,
  withoutDefault,
  origin,
  terms,
}: Caller): SentCaller {
  return {
    accessor,
    name,
    policies,
    namespaceId: namespace.id,
    namespacePath: namespace.path,
    created,
    expires: expires ?? 0n,
    isWithoutDefault: withoutDefault === true,
    origin: origin === undefined ? null : sentOrigin(origin),
    terms:
      terms === undefined
        ? null
        : {
            period: terms.period ?? 0n,
            longest: terms.longest ?? 0n,
            path: terms.path,
            usesLeft: BigInt(terms.usesLeft ?? 0),
          },
  };
}

export function attestedBy({
  accessor,
  name,
  policies,
  namespaceId,
  namespacePath,
  created,
  expires,
  isWithoutDefault,
  origin,
  terms,
}: SentCaller): AttestedCaller {
  return {
    accessor,
    name,
    policies,
    namespace: { id: namespaceId, path: namespacePath },
    created,
    expires: expires === 0n ? null : expires,
    withoutDefault: isWithoutDefault,
    origin: origin === null ? undefined : originFrom(origin),
    terms:
      terms === null
        ? undefined
        : {
            period: terms.period === 0n ? null : terms.period,
            longest: terms.longest === 0n ? null : terms.longest,
            path: terms.path,
            usesLeft: terms.usesLeft === 0n ? null : Number(terms.usesLeft),
          },
  };
}

type SentOrigin = NonNullable<SentCaller["origin"]>;

function sentOrigin({
  namespaceId,
  mount,
  login,
  name,
  metadata,
  owner,
  first,
}: Origin): SentOrigin {
  return {
    namespaceId,
    mount: mount ?? "",
    login,
    name,
    metadata: pairsOf(metadata),
    owner: pairsOf(owner ?? {}),
    hasOwner: owner !== undefined,
    first: first ?? "",
  };
}

function originFrom({
  namespaceId,
  mount,
  login,
  name,
  metadata,
  owner,
  hasOwner,
  first,
}: SentOrigin): Origin {
  return {
    namespaceId,
    mount: mount === "" ? null : mount,
    login,
    name,
    metadata: valuesOf(metadata),
    owner: hasOwner ? valuesOf(owner) : undefined,
    first: first === "" ? undefined : first,
  };
}

export function pairsOf(values: Readonly<Record<string, string>>): Pair[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** Names that objects have by themselves are as others here. */
export function valuesOf(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
