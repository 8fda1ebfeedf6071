// Commands on the primary of a replication set: it begins one, lets clusters in and puts them out, and gives way.

import * as replication from "@holdfast/client/api/replication";
import { showDuration } from "@holdfast/shared/text/duration";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { plainTime } from "../terminal/relative-time.ts";
import {
  CALLS,
  type Kind,
  KIND_FLAG,
  KIND_HELP,
  KIND_NAMES,
  ON_SECONDARY,
  secondaryCall,
  statusOf,
  WITH_KIND,
} from "./kinds.ts";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP } from "./operation-secret.ts";

export const CLUSTER_ADDRESS_FLAG = {
  clusterAddress: flag.string("Where secondaries come, unless at the listener's own", "URL"),
};

export function addressInput(address: string | undefined) {
  return address === undefined ? {} : { primary_cluster_addr: address };
}

export const replicationEnable = command({
  name: "replication enable",
  summary: "Make this cluster a primary that others follow",
  description:
    "Nothing changes for those who use it. It needs a cluster port: `cluster_address` of a tcp listener. Secondaries of disaster recovery hold everything and " +
    "take over; those of performance replication serve their region, and send writes of what is shared here. Needs `update` on " +
    `sys/replication/dr/primary/enable. ${KIND_HELP}`,
  examples: [
    "holdfast replication enable",
    "holdfast replication enable -kind performance",
    "holdfast replication enable -cluster-address https://a.example:8201",
  ],
  flags: { ...KIND_FLAG, ...CLUSTER_ADDRESS_FLAG },
  args: {},
  async run({ client, out }, { kind, clusterAddress }) {
    await CALLS[kind].enable(client.inRoot(), addressInput(clusterAddress));
    out.done(`Success! This cluster is a primary of ${KIND_NAMES[kind]}.`);
    const of = WITH_KIND[kind];
    out.hint(
      `Next: \`holdfast replication public-key${of}\` on the other cluster, then \`holdfast replication token${of} -public-key KEY ID\` here`,
    );
  },
});

export const replicationToken = command({
  name: "replication token",
  summary: "Make a token with which another cluster becomes a secondary",
  description:
    "ID names the secondary from then on. With -public-key the token is sealed to that cluster and of no use to anybody else; " +
    "without, it is unwrapped once, at the API of this cluster, and whoever is first has it. A performance secondary vouches for the owners of tokens that it " +
    "alone knows, by the names of their policies: -attest-policies says for which it may, and whoever has another is refused. Needs `update` and `sudo` on " +
    `sys/replication/dr/primary/secondary-token. ${KIND_HELP}`,
  examples: [
    "holdfast replication token -public-key KEY site-b > token",
    "holdfast replication token -kind performance -public-key KEY region-b > token",
    "holdfast replication token -kind performance -attest-policies app,ci -public-key KEY region-b > token",
    "holdfast replication token -ttl 10m -field token site-b",
  ],
  flags: {
    ...KIND_FLAG,
    ttl: flag.duration("How long the token is good, 24h at most (30m)"),
    publicKey: flag.string("Key of the cluster that is to join, by its `public-key`", "KEY"),
    attestPolicies: flag.string(
      "Policies that a performance secondary may vouch for, with commas between; empty for none (all)",
      "NAMES",
    ),
  },
  args: { id: argument.required("Name of the secondary") },
  async run({ client, out }, { kind, ttl, publicKey, attestPolicies, id }) {
    if (kind !== "performance" && attestPolicies !== undefined) {
      throw new UsageError(
        "-attest-policies is for performance replication: add -kind performance",
      );
    }
    if (publicKey?.trim() === "") {
      throw new UsageError(
        "-public-key is empty: the command that should have printed it has failed",
        `run \`holdfast replication public-key${WITH_KIND[kind]}\` on the other cluster again, and see what it says; without -public-key the token is wrapped, and whoever is first has it`,
      );
    }
    const input = {
      id,
      ...(attestPolicies === undefined ? {} : { attest_policies: namesIn(attestPolicies) }),
      ...(ttl === undefined ? {} : { ttl: showDuration(ttl) }),
      ...(publicKey === undefined ? {} : { secondary_public_key: publicKey }),
    };
    const { data, wrapInfo } = await CALLS[kind].token(client.inRoot(), input);
    // A wrapped answer has no data of its own.
    const token = wrapInfo?.token.reveal() ?? data?.token ?? "";
    await out.show({ id, token }, { text: token });
    out.hint(
      `Next, with this token: \`holdfast replication join${WITH_KIND[kind]} -\` on ${id} where it is new; ` +
        `\`holdfast replication update-primary${ON_SECONDARY[kind]} @TOKEN\` there where it was in the set before. The token is a secret until it was used.`,
    );
  },
});

function namesIn(text: string): readonly string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

