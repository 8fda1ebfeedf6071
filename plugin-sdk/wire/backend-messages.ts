// A request to an engine in another process, its answer, and why there is none. Numbers from 20,000 on are ours: others
// pass them over.

import {
  bytes,
  flag,
  int32,
  int64,
  list,
  mapOf,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "@holdfast/shared/grpc/message";
import { timestamp } from "./known-types.ts";
import { MANY } from "./limits.ts";
import { errorExtras, requestExtras, responseExtras } from "./own-extras.ts";

const OURS = 20_000;

const header = message({ header: list(text(1), MANY) });
const texts = (number: number) => list(text(number), MANY);
const textMap = (number: number) => mapOf(number, text(2), MANY);

export const protoError = message({
  type: uint32(1),
  message: text(2),
  code: int64(3), // an HTTP status, with the type "coded"
  own: part(OURS, errorExtras),
});
export type ProtoError = MessageOf<typeof protoError>;

export const ErrorType = {
  unknown: 0,
  userError: 1,
  internal: 2,
  coded: 3,
  badRequest: 4,
  unsupportedOperation: 5,
  unsupportedPath: 6,
  invalidRequest: 7,
  permissionDenied: 8,
  approvalPending: 9,
  unrecoverable: 10,
} as const;

/** Lengths are nanoseconds. The time of issue must be there, also where it is NO_TIME. */
const leaseOptions = message({
  ttl: int64(1),
  renewable: flag(2),
  increment: int64(3),
  issueTime: part(4, timestamp),
  maxTtl: int64(5),
});
export type LeaseOptions = MessageOf<typeof leaseOptions>;

/** `internalData` is JSON, and never an empty text. */
const secret = message({
  leaseOptions: part(1, leaseOptions),
  internalData: text(2),
  leaseId: text(3),
});
export type WireSecret = MessageOf<typeof secret>;

export const alias = message({
  mountType: text(1),
  mountAccessor: text(2),
  name: text(3),
  metadata: textMap(4),
  id: text(5),
  namespaceId: text(6),
  customMetadata: textMap(7),
  local: flag(8),
  externalId: text(9),
  issuer: text(10),
});
export type Alias = MessageOf<typeof alias>;

export const entity = message({
  id: text(1),
  name: text(2),
  aliases: list(part(3, alias), MANY),
  metadata: textMap(4),
  disabled: flag(5),
  namespaceId: text(6),
});

export const group = message({
  id: text(1),
  name: text(2),
  metadata: textMap(3),
  namespaceId: text(4),
});

export const auth = message({
  leaseOptions: part(1, leaseOptions),
  internalData: text(2),
  displayName: text(3),
  policies: texts(4),
  metadata: textMap(5),
  clientToken: text(6),
  accessor: text(7),
  period: int64(8),
  numUses: int64(9),
  entityId: text(10),
  alias: part(11, alias),
  groupAliases: list(part(12, alias), MANY),
  boundCidrs: texts(13),
  tokenPolicies: texts(14),
  identityPolicies: texts(15),
  explicitMaxTtl: int64(16),
  tokenType: uint32(17),
  noDefaultPolicy: flag(18),
});
export type WireAuth = MessageOf<typeof auth>;

const chain = message({ certificates: list(part(1, message({ der: bytes(1) })), 64) });

/** Of the caller's connection, for logins by certificate. */
const connectionState = message({
  version: uint32(1),
  handshakeComplete: flag(2),
  didResume: flag(3),
  cipherSuite: uint32(4),
  negotiatedProtocol: text(5),
  negotiatedProtocolIsMutual: flag(6),
  serverName: text(7),
  peerCertificates: part(8, chain),
  verifiedChains: list(part(9, chain), 64),
  signedCertificateTimestamps: list(bytes(10), 64),
  ocspResponse: bytes(11),
  tlsUnique: bytes(12),
});

const connection = message({
  remoteAddress: text(1),
  state: part(2, connectionState),
  remotePort: int32(3),
});

const requestWrapInfo = message({ ttl: int64(1), format: text(2), sealWrap: flag(3) });

export const responseWrapInfo = message({
  ttl: int64(1),
  token: text(2),
  accessor: text(3),
  creationTime: part(4, timestamp),
  wrappedAccessor: text(5),
  wrappedEntityId: text(6),
  format: text(7),
  creationPath: text(8),
  sealWrap: flag(9),
});

export const rotationInfo = message({ rotationId: text(1), next: int64(2), last: int64(3) });

export const request = message({
  id: text(1),
  replicationCluster: text(2),
  /** create, read, update, patch, delete, list, scan, help, alias-lookahead, resolve-role, header, revoke, renew, rollback. */
  operation: text(3),
  /** Without that of the mount, and without a slash in front. */
  path: text(4),
  /** JSON, and never an empty text: query and body together. */
  data: text(5),
  secret: part(6, secret),
  auth: part(7, auth),
  /** By names in their canonical spelling: X-Forwarded-For. */
  headers: mapOf(8, part(2, header), MANY),
  clientToken: text(9), // what stands for it: no credential
  clientTokenAccessor: text(10),
  displayName: text(11),
  mountPoint: text(12),
  mountType: text(13),
  mountAccessor: text(14),
  wrapInfo: part(15, requestWrapInfo),
  clientTokenRemainingUses: int64(16),
  entityId: text(17),
  policyOverride: flag(18),
  unauthenticated: flag(19),
  connection: part(20, connection),
  requiresSnapshotId: text(21),
  recoverSourcePath: text(22),
  rotationInfo: part(23, rotationInfo),
  own: part(OURS, requestExtras),
});
export type WireRequest = MessageOf<typeof request>;

export const response = message({
  secret: part(1, secret),
  auth: part(2, auth),
  /** JSON; empty or null for none. */
  data: text(3),
  redirect: text(4),
  warnings: texts(5),
  wrapInfo: part(6, responseWrapInfo),
  headers: mapOf(7, part(2, header), MANY),
  mountType: text(8),
  own: part(OURS, responseExtras),
});
export type WireResponse = MessageOf<typeof response>;

/** Members of `data` that make it an answer of another kind than JSON. */
export const RAW_BODY = {
  contentType: "http_content_type",
  status: "http_status_code",
  body: "http_raw_body",
} as const;

export const walIndex = message({ local: uint64(1), replicated: uint64(2) });

export const handleRequestArgs = message({ storageId: uint32(1), request: part(2, request) });
export const handleRequestReply = message({
  response: part(1, response),
  err: part(2, protoError),
  walIndex: part(3, walIndex),
});
export const existenceReply = message({
  checkFound: flag(1),
  exists: flag(2),
  err: part(3, protoError),
});

export const paths = message({
  root: texts(1),
  unauthenticated: texts(2),
  localStorage: texts(3),
  sealWrapStorage: texts(4),
  writeForwardedStorage: texts(5),
  binary: texts(6),
  limited: texts(7),
  allowSnapshotRead: texts(8),
});
export type SpecialPaths = MessageOf<typeof paths>;

export const setupArgs = message({ brokerId: uint32(1), config: textMap(2), backendUuid: text(3) });
/** The SDKs that are published send it empty. */
export const initializeArgs = message({
  mountPoint: text(1),
  mountType: text(2),
  mountAccessor: text(3),
  backendUuid: text(4),
});
