// Credentials for a proof of who we are: AssumeRoleWithWebIdentity, the one call that nobody signs.

import { SECOND } from "@holdfast/shared/text/duration";
import { withDeadline } from "../../cloud/deadline.ts";
import type { SessionCredentials } from "./provider.ts";
import type { ProviderCalls } from "./provider-calls.ts";
import { sdkClients, type SdkParts } from "./sdk.ts";
import { Binding, StsCalls } from "./sdk-calls.ts";
import { sessionOf } from "./sdk-answers.ts";
import { namePrefix } from "../../cloud/settings.ts";

const DEADLINE = 30n * SECOND;
const MAX_NAME = 64;

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
    RoleSessionName: `${name.slice(0, MAX_NAME - time.length)}${time}`,
    WebIdentityToken: token,
  });
  const action = "AssumeRoleWithWebIdentity";
  return withDeadline(needs.timers, DEADLINE, async (signal) => {
    const sts = new StsCalls(new Binding({ clients, calls, signal }), sdk);
    const answer = await sts.ask(action, (client, options) => client.send(command, options));
    return sessionOf(`sts:${action}`, answer.Credentials, answer.AssumedRoleUser?.Arn);
  });
}
