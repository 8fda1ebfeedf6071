// Who asks, on both sides of the wire.

import type { Caller, NamespaceRef, WrapForm } from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { AddressRanges } from "@holdfast/shared/text/address-ranges";
import type { WireCaller } from "./own-extras.ts";

const WRAP_FORMS: readonly WrapForm[] = ["token", "jwt"];

export function callerToWire(caller: Caller): WireCaller {
  const { origin, terms, wrapping, boundTo } = caller;
  return {
    accessor: caller.accessor,
    type: caller.type,
    name: caller.name,
    policies: caller.policies,
    namespace: caller.namespace,
    global: caller.global,
    created: caller.created,
    expires: caller.expires,
    withoutDefault: caller.withoutDefault ?? false,
    counted: caller.counted ?? false,
    wrapping: wrapping ?? "",
    boundTo: boundTo?.texts ?? [],
    origin:
      origin === undefined
        ? null
        : {
            namespaceId: origin.namespaceId,
            mount: origin.mount,
            login: origin.login,
            name: origin.name,
            metadata: mapOf(origin.metadata),
            owner: origin.owner === undefined ? null : { metadata: mapOf(origin.owner) },
            first: origin.first ?? null,
          },
    terms:
      terms === undefined
        ? null
        : {
            usesLeft: terms.usesLeft === null ? null : BigInt(terms.usesLeft),
            period: terms.period,
            longest: terms.longest,
            path: terms.path,
          },
  };
}

export function callerFromWire(sent: WireCaller): Caller {
  const { origin, terms, boundTo } = sent;
  const wrapping = WRAP_FORMS.find((form) => form === sent.wrapping);
  const ranges = boundTo.length === 0 ? null : AddressRanges.read(boundTo);
  return {
    accessor: sent.accessor,
    type: sent.type === "management" ? "management" : "client",
    name: sent.name,
    policies: sent.policies,
    namespace: namespaceFromWire(sent.namespace),
    global: sent.global,
    created: sent.created,
    expires: sent.expires,
    withoutDefault: sent.withoutDefault,
    counted: sent.counted,
    ...(wrapping === undefined ? {} : { wrapping }),
    ...(ranges === null ? {} : { boundTo: ranges }),
    ...(origin === null
      ? {}
      : {
          origin: {
            namespaceId: origin.namespaceId,
            mount: origin.mount,
            login: origin.login,
            name: origin.name,
            metadata: recordOf(origin.metadata),
            ...(origin.owner === null ? {} : { owner: recordOf(origin.owner.metadata) }),
            ...(origin.first === null ? {} : { first: origin.first }),
          },
        }),
    ...(terms === null
      ? {}
      : {
          terms: {
            usesLeft: terms.usesLeft === null ? null : Number(terms.usesLeft),
            period: terms.period,
            longest: terms.longest,
            path: terms.path,
          },
        }),
  };
}

export function namespaceFromWire(sent: NamespaceRef | null): NamespaceRef {
  return sent === null || sent.path === "" ? ROOT_NAMESPACE : sent;
}

export function mapOf(record: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(record));
}

/** With no prototype that a name could reach. */
export function recordOf(map: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  return Object.fromEntries(map);
}
