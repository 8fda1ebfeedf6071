// Which password a rotation replaces: only that one is removed afterwards. The application may have
// others, which are in use elsewhere.

import type { StoredConfig } from "./config.ts";
import type { Connection } from "../provider/connection.ts";
import * as failures from "../failures.ts";
import type { Application } from "../provider/graph.ts";
import { isSameId } from "../provider/lookups.ts";
import type { Patience } from "../provider/patience.ts";
import type { OldPassword } from "./rotation-state.ts";

/** The application whose secret is configured. */
export async function ownApplication(
  { graph, effective }: Connection,
  signal: AbortSignal,
): Promise<Application> {
  const [found, ...more] = await graph.applicationsOf(effective.clientId, signal);
  if (found === undefined) throw failures.cannotRotate("no application found for client_id");
  if (more.length > 0) throw failures.cannotRotate("several applications found for client_id");
  return found;
}

/** The password that is in use now: by what a rotation has kept, or by how it begins, where that tells one
 *  from all others. It may be one of the principal instead. */
export async function replacedBy(
  { graph }: Connection,
  application: Application,
  used: { readonly keyId: string | null; readonly secret: string; readonly patience: Patience },
): Promise<OldPassword | null> {
  const { keyId, secret, patience } = used;
  const isIt = (one: Application["passwords"][number]) =>
    keyId === null ? one.hint !== "" && secret.startsWith(one.hint) : one.keyId === keyId;
  const own = application.passwords.filter(isIt);
  if (own.length === 1) return { holder: "applications", id: application.id, keyId: own[0]!.keyId };
  if (own.length > 1) return null;
  const principal = await patience.step((signal) => graph.principalOf(application.appId, signal));
  const theirs = principal?.passwords.filter(isIt) ?? [];
  if (principal === null || theirs.length !== 1) return null;
  return { holder: "servicePrincipals", id: principal.id, keyId: theirs[0]!.keyId };
}

/** Whether a password that was replaced may be the one that is used now. Of a secret that a rotation of
 *  ours has made its id is kept; of another, which an operator has written since, only its beginning can
 *  be compared, and in doubt it is in use. */
export async function mayBeInUse(
  { graph, effective }: Connection,
  stored: StoredConfig | null,
  { holder, id, keyId }: OldPassword,
  signal: AbortSignal,
): Promise<boolean> {
  const { clientId, clientSecret } = effective;
  if (clientSecret === "") return false;
  const kept = stored?.clientSecret === clientSecret ? stored.keyId : null;
  if (kept !== null) return kept === keyId;
  const found =
    holder === "applications"
      ? await graph.application(id, signal)
      : await graph.principalOf(clientId, signal);
  if (found === null || found.id !== id || !isSameId(found.appId, clientId)) return false;
  const password = found.passwords.find((one) => one.keyId === keyId);
  return password !== undefined && clientSecret.startsWith(password.hint);
}
