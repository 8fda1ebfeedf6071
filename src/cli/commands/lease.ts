// `holdfast lease lookup`, `list`, `renew` and `revoke`.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { showDuration } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import * as leases from "@holdfast/client/api/leases";
import type { Client } from "@holdfast/client/client";
import { showAnswer } from "../answer-view.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import type { View } from "../terminal/output.ts";
import { longTime } from "../terminal/relative-time.ts";

const LEASE_HELP = "Id of the lease, as the answer with the secret told it";

const TIMES = ["issue_time", "expire_time", "last_renewal"];

function leaseView(data: JsonValue | undefined, now: Instant): View {
  const lease: JsonObject = isObject(data) ? data : {};
  return {
    pairs: Object.entries(lease).map(([name, value]) => [
      name,
      TIMES.includes(name) ? longTime(value, now) : value,
    ]),
  };
}

export const leaseLookup = command({
  name: "lease lookup",
  summary: "Show a lease: when it was issued, when it ends, what stopped its revocation",
  examples: [
    "holdfast lease lookup clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f",
    "holdfast lease lookup -field ttl clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f",
  ],
  flags: {},
  args: { lease: argument.required(LEASE_HELP) },
  async run({ client, out, clock }, { lease }) {
    const { data } = await leases.lookupLease(client, { lease_id: lease });
    await out.show(data, leaseView(data, clock.now()));
  },
});

export const leaseList = command({
  name: "lease list",
  summary: "List leases below a path, or those that could not be revoked",
  description:
    "One level at a time: folders end in a slash, the last part of an id does not. -irrevocable shows " +
    "whole ids, each with the reason why its secret could not be ended; the server tries them daily.",
  examples: [
    "holdfast lease list clouda/creds/ci",
    "holdfast lease list -irrevocable",
    "holdfast lease list -irrevocable -field lease_id",
  ],
  flags: {
    irrevocable: flag.switch("Those that could not be revoked, in all mounts"),
    after: flag.string("Only those after this one", "KEY"),
    limit: flag.integer("How many at most", { min: 1 }),
  },
  args: { prefix: argument.optional("Path that the ids begin with", { words: "paths" }) },
  async run({ client, out }, { irrevocable, prefix = "", after, limit }) {
    if (irrevocable) {
      if (prefix !== "" || after !== undefined) {
        throw new UsageError("-irrevocable shows all of them: it takes neither PREFIX nor -after");
      }
      const { data } = await leases.readLeases(client, {
        type: "irrevocable",
        limit: limit === undefined ? undefined : String(limit),
      });
      const found = data.leases;
      if (found.length === 0) out.hint("No irrevocable leases found.");
      if (found.length === 0 && out.forPeople) return 3;
      const rows = found.map(({ lease_id, mount_id, error }) => [lease_id, mount_id, error]);
      await out.show(found, { columns: ["Lease", "Mount", "Error"], rows, whole: ["Lease"] });
      return found.length === 0 ? 3 : 0;
    }
    const folder = /^\/*$/.test(prefix) ? "" : prefix;
    const data = await listing(client, folder, { after, limit });
    const keys = data?.keys ?? [];
    if (keys.length === 0) out.hint(`No leases found${prefix === "" ? "" : ` below ${prefix}`}.`);
    if (keys.length === 0 && out.forPeople) return 3;
    await out.show(keys, { columns: ["Keys"], rows: keys.map((key) => [key]) }, data ?? {});
    return keys.length === 0 ? 3 : 0;
  },
});

/** Null for an empty list. */
async function listing(
  client: Client,
  folder: string,
  page: leases.ListLeasesInput,
): Promise<leases.ListLeasesAnswer | null> {
  try {
    const { data } =
      folder === ""
        ? await leases.listLeases(client, page)
        : await leases.listLeasesBelow(client, { prefix: folder, ...page });
    return data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return null;
    throw error;
  }
}

export const leaseRenew = command({
  name: "lease renew",
  summary: "Let a lease last longer",
  description:
    "The time counts from now, not from the present end, and the server may grant less: what it " +
    "granted is shown.",
  examples: ["holdfast lease renew -increment 1h clouda/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f"],
  flags: { increment: flag.duration("How long from now on (as at first)") },
  args: { lease: argument.required(LEASE_HELP) },
  async run({ client, out }, { lease, increment }) {
    const answer = await leases.renewLease(client, {
      lease_id: lease,
      ...(increment === undefined ? {} : { increment: showDuration(increment) }),
    });
    await showAnswer(out, answer, `Success! Renewed the lease: ${lease}`);
  },
});

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
const NOT_THERE = 3;

/** False where there was nothing to revoke: whoever mistyped it must not take it for done. */
async function revoke({ client, out }: Context, lease: string, how: How): Promise<boolean> {
  const { sync, prefix, force } = how;
  const what = prefix ? `every lease below: ${lease}` : `the lease: ${lease}`;
  if (force) {
    const { warnings } = await leases.forceRevokeLeases(client, { prefix: lease });
    const found = !warnings.some((one) => NOTHING.test(one));
    if (found) out.done(`Success! Forgot ${what}`);
    return found;
  }
  const { status, warnings } = prefix
    ? await leases.revokeLeasesBelow(client, { prefix: lease, sync })
    : await leases.revokeLease(client, { lease_id: lease, sync });
  // The warning has said it.
  if (warnings.some((one) => NOTHING.test(one))) return false;
  out.done(
    status === 202
      ? `Queued: the server takes up the revocation of ${what}`
      : `Success! Revoked ${what}`,
  );
  return true;
}
