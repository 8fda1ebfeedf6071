// What our credentials may do at the provider, as far as that can be found out by looking: calls that
// change nothing, about things that do not exist. "It is not there" is said to whoever may ask.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { withDeadline } from "../../cloud/deadline.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Clients } from "./clients.ts";
import type { CloudAProvider } from "./provider.ts";
import { namePrefix } from "../../cloud/settings.ts";

export type Permission = "allowed" | "denied" | "unknown";

const DEADLINE: Nanos = 60n * SECOND;

/** Needed too, and not to be tried without an effect. */
const UNTRIED = [
  "iam:CreateUser",
  "iam:DeleteUser",
  "iam:CreateAccessKey",
  "iam:DeleteAccessKey",
  "iam:AttachUserPolicy",
  "iam:DetachUserPolicy",
  "iam:PutUserPolicy",
  "iam:DeleteUserPolicy",
  "iam:AddUserToGroup",
  "iam:RemoveUserFromGroup",
  "iam:TagUser",
  "sts:AssumeRole",
  "sts:GetFederationToken",
];

export function permissions({
  needs,
  clients,
}: {
  readonly needs: EngineNeeds;
  readonly clients: Clients;
}): Promise<Readonly<Record<string, Permission>>> {
  // By the name that the permissions of operators are written for.
  const nobody = `${namePrefix(needs.settings)}check-${needs.random.uuid().slice(0, 8)}`;
  return withDeadline(needs.timers, DEADLINE, async (signal) => {
    const provider = await clients.provider(signal);
    const found: Record<string, Permission> = {};
    for (const [action, probe] of Object.entries(probes(nobody))) {
      found[action] = await tried(probe(provider));
    }
    for (const action of UNTRIED) found[action] = "unknown";
    return found;
  });
}

function probes(
  nobody: string,
): Readonly<Record<string, (provider: CloudAProvider) => Promise<unknown>>> {
  return {
    "sts:GetCallerIdentity": (provider) => provider.callerIdentity(),
    "iam:GetUser": (provider) => provider.getUser(nobody),
    "iam:ListAccessKeys": (provider) => provider.accessKeys(nobody),
    "iam:ListGroupsForUser": (provider) => provider.groupsOfUser(nobody),
    "iam:ListUserPolicies": (provider) => provider.userPolicies(nobody),
    "iam:ListAttachedUserPolicies": (provider) => provider.attachedUserPolicies(nobody),
    "iam:ListAttachedGroupPolicies": (provider) => provider.attachedGroupPolicies(nobody),
    "iam:ListGroupPolicies": (provider) => provider.groupPolicies(nobody),
    "iam:GetGroupPolicy": (provider) => provider.groupPolicy(nobody, nobody),
  };
}

async function tried(call: Promise<unknown>): Promise<Permission> {
  try {
    await call;
    return "allowed";
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error.gone) return "allowed";
    return error.code.startsWith("AccessDenied") ? "denied" : "unknown";
  }
}
