// Actions on policies: managed ones, attached ones, and those written into a user or a group. The
// documents that are read come percent-encoded.

import { ACCOUNT, type Account, type Group, type User } from "./account.ts";
import { type Action, type Actions, type Call, namedUser, page, sorted } from "../action.ts";
import { PROVIDER_POLICIES } from "./permissions.ts";
import { checkInline, checkName, checkPath, statementsOf } from "./rules.ts";
import {
  alreadyExists,
  ApiError,
  dateText,
  limitExceeded,
  noSuchEntity,
  validationError,
} from "../wire.ts";

/** The ARN of one that exists. */
export function managedPolicy(account: Account, arn: string): string {
  if (!/^arn:[\w-]+:iam::(\d{12}|aws):policy\/[\w+=,.@/-]+$/.test(arn)) {
    throw new ApiError(400, "InvalidInput", `ARN ${arn} is not valid.`);
  }
  if (!account.policies.has(arn) && !PROVIDER_POLICIES.has(arn)) {
    throw noSuchEntity(`Policy ${arn} does not exist or is not attachable.`);
  }
  return arn;
}

type Holder = User | Group;

interface Kind {
  readonly word: "User" | "Group";
  readonly inlineLimit: number;
  readonly holder: (call: Call) => Holder;
}

const OF_USERS: Kind = { word: "User", inlineLimit: 2048, holder: namedUser };

const OF_GROUPS: Kind = {
  word: "Group",
  inlineLimit: 5120,
  holder: ({ account, params }) => account.group(params.required("GroupName")),
};

/** The same seven actions for users and for groups. */
function holderActions(kind: Kind): Actions {
  const { word, holder } = kind;
  const named: readonly [string, Action][] = [
    [`Attach${word}Policy`, (call) => attach(call, holder(call), word)],
    [`Detach${word}Policy`, (call) => detach(call, holder(call))],
    [`ListAttached${word}Policies`, (call) => listAttached(call, holder(call))],
    [`Put${word}Policy`, (call) => put(call, kind)],
    [`Get${word}Policy`, (call) => get(call, kind)],
    [`Delete${word}Policy`, (call) => remove(call, holder(call))],
    [
      `List${word}Policies`,
      (call) => page(call, "PolicyNames", sorted(holder(call).inline.keys())),
    ],
  ];
  return Object.fromEntries(named);
}

function attach({ account, params }: Call, holder: Holder, word: string): null {
  const arn = managedPolicy(account, params.required("PolicyArn"));
  if (!holder.attached.has(arn) && holder.attached.size >= 10) {
    throw limitExceeded(`Cannot exceed quota for PoliciesPer${word}: 10`);
  }
  holder.attached.add(arn);
  return null;
}

function detach({ params }: Call, holder: Holder): null {
  const arn = params.required("PolicyArn");
  if (!holder.attached.delete(arn)) throw noSuchEntity(`Policy ${arn} was not found.`);
  return null;
}

function listAttached(call: Call, holder: Holder): ReturnType<typeof page> {
  const rows = [...holder.attached].map((arn) => ({
    PolicyName: arn.slice(arn.lastIndexOf("/") + 1),
    PolicyArn: arn,
  }));
  return page(call, "AttachedPolicies", rows);
}

function put(call: Call, { holder, word, inlineLimit }: Kind): null {
  const { params } = call;
  const name = checkName("policyName", params.required("PolicyName"), 128);
  const document = params.required("PolicyDocument");
  const found = holder(call);
  checkInline(document, inlineLimit, `${word.toLowerCase()} ${found.name}`);
  found.inline.set(name, document);
  return null;
}

function get(call: Call, { holder, word }: Kind): Record<string, string> {
  const found = holder(call);
  const name = call.params.required("PolicyName");
  const document = found.inline.get(name);
  if (document === undefined) throw noSuchPolicy(word, name);
  return { [`${word}Name`]: found.name, PolicyName: name, PolicyDocument: encoded(document) };
}

function remove({ params }: Call, holder: Holder): null {
  const name = params.required("PolicyName");
  if (!holder.inline.delete(name)) throw noSuchPolicy("user", name);
  return null;
}

function noSuchPolicy(word: string, name: string): ApiError {
  return noSuchEntity(`The ${word.toLowerCase()} policy with name ${name} cannot be found.`);
}

/** RFC 3986: also what encodeURIComponent leaves alone. */
function encoded(document: string): string {
  return encodeURIComponent(document).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export const policyActions: Actions = {
  ...holderActions(OF_USERS),
  ...holderActions(OF_GROUPS),

  CreatePolicy({ account, params }) {
    const name = checkName("policyName", params.required("PolicyName"), 128);
    const path = checkPath(params.optional("Path") ?? "/");
    const document = params.required("PolicyDocument");
    statementsOf(document);
    if (document.length > 6144) throw limitExceeded("Cannot exceed quota for PolicySize: 6144");
    const arn = `arn:aws:iam::${ACCOUNT}:policy${path}${name}`;
    if (account.policies.has(arn)) {
      throw alreadyExists(
        `A policy called ${name} already exists. Duplicate names are not allowed.`,
      );
    }
    account.policies.set(arn, { document, createdAt: account.now() });
    return { Policy: showPolicy(account, arn) };
  },

  GetPolicy({ account, params }) {
    return { Policy: showPolicy(account, managedPolicy(account, params.required("PolicyArn"))) };
  },

  GetPolicyVersion({ account, params }) {
    const arn = managedPolicy(account, params.required("PolicyArn"));
    const version = params.required("VersionId");
    const policy = account.policies.get(arn);
    if (version !== "v1" || policy === undefined) {
      throw noSuchEntity(`Policy ${arn} version ${version} does not exist.`);
    }
    const at = dateText(policy.createdAt);
    const document = encoded(policy.document);
    return {
      PolicyVersion: {
        Document: document,
        VersionId: "v1",
        IsDefaultVersion: true,
        CreateDate: at,
      },
    };
  },

  DeletePolicy({ account, params }) {
    const arn = managedPolicy(account, params.required("PolicyArn"));
    const holders: readonly Holder[] = [...account.users.values(), ...account.groups.values()];
    if (holders.some(({ attached }) => attached.has(arn))) {
      const said = "Cannot delete a policy attached to entities.";
      throw new ApiError(409, "DeleteConflict", said);
    }
    if (!account.policies.delete(arn)) throw validationError(`${arn} is not yours.`);
    return null;
  },
};

function showPolicy(account: Account, arn: string): Record<string, string> {
  const createdAt = account.policies.get(arn)?.createdAt ?? 0;
  return {
    PolicyName: arn.slice(arn.lastIndexOf("/") + 1),
    Arn: arn,
    DefaultVersionId: "v1",
    CreateDate: dateText(createdAt),
  };
}
