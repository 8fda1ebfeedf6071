// What a session of STS may do at most: the policies of the role and of its groups, in one document and
// one list. The provider's limits are checked before it is asked.

import type { Failure } from "@holdfast/shared/failure";
import { policyWithoutStatement, sessionPolicyTooLarge as tooMuch } from "../failures.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { CloudAProvider } from "../provider/provider.ts";
import type { Role } from "./role.ts";
import { compacted, elementsOf, membersOf } from "./policy-document.ts";

export interface SessionPolicies {
  /** JSON text; empty for none. */
  readonly policy: string;
  readonly policyArns: readonly string[];
}

export const MAX_SESSION_ARNS = 10;
export const MAX_SESSION_CHARACTERS = 2048;
const VERSION = "2012-10-17";

export async function sessionPolicies(
  provider: CloudAProvider,
  role: Role,
): Promise<SessionPolicies> {
  const arns = [...role.policyArns];
  const documents: string[] = [];
  for (const group of role.iamGroups) {
    arns.push(...(await provider.attachedGroupPolicies(group)));
    for (const name of await provider.groupPolicies(group)) {
      documents.push(readable(group, name, await provider.groupPolicy(group, name)));
    }
  }
  const combined = {
    policy: documents.length === 0 ? role.policyDocument : together(documents, role),
    policyArns: [...new Set(arns)],
  };
  checkLimits(combined, role);
  return combined;
}

function together(documents: readonly string[], role: Role): string {
  const own = role.policyDocument === "" ? null : statementsOf(role.policyDocument);
  // Dropped, it would no longer bound anything: what the groups allow would be all.
  if (own?.length === 0) throw noStatement(role.name);
  const statements = [...documents.flatMap(statementsOf), ...(own ?? [])];
  return `{"Version":"${VERSION}","Statement":[${statements.join(",")}]}`;
}

/** Their texts as they stand: one that is an object of its own counts as a list of one. */
function statementsOf(document: string): string[] {
  const found = membersOf(document).get("Statement");
  if (found === undefined) return [];
  return found.startsWith("[") ? elementsOf(found) : [found];
}

/** What the provider has is JSON, or it has not answered what it was asked. */
function readable(group: string, name: string, document: string): string {
  const { text, fault } = compacted(document);
  if (fault === null) return text; // white space would count
  throw new ProviderError({
    step: "iam:GetGroupPolicy",
    code: "UnexpectedAnswer",
    message: `policy ${name} of group ${group} is not JSON`,
    status: 200,
    requestId: "",
    kind: "unknown",
    secrets: [],
  });
}

function noStatement(name: string): Failure {
  const message =
    `policy_document of role ${JSON.stringify(name)} has no Statement, and cannot be put together ` +
    "with the policies of its groups";
  return policyWithoutStatement(message);
}

function checkLimits({ policy, policyArns }: SessionPolicies, { name }: Role): void {
  const of = `role ${JSON.stringify(name)} and its groups`;
  if (policyArns.length > MAX_SESSION_ARNS) {
    throw tooMuch(
      `${of} have ${policyArns.length} policy ARNs for a session; ` +
        `the provider takes at most ${MAX_SESSION_ARNS}`,
    );
  }
  const characters = policy.length;
  const withArns = policyArns.reduce((sum, arn) => sum + arn.length, characters);
  if (withArns > MAX_SESSION_CHARACTERS) {
    throw tooMuch(
      `${of} have a policy document of ${characters} characters and policy ARNs of ` +
        `${withArns - characters} for a session; the provider takes at most ` +
        `${MAX_SESSION_CHARACTERS} together`,
    );
  }
}
