// Who may do what: the allow list of a caller, and what the policies of a user say. Resources and
// conditions are not looked at; the tests have no need of them.

import { type Account, ACCOUNT, userArn } from "./account.ts";
import { matches, statementsOf } from "./rules.ts";
import type { Caller } from "../signature.ts";
import { ApiError } from "../wire.ts";

/** Managed by the provider, with what they allow here. */
export const PROVIDER_POLICIES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    AdministratorAccess: ["*"],
    PowerUserAccess: ["sts:*"],
    ReadOnlyAccess: ["iam:Get*", "iam:List*"],
    ViewOnlyAccess: ["iam:List*"],
    SecurityAudit: ["iam:Get*", "iam:List*"],
    IAMFullAccess: ["iam:*"],
    IAMReadOnlyAccess: ["iam:Get*", "iam:List*"],
    IAMUserChangePassword: [],
    AmazonEC2FullAccess: [],
    AmazonEC2ReadOnlyAccess: [],
    AmazonS3FullAccess: [],
    AmazonS3ReadOnlyAccess: [],
    AmazonDynamoDBFullAccess: [],
    AmazonSQSFullAccess: [],
    AmazonSNSFullAccess: [],
    AmazonRDSReadOnlyAccess: [],
    CloudWatchReadOnlyAccess: [],
    AWSLambda_ReadOnlyAccess: [],
    AWSSupportAccess: [],
    Billing: [],
  }).map(([name, allow]) => [`arn:aws:iam::aws:policy/${name}`, allow]),
);

/** Needs no permission at all. */
const FREE = new Set(["sts:GetCallerIdentity", "sts:GetSessionToken"]);

export function checkAllowed(account: Account, caller: Caller, action: string): void {
  if (FREE.has(action) || isAllowed(account, caller, action)) return;
  const said = `User: ${callerArn(caller)} is not authorized to perform: ${action} because no identity-based policy allows the ${action} action`;
  throw new ApiError(403, "AccessDenied", said);
}

export function isAllowed(account: Account, caller: Caller, action: string): boolean {
  const { session, user } = caller;
  const covers = (patterns: readonly string[]) =>
    patterns.some((pattern) => matches(pattern, action));
  if (session !== null && session.kind !== "session") return covers(session.allow);
  if (user === null || covers(user.deny)) return false;
  if (covers(user.allow)) return true;
  const groups = [...user.groups].map((name) => account.group(name));
  const holders = [user, ...groups];
  const documents = holders.flatMap(({ inline }) => [...inline.values()]);
  const arns = holders.flatMap(({ attached }) => [...attached]);
  return isGranted(account, documents, arns, action);
}

/** What these policies together say of an action: a Deny wins. */
function isGranted(
  account: Account,
  documents: readonly string[],
  arns: readonly string[],
  action: string,
): boolean {
  const own = arns.flatMap((arn) => account.policies.get(arn)?.document ?? []);
  const statements = [...documents, ...own].flatMap(statementsOf);
  const speaks = statements.filter(({ actions }) =>
    actions.some((pattern) => matches(pattern, action)),
  );
  if (speaks.some(({ effect }) => effect === "Deny")) return false;
  const provided = arns.flatMap((arn) => PROVIDER_POLICIES.get(arn) ?? []);
  return speaks.length > 0 || provided.some((pattern) => matches(pattern, action));
}

export function callerArn(caller: Caller): string {
  if (caller.session !== null && caller.session.kind !== "session") return caller.session.arn;
  return caller.user === null ? `arn:aws:iam::${ACCOUNT}:root` : userArn(caller.user);
}
