// Sessions of STS, by the provider's own client: one method, one call.

import type {
  AssumedSession,
  CallerIdentity,
  CloudAProvider,
  FederatedSession,
  SessionCredentials,
  SessionLimits,
} from "./provider.ts";
import { sessionOf, tagList } from "./sdk-answers.ts";
import type { StsCalls } from "./sdk-calls.ts";

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
