// Who is who at the cluster port: a replication set of one kind has a name in TLS, a member of it one in its certificate.

import { isUuid } from "@holdfast/shared/text/uuid";

export type ReplicationKind = "dr" | "performance";

/** A replication set, as one kind of replication has it. */
export interface SetName {
  readonly set: string;
  readonly kind: ReplicationKind;
}

/** As it is found at a port. */
export interface PortName extends SetName {
  /** Members of it tell each other there who leads, by their own certificates; without it its primary serves. */
  readonly beside?: true;
}

/** As it is dialled. */
export interface DialledName extends PortName {
  /** Of a member: those certificates of the set that it may show, by their serials. Who was revoked has one of the set too. */
  readonly serials?: readonly string[];
  /** The digests of those in the same order, empty where one is not known: who signs certificates chooses their serials. */
  readonly digests?: readonly string[];
}

export interface MemberName extends SetName {
  /** The id that its activation token was made for. */
  readonly id: string;
}

const SET = /^[0-9a-f-]{1,63}$/; // an id of ours, and a label of a name
const SERIAL = /^[1-9a-f][0-9a-f]{0,39}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const REGION = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const ID = /^\w(?:[\w.-]{0,62}\w)?$/; // what fits into the common name of a certificate

export function isSetId(text: string): boolean {
  return SET.test(text) && !text.startsWith("-") && !text.endsWith("-");
}

export function isMemberId(text: string): boolean {
  return ID.test(text);
}

/** As every cluster makes its own: in one form, so that no two texts are one cluster. */
export function isClusterId(text: string): boolean {
  return isUuid(text) && text === text.toLowerCase();
}

/** As configurations name regions. */
export function isRegionName(text: string): boolean {
  return REGION.test(text);
}

/** Of a certificate, as it is compared. */
export function isSerial(text: string): boolean {
  return SERIAL.test(text);
}

/** SHA-256 of a certificate, as it is compared. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** The name that a client asks for in its first message: it selects certificate and authority. */
export function hostOf({ set, kind, beside }: PortName): string {
  return `${beside === true ? "beside." : ""}${kind}.${set}.repl`;
}

export function uriOf({ set, kind, id }: MemberName): string {
  return `holdfast://${set}/${kind}/${id}`;
}
