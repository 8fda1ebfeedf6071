// What a handler answers, or throws, as it goes over the wire.

import { describe, Failure, type FailureKind } from "@holdfast/shared/failure";
import { JSON_TYPE, TextBody } from "@holdfast/shared/endpoint/output";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import type { LeaseOffer, LoginOffer } from "@holdfast/shared/endpoint/lease";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineType, ReceiptFacts, Renewal } from "../engine.ts";
import { isPermanent } from "../failure.ts";
import {
  ErrorType,
  type ProtoError,
  RAW_BODY,
  type WireAuth,
  type WireResponse,
  type WireSecret,
} from "../wire/backend-messages.ts";
import { NO_TIME } from "../wire/known-types.ts";
import type { ResponseExtras } from "../wire/own-extras.ts";
import { mapOf } from "../wire/own-caller.ts";
import { failureToWire } from "../wire/own-failure.ts";
import { FoundOtherwise } from "./routed-engine.ts";
import { noSuchAnswer } from "./failures.ts";

/** What is kept with a lease: which kind of secret it is, and what that needs. */
export interface KeptWithLease {
  readonly secret_type: string;
  readonly internal: JsonObject;
}

const NO_EXTRAS: ResponseExtras = {
  status: 0,
  hasNothing: false,
  index: null,
  lease: null,
  login: null,
  requestIds: [],
  renewal: null,
  leased: null,
};

const NO_RESPONSE: WireResponse = {
  secret: null,
  auth: null,
  data: "",
  redirect: "",
  warnings: [],
  wrapInfo: null,
  headers: new Map(),
  mountType: "",
  own: NO_EXTRAS,
};

export function responseOf<E>(reply: Reply, type: EngineType<E>): WireResponse {
  const { data, lease, login } = reply;
  if (data instanceof StreamBody) throw noSuchAnswer();
  return {
    ...NO_RESPONSE,
    data: data === undefined ? "" : dataOf(data),
    warnings: reply.warnings,
    headers: new Map(
      Object.entries(reply.headers).map(([name, value]) => [name, { header: [value] }]),
    ),
    secret: lease === null ? null : secretOf(lease),
    auth: login === null ? null : authOf(login),
    own: {
      ...NO_EXTRAS,
      status: reply.status ?? 0,
      hasNothing: data === undefined,
      index: reply.index,
      leased: reply.leased,
      lease: lease === null ? null : leaseExtras(lease, type),
      login: login === null ? null : loginExtras(login),
    },
  };
}

function dataOf(data: NonNullable<Exclude<Reply["data"], StreamBody>>): string {
  if (!(data instanceof TextBody)) return JSON.stringify(data);
  if (data.contentType === JSON_TYPE) return data.text;
  return JSON.stringify({
    [RAW_BODY.contentType]: data.contentType,
    [RAW_BODY.status]: 200,
    [RAW_BODY.body]: data.text,
  });
}

function secretOf({ ttl, maxTtl, renewable = true, secretType, internal }: LeaseOffer): WireSecret {
  const kept: KeptWithLease = { secret_type: secretType, internal };
  return secretWith(JSON.stringify(kept), { ttl, maxTtl, renewable });
}

interface Times {
  readonly ttl?: Nanos | null | undefined;
  readonly maxTtl?: Nanos | null | undefined;
  readonly renewable?: boolean | undefined;
}

function secretWith(internalData: string, { ttl, maxTtl, renewable = true }: Times): WireSecret {
  return {
    leaseOptions: {
      ttl: ttl ?? 0n,
      renewable,
      increment: 0n,
      issueTime: NO_TIME,
      maxTtl: maxTtl ?? 0n,
    },
    internalData,
    leaseId: "",
  };
}

function leaseExtras<E>(offer: LeaseOffer, type: EngineType<E>): ResponseExtras["lease"] {
  const { secretType, internal, needsOneOf, settles = [] } = offer;
  return {
    secretType,
    needsOneOf: needsOneOf === undefined ? null : { keys: needsOneOf },
    settles,
    receipt: receiptOf(type, secretType, internal),
  };
}

/** By what is kept with the lease. */
function receiptOf<E>(type: EngineType<E>, secretType: string, internal: JsonObject) {
  const facts = factsOf(type, secretType, internal);
  if (facts === undefined) return null;
  const { role = "", objects = [], goodUntil = null } = facts;
  return { role, objects, goodUntil };
}

