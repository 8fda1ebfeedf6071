// Actions on roles, and whom a role trusts.

import { ACCOUNT, newId, type Role, roleArn, userArn } from "./account.ts";
import { type Actions } from "../action.ts";
import { callerArn } from "./permissions.ts";
import { checkName, checkPath, isObject } from "./rules.ts";
import type { Caller } from "../signature.ts";
import {
  alreadyExists,
  dateText,
  malformedPolicy,
  validationError,
  type XmlObject,
} from "../wire.ts";

export const roleActions: Actions = {
  CreateRole({ account, params }) {
    const name = checkName("roleName", params.required("RoleName"), 64);
    const path = checkPath(params.optional("Path") ?? "/");
    const trust = params.required("AssumeRolePolicyDocument");
    trustStatements(trust);
    const maxSession = params.integer("MaxSessionDuration") ?? 3600;
    if (maxSession < 3600 || maxSession > 43_200) {
      throw validationError(
        `1 validation error detected: Value '${maxSession}' at 'maxSessionDuration' failed to satisfy constraint: Member must have value between 3600 and 43200`,
      );
    }
    if (account.roles.has(name)) throw alreadyExists(`Role with name ${name} already exists.`);
    const made: Role = {
      name,
      id: newId("AROA"),
      path,
      createdAt: account.now(),
      trust,
      maxSession,
      allow: [],
    };
    account.roles.set(name, made);
    return { Role: showRole(made) };
  },

  GetRole({ account, params }) {
    return { Role: showRole(account.role(params.required("RoleName"))) };
  },

  DeleteRole({ account, params }) {
    account.roles.delete(account.role(params.required("RoleName")).name);
    return null;
  },
};

function showRole(role: Role): XmlObject {
  return {
    Path: role.path,
    RoleName: role.name,
    RoleId: role.id,
    Arn: roleArn(role),
    CreateDate: dateText(role.createdAt),
    AssumeRolePolicyDocument: encodeURIComponent(role.trust),
    MaxSessionDuration: role.maxSession,
  };
}

function trustStatements(document: string): readonly Readonly<Record<string, unknown>>[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(document);
  } catch {
    throw malformedPolicy("This policy contains invalid Json");
  }
  const statement = isObject(parsed) ? parsed["Statement"] : undefined;
  const statements = (Array.isArray(statement) ? statement : [statement]).filter(isObject);
  if (statements.length === 0) throw malformedPolicy("Missing required field Statement");
  return statements;
}

export interface CloudRequest {
  readonly action: string;
  readonly externalId: string | null;
}

/** Whether the trust policy lets this caller do this. */
export function isTrusted(role: Role, caller: Caller, request: CloudRequest): boolean {
  const who = new Set(["*", ACCOUNT, `arn:aws:iam::${ACCOUNT}:root`, callerArn(caller)]);
  if (caller.user !== null) who.add(userArn(caller.user));
  return trustStatements(role.trust).some(
    (statement) =>
      statement["Effect"] === "Allow" &&
      textsOf(statement["Action"]).includes(request.action) &&
      principalsOf(statement["Principal"]).some((principal) => who.has(principal)) &&
      isMet(statement["Condition"], request),
  );
}

/** Whether a provider of identities is trusted by the role. */
export function trustsFederation(role: Role, issuer: string): boolean {
  return trustStatements(role.trust).some((statement) => {
    const principal = statement["Principal"];
    const federated = isObject(principal) ? textsOf(principal["Federated"]) : [];
    return (
      textsOf(statement["Action"]).includes("sts:AssumeRoleWithWebIdentity") &&
      federated.some((arn) => arn === `arn:aws:iam::${ACCOUNT}:oidc-provider/${issuer}`)
    );
  });
}

function principalsOf(principal: unknown): readonly string[] {
  return isObject(principal) ? textsOf(principal["AWS"]) : textsOf(principal);
}

function isMet(condition: unknown, { externalId }: CloudRequest): boolean {
  if (!isObject(condition)) return true;
  const equals = condition["StringEquals"];
  const wanted = isObject(equals) ? equals["sts:ExternalId"] : undefined;
  return wanted === undefined || (externalId !== null && textsOf(wanted).includes(externalId));
}

function textsOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}
