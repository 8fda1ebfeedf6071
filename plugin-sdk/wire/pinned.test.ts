// Bytes that the unmodified library of the ecosystem has written (0.25.1, protobuf for Go), each once: whatever is read of
// them is what was put in there, and what is written of it are the same bytes.

import assert from "node:assert/strict";
import test from "node:test";
import type { MessageCodec } from "@holdfast/shared/grpc/message";
import { SECOND } from "@holdfast/shared/text/duration";
import { backend } from "./backend.ts";
import { protoError, request, response, setupArgs } from "./backend-messages.ts";
import { database } from "./database.ts";
import { NO_TIME, struct } from "./known-types.ts";
import { storage } from "./storage.ts";
import { events, systemView } from "./system-view.ts";

type Codec<T> = Pick<MessageCodec<T>, "encode" | "decode">;

function pinned<T>(name: string, codec: Codec<T>, value: T, hex: string): void {
  test(`${name} is read and written as others do`, () => {
    const bytes = Buffer.from(hex, "hex");
    assert.deepEqual(codec.decode(bytes), value);
    assert.equal(Buffer.from(codec.encode(value)).toString("hex"), hex);
  });
}

const AT = 1_767_225_600n * SECOND + 5n;
const lease = {
  ttl: 3600n * SECOND,
  renewable: true,
  increment: -1n,
  issueTime: AT,
  maxTtl: 7200n * SECOND,
};
const alias = {
  mountType: "t",
  mountAccessor: "a",
  name: "n",
  metadata: new Map([["k", "v"]]),
  id: "i",
  namespaceId: "ns",
  customMetadata: new Map([["c", ""]]),
  local: true,
  externalId: "",
  issuer: "",
};
const auth = {
  leaseOptions: lease,
  internalData: "{}",
  displayName: "d",
  policies: ["p", "q"],
  metadata: new Map([["user", "jo"]]),
  clientToken: "ct",
  accessor: "ac",
  period: 5n,
  numUses: 6n,
  entityId: "e",
  alias,
  groupAliases: [alias],
  boundCidrs: ["10.0.0.0/8"],
  tokenPolicies: ["tp"],
  identityPolicies: ["ip"],
  explicitMaxTtl: 7n,
  tokenType: 2,
  noDefaultPolicy: true,
};
const json = {
  b: true,
  f: false,
  l: [null, "x", 0],
  n: null,
  num: -1.5,
  o: { e: "" },
  z: 0,
};
const none = new Uint8Array(0);

pinned(
  "a request",
  request,
  {
    id: "id",
    replicationCluster: "rc",
    operation: "update",
    path: "a/b",
    data: '{"n":12345678901234567890}',
    secret: { leaseOptions: lease, internalData: "{}", leaseId: "l" },
    auth,
    headers: new Map([["X-Forwarded-For", { header: ["1", "2"] }]]),
    clientToken: "t",
    clientTokenAccessor: "ta",
    displayName: "dn",
    mountPoint: "m/",
    mountType: "mt",
    mountAccessor: "ma",
    wrapInfo: { ttl: 60n * SECOND, format: "jwt", sealWrap: true },
    clientTokenRemainingUses: -1n,
    entityId: "en",
    policyOverride: true,
    unauthenticated: true,
    connection: {
      remoteAddress: "127.0.0.1",
      state: {
        version: 772,
        handshakeComplete: true,
        didResume: false,
        cipherSuite: 4865,
        negotiatedProtocol: "",
        negotiatedProtocolIsMutual: false,
        serverName: "s",
        peerCertificates: { certificates: [{ der: new Uint8Array([1, 2]) }] },
        verifiedChains: [],
        signedCertificateTimestamps: [],
        ocspResponse: none,
        tlsUnique: new Uint8Array([9]),
      },
      remotePort: 8200,
    },
    requiresSnapshotId: "s",
    recoverSourcePath: "r",
    rotationInfo: { rotationId: "ri", next: 1n, last: 2n },
    own: null,
  },
  "0a026964120272631a067570646174652203612f622a1a7b226e223a31323334353637383930313233343536373839307d322f0a260880c0e285e368100118ffffffffffffffffff0122080880f2d6ca061005288080c58bc6d10112027b7d1a016c3ab3010a260880c0e285e368100118ffffffffffffffffff0122080880f2d6ca061005288080c58bc6d10112027b7d1a01642201702201712a0a0a047573657212026a6f320263743a026163400548065201655a210a01741201611a016e22060a016b1201762a016932026e733a050a01631200400162210a01741201611a016e22060a016b1201762a016932026e733a050a0163120040016a0a31302e302e302e302f38720274707a02697080010788010290010142190a0f582d466f727761726465642d466f7212060a01310a01324a0174520274615a02646e62026d2f6a026d7472026d617a0e0880b09dc2df0112036a777418018001ffffffffffffffffff018a0102656e900101980101a201260a093132372e302e302e31121608840610012081263a017342060a040a020102620109188840aa010173b2010172ba01080a02726910011802",
);

