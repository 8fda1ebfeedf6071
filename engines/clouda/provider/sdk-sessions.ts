// Sessions of STS, by the provider's own client: one method, one call.

import { SECOND } from "@holdfast/shared/text/duration";
import { withDeadline } from "../../cloud/deadline.ts";
import { namePrefix } from "../../cloud/settings.ts";
import type {
  AssumedSession,
  CallerIdentity,
  CloudAProvider,
  FederatedSession,
  SessionCredentials,
  SessionLimits,
} from "./provider.ts";
import { sessionOf, tagList } from "./sdk-answers.ts";
import type { ProviderCalls } from "./provider-calls.ts";
import { sdkClients, type SdkParts } from "./sdk.ts";
import { Binding, StsCalls } from "./sdk-calls.ts";

export function sessionCalls(
  calls: StsCalls,
): Pick<CloudAProvider, "callerIdentity" | "assumeRole" | "federationToken"> {
  const { sdk } = calls;
  return {
    async callerIdentity(): Promise<CallerIdentity> {
      const { GetCallerIdentityCommand } = sdk;
      const answer = await calls.ask("GetCallerIdentity", (client, options) =>
        client.send(new GetCallerIdentityCommand({}), options),
      );
      return { account: answer.Account ?? "", arn: answer.Arn ?? "" };
    },

    async assumeRole(session: AssumedSession): Promise<SessionCredentials> {
      const { AssumeRoleCommand } = sdk;
      const { roleArn, sessionName, externalId, tags } = session;
      const command = new AssumeRoleCommand({
        RoleArn: roleArn,
        RoleSessionName: sessionName,
        ...limitsOf(session),
        ...(externalId === undefined ? {} : { ExternalId: externalId }),
        ...(tags === undefined ? {} : { Tags: tagList(tags) }),
      });
      const answer = await calls.ask("AssumeRole", (client, options) =>
        client.send(command, options),
      );
      return sessionOf("sts:AssumeRole", answer.Credentials, answer.AssumedRoleUser?.Arn);
    },

    async federationToken(session: FederatedSession): Promise<SessionCredentials> {
      const { GetFederationTokenCommand } = sdk;
      const command = new GetFederationTokenCommand({ Name: session.name, ...limitsOf(session) });
      const answer = await calls.ask("GetFederationToken", (client, options) =>
        client.send(command, options),
      );
      return sessionOf("sts:GetFederationToken", answer.Credentials, answer.FederatedUser?.Arn);
    },
  };
}

function limitsOf({ policy = "", policyArns = [], seconds }: SessionLimits) {
  return {
    DurationSeconds: seconds,
    ...(policy === "" ? {} : { Policy: policy }),
    ...(policyArns.length === 0 ? {} : { PolicyArns: policyArns.map((arn) => ({ arn })) }),
  };
}

// --- AssumeRoleWithWebIdentity, the one call that nobody signs: credentials for a proof of who we are ---

const DEADLINE = 30n * SECOND;
const MAX_SESSION_NAME = 64;

export async function webIdentity({
  parts,
  calls,
  token,
}: {
  readonly parts: Omit<SdkParts, "credentials">;
  readonly calls: ProviderCalls;
  readonly token: string;
}): Promise<SessionCredentials> {
  const { root, needs } = parts;
  const sdk = await import("@aws-sdk/client-sts");
  const clients = await sdkClients({ ...parts, credentials: null });
  const time = `-${needs.clock.now() / SECOND}`;
  const name = `${namePrefix(needs.settings)}${needs.mount.accessor}`;
  const command = new sdk.AssumeRoleWithWebIdentityCommand({
    RoleArn: root?.roleArn ?? "",
    RoleSessionName: `${name.slice(0, MAX_SESSION_NAME - time.length)}${time}`,
    WebIdentityToken: token,
  });
  const action = "AssumeRoleWithWebIdentity";
  return withDeadline(needs.timers, DEADLINE, async (signal) => {
    const sts = new StsCalls(new Binding({ clients, calls, signal }), sdk);
    const answer = await sts.ask(action, (client, options) => client.send(command, options));
    return sessionOf(`sts:${action}`, answer.Credentials, answer.AssumedRoleUser?.Arn);
  });
}
