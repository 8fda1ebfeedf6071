// Credentials for a role: which kind, for how long, and what is answered. The three
// kinds end differently: users by their lease, sessions by themselves.

import { SECOND, secondsLeft } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { withDeadline } from "../../cloud/deadline.ts";
import { prove } from "../../cloud/proof.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Clients } from "../provider/clients.ts";
import type { LeaseConfig } from "./lease-config.ts";
import type { Roles } from "./roles.ts";
import { keysOf } from "./stored-role.ts";
import type { Users } from "./users.ts";
import * as failures from "../failures.ts";
import { callerName, defaultTemplate, generatedName, sessionName } from "./names.ts";
import type { CloudAProvider, NewAccessKey, SessionCredentials } from "../provider/provider.ts";
import type { CredentialType, Role } from "./role.ts";
import type { RootConfig, StoredRoot } from "../keys/root-config.ts";
import { sessionPolicies } from "./session-policies.ts";
import { countIssued } from "../../cloud/metrics.ts";
import { namePrefix } from "../../cloud/settings.ts";

export interface CredentialRequest {
  readonly name: string;
  /** The endpoint: legacy roles give something else on each. */
  readonly path: "creds" | "sts";
  readonly roleArn: string;
  readonly sessionName: string;
  /** Null: not given. */
  readonly ttl: Nanos | null;
  readonly verify: boolean;
  readonly caller: Caller | null;
}

const DEFAULT_TTL = 3600;
const DEADLINE: Nanos = 75n * SECOND;
const VERIFIED_WITHIN: Nanos = 30n * SECOND;

export interface CredentialParts {
  readonly needs: EngineNeeds;
  readonly clients: Clients;
  readonly rootConfig: RootConfig;
  readonly leaseConfig: LeaseConfig;
  readonly roles: Roles;
  readonly users: Users;
}

export class Credentials {
  readonly #parts: CredentialParts;

  constructor(parts: CredentialParts) {
    this.#parts = parts;
  }

  async issue(request: CredentialRequest) {
    const { needs, roles, rootConfig } = this.#parts;
    const role = await roles.find(request.name);
    if (role === null) throw failures.noRole(request.name);
    if (role.invalidData !== null) throw failures.roleInvalid(role.name);
    const type = typeFor(role, request.path);
    const root = await rootConfig.read();
    const made =
      type === "iam_user"
        ? await this.#user(role, request, root)
        : await this.#session(type, role, request, root);
    countIssued(needs.metrics, type);
    return made;
  }

  async #user(role: Role, request: CredentialRequest, root: StoredRoot | null) {
    const { users, leaseConfig } = this.#parts;
    const { ttl, maxTtl } = await leaseConfig.terms();
    const newName = () => this.#generated("IAM", role, request, root);
    const { username, key, record, made, account } = await users.make(role, newName);
    const verified = request.verify ? { verified: await this.#verified(key, root) } : {};
    const data = {
      access_key: key.id,
      secret_key: key.secret,
      session_token: null,
      security_token: null,
      username,
      ...verified,
    };
    const created = Number(made / SECOND);
    const internal: JsonObject = {
      type: "iam_user",
      username,
      access_key_id: key.id,
      role: role.name,
      created_at: created,
      ...(account === null ? {} : { account }),
    };
    const warnings = [...(request.ttl === null ? [] : [USER_TTL]), ...unused(request)];
    const needsOneOf = keysOf(request.name);
    const lease = { secretType: "iam_user", internal, ttl, maxTtl, needsOneOf, settles: [record] };
    return reply(data, { warnings, lease });
  }