pinned(
  "an answer",
  response,
  {
    secret: { leaseOptions: lease, internalData: "null", leaseId: "" },
    auth: null,
    data: '{"a":1}',
    redirect: "r",
    warnings: ["w"],
    wrapInfo: {
      ttl: 1n,
      token: "t",
      accessor: "a",
      creationTime: AT,
      wrappedAccessor: "wa",
      wrappedEntityId: "we",
      format: "f",
      creationPath: "c",
      sealWrap: true,
    },
    headers: new Map([["A", { header: ["b"] }]]),
    mountType: "m",
    own: null,
  },
  "0a2e0a260880c0e285e368100118ffffffffffffffffff0122080880f2d6ca061005288080c58bc6d10112046e756c6c1a077b2261223a317d2201722a0177322208011201741a016122080880f2d6ca0610052a027761320277653a016642016348013a080a014112030a016242016d",
);

pinned(
  "an error",
  protoError,
  { type: 3, message: "no", code: 418n, own: null },
  "080312026e6f18a203",
);

pinned(
  "special paths",
  backend.specialPaths.response,
  {
    paths: {
      root: ["config/*"],
      unauthenticated: ["login"],
      localStorage: ["l"],
      sealWrapStorage: ["s"],
      writeForwardedStorage: ["w"],
      binary: ["b"],
      limited: ["li"],
      allowSnapshotRead: ["as"],
    },
  },
  "0a250a08636f6e6669672f2a12056c6f67696e1a016c2201732a01773201623a026c6942026173",
);

pinned(
  "a set-up",
  setupArgs,
  { brokerId: 4_000_000_000, config: new Map([["plugin_name", "x"]]), backendUuid: "u" },
  "0880d0acf30e12100a0b706c7567696e5f6e616d651201781a0175",
);

pinned(
  "a lease without a time",
  response,
  {
    ...response.decode(none),
    secret: {
      leaseOptions: { ttl: 0n, renewable: false, increment: 0n, issueTime: NO_TIME, maxTtl: 0n },
      internalData: "",
      leaseId: "",
    },
  },
  "0a0f0a0d220b088092b8c398feffffff01",
);

pinned(
  "an entry of storage",
  storage.get.response,
  { entry: { key: "k", value: new Uint8Array([0, 255]), sealWrap: true }, err: "e" },
  "0a090a016b120200ff1801120165",
);

pinned(
  "a write",
  storage.put.response,
  { err: "e", walIndex: { local: 1n, replicated: 2n ** 63n } },
  "0a0165120d08011080808080808080808001",
);

pinned("a list", storage.list.response, { keys: ["a", "b/"], err: "" }, "0a01610a02622f");

pinned(
  "an entity",
  systemView.entityInfo.response,
  {
    entity: {
      id: "i",
      name: "n",
      aliases: [alias],
      metadata: new Map([["a", "b"]]),
      disabled: true,
      namespaceId: "root",
    },
    err: "",
  },
  "0a390a016912016e1a210a01741201611a016e22060a016b1201762a016932026e733a050a01631200400122060a016112016228013204726f6f74",
);

pinned(
  "JSON",
  struct,
  json,
  "0a070a0162120220010a070a0166120220000a1b0a016c121632140a0208000a031a01780a091100000000000000000a070a016e120208000a100a036e756d120911000000000000f8bf0a100a016f120b2a090a070a016512021a000a0e0a017a1209110000000000000000",
);

pinned(
  "an event",
  events.sendEvent.request,
  { eventType: "t", event: { id: "i", metadata: json, entityIds: ["e"], note: "n" } },
  "0a017412770a0169126c0a070a0162120220010a070a0166120220000a1b0a016c121632140a0208000a031a01780a091100000000000000000a070a016e120208000a100a036e756d120911000000000000f8bf0a100a016f120b2a090a070a016512021a000a0e0a017a12091100000000000000001a016522016e",
);

pinned(
  "a new user",
  database.newUser.request,
  {
    usernameConfig: { displayName: "d", roleName: "r" },
    password: "p",
    expiration: AT,
    statements: { commands: ["c"] },
    rollbackStatements: { commands: [] },
    credentialType: 2,
    publicKey: new Uint8Array([1]),
    subject: "s",
    username: "",
  },
  "0a060a01641201721201701a080880f2d6ca06100522030a01632a0030023a0101420173",
);

pinned(
  "a change of a user",
  database.updateUser.request,
  {
    username: "u",
    password: { newPassword: "n", statements: { commands: ["c"] } },
    expiration: { newExpiration: AT, statements: null },
    publicKey: { newPublicKey: new Uint8Array([7]), statements: null },
    credentialType: -1,
    selfManagedPassword: "sm",
  },
  "0a017512080a016e12030a01631a0a0a080880f2d6ca06100522030a010728ffffffffffffffffff013202736d",
);

pinned(
  "a rotation job",
  systemView.registerRotationJob.request,
  {
    job: {
      name: "n",
      mountPoint: "m",
      path: "p",
      rotationSchedule: "s",
      rotationWindow: 1n,
      rotationPeriod: 2n,
      rotationPolicy: "rp",
      migratedNextRotation: 3n,
    },
  },
  "0a160a016e12016d1a0170220173280130023a0272704003",
);

pinned(
  "an identity token",
  systemView.generateIdentityToken.response,
  { token: "t", ttl: 3600n },
  "0a017410901c",
);

pinned("a state of replication", systemView.replicationState.response, { state: 12_288 }, "088060");
