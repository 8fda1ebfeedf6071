// CloudAProvider by the provider's own clients, put together from its parts.

import { accountOf, type OwnAccount } from "./account.ts";
import type { CloudAProvider } from "./provider.ts";
import { userExtraCalls } from "./sdk-user-extras.ts";
import { type Binding, IamCalls, StsCalls } from "./sdk-calls.ts";
import { policyCalls } from "./sdk-policies.ts";
import { sessionCalls } from "./sdk-sessions.ts";
import { userCalls } from "./sdk-users.ts";

export async function sdkProvider(
  bound: Binding,
  facts: Pick<CloudAProvider, "temporary" | "accessKeyId"> & { readonly account: OwnAccount },
): Promise<CloudAProvider> {
  const iam = new IamCalls(bound, await import("@aws-sdk/client-iam"));
  const sts = new StsCalls(bound, await import("@aws-sdk/client-sts"));
  const { account, ...rest } = facts;
  const sessions = sessionCalls(sts);
  return {
    ...userCalls(iam, ({ arn }) => account.learn(accountOf(arn))),
    ...policyCalls(iam),
    ...userExtraCalls(iam),
    ...sessions,
    account: async () => {
      if (account.id === null) account.learn((await sessions.callerIdentity()).account);
      return account.id ?? "";
    },
    knownAccount: () => account.id,
    ...rest,
  };
}
