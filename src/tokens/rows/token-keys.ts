// The keys of what is stored for a token. What they are for is told at the head of token-rows.ts.

import type { Instant } from "@holdfast/shared/world";
import type { Origin } from "@holdfast/shared/endpoint/request";
import type { Token } from "../token.ts";

/** Where the record of a token lies. */
export interface TokenPlace {
  readonly namespaceId: string;
  readonly accessor: string;
  readonly global: boolean;
}

/** The same without the class, in which no two records differ. */
export type RecordPlace = Omit<TokenPlace, "global">;

/** Of a token that came through a login. */
export type LoginOrigin = Origin & { readonly mount: string };

export function cameByLogin({ origin }: Pick<Token, "origin">): LoginOrigin | null {
  if (origin === undefined || origin.mount === null) return null;
  return { ...origin, mount: origin.mount };
}

/** A place in the order of time. */
export interface TimedPlace {
  readonly place: TokenPlace;
  readonly expires: Instant;
}

export const HASHES = "tokens/by-hash/";
export const EXPIRIES = "tokens/by-expiry/";
export const ENDED = "tokens/ended/";
export const CHILDREN = "tokens/children/";
export const DESCENTS = "tokens/descents/";
export const LOGINS = "tokens/by-login/";
export const UNENDING = "tokens/unending/";

const DIGITS = 20; // of the largest 64-bit number
/** Sorts behind every expiry. */
const NEVER = "never";

/** Below its class. */
export function recordsOf(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/by-accessor/`;
}

export function recordKey({ namespaceId, accessor }: RecordPlace): string {
  return recordsOf(namespaceId) + accessor;
}

export function recordPlace(key: string): RecordPlace {
  const [, namespaceId = ""] = key.split("/", 2);
  return { namespaceId, accessor: key.slice(key.lastIndexOf("/") + 1) };
}

export function creationOf(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/by-creation/`;
}

/** Of a token, without its class: where a page that begins with it begins. */
export function creationStart(namespaceId: string, index: bigint, accessor: string): string {
  return `${creationOf(namespaceId)}${digits(index)}/${accessor}`;
}

export function creationKey(token: Token): string {
  const { namespaceId, createIndex, accessor, global } = token;
  return `${creationStart(namespaceId, createIndex, accessor)}/${className(global)}`;
}

/** The CreateIndex in the key. */
export function createdAt(namespaceId: string, key: string): bigint {
  const from = creationOf(namespaceId).length;
  return BigInt(key.slice(from, from + DIGITS));
}

export function createdPlace(namespaceId: string, key: string): TokenPlace {
  const [, accessor = "", owner] = key.slice(creationOf(namespaceId).length).split("/");
  return { namespaceId, accessor, global: owner === className(true) };
}

export function timedKey(folder: string, { place, expires }: TimedPlace): string {
  const { namespaceId, accessor, global } = place;
  return `${folder}${digits(expires)}/${namespaceId}/${accessor}/${className(global)}`;
}

export function timedPlace(folder: string, key: string): TimedPlace {
  const parts = key.slice(folder.length).split("/");
  const [expires = "0", namespaceId = "", accessor = "", owner] = parts;
  const place = { namespaceId, accessor, global: owner === className(true) };
  return { place, expires: BigInt(expires) };
}

export function childrenOf({ namespaceId, accessor }: RecordPlace): string {
  return `${CHILDREN}${namespaceId}/${accessor}/`;
}

export function childKey(parent: RecordPlace, child: TokenPlace): string {
  const { namespaceId, accessor, global } = child;
  return `${childrenOf(parent)}${namespaceId}/${accessor}/${className(global)}`;
}

export function childPlace(parent: RecordPlace, key: string): TokenPlace {
  const [namespaceId = "", accessor = "", owner] = key.slice(childrenOf(parent).length).split("/");
  return { namespaceId, accessor, global: owner === className(true) };
}

/** Of what came through a login at this path of a mount, and below it. In lower case: names are looked up
 *  without regard to it. */
export function loginsBelow({ mount, login }: Pick<LoginOrigin, "mount" | "login">): string {
  return `${LOGINS}${mount}/${login === "" ? "" : `${login.toLowerCase()}/`}`;
}

export function loginKey(origin: LoginOrigin, place: TokenPlace): string {
  const { namespaceId, accessor, global } = place;
  return `${loginsBelow(origin)}${namespaceId}/${accessor}/${className(global)}`;
}

export function loginPlace(key: string): TokenPlace {
  const [namespaceId = "", accessor = "", owner] = key.split("/").slice(-3);
  return { namespaceId, accessor, global: owner === className(true) };
}

/** Of a token that is over while its children are not. */
export function descentKey({ namespaceId, accessor }: RecordPlace): string {
  return `${DESCENTS}${namespaceId}/${accessor}`;
}

export function descentParent(key: string): RecordPlace {
  const [namespaceId = "", accessor = ""] = key.slice(DESCENTS.length).split("/");
  return { namespaceId, accessor };
}

/** The last of them is the one that is valid for longest. */
export function managementOf(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/management/`;
}

export function managementKey({ namespaceId, accessor, expires }: Token): string {
  const until = expires === null ? NEVER : digits(expires);
  return `${managementOf(namespaceId)}${until}/${accessor}`;
}

/** Null for never. */
export function managedUntil(namespaceId: string, key: string): Instant | null {
  const [until = ""] = key.slice(managementOf(namespaceId).length).split("/");
  return until === NEVER ? null : BigInt(until);
}

/** Of management tokens that never end, in all namespaces. */
export function unendingKey({ namespaceId, accessor, global }: TokenPlace): string {
  return `${UNENDING}${namespaceId}/${accessor}/${className(global)}`;
}

export function unendingPlace(key: string): TokenPlace {
  const [namespaceId = "", accessor = "", owner] = key.slice(UNENDING.length).split("/");
  return { namespaceId, accessor, global: owner === className(true) };
}

export function tableKey(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/table`;
}

/** What CreateIndex and ModifyIndex are in this cluster, of records that another one has written. */
export function indexesOf(namespaceId: string): string {
  return `ns/${namespaceId}/tokens/indexes/`;
}

export function indexesKey({ namespaceId, accessor }: RecordPlace): string {
  return indexesOf(namespaceId) + accessor;
}

function className(global: boolean): "global" | "local" {
  return global ? "global" : "local";
}

/** Of one length, so that their order as text is that of the numbers. */
export function digits(value: bigint): string {
  return String(value).padStart(DIGITS, "0");
}
