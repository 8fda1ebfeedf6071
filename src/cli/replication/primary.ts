// Commands on the primary of a replication set: it begins one, lets clusters in and puts them out, and gives way.

import * as replication from "@holdfast/client/api/replication";
import { showDuration } from "@holdfast/shared/text/duration";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { plainTime } from "../terminal/relative-time.ts";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP, operationCall } from "./operation-secret.ts";

export const CLUSTER_ADDRESS_FLAG = {
  clusterAddress: flag.string("Where secondaries come, unless at the listener's own", "URL"),
};

export function addressInput(address: string | undefined) {
  return address === undefined ? {} : { primary_cluster_addr: address };
}

export const replicationEnable = command({
  name: "replication enable",
  summary: "Make this cluster a primary of disaster-recovery replication",
  description:
    "Nothing changes for those who use it. It needs a cluster port: `cluster_address` of a tcp listener. Needs `update` on " +
    "sys/replication/dr/primary/enable.",
  examples: [
    "holdfast replication enable",
    "holdfast replication enable -cluster-address https://a.example:8201",
  ],
  flags: CLUSTER_ADDRESS_FLAG,
  args: {},
  async run({ client, out }, { clusterAddress }) {
    await replication.enableDrPrimary(client.inRoot(), addressInput(clusterAddress));
    out.done("Success! This cluster is a primary.");
    out.hint(
      "Next: `holdfast replication public-key` on the other cluster, then `holdfast replication token -public-key KEY ID` here",
    );
  },
});

export const replicationToken = command({
  name: "replication token",
  summary: "Make a token with which another cluster becomes a secondary",
  description:
    "ID names the secondary from then on. With -public-key the token is sealed to that cluster and of no use to anybody else; " +
    "without, it is unwrapped once, at the API of this cluster, and whoever is first has it. Needs `update` and `sudo` on " +
    "sys/replication/dr/primary/secondary-token.",
  examples: [
    "holdfast replication token -public-key KEY site-b > token",
    "holdfast replication token -ttl 10m -field token site-b",
  ],
  flags: {
    ttl: flag.duration("How long the token is good, 24h at most (30m)"),
    publicKey: flag.string("Key of the cluster that is to join, by its `public-key`", "KEY"),
  },
  args: { id: argument.required("Name of the secondary") },
  async run({ client, out }, { ttl, publicKey, id }) {
    const input = {
      id,
      ...(ttl === undefined ? {} : { ttl: showDuration(ttl) }),
      ...(publicKey === undefined ? {} : { secondary_public_key: publicKey }),
    };
    const { data, wrapInfo } = await replication.makeDrSecondaryToken(client.inRoot(), input);
    // A wrapped answer has no data of its own.
    const token = wrapInfo?.token.reveal() ?? data?.token ?? "";
    await out.show({ id, token }, { text: token });
    out.hint(
      `Next, on ${id}, with this token: \`holdfast replication join -\` where it is new; where it was in the set before, ` +
        "`holdfast replication update-primary -dr-token FILE @TOKEN`. The token is a secret until it was used.",
    );
  },
});

export const replicationRevoke = command({
  name: "replication revoke",
  summary: "Refuse a secondary from now on",
  description:
    "Its sessions end at once. What it has it keeps, keys included. ID is its name here, the one that it had at the primary before " +
    "this one, or the id of its cluster. On a terminal it asks first. Needs `update` on sys/replication/dr/primary/revoke-secondary.",
  examples: ["holdfast replication revoke site-b", "holdfast replication revoke -yes site-b"],
  flags: { yes: flag.switch("Do not ask") },
  args: { id: argument.required("Name of the secondary, or id of its cluster") },
  async run(context, { id, yes }) {
    const { client, out } = context;
    const before = await membersOf(context);
    if (!(await confirmed(context, yes, `Revoke the secondary ${id}?`, "Nothing was revoked.")))
      return 1;
    await replication.revokeDrSecondary(client.inRoot(), { id });
    const known = before?.known ?? [];
    // The server answers alike where nobody is known by that name.
    const isRevoked =
      before === null || known.includes(id) || (await membersOf(context))?.all !== before.all;
    if (!isRevoked) {
      const names = known.length === 0 ? "none has one" : `those are ${known.join(", ")}`;
      out.hint(
        `Nothing was revoked that the status shows: no secondary here has the name ${id} (${names}). Whoever had it at the primary before this one, or ` +
          "is the cluster with that id, is refused from now on; where that is nobody, nothing has changed.",
      );
      return 0;
    }
    out.done(`Success! Revoked the secondary ${id}.`);
    out.hint(
      "It still holds data and keys. Next, where it is not in good hands: `holdfast operator rotate`, `holdfast operator rekey`",
    );
    return 0;
  },
});

const FOLLOW =
  "a ticket and a token of the cluster that leads, and `holdfast replication update-primary -dr-token FILE @TOKEN` here";

/** What is missing elsewhere is not sent any more: who has it leads again first. */
const INCOMPLETE =
  "Do not promote the secondary yet: it would lack what is only here. Next: an operation token by `holdfast replication " +
  "operation-token` here, then `holdfast replication promote -dr-token FILE` here; when the secondary streams, demote again. " +
  "`holdfast replication failover -plan -dr-token FILE` there says what it lacks.";

