// What the SDK hands over, made into what the engine knows. Its members are all optional: an answer that
// lacks one that we need is no answer.

import type { Credentials } from "@aws-sdk/client-sts";
import type { User } from "@aws-sdk/client-iam";
import type { Instant } from "@holdfast/shared/world";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { CloudUser, SessionCredentials } from "./provider.ts";

export function sessionOf(
  step: string,
  credentials: Credentials | undefined,
  arn: string | undefined,
): SessionCredentials {
  return {
    accessKeyId: needed(step, credentials?.AccessKeyId),
    secretAccessKey: needed(step, credentials?.SecretAccessKey),
    sessionToken: needed(step, credentials?.SessionToken),
    expires: instantOf(needed(step, credentials?.Expiration)),
    arn: arn ?? "",
  };
}

export function userOf(step: string, user: User | undefined): CloudUser {
  return {
    name: needed(step, user?.UserName),
    id: needed(step, user?.UserId),
    path: user?.Path ?? "/",
    arn: user?.Arn ?? "",
    created: instantOf(needed(step, user?.CreateDate)),
  };
}

export function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * 1_000_000n;
}

export function needed<T>(step: string, value: T | undefined): T {
  if (value !== undefined && value !== "") return value;
  throw new ProviderError({
    step,
    code: "UnexpectedAnswer",
    message: "the answer lacks something that it must have",
    status: 200,
    requestId: "",
    kind: "unknown",
    secrets: [],
  });
}

/** One member of each. */
export function texts<K extends string>(
  items: readonly { readonly [name in K]?: string | undefined }[] | undefined,
  member: K,
): string[] {
  return (items ?? []).flatMap((item) => item[member] ?? []);
}

export function tagList(tags: Readonly<Record<string, string>>) {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}
