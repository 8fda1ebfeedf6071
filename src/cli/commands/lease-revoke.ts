// `holdfast lease revoke`

import * as leases from "@holdfast/client/api/leases";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { LEASE_HELP } from "../lease-view.ts";
import { UsageError } from "../usage-error.ts";

export const leaseRevoke = command({
  name: "lease revoke",
  summary: "End leases, and the secrets that they stand for",
  description:
    "The server takes them up in turn; with -sync the command waits until they are ended, or says " +
    "why not. -prefix ends every lease below a path, and asks first on a terminal; below that of a " +
    "login method (auth/userpass) it logs everybody out who came through it. -force, with " +
    "-prefix, forgets them even where the secret could not be ended: what then remains in other " +
    "systems is told, and is yours to remove.",
  examples: [
    "holdfast lease revoke -sync clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f",
    "holdfast lease revoke -prefix clouda/creds/ci",
    "holdfast lease revoke -sync -prefix auth/userpass/login/anna",
    "holdfast lease revoke -yes -force -prefix clouda",
  ],
  flags: {
    sync: flag.switch("Wait until it is done"),
    prefix: flag.switch("All leases below LEASE, a path"),
    force: flag.switch("With -prefix: forget them even if ending the secrets fails"),
    yes: flag.switch("Do not ask"),
  },
  args: { lease: argument.rest(`${LEASE_HELP}; several are possible`, { words: "paths" }) },
  async run(context, { lease: named, sync, prefix, force, yes }) {
    const { out, prompt } = context;
    if (named.length === 0 || named.includes("")) {
      throw new UsageError(`LEASE is missing: ${LEASE_HELP}`);
    }
    if (force && !prefix) throw new UsageError("-force goes with -prefix");
    if (prefix && !yes && prompt.interactive) {
      const what = named.map((one) => `${one.replace(/\/+$/, "")}/`).join(", ");
      const how = force ? "Forget every lease below" : "End every lease below";
      if (!(await prompt.confirm(`${how} ${what}?`))) {
        out.hint("Nothing was revoked.");
        return 1;
      }
    }
    let code = 0;
    for (const one of new Set(named)) {
      if (!(await revoke(context, one, { sync, prefix, force }))) code = NOT_THERE;
    }
    return code;
  },
});

interface How {
  readonly sync: boolean;
  readonly prefix: boolean;
  readonly force: boolean;
}

/** What the server says when there was nothing to revoke. */
const NOTHING = /: nothing was revoked\b/;
const NOT_MOUNTED = /^nothing is mounted at /;
const NOT_THERE = 3;

/** False where the path leads nowhere: whoever mistyped it must not take it for done. */
async function revoke({ client, out }: Context, lease: string, how: How): Promise<boolean> {
  const { sync, prefix, force } = how;
  const what = prefix ? `every lease below: ${lease}` : `the lease: ${lease}`;
  if (force) {
    const { warnings } = await leases.forceRevokeLeases(client, { prefix: lease });
    if (!warnings.some((one) => NOTHING.test(one))) out.done(`Success! Forgot ${what}`);
    return !warnings.some((one) => NOT_MOUNTED.test(one));
  }
  const { status, warnings } = prefix
    ? await leases.revokeLeasesBelow(client, { prefix: lease, sync })
    : await leases.revokeLease(client, { lease_id: lease, sync });
  // The warning has said it.
  if (warnings.some((one) => NOTHING.test(one))) {
    return !warnings.some((one) => NOT_MOUNTED.test(one));
  }
  out.done(
    status === 202
      ? `Queued: the server takes up the revocation of ${what}`
      : `Success! Revoked ${what}`,
  );
  return true;
}