export function afterDemotion(wasFenced: boolean, warnings: readonly string[]): string {
  if (wasFenced) return `Next: ${FOLLOW}`;
  if (warnings.some((text) => text.startsWith("NOT everything"))) return INCOMPLETE;
  return `Next: \`holdfast replication promote -dr-token FILE\` on the secondary that takes over; then ${FOLLOW}`;
}

export const replicationDemote = command({
  name: "replication demote",
  summary: "Make this primary a secondary without a primary: the first half of a failover",
  description:
    "It takes no more requests, and waits up to ten seconds until the secondaries have the last write; warnings say who has it. " +
    "Its tokens are of no use until a cluster of the set is promoted. On a terminal it asks first, elsewhere it does not. Needs `update` on " +
    "sys/replication/dr/primary/demote.",
  examples: ["holdfast replication demote", "holdfast replication demote -yes"],
  flags: { yes: flag.switch("Do not ask") },
  args: {},
  async run(context, { yes }) {
    const { client, out, settings } = context;
    const { display } = settings.address.value;
    const question = `Demote ${display}? Nobody is served until a secondary is promoted.`;
    if (!(await confirmed(context, yes, question, "Nothing was demoted."))) return 1;
    const { data: before } = await replication.readDrStatus(client.inRoot());
    const { warnings } = await replication.demoteDrPrimary(client.inRoot());
    out.done("Success! This cluster is a secondary without a primary.");
    out.hint(afterDemotion(before["state"] === "fenced", warnings));
    return 0;
  },
});

export const replicationDisable = command({
  name: "replication disable",
  summary: "End the part of this cluster in its replication set",
  description:
    "A primary goes on alone; its secondaries follow nobody. A secondary becomes a cluster of its own with the data that it " +
    "has: tokens and leases are then good on both. Joining again takes the place of all data. On a terminal it asks first, elsewhere it does not. " +
    DR_TOKEN_HELP,
  examples: [
    "holdfast replication disable",
    "holdfast replication disable -yes -dr-token token.txt",
  ],
  flags: { yes: flag.switch("Do not ask"), ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { yes, drToken }) {
    const { out, settings } = context;
    const { mode, isFenced } = await roleOf(context);
    const { display } = settings.address.value;
    const question =
      mode === "secondary"
        ? `Make ${display} a cluster of its own? It no longer takes over for its primary.`
        : isFenced
          ? `End replication of ${display}? Another cluster leads, and this one would write beside it.`
          : `End replication of ${display}? Its secondaries get nothing more.`;
    if (!(await confirmed(context, yes, question, "Nothing was disabled."))) return 1;
    if (mode === "secondary") {
      const call = await operationCall(context, drToken);
      await replication.disableDrSecondary(call.client, call.body);
    } else {
      await replication.disableDrPrimary(context.client.inRoot());
    }
    out.done("Success! This cluster is on its own.");
    return 0;
  },
});

export const replicationTicket = command({
  name: "replication ticket",
  summary: "Make a ticket for operations on the secondaries of this primary",
  description:
    "In place of an operation token, so that nobody has to find holders of key shares at night: it names what it is for, ends by " +
    "itself, and changes a role once. A rekey ends all of them. Keep it where the primary is not. Needs `update` and `sudo` on " +
    "sys/replication/dr/primary/operator-ticket.",
  examples: [
    "holdfast replication ticket promote",
    "holdfast replication ticket -ttl 12h -field ticket promote update-primary > ticket",
  ],
  flags: { ttl: flag.duration("How long it is good, 24h at most (1h)") },
  args: {
    operations: argument.rest("What it is for: promote, update-primary, disable, recover, …"),
  },
  async run({ client, out, clock }, { ttl, operations }) {
    if (operations.length === 0) {
      throw new UsageError("OPERATIONS is missing: what it is for, such as promote");
    }
    const input = { operations, ...(ttl === undefined ? {} : { ttl: showDuration(ttl) }) };
    const { data } = await replication.drOperatorTicket(client.inRoot(), input);
    await out.show(data, {
      pairs: [
        ["Ticket", data.ticket],
        ["Id", data.id],
        ["Operations", data.operations],
        ["Expires", plainTime(data.expires_at, clock.now())],
      ],
    });
  },
});

// --- asking ---

/** What this cluster is; an empty text where that cannot be told. */
export async function modeOf(context: Context): Promise<string> {
  return (await roleOf(context)).mode;
}

async function roleOf({ openly }: Context) {
  const { data } = await replication.readDrStatus(openly.inRoot());
  const mode = typeof data["mode"] === "string" ? data["mode"] : "";
  return { mode, isFenced: data["state"] === "fenced" };
}

/** Who is known, and all that the status has of members. Null where this cluster is no primary: then the refusal of the server says it
 *  better. */
async function membersOf({ client }: Context) {
  const { data } = await replication.readDrStatus(client.inRoot());
  const { known_secondaries: known, awaited_members: awaited = [] } = data;
  if (!Array.isArray(known)) return null;
  return { known: known.map(String), all: JSON.stringify([known, awaited]) };
}

export async function confirmed(
  { prompt, out }: Context,
  yes: boolean,
  question: string,
  otherwise: string,
): Promise<boolean> {
  if (yes || !prompt.interactive || (await prompt.confirm(question))) return true;
  out.hint(otherwise);
  return false;
}
