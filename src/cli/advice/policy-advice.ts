// What to do next where a request on policies is refused, or a governing policy refuses a request.

import type { ApiError } from "@holdfast/client/api-error";

const POLICY_PATH = /^sys\/polic(?:ies\/(acl|rgp|egp)|y)\/(.+)$/;

/** Null where there is nothing to say that is special to policies. */
export function onPolicyRefusal(error: ApiError, namespace: string): string | null {
  if (error.path === "sys/inspect/request") return onInspection(error, namespace);
  const [, kind = "acl", name] = POLICY_PATH.exec(error.path) ?? [];
  if (name === undefined) return null;
  const type = kind === "acl" ? "" : ` -type ${kind}`;
  if (error.kind === "not-found" && error.errors.length === 0)
    return `\`holdfast policy list${type}\` shows the names`;
  if (error.kind !== "invalid") return null;
  const { message } = error;
  if (message.includes("check-and-set parameter")) {
    return (
      `look at what is stored, \`holdfast policy read${type} ${name}\`, and give the version ` +
      "that it tells as -cas"
    );
  }
  if (message.includes("cannot reuse policy names")) {
    return "choose another name: tokens carry ACL policies and RGPs by their bare names";
  }
  if (message.startsWith("failed to parse policy: ")) {
    return `correct the document; \`holdfast policy test${type} FILE\` looks at it without a server`;
  }
  return null;
}

function onInspection(error: ApiError, namespace: string): string | null {
  if (error.says("invalid accessor")) {
    return "check the accessor and -namespace: `holdfast acl token list` shows accessors";
  }
  const nobody = error.says("invalid token") || error.says("missing client token");
  if (error.kind !== "denied" || nobody) return null;
  const needed = "ask with a token that has update and sudo on sys/inspect/request";
  if (namespace === "") return `${needed}, or with a management token`;
  return (
    `${needed} in the namespace ${namespace}, or with a management token. In a policy of the root namespace ` +
    `that is ${namespace.replace(/^\/+|\/+$/g, "")}/sys/inspect/request, and "*" does not reach it`
  );
}

const GOVERNED = /(rgp|egp) standard policy "([^"\n]*)" evaluation resulted in denial\./g;

interface GovernedDenial {
  /** In the order of evaluation, each once. */
  readonly policies: readonly string[];
  /** What the server tells of the evaluation, as lines; empty where it tells nothing. */
  readonly trace: readonly string[];
}

/** What an RGP or EGP said; null for every other refusal. */
export function governedDenial({ status, message }: ApiError): GovernedDenial | null {
  const found = Array.from(message.matchAll(GOVERNED), ([, kind, name]) => `${kind} ${name}`);
  if (status !== 403 || found.length === 0) return null;
  const lines = message.split("\n");
  const details = lines.flatMap((line, i) => {
    if (DETAIL.test(line)) return [`  ${line}`];
    const error = lines[i - 1] === "The specific error was:" && line !== "<nil>";
    return error ? [`  Error: ${line}`] : [];
  });
  return { policies: [...new Set(found)], trace: details };
}

// Of the trace what says something; the sentences around it are the same each time.
const DETAIL = /^(?:Rule "|Description: (?!<none>))/;

export function onGovernedDenial(): string {
  return (
    "ask those who write policies: `holdfast policy why` tells them the reason, and the level. A " +
    "soft-mandatory one is passed by with -policy-override, which is audited; a hard-mandatory one is not"
  );
}
