// addPassword and removePassword, of applications and principals alike: limits, the tenant's policy, and
// the conflict of two changes at once.

import { setTimeout as pause } from "node:timers/promises";
import type { Application, Password, Principal } from "../model.ts";
import { badRequest, Refusal } from "../refusal.ts";
import { type CloudRequest, checkProperties, membersOf, NO_CONTENT, type Reply } from "../route.ts";

const TWO_YEARS = 2 * 365 * 86_400_000;
const PERSONAL = ["AzureADandPersonalMicrosoftAccount", "PersonalMicrosoftAccount"];

/** As shown: never with its text. */
export function showPassword(password: Password): object {
  const { keyId, displayName, hint, start, end } = password;
  return {
    customKeyIdentifier: null,
    displayName,
    endDateTime: new Date(end).toISOString(),
    hint,
    keyId,
    secretText: null,
    startDateTime: new Date(start).toISOString(),
  };
}

export async function addPassword(
  request: CloudRequest,
  holder: Application | Principal,
): Promise<Reply> {
  const { tenant, body } = request;
  checkProperties(body, ["passwordCredential"], "addPassword");
  const fields = membersOf(body["passwordCredential"]);
  checkProperties(fields, ["displayName", "startDateTime", "endDateTime"], "PasswordCredential");
  const { displayName = null } = fields;
  if (displayName !== null && typeof displayName !== "string") {
    throw badRequest("Invalid value specified for property 'displayName'.");
  }
  const start = timeOf(fields["startDateTime"], tenant.now());
  const end = timeOf(fields["endDateTime"], start + TWO_YEARS);
  if (end <= start || end <= tenant.now()) {
    throw badRequest("The end date of the credential is not after its start.");
  }
  const policy = tenant.settings.passwordSeconds;
  // Rounded up: "in one hour" said a moment ago is within one hour.
  if (policy !== null && Math.floor((end - tenant.now()) / 1000) > policy) {
    const text = "Credential lifetime exceeds the max value allowed as per assigned policy";
    throw new Refusal(400, "CredentialInvalidLifetimeAsPerAppPolicy", text);
  }
  return changing(request, holder, () => {
    const personal = "signInAudience" in holder && PERSONAL.includes(holder.signInAudience);
    const limit = personal
      ? Math.min(2, tenant.settings.passwordLimit)
      : tenant.settings.passwordLimit;
    if (holder.passwords.length >= limit) {
      const text =
        "The size of the object has exceeded its limit. Please reduce the number of values and retry your request.";
      throw new Refusal(400, "Directory_ResourceSizeExceeded", text);
    }
    const password = tenant.directory.addPassword(holder, { displayName, start, end });
    return { status: 200, body: { ...showPassword(password), secretText: password.secretText } };
  });
}

export function removePassword(
  request: CloudRequest,
  holder: Application | Principal,
): Promise<Reply> {
  const { body } = request;
  checkProperties(body, ["keyId"], "removePassword");
  return changing(request, holder, () => {
    const left = holder.passwords.filter(({ keyId }) => keyId !== body["keyId"]);
    if (left.length === holder.passwords.length) {
      throw badRequest("No password credential found with keyId.");
    }
    holder.passwords = left;
    return NO_CONTENT;
  });
}

/** The list of passwords is one property: of two that change it at once, one loses. */
async function changing(
  { tenant }: CloudRequest,
  holder: Application | Principal,
  change: () => Reply,
): Promise<Reply> {
  if (tenant.busy.has(holder.id)) {
    const text = "Update conflict occurred. Please retry the request.";
    throw new Refusal(409, "Directory_ConcurrencyViolation", text);
  }
  tenant.busy.add(holder.id);
  try {
    await pause(tenant.settings.busyMilliseconds);
    return change();
  } finally {
    tenant.busy.delete(holder.id);
  }
}

function timeOf(value: unknown, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  const time =
    typeof value === "string" && /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(time)) throw badRequest(`'${JSON.stringify(value)}' is not a date and time.`);
  return time;
}
