// The keys that clouda-store signs with: of the configuration, of the environment, of the user's files.

import { userFile, type Surroundings } from "../targets/credential-files.ts";
import { readIni } from "../targets/ini-file.ts";
import type { CloudASettings } from "../targets/settings.ts";
import { storeRefuses } from "../targets/store-error.ts";
import type { SigningKeys } from "./sigv4.ts";

/** Two names each: ours, then the provider's own. */
const VARIABLES = [
  ["CLOUDA_ACCESS_KEY", "CLOUDA_SECRET_KEY", "CLOUDA_SESSION_TOKEN"],
  ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
] as const;

export function signingKeys(settings: CloudASettings, around: Surroundings): SigningKeys {
  const { accessKeyId, secretAccessKey, sessionToken } = settings;
  if (accessKeyId !== "") return { accessKeyId, secretAccessKey, sessionToken };
  const found = fromEnvironment(around) ?? fromFiles(around);
  if (found !== null) return found;
  throw storeRefuses(
    "looking for credentials",
    "clouda_access_key_id is not set, and neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the server's " +
      "environment nor its file ~/.aws/credentials have keys; roles of machines and containers are not used",
  );
}

function fromEnvironment({ environment }: Surroundings): SigningKeys | null {
  for (const [id, secret, token] of VARIABLES) {
    const accessKeyId = environment(id);
    const secretAccessKey = environment(secret);
    if (accessKeyId === null || secretAccessKey === null) continue;
    return { accessKeyId, secretAccessKey, sessionToken: environment(token) ?? "" };
  }
  return null;
}

/** The profile in the file of credentials, else in that of settings, where its section has another name. */
function fromFiles(around: Surroundings): SigningKeys | null {
  const profile = around.environment("AWS_PROFILE") ?? "default";
  const inConfig = profile === "default" ? profile : `profile ${profile}`;
  const places = [
    ["AWS_SHARED_CREDENTIALS_FILE", "credentials", profile],
    ["AWS_CONFIG_FILE", "config", inConfig],
  ] as const;
  for (const [variable, name, section] of places) {
    const file = userFile(around, variable, ".aws", name);
    const values = file === null ? undefined : readIni(file.text).get(section);
    const accessKeyId = values?.get("aws_access_key_id") ?? "";
    const secretAccessKey = values?.get("aws_secret_access_key") ?? "";
    if (accessKeyId === "" || secretAccessKey === "") continue;
    return { accessKeyId, secretAccessKey, sessionToken: values?.get("aws_session_token") ?? "" };
  }
  return null;
}
