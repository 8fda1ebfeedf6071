// Wrapping tokens in the form of a JWT: a compact JWS, ES512. Whoever gets one reads in it
// where it can be unwrapped; the secret is a claim of its own, and `jti` no more than a reference.

import { fromBase64Url, text, utf8 } from "@holdfast/shared/bytes";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";

/** The only header there is: no token chooses its own algorithm. */
const HEADER = encode({ alg: "ES512", typ: "JWT" });
const TYPE = "wrapping";
const EARLIER: Nanos = 5n * SECOND; // clocks of others may be a little behind

export interface WrappingClaims {
  /** API address of the cluster that unwraps it; may be empty. */
  readonly address: string;
  /** Path of the namespace that it is unwrapped in; empty for root. */
  readonly namespace: string;
  readonly accessor: string;
  /** A random name. */
  readonly reference: string;
  readonly secret: string;
  readonly issued: Instant;
  readonly expires: Instant;
}

/** What was read of a token that nobody has verified yet. */
export interface ClaimedSecret {
  readonly secret: string;
  readonly accessor: string;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly notBefore: number;
  readonly signed: string;
  readonly signature: Buffer;
}

export async function signedClaims(
  claims: WrappingClaims,
  sign: (signed: string) => Promise<Buffer>,
): Promise<string> {
  const { address, namespace, accessor, reference, secret, issued, expires } = claims;
  const payload = encode({
    accessor,
    addr: address,
    exp: seconds(expires),
    iat: seconds(issued),
    jti: reference,
    nbf: seconds(issued - EARLIER),
    ns: namespace,
    st: secret,
    type: TYPE,
  });
  const signed = `${HEADER}.${payload}`;
  return `${signed}.${(await sign(signed)).toString("base64url")}`;
}

/** Null for what does not look like one of ours. */
export function claimedSecret(credential: string): ClaimedSecret | null {
  if (!credential.startsWith(`${HEADER}.`)) return null;
  const [, payload = "", end, ...more] = credential.split(".");
  if (end === undefined || more.length > 0) return null;
  const signature = fromBase64Url(end); // in one spelling, or one token had several
  if (signature === null) return null;
  const claims = decode(payload);
  if (claims === null || claims["type"] !== TYPE) return null;
  const { st: secret, accessor, exp: expires, nbf: notBefore } = claims;
  if (typeof secret !== "string" || typeof accessor !== "string") return null;
  if (typeof expires !== "number" || typeof notBefore !== "number") return null;
  return {
    secret,
    accessor,
    expires,
    notBefore,
    signed: `${HEADER}.${payload}`,
    signature,
  };
}

/** To the second: the token that it is the form of ends at the instant. */
export function isCurrent({ expires, notBefore }: ClaimedSecret, now: Instant): boolean {
  const at = seconds(now);
  return notBefore <= at && at <= expires;
}

function encode(value: object): string {
  return utf8(JSON.stringify(value)).toString("base64url");
}

function decode(part: string): Readonly<Record<string, unknown>> | null {
  const bytes = fromBase64Url(part);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(text(bytes));
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function seconds(instant: Instant): number {
  return Number(instant / SECOND);
}