/** That there is a lease counts for more than what its receipt will say. */
function factsOf<E>(
  type: EngineType<E>,
  secretType: string,
  internal: JsonObject,
): ReceiptFacts | undefined {
  const lease = { leaseId: "", internal, issued: 0n, expires: 0n };
  try {
    return type.secrets?.[secretType]?.receipt?.(lease);
  } catch {
    return undefined;
  }
}

function authOf(login: LoginOffer): WireAuth {
  return {
    leaseOptions: {
      ttl: login.ttl ?? 0n,
      renewable: true,
      increment: 0n,
      issueTime: NO_TIME,
      maxTtl: login.maxTtl ?? 0n,
    },
    internalData: "{}",
    displayName: login.displayName,
    policies: login.policies,
    metadata: mapOf(login.metadata ?? {}),
    clientToken: "",
    accessor: "",
    period: login.period ?? 0n,
    numUses: BigInt(login.uses ?? 0),
    entityId: "",
    alias: {
      mountType: "",
      mountAccessor: "",
      name: login.identity ?? login.displayName,
      metadata: new Map(),
      id: "",
      namespaceId: "",
      customMetadata: new Map(),
      local: false,
      externalId: "",
      issuer: "",
    },
    groupAliases: [],
    boundCidrs: login.boundTo ?? [],
    tokenPolicies: [],
    identityPolicies: [],
    explicitMaxTtl: 0n,
    tokenType: 0,
    noDefaultPolicy: login.withoutDefaultPolicy ?? false,
  };
}

function loginExtras(login: LoginOffer): ResponseExtras["login"] {
  return {
    identity: login.identity ?? null,
    notes: mapOf(login.notes ?? {}),
    owner: login.owner === undefined ? null : { metadata: mapOf(login.owner) },
    global: login.global ?? false,
  };
}

export function renewedOf<E>(
  type: EngineType<E>,
  before: KeptWithLease,
  renewal: Renewal,
): WireResponse {
  const { internal = before.internal, ttl, maxTtl, renewable } = renewal;
  const kept: KeptWithLease = { secret_type: before.secret_type, internal };
  const receipt = receiptOf(type, before.secret_type, internal);
  return {
    ...NO_RESPONSE,
    secret: secretWith(JSON.stringify(kept), { ttl, maxTtl, renewable }),
    own: {
      ...NO_EXTRAS,
      hasNothing: true,
      lease: { secretType: before.secret_type, needsOneOf: null, settles: [], receipt },
      renewal: { ttl: ttl ?? null, maxTtl: maxTtl ?? null },
    },
  };
}

export function revokedOf(requestIds: readonly string[]): WireResponse {
  return { ...NO_RESPONSE, own: { ...NO_EXTRAS, hasNothing: true, requestIds } };
}

const CODES: Readonly<Record<FailureKind, number>> = {
  invalid: 400,
  denied: 403,
  "not-found": 404,
  conflict: 409,
  "too-large": 413,
  sealed: 503,
  uninitialised: 503,
  unavailable: 503,
  damaged: 500,
  unsupported: 405,
  "media-type": 415,
  "headers-too-large": 431,
  misdirected: 421,
  "rate-limited": 429,
  behind: 412,
  late: 408,
  "timed-out": 504,
  looping: 508,
  upstream: 502,
  internal: 500,
};

/** What is no Failure may quote anything: the log of the plugin has where it came from. */
export function errorOf(error: unknown, log: Log): ProtoError {
  if (error instanceof FoundOtherwise) {
    return {
      type: ErrorType.coded,
      message: error.message,
      code: 409n,
      own: { failure: null, found: error.found },
    };
  }
  if (!(error instanceof Failure)) log.error("a request failed", { cause: describe(error) });
  const failure = failureToWire(error);
  const kind = error instanceof Failure ? error.kind : "internal";
  const type = isPermanent(error)
    ? ErrorType.unrecoverable
    : kind === "unsupported"
      ? ErrorType.unsupportedOperation
      : ErrorType.coded;
  return {
    type,
    message: failure.texts[0] ?? failure.message,
    code: BigInt(CODES[kind]),
    own: { failure, found: null },
  };
}