export const replicationRevoke = command({
  name: "replication revoke",
  summary: "Refuse a secondary from now on",
  description:
    "Its sessions end at once. What it has it keeps, keys included. ID is its name here, the one that it had at the primary before " +
    "this one, or the id of its cluster. On a terminal it asks first. Needs `update` on sys/replication/dr/primary/revoke-secondary. " +
    KIND_HELP,
  examples: [
    "holdfast replication revoke site-b",
    "holdfast replication revoke -yes site-b",
    "holdfast replication revoke -kind performance region-b",
  ],
  flags: { ...KIND_FLAG, yes: flag.switch("Do not ask") },
  args: { id: argument.required("Name of the secondary, or id of its cluster") },
  async run(context, { kind, id, yes }) {
    const { client, out } = context;
    const before = await membersOf(context, kind);
    if (!(await confirmed(context, yes, `Revoke the secondary ${id}?`, "Nothing was revoked.")))
      return 1;
    await CALLS[kind].revoke(client.inRoot(), { id });
    const known = before?.known ?? [];
    // The server answers alike where nobody is known by that name.
    const isRevoked =
      before === null || known.includes(id) || (await membersOf(context, kind))?.all !== before.all;
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
      "Where it has ever come, it still holds data and keys. Next, where it is not in good hands then: `holdfast operator rotate`, `holdfast operator rekey`",
    );
    return 0;
  },
});

const FOLLOW: Readonly<Record<Kind, string>> = {
  dr: "a ticket and a token of the cluster that leads, and `holdfast replication update-primary -dr-token FILE @TOKEN` here",
  performance:
    "a token of the cluster that leads, and `holdfast replication update-primary -kind performance @TOKEN` here",
};

/** What is missing elsewhere is not sent any more: who has it leads again first. */
function incomplete(kind: Kind): string {
  const first =
    kind === "dr" ? "an operation token by `holdfast replication operation-token` here, then " : "";
  const how = ON_SECONDARY[kind];
  return (
    `Do not promote the secondary yet: it would lack what is only here. Next: ${first}\`holdfast replication promote${how}\` here; when the secondary streams, demote again. ` +
    `\`holdfast replication failover -plan${how}\` there says what it lacks.`
  );
}

export function afterDemotion(
  wasFenced: boolean,
  warnings: readonly string[],
  kind: Kind = "dr",
): string {
  if (wasFenced) return `Next: ${FOLLOW[kind]}`;
  if (warnings.some((text) => text.startsWith("NOT everything"))) return incomplete(kind);
  return `Next: \`holdfast replication promote${ON_SECONDARY[kind]}\` on the secondary that takes over; then ${FOLLOW[kind]}`;
}

export const replicationDemote = command({
  name: "replication demote",
  summary: "Make this primary a secondary without a primary: the first half of a failover",
  description:
    "It takes no more requests, and waits up to ten seconds until the secondaries have the last write; warnings say who has it. " +
    "Its tokens are of no use until a cluster of the set is promoted; a performance primary goes on with reads and what is its own, and writes nothing that is " +
    "shared until then. On a terminal it asks first, elsewhere it does not. Needs `update` on " +
    `sys/replication/dr/primary/demote. ${KIND_HELP}`,
  examples: [
    "holdfast replication demote",
    "holdfast replication demote -yes",
    "holdfast replication demote -kind performance",
  ],
  flags: { ...KIND_FLAG, yes: flag.switch("Do not ask") },
  args: {},
  async run(context, { kind, yes }) {
    const { client, out, settings } = context;
    const { display } = settings.address.value;
    const meanwhile =
      kind === "dr" ? "Nobody is served" : "Nothing that is shared is written in any region";
    const question = `Demote ${display}? ${meanwhile} until a secondary is promoted.`;
    if (!(await confirmed(context, yes, question, "Nothing was demoted."))) return 1;
    const { data: before } = await CALLS[kind].status(client.inRoot());
    const { warnings } = await CALLS[kind].demote(client.inRoot());
    out.done("Success! This cluster is a secondary without a primary.");
    out.hint(afterDemotion(before["state"] === "fenced", warnings, kind));
    return 0;
  },
});

export const replicationDisable = command({
  name: "replication disable",
  summary: "End the part of this cluster in its replication set",
  description:
    "A primary goes on alone; its secondaries follow nobody. A secondary becomes a cluster of its own with the data that it " +
    "has: tokens and leases are then good on both. Joining again takes the place of all data. On a terminal it asks first, elsewhere it does not. " +
    `${KIND_HELP} ${DR_TOKEN_HELP}`,
  examples: [
    "holdfast replication disable",
    "holdfast replication disable -yes -dr-token token.txt",
    "holdfast replication disable -kind performance",
  ],
  flags: { ...KIND_FLAG, yes: flag.switch("Do not ask"), ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { kind, yes, drToken }) {
    const { out, settings } = context;
    const { mode, isFenced } = await roleOf(context, kind);
    const { display } = settings.address.value;
    const loss =
      kind === "dr"
        ? "It no longer takes over for its primary."
        : "It gets nothing more of what is shared, and writes that by itself.";
    const question =
      mode === "secondary"
        ? `Make ${display} a cluster of its own? ${loss}`
        : isFenced
          ? `End replication of ${display}? Another cluster leads, and this one would write beside it.`
          : `End replication of ${display}? Its secondaries get nothing more.`;
    if (!(await confirmed(context, yes, question, "Nothing was disabled."))) return 1;
    if (mode === "secondary") {
      const { client, body } = await secondaryCall(context, kind, drToken);
      await CALLS[kind].leave(client, body);
    } else {
      await CALLS[kind].disablePrimary(context.client.inRoot());
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

async function roleOf(context: Context, kind: Kind) {
  const data = await statusOf(context, kind);
  const mode = typeof data["mode"] === "string" ? data["mode"] : "";
  return { mode, isFenced: data["state"] === "fenced" };
}

/** Who is known, and all that the status has of members. Null where this cluster is no primary: then the refusal of the server says it
 *  better. */
async function membersOf({ client }: Context, kind: Kind) {
  const { data } = await CALLS[kind].status(client.inRoot());
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