  async #session(
    type: Exclude<CredentialType, "iam_user">,
    role: Role,
    request: CredentialRequest,
    root: StoredRoot | null,
  ) {
    const { timers, clock } = this.#parts.needs;
    const { seconds, warnings } = this.#duration(role, request.ttl);
    if (type === "federation_token") warnings.push(...unused(request));
    const roleArn = type === "assumed_role" ? chosenArn(role, request.roleArn) : "";
    const name =
      type === "assumed_role"
        ? request.sessionName === ""
          ? this.#generated("IAM", role, request, root)
          : sessionName(request.sessionName)
        : this.#generated("STS", role, request, root);
    const session = await withDeadline(timers, DEADLINE, async (signal) => {
      const provider = await this.#parts.clients.provider(signal);
      return type === "assumed_role"
        ? assumed(provider, role, { roleArn, name, seconds })
        : federated(provider, role, { name, seconds });
    });
    const ttl = Math.max(1, secondsLeft(session.expires - clock.now()));
    const data = showCreds(session, ttl);
    if (root?.stsLeases === "virtual") {
      // Nothing is kept: the credentials end by themselves, and nobody could end them sooner.
      return reply(data, { warnings, leased: { id: "", seconds: ttl, renewable: false } });
    }
    const arn: JsonObject = roleArn === "" ? {} : { role_arn: roleArn };
    const ends = { good_until: showTime(session.expires) };
    const internal: JsonObject = { type: "sts", name, role: role.name, ...arn, ...ends };
    const length = BigInt(ttl) * SECOND;
    const needsOneOf = keysOf(request.name);
    const terms = { ttl: length, maxTtl: length, renewable: false };
    const lease = { secretType: "sts", internal, ...terms, needsOneOf };
    return reply(data, { warnings, lease });
  }

  #generated(
    type: "IAM" | "STS",
    role: Role,
    { caller }: CredentialRequest,
    root: StoredRoot | null,
  ): string {
    const { needs } = this.#parts;
    const own = root?.usernameTemplate ?? "";
    const template = own === "" ? defaultTemplate(namePrefix(needs.settings)) : own;
    const input = { type, displayName: callerName(caller), policyName: role.name };
    return generatedName(needs, template, input);
  }

  /** Of a session, in seconds; cut to what both the role and the mount allow (T-I08). */
  #duration(role: Role, requested: Nanos | null): { seconds: number; warnings: string[] } {
    const usual = role.defaultStsTtl > 0 ? role.defaultStsTtl : DEFAULT_TTL;
    // 0 would be left to the provider, whose own length knows no cap.
    const wanted = requested === null || requested === 0n ? usual : Number(requested / SECOND);
    const mountMax = Math.max(1, Number(this.#parts.needs.mount.maxTtl() / SECOND));
    const [cap, whose] =
      role.maxStsTtl > 0 && role.maxStsTtl <= mountMax
        ? [role.maxStsTtl, "max_sts_ttl of the role"]
        : [mountMax, "max_lease_ttl of the mount"];
    if (wanted <= cap) return { seconds: wanted, warnings: [] };
    const warning = `ttl of ${wanted} s was cut to ${cap} s by ${whose}`;
    return { seconds: cap, warnings: [warning] };
  }

  /** Whether the provider knows a new key by now, at one of its doors. */
  #verified(key: NewAccessKey, root: StoredRoot | null): Promise<boolean> {
    const { needs, clients } = this.#parts;
    return withDeadline(needs.timers, VERIFIED_WITHIN, async (signal) => {
      const provider = await clients.providerWith(key, root, signal);
      const attempt = () => provider.callerIdentity();
      const { timers } = needs;
      return (await prove(attempt, { timers, signal, every: SECOND })).proved;
    });
  }
}

const USER_TTL = "ttl is ignored: the lease of an iam_user follows config/lease";

/** What only sessions of a role have. */
function unused({ roleArn, sessionName: name }: CredentialRequest): string[] {
  const fields = { role_arn: roleArn, role_session_name: name };
  return Object.entries(fields)
    .filter(([, text]) => text !== "")
    .map(([field]) => `${field} is ignored: it is for assumed_role only`);
}

/** A legacy role of two kinds gives one on each path. */
function typeFor(role: Role, path: "creds" | "sts"): CredentialType {
  const fits = (type: CredentialType) =>
    !role.pathBound || (type === "iam_user") === (path === "creds");
  const type = role.credentialTypes.find(fits);
  if (type === undefined) throw failures.wrongPath(role.credentialTypes.join(","), path);
  return type;
}

function chosenArn(role: Role, requested: string): string {
  const [only] = role.roleArns;
  if (requested === "") {
    if (only === undefined || role.roleArns.length !== 1) {
      throw failures.roleArnMissing(role.roleArns.length);
    }
    return only;
  }
  if (!role.roleArns.includes(requested)) throw failures.roleArnForeign(requested, role.name);
  return requested;
}

async function assumed(
  provider: CloudAProvider,
  role: Role,
  { roleArn, name, seconds }: { roleArn: string; name: string; seconds: number },
): Promise<SessionCredentials> {
  const { policy, policyArns } = await sessionPolicies(provider, role);
  const { externalId, sessionTags } = role;
  return provider.assumeRole({
    roleArn,
    sessionName: name,
    seconds,
    policy,
    policyArns,
    ...(externalId === "" ? {} : { externalId }),
    ...(Object.keys(sessionTags).length === 0 ? {} : { tags: sessionTags }),
  });
}

async function federated(
  provider: CloudAProvider,
  role: Role,
  { name, seconds }: { name: string; seconds: number },
): Promise<SessionCredentials> {
  if (provider.temporary) throw failures.temporaryRoot();
  const { policy, policyArns } = await sessionPolicies(provider, role);
  if (policy === "" && policyArns.length === 0) throw failures.noSessionPolicy();
  return provider.federationToken({ name, seconds, policy, policyArns });
}

function showCreds(
  { accessKeyId, secretAccessKey, sessionToken, arn }: SessionCredentials,
  ttl: number,
) {
  return {
    access_key: accessKeyId,
    secret_key: secretAccessKey,
    session_token: sessionToken,
    security_token: sessionToken,
    arn,
    ttl,
  };
}
