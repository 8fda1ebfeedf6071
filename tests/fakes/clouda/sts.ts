// STS: sessions that work against this fake until they expire, and who a caller is.

import { createHash, randomBytes } from "node:crypto";
import { type Account, ACCOUNT, roleArn, type Role, type Session } from "./account/account.ts";
import { type Actions, type Call } from "./action.ts";
import { callerArn, isAllowed, PROVIDER_POLICIES } from "./account/permissions.ts";
import { isTrusted, trustsFederation } from "./account/roles.ts";
import { durationOf, isObject, matches, statementsOf, tagsOf } from "./account/rules.ts";
import { ApiError, dateText, type Params, validationError, type XmlObject } from "./wire.ts";

interface Narrowing {
  readonly policy: string | null;
  readonly policyArns: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly percent: number;
}

export const stsActions: Actions = {
  GetCallerIdentity({ caller }) {
    const { session, user } = caller;
    const isOther = session !== null && session.kind !== "session";
    const id = isOther ? session.userId : (user?.id ?? ACCOUNT);
    return { Arn: callerArn(caller), UserId: id, Account: ACCOUNT };
  },

  AssumeRole(call) {
    const { account, params, caller } = call;
    const arn = params.required("RoleArn");
    const name = sessionName("roleSessionName", params.required("RoleSessionName"), 64);
    const seconds = durationOf(params, { min: 900, max: 43_200, usual: 3600 });
    const narrowing = narrowingOf(params);
    const externalId = params.optional("ExternalId");
    const role = [...account.roles.values()].find((candidate) => roleArn(candidate) === arn);
    const may = (action: string) =>
      role !== undefined && isTrusted(role, caller, { action, externalId });
    const refuse = (action: string) => {
      const said = `User: ${callerArn(caller)} is not authorized to perform: ${action} on resource: ${arn}`;
      return new ApiError(403, "AccessDenied", said);
    };
    if (role === undefined || !may("sts:AssumeRole")) throw refuse("sts:AssumeRole");
    if (Object.keys(narrowing.tags).length > 0 && !may("sts:TagSession")) {
      throw refuse("sts:TagSession");
    }
    if (caller.session !== null && seconds > 3600) {
      throw validationError(
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
      );
    }
    checkMaxSession(role, seconds);
    return roleSession(call, role, { kind: "role", name, seconds, narrowing });
  },

  AssumeRoleWithWebIdentity(call) {
    const { account, params } = call;
    const arn = params.required("RoleArn");
    const name = sessionName("roleSessionName", params.required("RoleSessionName"), 64);
    const seconds = durationOf(params, { min: 900, max: 43_200, usual: 3600 });
    const claims = claimsOf(params.required("WebIdentityToken"));
    const role = [...account.roles.values()].find((candidate) => roleArn(candidate) === arn);
    const { iss } = claims;
    const issuer = (typeof iss === "string" ? iss : "").replace(/^https?:\/\//, "");
    if (role === undefined || !trustsFederation(role, issuer)) {
      const said = "Not authorized to perform sts:AssumeRoleWithWebIdentity";
      throw new ApiError(403, "AccessDenied", said);
    }
    if (Number(claims["exp"] ?? 0) * 1000 <= account.now()) {
      throw new ApiError(400, "ExpiredTokenException", "Token expired");
    }
    checkMaxSession(role, seconds);
    const narrowing = narrowingOf(params);
    const answer = roleSession(call, role, { kind: "web", name, seconds, narrowing });
    return { ...answer, SubjectFromWebIdentityToken: String(claims["sub"]) };
  },

  GetFederationToken(call) {
    const { account, params, caller } = call;
    const name = sessionName("name", params.required("Name"), 32);
    const seconds = durationOf(params, { min: 900, max: 129_600, usual: 43_200 });
    const narrowing = narrowingOf(params);
    if (caller.session !== null) {
      const said = "Cannot call GetFederationToken with session credentials";
      throw new ApiError(403, "AccessDenied", said);
    }
    const arn = `arn:aws:sts::${ACCOUNT}:federated-user/${name}`;
    const userId = `${ACCOUNT}:${name}`;
    const granted = narrowedActions(account, narrowing);
    const allow = granted.filter(
      (pattern) => pattern.includes("*") || isAllowed(account, caller, pattern),
    );
    const terms = { kind: "federation", name, arn, userId, seconds, narrowing, allow } as const;
    return {
      Credentials: showCredentials(openSession(account, terms)),
      FederatedUser: { FederatedUserId: userId, Arn: arn },
      PackedPolicySize: narrowing.percent,
    };
  },

  GetSessionToken({ account, params, caller }) {
    const seconds = durationOf(params, { min: 900, max: 129_600, usual: 43_200 });
    if (caller.session !== null || caller.user === null) {
      const said = "Cannot call GetSessionToken with session credentials";
      throw new ApiError(403, "AccessDenied", said);
    }
    const { name, id } = caller.user;
    const narrowing = { policy: null, policyArns: [], tags: {}, percent: 0 };
    const made = openSession(account, {
      kind: "session",
      name,
      arn: callerArn(caller),
      userId: id,
      seconds,
      narrowing,
      allow: [],
    });
    return { Credentials: showCredentials(made) };
  },
};

interface RoleTerms {
  readonly kind: "role" | "web";
  readonly name: string;
  readonly seconds: number;
  readonly narrowing: Narrowing;
}

function roleSession({ account }: Call, role: Role, terms: RoleTerms): XmlObject {
  const arn = `arn:aws:sts::${ACCOUNT}:assumed-role/${role.name}/${terms.name}`;
  const userId = `${role.id}:${terms.name}`;
  const { policy, policyArns, percent } = terms.narrowing;
  const isNarrowed = policy !== null || policyArns.length > 0;
  const granted = narrowedActions(account, terms.narrowing);
  const allow = isNarrowed
    ? granted.filter((action) => role.allow.some((pattern) => matches(pattern, action)))
    : role.allow;
  const made = openSession(account, { ...terms, arn, userId, allow });
  return {
    Credentials: showCredentials(made),
    AssumedRoleUser: { AssumedRoleId: userId, Arn: arn },
    ...(isNarrowed ? { PackedPolicySize: percent } : {}),
  };
}

interface SessionTerms {
  readonly kind: Session["kind"];
  readonly name: string;
  readonly arn: string;
  readonly userId: string;
  readonly seconds: number;
  readonly narrowing: Narrowing;
  readonly allow: readonly string[];
}

function openSession(account: Account, terms: SessionTerms): Session {
  const { kind, name, arn, userId, seconds, narrowing, allow } = terms;
  const key = account.newKey("ASIA");
  const token = `FwoGZXIvYXdzE${randomBytes(150).toString("base64")}`;
  account.secrets.push(token);
  const { policy, policyArns, tags } = narrowing;
  const expiresAt = Math.floor(account.now() / 1000 + seconds) * 1000;
  const session: Session = {
    kind,
    key,
    token,
    name,
    arn,
    userId,
    expiresAt,
    policy,
    policyArns,
    tags,
    allow,
  };
  account.sessions.set(key.id, session);
  return session;
}

function showCredentials({ key, token, expiresAt }: Session): XmlObject {
  return {
    AccessKeyId: key.id,
    SecretAccessKey: key.secret,
    SessionToken: token,
    Expiration: dateText(expiresAt),
  };
}

function checkMaxSession(role: Role, seconds: number): void {
  if (seconds <= role.maxSession) return;
  throw validationError(
    "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
  );
}

function sessionName(field: string, name: string, max: number): string {
  if (name.length >= 2 && name.length <= max && /^[\w+=,.@-]+$/.test(name)) return name;
  throw validationError(
    `1 validation error detected: Value '${name}' at '${field}' failed to satisfy constraint: Member must have length between 2 and ${max} and satisfy regular expression pattern: [\\w+=,.@-]*`,
  );
}

/** The session policies and tags of a request, within the limits of the provider. */
function narrowingOf(params: Params): Narrowing {
  const policy = params.optional("Policy");
  const policyArns = params.list("PolicyArns").map((item) => item.get("arn") ?? "");
  if (policyArns.length > 10) {
    throw validationError(
      "1 validation error detected: Value at 'policyArns' failed to satisfy constraint: Member must have length less than or equal to 10",
    );
  }
  if (policy !== null && policy.length > 2048) {
    throw validationError(
      "1 validation error detected: Value at 'policy' failed to satisfy constraint: Member must have length less than or equal to 2048",
    );
  }
  if (policy !== null) statementsOf(policy);
  for (const arn of policyArns) {
    if (!/^arn:[\w-]+:iam::(\d{12}|aws):policy\//.test(arn)) {
      throw validationError(`ARN ${arn} is not valid.`);
    }
  }
  const tags = Object.fromEntries(tagsOf(params));
  const packed = (policy ?? "").length + [...policyArns, JSON.stringify(tags)].join("").length - 2;
  const percent = Math.ceil((packed * 100) / 2350);
  if (percent > 100) {
    const said = `Packed size of session tags and policies consumes ${percent}% of allotted space.`;
    throw new ApiError(400, "PackedPolicyTooLarge", said);
  }
  return { policy, policyArns, tags, percent };
}

/** The actions that session policies leave. */
function narrowedActions(account: Account, narrowing: Narrowing): readonly string[] {
  const own = narrowing.policyArns.flatMap((arn) => account.policies.get(arn)?.document ?? []);
  const documents = narrowing.policy === null ? own : [narrowing.policy, ...own];
  const written = documents
    .flatMap(statementsOf)
    .filter(({ effect }) => effect === "Allow")
    .flatMap(({ actions }) => actions);
  return [...written, ...narrowing.policyArns.flatMap((arn) => PROVIDER_POLICIES.get(arn) ?? [])];
}

/** Whether the token is rightly signed is looked at where the fake of the other cloud is; here only
 *  what it says. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const claims: unknown = JSON.parse(
      Buffer.from(token.split(".")[1] ?? "", "base64url").toString(),
    );
    if (isObject(claims)) return claims;
  } catch {
    // Told below: it is no token.
  }
  const mark = createHash("sha256").update(token).digest("hex").slice(0, 8);
  throw new ApiError(400, "InvalidIdentityToken", `No valid token (${mark})`);
}
