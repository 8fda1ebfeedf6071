// Signature version 4, as the provider checks it: recomputed from what arrived, against the keys that
// exist. Without it a test of a rotation would prove nothing.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Account, Session, User } from "./account/account.ts";
import { ApiError, type Service } from "./wire.ts";

export interface SignedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly service: Service;
}

/** Who has signed. */
export interface Caller {
  readonly accessKeyId: string;
  readonly region: string;
  readonly user: User | null;
  readonly session: Session | null;
}

export interface Scope {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]{16,128})\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;
const REGION = /^[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}$/;
const SKEW = 300_000;

/** Of the header alone: for the log of calls, also of those that are refused. */
export function scopeOf(headers: IncomingHttpHeaders): Scope | null {
  const match = AUTHORIZATION.exec(headers.authorization ?? "");
  if (match === null) return null;
  const [, accessKeyId = "", date = "", region = "", service = "", names = "", signature = ""] =
    match;
  return { accessKeyId, date, region, service, signedHeaders: names.split(";"), signature };
}

export function verifySignature(request: SignedRequest, account: Account): Caller {
  const { headers } = request;
  if (headers.authorization === undefined) {
    throw new ApiError(
      403,
      "MissingAuthenticationToken",
      "Request is missing Authentication Token",
    );
  }
  const scope = scopeOf(headers);
  if (scope === null) {
    const said = "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature'.";
    throw new ApiError(400, "IncompleteSignature", said);
  }
  checkScope(scope, request, account);
  const token = headers["x-amz-security-token"];
  const { secret, caller } = credentialsOf(
    scope,
    typeof token === "string" ? token : null,
    account,
  );
  if (!isSignedBy(secret, scope, request)) throw signatureMismatch();
  return caller;
}

function checkScope(scope: Scope, request: SignedRequest, account: Account): void {
  const mismatch = (said: string) => new ApiError(403, "SignatureDoesNotMatch", said);
  if (scope.service !== request.service) {
    throw mismatch(`Credential should be scoped to correct service: '${request.service}'.`);
  }
  if (!REGION.test(scope.region)) throw mismatch("Credential should be scoped to a valid region.");
  const stamp = String(request.headers["x-amz-date"] ?? "");
  if (!stamp.startsWith(`${scope.date}T`)) {
    throw mismatch(
      `Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date`,
    );
  }
  const signedAt = Date.parse(
    stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
  if (!account.settings.signingClocks().some((now) => Math.abs(now - signedAt) <= SKEW)) {
    throw mismatch(`Signature expired: ${stamp} is not within 5 min. of the server's time.`);
  }
  for (const name of ["host", "x-amz-date"]) {
    if (!scope.signedHeaders.includes(name)) {
      throw mismatch(`'${name}' must be a 'SignedHeader' in the AWS Authorization.`);
    }
  }
}

function credentialsOf(
  scope: Scope,
  token: string | null,
  account: Account,
): { readonly secret: string; readonly caller: Caller } {
  const common = { accessKeyId: scope.accessKeyId, region: scope.region };
  const session = account.sessions.get(scope.accessKeyId);
  if (session !== undefined) {
    if (token !== session.token) throw unknownKey();
    if (session.expiresAt <= account.now()) {
      throw new ApiError(
        403,
        "ExpiredToken",
        "The security token included in the request is expired",
      );
    }
    const user = session.kind === "session" ? (account.users.get(session.name) ?? null) : null;
    return { secret: session.key.secret, caller: { ...common, user, session } };
  }
  const owner = account.keyOwner(scope.accessKeyId);
  if (owner === null || owner.key.status !== "Active" || token !== null) throw unknownKey();
  owner.key.lastUsedAt = account.now();
  return { secret: owner.key.secret, caller: { ...common, user: owner.user, session: null } };
}

function unknownKey(): ApiError {
  const said = "The security token included in the request is invalid.";
  return new ApiError(403, "InvalidClientTokenId", said);
}

function signatureMismatch(): ApiError {
  const said =
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";
  return new ApiError(403, "SignatureDoesNotMatch", said);
}

function isSignedBy(secret: string, scope: Scope, request: SignedRequest): boolean {
  const [path = "/", query = ""] = request.url.split("?");
  const canonical = [
    request.method,
    path,
    query.split("&").sort().join("&"),
    ...scope.signedHeaders.map(
      (name) =>
        `${name}:${String(request.headers[name] ?? "")
          .replaceAll(/\s+/g, " ")
          .trim()}`,
    ),
    "",
    scope.signedHeaders.join(";"),
    sha256(request.body),
  ].join("\n");
  const place = `${scope.date}/${scope.region}/${scope.service}/aws4_request`;
  const stamp = String(request.headers["x-amz-date"]);
  const toSign = ["AWS4-HMAC-SHA256", stamp, place, sha256(canonical)].join("\n");
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const part of [scope.date, scope.region, scope.service, "aws4_request"])
    key = hmac(key, part);
  return timingSafeEqual(hmac(key, toSign), Buffer.from(scope.signature, "hex"));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
