// Whom cloudc-store is called as: a service account of the configuration, or what the file holds that the
// environment names or the provider's tool has written for the server's user.

import { createPrivateKey, type KeyObject } from "node:crypto";
import { serviceAccountInvalid } from "../targets/failures.ts";
import { userFile, type Surroundings } from "../targets/credential-files.ts";
import { readAnswer, textAt } from "../targets/json-answer.ts";
import type { CloudCSettings } from "../targets/settings.ts";
import { storeRefuses } from "../targets/store-error.ts";

export type Identity =
  | {
      readonly kind: "service_account";
      readonly email: string;
      readonly keyId: string;
      readonly key: KeyObject;
      readonly tokenUri: string;
    }
  | {
      readonly kind: "authorized_user";
      readonly clientId: string;
      readonly clientSecret: string;
      readonly refreshToken: string;
      readonly tokenUri: string;
    };

const TOKEN_URI = "https://oauth2.googleapis.com/token";
const STEP = "looking for credentials";

export function identityOf(settings: CloudCSettings, around: Surroundings): Identity {
  if (settings.serviceAccountKey !== "") return readServiceAccount(settings.serviceAccountKey);
  const file = userFile(
    around,
    "GOOGLE_APPLICATION_CREDENTIALS",
    ".config",
    "gcloud",
    "application_default_credentials.json",
  );
  if (file === null) {
    throw storeRefuses(
      STEP,
      "cloudc_service_account_key is not set, GOOGLE_APPLICATION_CREDENTIALS of the server's environment names no " +
        "file, and there is no ~/.config/gcloud/application_default_credentials.json; identities of machines and " +
        "containers are not used",
    );
  }
  const found = readAnswer(file.text);
  if (textAt(found, "type") === "authorized_user") return readUser(file.text, file.path);
  try {
    return readServiceAccount(file.text);
  } catch {
    throw storeRefuses(STEP, `${file.path} holds neither a service account nor a user`);
  }
}

/** Throws a Failure that says what is wrong with it, and nothing of what is in it. */
export function readServiceAccount(text: string): Identity {
  const found = readAnswer(text);
  if (found === null) throw serviceAccountInvalid("it is no JSON object");
  if (textAt(found, "type") !== "service_account") {
    throw serviceAccountInvalid('its "type" is not "service_account"');
  }
  const email = textAt(found, "client_email");
  const pem = textAt(found, "private_key");
  if (email === "") throw serviceAccountInvalid('it has no "client_email"');
  if (pem === "") throw serviceAccountInvalid('it has no "private_key"');
  const key = privateKey(pem);
  if (key?.asymmetricKeyType !== "rsa") {
    throw serviceAccountInvalid('its "private_key" is no RSA key in PEM form');
  }
  const tokenUri = textAt(found, "token_uri") || TOKEN_URI;
  return {
    kind: "service_account",
    email,
    keyId: textAt(found, "private_key_id"),
    key,
    tokenUri,
  };
}

function readUser(text: string, path: string): Identity {
  const found = readAnswer(text);
  const [clientId, clientSecret, refreshToken] = [
    textAt(found, "client_id"),
    textAt(found, "client_secret"),
    textAt(found, "refresh_token"),
  ];
  if (clientId === "" || refreshToken === "") {
    throw storeRefuses(STEP, `${path} has no client_id or no refresh_token`);
  }
  return {
    kind: "authorized_user",
    clientId,
    clientSecret,
    refreshToken,
    tokenUri: textAt(found, "token_uri") || TOKEN_URI,
  };
}

function privateKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
