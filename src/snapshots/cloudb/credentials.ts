// The account that cloudb-blob is called as: of the configuration, of the environment, of the user's file.

import { fromBase64 } from "@holdfast/shared/bytes";
import { userFile, type Surroundings } from "../targets/credential-files.ts";
import { readIni } from "../targets/ini-file.ts";
import type { CloudBSettings } from "../targets/settings.ts";
import { storeRefuses } from "../targets/store-error.ts";
import type { AccountKey } from "./shared-key.ts";

/** Two names each: ours, then the provider's own. */
const VARIABLES = [
  ["CLOUDB_ACCOUNT_NAME", "CLOUDB_ACCOUNT_KEY"],
  ["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"],
] as const;
const STEP = "looking for credentials";

/** Name and key are looked for each by itself: one may be in the configuration, the other outside. */
export function accountKey(settings: CloudBSettings, around: Surroundings): AccountKey {
  const account = settings.accountName || found(around, 0, "account");
  const text = settings.accountKey || found(around, 1, "key");
  if (account === "" || text === "") {
    throw storeRefuses(
      STEP,
      "cloudb_account_name and cloudb_account_key are not both set, and what is missing is neither in " +
        "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY of the server's environment nor in its file ~/.azure/config; " +
        "managed identities are not used",
    );
  }
  const key = fromBase64(text);
  if (key === null || key.length === 0) throw storeRefuses(STEP, "the account key is not base64");
  return { account, key };
}

function found(around: Surroundings, which: 0 | 1, inFile: "account" | "key"): string {
  for (const names of VARIABLES) {
    const value = around.environment(names[which]);
    if (value !== null) return value;
  }
  const file = userFile(around, null, ".azure", "config");
  return (file === null ? undefined : readIni(file.text).get("storage")?.get(inFile)) ?? "";
}
