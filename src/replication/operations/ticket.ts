// Operator tickets: what a primary says somebody may do on its secondaries for a while. A secondary knows no policies,
// so a ticket names the operations themselves. It is authentic by a MAC under a key that all clusters of a set can
// derive, and nobody else. Pure.

import { createHmac, type KeyObject } from "node:crypto";
import { fromBase64Url, text as textOf, utf8 } from "@holdfast/shared/bytes";
import { DR_OPERATIONS, type DrOperation } from "@holdfast/shared/endpoint/access";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { sameBytes } from "../../base/same-bytes.ts";
import { deriveKey } from "../../crypto/aead.ts";

const PREFIX = "hfot1.";
const PURPOSE = "holdfast operator ticket 1";
const KIND = "dr";
/** Characters; one with all operations has fewer than six hundred. */
const MAX_TEXT = 2048;
/** Clocks of two clusters differ; whoever is behind takes it all the same. */
const LEEWAY: Nanos = 60n * SECOND;

export interface Ticket {
  readonly id: string;
  /** The replication set that it is good in. */
  readonly set: string;
  /** Of the set, when it was made. */
  readonly epoch: number;
  readonly operations: readonly DrOperation[];
  readonly notBefore: Instant;
  readonly expires: Instant;
}

export function isTicket(text: string): boolean {
  return text.startsWith(PREFIX);
}

export function ticketText(rootKey: KeyObject, ticket: Ticket): string {
  const { id, set, epoch, operations, notBefore, expires } = ticket;
  const claims = {
    kind: KIND,
    set,
    epoch,
    operations,
    nbf: Number(notBefore / SECOND),
    exp: Number(expires / SECOND),
    jti: id,
  };
  const body = base64url(utf8(JSON.stringify(claims)));
  return `${PREFIX}${body}.${base64url(macOf(rootKey, body))}`;
}

/** What it says; null where it was not made in a cluster with this root key. */
export function readTicket(rootKey: KeyObject, text: string): Ticket | null {
  if (!isTicket(text) || text.length > MAX_TEXT) return null;
  const [body = "", mac = "", ...more] = text.slice(PREFIX.length).split(".");
  if (more.length > 0 || !sameBytes(utf8(mac), utf8(base64url(macOf(rootKey, body))))) return null;
  return ticketOf(claimsOf(body));
}

/** Why it is not good for that, here and now; null where it is. Whether it was spent is not known here. */
export function whyNot(
  ticket: Ticket,
  { set, operation, now }: { readonly set: string; operation: DrOperation; now: Instant },
): string | null {
  const { notBefore, expires, operations } = ticket;
  if (ticket.set !== set) return "this ticket is of another replication set";
  if (now >= expires) return "this ticket has ended; make another on the primary";
  if (notBefore > now + LEEWAY) {
    return "this ticket is not good yet by the clock of this server: set the clocks of both right";
  }
  if (operations.includes(operation)) return null;
  return `this ticket is for ${operations.join(", ")} and not for ${operation}; make another on the primary`;
}

function macOf(rootKey: KeyObject, body: string): Uint8Array {
  return createHmac("sha256", deriveKey(rootKey, PURPOSE)).update(body).digest();
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

function claimsOf(body: string): JsonValue {
  const bytes = fromBase64Url(body);
  try {
    return bytes === null ? null : (JSON.parse(textOf(bytes)) as JsonValue);
  } catch {
    return null;
  }
}

/** We have made it, but maybe another version of us. */
function ticketOf(claims: JsonValue): Ticket | null {
  if (!isObject(claims)) return null;
  const { kind, set, epoch, operations, nbf, exp, jti } = claims;
  if (typeof epoch !== "number" || !Number.isSafeInteger(epoch) || epoch < 1) return null;
  if (kind !== KIND || typeof set !== "string" || !Array.isArray(operations)) return null;
  if (!isSeconds(nbf) || !isSeconds(exp) || typeof jti !== "string" || !isUuid(jti)) return null;
  return {
    id: jti,
    set,
    epoch,
    operations: DR_OPERATIONS.filter((known) => operations.includes(known)),
    notBefore: BigInt(nbf) * SECOND,
    expires: BigInt(exp) * SECOND,
  };
}

function isSeconds(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
