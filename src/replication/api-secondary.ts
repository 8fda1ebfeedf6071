// The endpoints of a secondary, of either kind of replication, and that by which a cluster becomes one.

import { access, type DrOperation } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { type Reply, reply, type ReplyExtras } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { ReplicationKind } from "../cluster/names.ts";
import { clusterAddress, IN_NAMES } from "./api-primary.ts";
import type { Admission } from "./admission.ts";
import { secondaryAlready } from "./failures.ts";
import type { Replication } from "./replication.ts";
import type { SignedRehearsal } from "./roles/rehearsal.ts";
import { SIGHTS } from "./roles/seen.ts";
import { withheldWarnings } from "./roles/warnings.ts";
import type { Tried } from "./links/join.ts";

const endpoint = endpointsOf<Replication>();
const joining = endpointsOf<Admission>();

const base = (kind: ReplicationKind) => `/sys/replication/${kind}/secondary`;
const MAX_TOKEN = 32 * 1024;
const MAX_PEM = 64 * 1024;

const text = (name: string, help: string, max = 4096) =>
  wire.body(name).string(help, { max }).default("");

/** How the primary's API is reached, to unwrap a token there. */
const unwrapping = {
  apiAddress: text(
    "primary_api_addr",
    "API address of the primary; the token's own unless said",
    512,
  ),
  caFile: text("ca_file", "File with the authorities of that API, in PEM"),
  caPath: text("ca_path", "Directory with such files"),
  caPem: text("ca_pem", "The same as text", MAX_PEM),
  clientCertPem: text("client_cert_pem", "Certificate to show there, in PEM", MAX_PEM),
  clientKeyPem: wire.body("client_key_pem").secret("Its key, in PEM", { max: MAX_PEM }).optional(),
};

const trying = wire
  .param("dry_run")
  .boolean("Only tell how far it would come: address, step and cause")
  .default(false);

const triedOutput = out.object({
  ready: out.optional(out.boolean("Of a trial: whether nothing was found that is in the way")),
  steps: out.optional(
    out.list(
      out.object({
        step: out.oneOf(
          ["token", "api", "role", "address", "connect", "certificate", "hello"],
          "The last that was taken; hello is the last of all",
        ),
        address: out.string("Where; empty where nobody was called"),
        ok: out.boolean("Whether it went well"),
        cause: out.string("What is in the way; empty where nothing is"),
      }),
      "What was tried, in order",
    ),
  ),
});

const check = out.object({
  name: out.string("Name of the check"),
  ok: out.boolean("Whether it holds"),
  skipped_by_force: out.boolean("Whether force goes on without it"),
  text: out.string("What is wrong; empty where nothing is"),
});

/** A disaster-recovery secondary knows no tokens; one of the other kind does, when its first copy is whole. */
const operation = (kind: ReplicationKind, name: DrOperation) =>
  kind === "dr" ? access.drOperation(name) : access.capabilityOrCopying(name);

export const secondaryApi = (kind: ReplicationKind) => [
  endpoint({
    name: `promote${IN_NAMES[kind]}Secondary`,
    method: "POST",
    path: `${base(kind)}/promote`,
    summary: "Make this secondary the primary",
    description:
      "With dry_run nothing is changed: the answer lists every check, what would be lost, and what to do next, and names the " +
      "signed report of it (sys/evidence).",
    access: operation(kind, "promote"),
    belongs: "local",
    rootOnly: true,
    input: {
      address: clusterAddress,
      force: wire
        .param("force")
        .boolean("Go on without the checks that may be left out, and lose what they tell")
        .default(false),
      dryRun: wire.param("dry_run").boolean("Only tell what would happen").default(false),
    },
    output: out.object({
      ready: out.optional(out.boolean("Of a rehearsal: whether it would be promoted")),
      ready_with_force: out.optional(out.boolean("And with force")),
      checks: out.optional(out.list(check, "Every check, in the order in which they are made")),
      lost_from: out.optional(out.integer("First index that would be lost")),
      lost_to: out.optional(out.integer("Last index that would be lost")),
      lost_entries: out.optional(out.integer("How many that are")),
      unheard_seconds: out.optional(
        out.integer(
          "For how long the primary was not heard of: what it has written since is not known here, and would be lost too",
        ),
      ),
      primary_seen: out.optional(
        out.oneOf(
          SIGHTS,
          "What was seen of the primary when it was last called; none: nobody is followed",
        ),
      ),
      primary_seen_text: out.optional(out.string("The same in words, with the address")),
      next: out.optional(out.list(out.string("Command"), "What to do next, in order")),
      evidence: out.optional(out.string("Id of the signed report of a rehearsal")),
    }),
    handler: async (replication, { address, force, dryRun }, context) => {
      if (dryRun) return rehearsal(await replication.rehearse(address));
      if (kind === "performance") context.detach(); // the rooms open anew
      return changed(await replication.promote({ address, force }));
    },
  }),

  endpoint({
    name: `disable${IN_NAMES[kind]}Secondary`,
    method: "POST",
    path: `${base(kind)}/disable`,
    summary: "Make this secondary a cluster of its own, with the data that it has",
    description:
      kind === "dr"
        ? ""
        : "One whose first copy is not whole has nothing of its own, and half of what is another's: that goes, and the server is to be initialised. It knows no " +
          "tokens then, and takes an operation token, as it does for promote, update-primary and generate-public-key.",
    access: operation(kind, "disable"),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: async (replication, _input, context) => {
      if (kind === "performance") context.detach(); // the rooms open anew
      return reply(undefined, await replication.disableSecondary());
    },
  }),
];

