// What the provider accepts: names, paths, tags, policy documents, durations. Limits from its public
// reference of IAM and STS quotas.

import type { Params } from "../wire.ts";
import { ApiError, limitExceeded, malformedPolicy, validationError } from "../wire.ts";

export function checkName(field: string, name: string, max: number): string {
  if (name.length > max) {
    throw validationError(
      `1 validation error detected: Value at '${field}' failed to satisfy constraint: Member must have length less than or equal to ${max}`,
    );
  }
  if (!/^[\w+=,.@-]+$/.test(name)) {
    throw validationError(
      `The specified value for ${field} is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-`,
    );
  }
  return name;
}

export function checkPath(path: string): string {
  if (path.length > 512 || !/^(\/|\/[\u0021-\u007e]+\/)$/.test(path)) {
    throw validationError(
      "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.",
    );
  }
  return path;
}

export function tagsOf(params: Params): Map<string, string> {
  const tags = new Map<string, string>();
  for (const item of params.list("Tags")) {
    const [key = "", value = ""] = [item.get("Key"), item.get("Value")];
    if (key === "" || key.length > 128 || value.length > 256) {
      throw validationError(
        "1 validation error detected: Value at 'tags' failed to satisfy constraint: keys have 1 to 128 characters, values at most 256",
      );
    }
    if (tags.has(key)) throw new ApiError(400, "InvalidInput", "Duplicate tag keys found.");
    tags.set(key, value);
  }
  if (tags.size > 50) throw limitExceeded("Cannot exceed quota for TagsPerUser: 50");
  return tags;
}

interface Statement {
  readonly effect: string;
  readonly actions: readonly string[];
}

/** The statements of a policy that is well-formed as IAM sees it; refuses any other. */
export function statementsOf(document: string): readonly Statement[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(document);
  } catch {
    throw malformedPolicy("Syntax errors in policy.");
  }
  if (!isObject(parsed)) throw malformedPolicy("Syntax errors in policy.");
  const version = parsed["Version"] ?? "2008-10-17";
  if (version !== "2012-10-17" && version !== "2008-10-17") {
    throw malformedPolicy("The policy must contain a valid version string.");
  }
  const statement = parsed["Statement"];
  const statements = Array.isArray(statement) ? statement : [statement];
  if (statements.length === 0) throw malformedPolicy("Missing required field Statement.");
  return statements.map(statementOf);
}

function statementOf(statement: unknown): Statement {
  if (!isObject(statement)) throw malformedPolicy("Missing required field Statement.");
  const effect = statement["Effect"];
  if (effect !== "Allow" && effect !== "Deny") {
    throw malformedPolicy("Missing required field Effect.");
  }
  const actions = statement["Action"] ?? statement["NotAction"];
  if (actions === undefined) throw malformedPolicy("Policy statement must contain actions.");
  if (statement["Resource"] === undefined && statement["NotResource"] === undefined) {
    throw malformedPolicy("Policy statement must contain resources.");
  }
  const list = (Array.isArray(actions) ? actions : [actions]).map(String);
  return { effect, actions: statement["Action"] === undefined ? [] : list };
}

/** Inline policies count without white space. */
export function checkInline(document: string, max: number, of: string): void {
  statementsOf(document);
  if (document.replaceAll(/\s/g, "").length > max) {
    throw limitExceeded(`Maximum policy size of ${max} bytes exceeded for ${of}`);
  }
}

export function durationOf(
  params: Params,
  rules: { readonly min: number; readonly max: number; readonly usual: number },
): number {
  const seconds = params.integer("DurationSeconds") ?? rules.usual;
  const [word, limit] = seconds < rules.min ? ["greater", rules.min] : ["less", rules.max];
  if (seconds >= rules.min && seconds <= rules.max) return seconds;
  throw validationError(
    `1 validation error detected: Value '${seconds}' at 'durationSeconds' failed to satisfy constraint: Member must have value ${word} than or equal to ${limit}`,
  );
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `iam:Get*` and the like. */
export function matches(pattern: string, action: string): boolean {
  const source = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`^${source.replaceAll("?", ".")}$`, "i").test(action);
}
