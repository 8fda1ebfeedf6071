// Credentials of the clouds under the names by which the providers' own tools look for them in the
// environment.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { shellWord } from "../../base/shell-text.ts";

/** `from` says for people what it is the value of, where that is not its name. */
export type Variable = readonly [name: string, value: string, from?: string];

export interface CredentialVariables {
  readonly set: readonly Variable[];
  /** What a tool would otherwise find from before, and use together with these or instead of them. */
  readonly unset: readonly string[];
}

interface Naming {
  readonly types: readonly string[];
  /** Names by member of the answer. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** Without these it is something else: the configuration of the engine also has an access_key. */
  readonly needed: readonly string[];
  readonly rivals: readonly string[];
}

const NAMINGS: readonly Naming[] = [
  {
    types: ["clouda", "aws"],
    names: {
      access_key: ["AWS_ACCESS_KEY_ID"],
      secret_key: ["AWS_SECRET_ACCESS_KEY"],
      session_token: ["AWS_SESSION_TOKEN"],
    },
    needed: ["access_key", "secret_key"],
    // A profile goes before keys in some of the tools; the token of an older session spoils new keys.
    rivals: ["AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"],
  },
  {
    types: ["cloudb", "azure"],
    names: {
      client_id: ["AZURE_CLIENT_ID", "ARM_CLIENT_ID"],
      client_secret: ["AZURE_CLIENT_SECRET", "ARM_CLIENT_SECRET"],
      tenant_id: ["AZURE_TENANT_ID", "ARM_TENANT_ID"],
      subscription_id: ["AZURE_SUBSCRIPTION_ID", "ARM_SUBSCRIPTION_ID"],
    },
    needed: ["client_id", "client_secret"],
    rivals: [],
  },
];

/** Null where the answer holds no credentials of a cloud. */
export function credentialVariables(
  mountType: JsonValue | undefined,
  data: JsonValue | undefined,
): CredentialVariables | null {
  const naming = NAMINGS.find(({ types }) => types.some((type) => type === mountType));
  if (naming === undefined || !isObject(data)) return null;
  if (naming.needed.some((member) => textOf(data, member) === null)) return null;
  const set = Object.entries(naming.names).flatMap(([member, names]) => {
    const value = textOf(data, member);
    return value === null ? [] : names.map((name) => [name, value] as const);
  });
  const taken = set.map(([name]) => name);
  return { set, unset: naming.rivals.filter((name) => !taken.includes(name)) };
}

/** Lines to paste into a shell. */
export function exportLines({ set, unset }: CredentialVariables): string {
  const lines = [
    ...(unset.length === 0 ? [] : [`unset ${unset.join(" ")}`]),
    ...set.map(([name, value]) => `export ${name}=${shellWord(value)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Null too for what is no printable ASCII, which no credential is: it could steer a terminal. */
function textOf(data: JsonObject, member: string): string | null {
  const value = data[member];
  return typeof value === "string" && /^[\x20-\x7e]+$/.test(value) ? value : null;
}
