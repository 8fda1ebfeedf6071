// How a user that we made is taken away: for the end of its lease, and for what was begun and came to
// nothing (cloud-engines 2.9). Keys go first: with them access ends, whatever fails afterwards.

import { MINUTE } from "../../base/duration.ts";
import { Failure } from "../../base/failure.ts";
import type { Instant, Nanos } from "../../base/world.ts";
import { ProviderError } from "../cloud/provider-error.ts";
import { checkAccount, checkKnownAccount } from "./account.ts";
import { orGone, unlessGone } from "./gone.ts";
import type { CloudAProvider } from "./provider.ts";

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
    await removeAdditions(provider, name);
    await unlessGone(provider.deleteUser(name));
  }
}

/** What a holder may have added (D34), and keys that it has made meanwhile. */
async function removeAdditions(provider: CloudAProvider, name: string): Promise<void> {
  const keys = (await orGone(provider.accessKeys(name))) ?? [];
  for (const { id } of keys) await unlessGone(provider.deleteAccessKey(name, id));
  await unlessGone(provider.deleteLoginProfile(name));
  for (const serial of (await orGone(provider.mfaDevices(name))) ?? []) {
    await unlessGone(provider.deactivateMfaDevice(name, serial));
    // Virtual ones are objects of their own, named by an ARN; others have a bare number.
    if (serial.startsWith("arn:")) await unlessGone(provider.deleteVirtualMfaDevice(serial));
  }
  for (const id of (await orGone(provider.signingCertificates(name))) ?? []) {
    await unlessGone(provider.deleteSigningCertificate(name, id));
  }
  for (const id of (await orGone(provider.sshPublicKeys(name))) ?? []) {
    await unlessGone(provider.deleteSshPublicKey(name, id));
  }
  for (const id of (await orGone(provider.serviceSpecificCredentials(name))) ?? []) {
    await unlessGone(provider.deleteServiceSpecificCredential(name, id));
  }
}

function notVisible(name: string): Failure {
  const message =
    `user ${name} is not there, but was made less than 5 minutes ago: ` +
    "the provider may not show it yet";
  return new Failure("upstream", "user-not-visible", message);
}
