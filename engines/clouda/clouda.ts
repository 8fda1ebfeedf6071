// The engine of cloud A: credentials of IAM and STS for roles, and keys of existing users that rotate.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { unknownOption } from "./failures.ts";
import type {
  EngineOptions,
  EngineType,
  LeaseFacts,
  Revoked,
  SecretType,
  WriteAheadRecord,
} from "@holdfast/plugin-sdk/engine";
import { parseTime } from "@holdfast/shared/text/time";
import { cloudMetrics } from "../cloud/metrics.ts";
import { receiptFacts } from "../cloud/receipt-facts.ts";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { failureOf, ProviderError } from "../cloud/provider-error.ts";
import { accountIn } from "./provider/account.ts";
import { configApi } from "./api/api-config.ts";
import { credsApi } from "./api/api-creds.ts";
import { rolesApi } from "./api/api-roles.ts";
import { staticApi } from "./api/api-static.ts";
import { CloudA } from "./engine.ts";
import { ROOT_CONFIG } from "./keys/root-config.ts";

/** Of what unmounting leaves behind: a text is no list of thousands. */
const MAX_NAMED = 50;

/** The provider's names of the calls we make. */
const ACTIONS =
  "AddUserToGroup AssumeRole AssumeRoleWithWebIdentity AttachUserPolicy CreateAccessKey CreateUser " +
  "DeactivateMFADevice DeleteAccessKey DeleteLoginProfile DeleteSSHPublicKey " +
  "DeleteServiceSpecificCredential DeleteSigningCertificate DeleteUser DeleteUserPolicy " +
  "DeleteVirtualMFADevice DetachUserPolicy GetCallerIdentity GetFederationToken GetGroupPolicy " +
  "GetUser ListAccessKeys ListAttachedGroupPolicies ListAttachedUserPolicies ListGroupPolicies " +
  "ListGroupsForUser ListMFADevices ListSSHPublicKeys ListServiceSpecificCredentials " +
  "ListSigningCertificates ListUserPolicies PutUserPolicy RemoveUserFromGroup TagUser";

export const cloudaType: EngineType<CloudA> = {
  type: "clouda",
  kind: "secret",
  summary: "Credentials of IAM and STS, made on demand and ended with their leases.",
  version: "v1.0.0+builtin",
  paths: () => [...configApi, ...rolesApi, ...credsApi, ...staticApi],
  checkOptions,
  metrics: cloudMetrics(ACTIONS.split(" "), ["iam_user", "assumed_role", "federation_token"]),
  open: async (needs) => {
    const engine = new CloudA(needs);
    await engine.open();
    return engine;
  },
  secrets: {
    iam_user: {
      // By what holds now, whatever has become of the role.
      renew: ({ leaseConfig }) => leaseConfig.terms(),
      revoke: removeUser,
      receipt: ({ internal }) => receiptFacts(internal, ["username", "access_key_id"]),
    },
    sts: stsSecret(),
  },
  undo: {
    user: undoing((engine, record, signal) => engine.users.undo(record, signal)),
    rootKey: undoing((engine, record, signal) => engine.rotation.undoKey(record, signal)),
    oldRootKey: undoing((engine, record, signal) => engine.rotation.undoOldKey(record, signal)),
    staticKey: undoing((engine, record, signal) => engine.staticRoles.undoKey(record, signal)),
  },
  minUndoAge: 5n * MINUTE,
  jobDeadline: 90n * SECOND,
  periodic: async (engine, signal) => {
    await asFailure(engine.rotation.finish(signal));
    await engine.rotation.rotateWhenDue();
  },
  concerns: ({ concerns }) => concerns.now(),
  abandoned: async ({ staticRoles }) => {
    const managed = staticRoles.managed();
    if (managed.length === 0) return null;
    const named = managed.slice(0, MAX_NAMED).map(([user, role]) => `${role} (user ${user})`);
    const more = managed.length - named.length;
    const list = more === 0 ? named.join(", ") : `${named.join(", ")} and ${more} more`;
    return `${managed.length} static ${managed.length === 1 ? "role" : "roles"}: ${list}`;
  },
  lead: ({ staticRoles }, leading) => staticRoles.lead(leading),
  rest: ({ staticRoles }) => staticRoles.rest(),
  close: (engine) => engine.close(),
  invalidate: (engine, keys) => {
    engine.staticRoles.invalidate(keys);
    if (keys.includes(ROOT_CONFIG)) engine.configuredElsewhere();
  },
};

/** The provider has no way to end them: they end by themselves, and the record goes. */
function stsSecret(): SecretType<CloudA> {
  return {
    renew: null,
    revoke: async () => {},
    receipt: ({ internal }) => {
      const end = internal["good_until"];
      const goodUntil = typeof end === "string" ? parseTime(end) : null;
      return { ...receiptFacts(internal, ["role_arn", "name"]), goodUntil };
    },
  };
}

async function removeUser(
  engine: CloudA,
  lease: LeaseFacts,
  signal: AbortSignal,
): Promise<Revoked> {
  const { username } = lease.internal;
  if (typeof username !== "string" || username === "") {
    throw new PermanentFailure("the lease does not say which user it is about");
  }
  // Whoever revokes by force is told what is left.
  const user = { username, account: accountIn(lease.internal) };
  const removed = engine.users.remove(user, lease.issued, signal);
  return { requestIds: await asFailure(removed, `; user ${username} remains`) };
}

function undoing(
  undo: (engine: CloudA, record: WriteAheadRecord, signal: AbortSignal) => Promise<void>,
) {
  return (engine: CloudA, record: WriteAheadRecord, signal: AbortSignal) =>
    asFailure(undo(engine, record, signal));
}

/** `more` goes behind what the provider says. */
async function asFailure<T>(work: Promise<T>, more = ""): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ProviderError ? failureOf(error, more) : error;
  }
}

function checkOptions(options: EngineOptions): EngineOptions {
  const [unknown] = Object.keys(options);
  if (unknown === undefined) return options;
  const message = `unknown option ${JSON.stringify(unknown)}: clouda has none`;
  throw unknownOption(message);
}
