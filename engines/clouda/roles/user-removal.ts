// How a user that we made is taken away: for the end of its lease, and for what was begun and came to
// nothing. Keys go first: with them access ends, whatever fails afterwards.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Failure } from "@holdfast/shared/failure";
import { userNotVisible } from "../failures.ts";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { orGone, ProviderError, unlessGone } from "../../cloud/provider-error.ts";
import { checkAccount, checkKnownAccount } from "../provider/account.ts";
import type { CloudAProvider } from "../provider/provider.ts";

/** A user that is younger may be there and not be shown yet. */
export const VISIBLE_AFTER: Nanos = 5n * MINUTE;

export interface Removal {
  readonly provider: CloudAProvider;
  readonly name: string;
  /** In which it was made; null: not known. */
  readonly account: string | null;
  /** When it was, or may have been, made. */
  readonly made: Instant;
  readonly now: Instant;
}

/** Done when it resolves. Touches what hangs on this user and nothing else (T-I12). */
export async function removeUser(removal: Removal): Promise<void> {
  const { provider, name, made, account, now } = removal;
  checkKnownAccount(provider, account);
  const groups = await orGone(provider.groupsOfUser(name));
  if (groups === null) {
    if (now - made < VISIBLE_AFTER) throw notVisible(name);
    return checkAccount(provider, account);
  }
  const inline = (await orGone(provider.userPolicies(name))) ?? [];
  const attached = (await orGone(provider.attachedUserPolicies(name))) ?? [];
  const keys = (await orGone(provider.accessKeys(name))) ?? [];
  for (const { id } of keys) await unlessGone(provider.deleteAccessKey(name, id));
  for (const arn of attached) await unlessGone(provider.detachUserPolicy(name, arn));
  for (const policy of inline) await unlessGone(provider.deleteUserPolicy(name, policy));
  for (const group of groups) await unlessGone(provider.removeUserFromGroup(name, group));
  try {
    await unlessGone(provider.deleteUser(name));
  } catch (error) {
    // Only now, so that the usual case needs no further permissions.
    if (!(error instanceof ProviderError) || error.code !== "DeleteConflict") throw error;
    const refused = await removeAdditions(provider, name);
    try {
      await unlessGone(provider.deleteUser(name));
    } catch (last) {
      if (!(last instanceof ProviderError) || refused.length === 0) throw last;
      throw withRefusals(last, refused);
    }
  }
}

/** What a holder may have added, and keys that it has made meanwhile. What may not be looked at or
 *  removed is passed over, and given: it may not be there at all. */
async function removeAdditions(provider: CloudAProvider, name: string): Promise<ProviderError[]> {
  const refused: ProviderError[] = [];
  const tried = async <T>(call: Promise<T>): Promise<T | null> => {
    try {
      return await orGone(call);
    } catch (error) {
      if (!(error instanceof ProviderError) || error.kind !== "refused") throw error;
      refused.push(error);
      return null;
    }
  };
  for (const { id } of (await tried(provider.accessKeys(name))) ?? []) {
    await tried(provider.deleteAccessKey(name, id));
  }
  await tried(provider.deleteLoginProfile(name));
  for (const serial of (await tried(provider.mfaDevices(name))) ?? []) {
    await tried(provider.deactivateMfaDevice(name, serial));
    // Virtual ones are objects of their own, named by an ARN; others have a bare number.
    if (serial.startsWith("arn:")) await tried(provider.deleteVirtualMfaDevice(serial));
  }
  for (const id of (await tried(provider.signingCertificates(name))) ?? []) {
    await tried(provider.deleteSigningCertificate(name, id));
  }
  for (const id of (await tried(provider.sshPublicKeys(name))) ?? []) {
    await tried(provider.deleteSshPublicKey(name, id));
  }
  for (const id of (await tried(provider.serviceSpecificCredentials(name))) ?? []) {
    await tried(provider.deleteServiceSpecificCredential(name, id));
  }
  return refused;
}

/** The same failure, which also tells what may have been in the way. */
function withRefusals(error: ProviderError, refused: readonly ProviderError[]): ProviderError {
  const why = refused.map(({ message }) => message).join("; ");
  return error.with({ message: `${error.said}; before that: ${why}` });
}

function notVisible(name: string): Failure {
  const message =
    `user ${name} is not there, but was made less than 5 minutes ago: ` +
    "the provider may not show it yet";
  return userNotVisible(message);
}