export const recoverSecondaryApi = [
  endpoint({
    name: "recoverDrSecondary",
    method: "POST",
    path: `${base("dr")}/recover`,
    summary: "Begin replication anew where it waits or has stopped",
    access: access.drOperation("recover"),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: async (replication) => reply(undefined, await replication.recover()),
  }),
];

export const joiningApi = (kind: ReplicationKind) => [
  joining({
    name: `generate${IN_NAMES[kind]}PublicKey`,
    method: "POST",
    path: `${base(kind)}/generate-public-key`,
    summary: "Make the key that a token for this cluster is sealed to",
    description: "Each call makes another one; the last counts.",
    access: (kind === "dr" ? access.capabilityOr : access.capabilityOrCopying)(
      "generate-public-key",
    ),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.object({ secondary_public_key: out.string("Public half, in base64") }),
    handler: async (admission) => ({
      secondary_public_key: await admission.generatePublicKey(),
    }),
  }),

  joining({
    name: `enable${IN_NAMES[kind]}Secondary`,
    method: "POST",
    path: `${base(kind)}/enable`,
    summary: "Make this cluster a secondary: the primary's data takes the place of ALL of its own",
    description:
      "Nothing is changed unless the token is good, and the primary was reached and has taken this cluster. From the answer " +
      "on the data of before is gone, and so are its tokens; unsealing needs the primary's shares. With dry_run nothing is changed, " +
      "here or at the primary, and the answer says how far it would come; a wrapped token is looked up and not unwrapped.",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: kind === "dr" ? secondaryAlready : null,
    input: {
      token: wire.body("token").secret("Token that the primary has made", { max: MAX_TOKEN }),
      dryRun: trying,
      ...unwrapping,
    },
    output: triedOutput,
    handler: async (admission, input, context) => {
      if (input.dryRun) {
        const tried = await admission.tryJoining(input, context.signal);
        return trial(tried, "joins", admission.joinWarnings);
      }
      const { warnings, exchange } = await admission.enableSecondary(input, context.signal);
      context.detach();
      return changed({ warnings, afterwards: exchange });
    },
  }),

  joining({
    name: `update${IN_NAMES[kind]}Primary`,
    method: "POST",
    path: `${base(kind)}/update-primary`,
    summary: "Follow another primary, or the same at another address; the data stays",
    description:
      "With token: that primary is followed from now on, and what only this cluster has written is given up; with an empty " +
      "token none is. With update_primary_addrs: the same primary, at the first of these addresses that proves to be it. With dry_run " +
      "nothing is changed, and the answer says how far it would come. With force an epoch that is known here and that nobody leads " +
      "in is given up: a cluster that was revoked, and still holds the keys, may have claimed it.",
    access: operation(kind, "update-primary"),
    belongs: "local",
    rootOnly: true,
    input: {
      token: wire
        .body("token")
        .secret("Token that the primary has made; empty to follow none", { max: MAX_TOKEN })
        .optional(),
      addresses: wire
        .body("update_primary_addrs")
        .list("Addresses of the primary's cluster port", { max: 16 })
        .default([]),
      force: wire
        .param("force")
        .boolean(
          "With token: follow this primary also where a later epoch is known here, which is given up",
        )
        .default(false),
      dryRun: trying,
      ...unwrapping,
    },
    output: triedOutput,
    handler: async (admission, input, context) => {
      if (input.dryRun) return trial(await admission.tryChange(input, context.signal), "follows");
      return changed(await admission.changePrimary(input, context));
    },
  }),
];

/** Only a trial has data. */
function changed(extras: ReplyExtras): Reply {
  return reply(undefined, extras);
}

const UNWRAPS_ONCE =
  "a wrapped token is used up when it is unwrapped: what it says of the cluster port was not tried";

function trial(tried: readonly Tried[], does: "joins" | "follows", others: readonly string[] = []) {
  const last = tried.at(-1);
  const data = {
    ready: last?.cause === null,
    steps: tried.map(({ step, address, cause }) => ({
      step,
      address,
      ok: cause === null,
      cause: cause ?? "",
    })),
  };
  const isUntried = last?.step === "api" && last.cause === null;
  const withheld = withheldWarnings(last?.withheld ?? 0, does);
  return reply(data, { warnings: [...(isUntried ? [UNWRAPS_ONCE] : []), ...withheld, ...others] });
}

function rehearsal(found: SignedRehearsal) {
  const { checks, ready, readyWithForce, lost, unheard, primary, next, evidence } = found;
  const unsigned = evidence === null ? ["this rehearsal could not be signed for"] : [];
  const data = {
    ready,
    ready_with_force: readyWithForce,
    checks: checks.map(({ name, ok, forced, text: why }) => ({
      name,
      ok,
      skipped_by_force: forced,
      text: why,
    })),
    ...(lost === null
      ? {}
      : {
          lost_from: Number(lost.from),
          lost_to: Number(lost.to),
          lost_entries: Number(lost.to - lost.from + 1n),
        }),
    ...(unheard === null ? {} : { unheard_seconds: unheard }),
    primary_seen: primary.seen,
    primary_seen_text: primary.text,
    next: [...next],
    ...(evidence === null ? {} : { evidence }),
  };
  return reply(data, { warnings: [...found.warnings, ...unsigned] });
}
