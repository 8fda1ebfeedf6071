// Cloud B: service principals on demand, with the rights of a role, and passwords on applications that
// are there already. What is made outside is noted before, and ends with its lease.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { unknownOption } from "./failures.ts";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { cloudMetrics } from "../cloud/metrics.ts";
import { receiptFacts } from "../cloud/receipt-facts.ts";
import { errorForCaller } from "../cloud/provider-error.ts";
import { configApi } from "./api/api-config.ts";
import { credsApi } from "./api/api-creds.ts";
import { rolesApi } from "./api/api-roles.ts";
import { CloudB } from "./engine.ts";
import { CONFIG } from "./rotation/config.ts";
import type { Holder } from "./provider/graph.ts";
import { textIn } from "./provider/provider-answer.ts";

/** The provider's names of the calls we make. */
const ACTIONS =
  "addGroupMember addPassword createApplication createRoleAssignment createServicePrincipal " +
  "deleteApplication deleteDeletedItem deleteRoleAssignment deleteServicePrincipal getApplication " +
  "getGroup getRoleDefinition getServicePrincipal listApplications listGroups " +
  "listRoleDefinitions machineToken removeGroupMember removePassword token";

export const cloudbType: EngineType<CloudB> = {
  type: "cloudb",
  kind: "secret",
  summary: "Credentials of cloud B, made on demand and ended with their leases.",
  version: "v1.0.0+builtin",
  paths: () => [...configApi, ...rolesApi, ...credsApi],
  checkOptions: (options) => {
    const [unknown] = Object.keys(options);
    if (unknown === undefined) return options;
    const message = `unknown option ${JSON.stringify(unknown)}: a mount of cloudb has none`;
    throw unknownOption(message);
  },
  metrics: cloudMetrics(ACTIONS.split(" "), ["principal", "password"]),
  open: (needs) => new CloudB(needs),
  secrets: {
    principal: {
      renew: ({ issuing }, lease) => issuing.renew(lease),
      revoke: ({ removal }, lease, signal) => removal.revokePrincipal(lease, signal),
      receipt: ({ internal }) =>
        receiptFacts(internal, ["app_object_id", "sp_object_id", "key_id"]),
    },
    password: {
      renew: ({ issuing }, lease) => issuing.renew(lease),
      revoke: ({ removal }, lease, signal) => removal.revokePassword(lease, signal),
      receipt: ({ internal }) => receiptFacts(internal, ["app_object_id", "key_id"]),
    },
  },
  undo: {
    app: ({ removal }, record, signal) => removal.undoApplication(record, signal),
    assign: ({ removal }, record, signal) => removal.undoAssignments(record, signal),
    surplus: ({ removal }, record, signal) => removal.undoSurplus(record, signal),
    appPassword: ({ removal }, record, signal) => removal.undoPassword(record, signal),
    deletedItem: ({ removal }, record, signal) => removal.undoDeletedItem(record, signal),
    rootPassword: ({ rotationCleanup }, record, signal) =>
      asFailure(rotationCleanup.undo(record, signal)),
    oldRootPassword: ({ rotationCleanup }, { data }, signal) => {
      const holder: Holder =
        data["holder"] === "servicePrincipals" ? "servicePrincipals" : "applications";
      const old = { holder, id: textIn(data, "id"), keyId: textIn(data, "keyId") };
      return asFailure(rotationCleanup.removeOld(old, textIn(data, "tenant"), signal));
    },
  },
  minUndoAge: 10n * MINUTE, // giving a role can take minutes
  jobDeadline: 180n * SECOND,
  periodic: async ({ rotation }, signal) => {
    await rotation.tick(signal);
    await rotation.rotateWhenDue();
  },
  concerns: ({ concerns }) => concerns.now(),
  abandoned: async ({ roleStore }) => {
    const names = await roleStore.managing();
    if (names.length === 0) return null;
    const plural = names.length === 1 ? "" : "s";
    return `${names.length} persisted application${plural} (of roles ${names.slice(0, 20).join(", ")})`;
  },
  leave: ({ rotationCleanup }, signal) => asFailure(rotationCleanup.leave(signal)),
  close: (engine) => engine.close(),
  invalidate: (engine, keys) => {
    if (keys.includes(CONFIG)) engine.configuredElsewhere();
  },
};

async function asFailure(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw errorForCaller(error);
  }
}
