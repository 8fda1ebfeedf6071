// What plugins of the ecosystem ask of the server around them, and what they tell it.

import { flag, int32, int64, list, message, part, text } from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import { entity, group, responseWrapInfo, rotationInfo } from "./backend-messages.ts";
import { nothing, struct, timestamp } from "./known-types.ts";
import { LARGE, MANY } from "./limits.ts";

const ttl = message({ ttl: int64(1) }); // nanoseconds
const ofEntity = message({ entityId: text(1) });

const environment = message({
  version: text(1),
  prerelease: text(2),
  metadata: text(3),
  buildDate: part(4, timestamp),
});

const rotationJob = message({
  job: part(
    1,
    message({
      name: text(1),
      mountPoint: text(2),
      path: text(3),
      rotationSchedule: text(4),
      rotationWindow: int64(5),
      rotationPeriod: int64(6),
      rotationPolicy: text(7),
      migratedNextRotation: int64(8),
    }),
  ),
});

/** Bits of `replicationState`. */
export const ReplicationState = {
  performancePrimary: 32,
  performanceSecondary: 64,
  disasterPrimary: 256,
  disasterSecondary: 512,
  performanceBootstrapping: 1024,
  disasterBootstrapping: 2048,
  performanceDisabled: 4096,
  disasterDisabled: 8192,
  readServingStandby: 16_384,
} as const;

export const systemView = {
  defaultLeaseTtl: method("unary", "/pb.SystemView/DefaultLeaseTTL", nothing, ttl),
  maxLeaseTtl: method("unary", "/pb.SystemView/MaxLeaseTTL", nothing, ttl),
  tainted: method("unary", "/pb.SystemView/Tainted", nothing, message({ tainted: flag(1) })),
  cachingDisabled: method(
    "unary",
    "/pb.SystemView/CachingDisabled",
    nothing,
    message({ disabled: flag(1) }),
  ),
  replicationState: method(
    "unary",
    "/pb.SystemView/ReplicationState",
    nothing,
    message({ state: int32(1) }),
  ),
  responseWrapData: method(
    "unary",
    "/pb.SystemView/ResponseWrapData",
    message({ data: text(1), ttl: int64(2), jwt: flag(3) }),
    message({ wrapInfo: part(1, responseWrapInfo), err: text(2) }),
    LARGE,
  ),
  mlockEnabled: method(
    "unary",
    "/pb.SystemView/MlockEnabled",
    nothing,
    message({ enabled: flag(1) }),
  ),
  localMount: method("unary", "/pb.SystemView/LocalMount", nothing, message({ local: flag(1) })),
  entityInfo: method(
    "unary",
    "/pb.SystemView/EntityInfo",
    ofEntity,
    message({ entity: part(1, entity), err: text(2) }),
  ),
  pluginEnv: method(
    "unary",
    "/pb.SystemView/PluginEnv",
    nothing,
    message({ environment: part(1, environment), err: text(2) }),
  ),
  groupsForEntity: method(
    "unary",
    "/pb.SystemView/GroupsForEntity",
    ofEntity,
    message({ groups: list(part(1, group), MANY), err: text(2) }),
  ),
  generatePasswordFromPolicy: method(
    "unary",
    "/pb.SystemView/GeneratePasswordFromPolicy",
    message({ policyName: text(1) }),
    message({ password: text(1) }),
  ),
  clusterInfo: method(
    "unary",
    "/pb.SystemView/ClusterInfo",
    nothing,
    message({ clusterName: text(1), clusterId: text(2), err: text(3) }),
  ),
  /** Here, and with rotation, lengths are seconds. */
  generateIdentityToken: method(
    "unary",
    "/pb.SystemView/GenerateIdentityToken",
    message({ audience: text(1), ttl: int64(2) }),
    message({ token: text(1), ttl: int64(2) }),
  ),
  getRotationInformation: method(
    "unary",
    "/pb.SystemView/GetRotationInformation",
    message({ mountPath: text(1) }),
    message({ issueTime: int64(1), expireTime: int64(2), ttl: int64(3) }),
  ),
  registerRotationJob: method(
    "unary",
    "/pb.SystemView/RegisterRotationJob",
    rotationJob,
    message({ rotationId: text(1), err: text(2) }),
  ),
  registerRotationJobWithResponse: method(
    "unary",
    "/pb.SystemView/RegisterRotationJobWithResponse",
    rotationJob,
    message({ info: part(1, rotationInfo), err: text(2) }),
  ),
  deregisterRotationJob: method(
    "unary",
    "/pb.SystemView/DeregisterRotationJob",
    message({ request: part(1, message({ mountPoint: text(1), path: text(2) })) }),
    nothing,
  ),
} as const;

export const events = {
  sendEvent: method(
    "unary",
    "/pb.Events/SendEvent",
    message({
      eventType: text(1),
      event: part(
        2,
        message({
          id: text(1),
          metadata: part(2, struct),
          entityIds: list(text(3), MANY),
          note: text(4),
        }),
      ),
    }),
    nothing,
  ),
} as const;

export const observations = {
  recordObservation: method(
    "unary",
    "/pb.Observations/RecordObservation",
    message({ observationType: text(1), data: part(2, struct) }),
    nothing,
  ),
} as const;
