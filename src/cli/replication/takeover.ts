// Commands by which a secondary takes over, and what to do before and when something is stuck.

import * as replication from "@holdfast/client/api/replication";
import { counted } from "@holdfast/shared/text/counted";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import type { View } from "../terminal/output.ts";
import {
  CALLS,
  type Kind,
  KIND_FLAG,
  KIND_HELP,
  modeOf,
  ON_SECONDARY,
  secondaryCall,
  type SecondaryCall,
  WITH_KIND,
} from "./kinds.ts";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP, operationCall } from "./operation-secret.ts";
import { addressInput, CLUSTER_ADDRESS_FLAG, confirmed } from "./primary.ts";
import { TICKET_HERE } from "./secondary-advice.ts";

// Apart from 1, for rehearsals in a pipeline: it was told what is in the way.
const NOT_READY = 2;

type Rehearsal = replication.PromoteDrSecondaryAnswer;

const CHECKS: ReadonlyMap<string, string> = new Map([
  ["keys", "the keys here open the data"],
  ["copied", "the first copy was completed"],
  ["whole", "no synchronisation is half done"],
  ["equal", "the last comparison found no difference"],
  ["complete", "everything that the primary told of is here"],
  ["primary-gone", "the primary was demoted, or is silent"],
  ["unfiltered", "no filter withholds anything from this cluster"],
  ["siblings", "no other member knows of a later primary, or is about to be one"],
  ["cluster-port", "there is a cluster port for others to come to"],
  ["audit", "no audit device keeps requests from being answered here"],
  ["alone", "no other change of the role is under way"],
]);

export const replicationPromote = command({
  name: "replication promote",
  summary: "Make this secondary the primary",
  description:
    "Where the primary was demoted, or is silent and told of nothing that is missing here. -force goes on without the checks that may " +
    "be left out, and loses what they tell; -dry-run changes nothing and shows every check. Afterwards tokens of the old primary are " +
    "good here. Of performance replication: the region that writes what is shared is this one from then on. On a terminal -force asks first; elsewhere it needs -yes. " +
    `${KIND_HELP} ${DR_TOKEN_HELP}`,
  examples: [
    "holdfast replication promote -dry-run",
    "holdfast replication promote -kind performance",
    "holdfast replication promote -dr-token token.txt",
    "holdfast replication promote -force -yes -dr-token token.txt",
  ],
  flags: {
    ...KIND_FLAG,
    force: flag.switch("Go on without checks, and lose what they tell"),
    dryRun: flag.switch("Change nothing; show what would happen (exit code 2 if refused)"),
    yes: flag.switch("Do not ask"),
    ...CLUSTER_ADDRESS_FLAG,
    ...DR_TOKEN_FLAG,
  },
  args: {},
  async run(context, { kind, force, dryRun, yes, clusterAddress, drToken }) {
    const { out, prompt, settings } = context;
    if (force && !yes && !dryRun && !prompt.interactive) {
      throw new UsageError(
        `${settings.address.value.display} would be promoted without its checks, and there is nobody to ask`,
        "add -yes if that is meant; -dry-run shows what would be lost",
      );
    }
    const call = await secondaryCall(context, kind, drToken);
    if (dryRun) return showPlan(context, await rehearsed(call, kind));
    if (force && !yes) {
      const plan = await rehearsed(call, kind);
      const { lost_from: from, lost_to: to } = plan;
      const withheld = withheldBy(plan);
      const lost =
        (from === undefined ? "" : ` Entries ${from} to ${to} are lost.`) +
        (withheld === null ? "" : ` What a filter withholds is lost in every region.`);
      const question = `Promote ${settings.address.value.display} by force?${lost} A primary that still runs must not be written to any more.`;
      if (!(await confirmed(context, yes, question, "Nothing was promoted."))) return 1;
    }
    const input = { ...call.body, ...addressInput(clusterAddress), ...(force ? { force } : {}) };
    await CALLS[kind].promote(call.client, input);
    out.done("Success! This cluster is the primary.");
    const first = kind === "dr" ? `send clients here; ${TICKET_HERE}, and ` : "";
    const [of, on] = [WITH_KIND[kind], ON_SECONDARY[kind]];
    out.hint(
      `Next: ${first}for each cluster that is to follow \`holdfast replication public-key${on}\` there, \`holdfast replication token${of} ` +
        `-public-key KEY ID\` here, and \`holdfast replication update-primary${on} @TOKEN\` there`,
    );
    return 0;
  },
});

export const replicationFailover = command({
  name: "replication failover",
  summary: "Show whether this secondary can take over now, as a checklist with commands",
  description:
    "-plan changes nothing: it is the rehearsal of `replication promote`, and a report of it is signed as evidence. Exit code 0 when it " +
    `would be promoted without force, 2 when not. ${KIND_HELP} ${DR_TOKEN_HELP}`,
  examples: [
    "holdfast replication failover -plan",
    "holdfast replication failover -plan -kind performance",
  ],
  flags: { ...KIND_FLAG, plan: flag.switch("Show the checklist"), ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { kind, plan, drToken }) {
    if (!plan) {
      throw new UsageError(
        "a failover is not one command: it is decided between two clusters",
        "-plan shows the checklist, and which commands are next",
      );
    }
    return showPlan(context, await rehearsed(await secondaryCall(context, kind, drToken), kind));
  },
});

export const replicationRecover = command({
  name: "replication recover",
  summary: "Begin replication anew where it waits or has stopped",
  description:
    "A secondary tries at once to reach its primary, and compares again; those of a primary connect anew. Of both kinds, where this cluster is something in both. Needs `update` on " +
    `sys/replication/recover. ${DR_TOKEN_HELP}`,
  examples: ["holdfast replication recover -dr-token token.txt"],
  flags: DR_TOKEN_FLAG,
  args: {},
  async run(context, { drToken }) {
    if ((await modeOf(context, "dr")) === "secondary") {
      const { client, body } = await operationCall(context, drToken);
      await replication.recoverDrSecondary(client, body);
    } else {
      const { client, body } = await secondaryCall(context, "performance", drToken);
      await replication.recoverReplication(client, body);
    }
    context.out.done("Success! Links are being opened again.");
    context.out.hint("Next: `holdfast replication status`");
  },
});

/** What would be missing for ever where this cluster led; null where it is sent everything. */
function withheldBy({ checks = [] }: Pick<Rehearsal, "checks">): string | null {
  const text = checks.find(({ name, ok }) => name === "unfiltered" && !ok)?.text;
  if (text === undefined) return null;
  const [, count = "mounts and namespaces"] =
    /withholds (\d+ [a-z ]+?) of the primary/.exec(text) ?? [];
  return `${count} that a filter withholds`;
}

async function rehearsed({ client, body }: SecondaryCall, kind: Kind): Promise<Rehearsal> {
  return (await CALLS[kind].promote(client, { ...body, dry_run: true })).data;
}

async function showPlan({ out, settings }: Context, plan: Rehearsal): Promise<number> {
  await out.show(plan, planView(plan));
  const { address } = settings.chosen;
  if (out.forPeople && address !== null && (plan.next ?? []).length > 0) {
    out.hint(`What is to be done here is typed with -address ${address}.`);
  }
  return plan.ready === true ? 0 : NOT_READY;
}

export function planView({
  ready,
  ready_with_force: forced,
  checks = [],
  next = [],
  evidence,
  primary_seen_text: seen,
  ...lost
}: Rehearsal): View {
  const { lost_from: from, lost_to: to, lost_entries: count, unheard_seconds: unheard } = lost;
  // The primary is connected: then nobody needs force who can demote it.
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const lives = unheard === undefined && failed.includes("primary-gone");
  const withheld = withheldBy({ checks });
  const isAlone = failed.length === 1 && failed[0] === "primary-gone"; // and time may bring it
  const verdict =
    ready === true
      ? "yes"
      : forced !== true
        ? "no, not even by force"
        : withheld !== null
          ? "not while a filter withholds data from it: see unfiltered (and by force, at a loss)"
          : lives || isAlone
            ? "not yet: see primary-gone (and by force, at a loss)"
            : "only by force: read what that loses";
  const isForced = (line: string) => / -force\b/.test(line);
  const steps = next
    .filter((line) => !isForced(line))
    .map((line, i) => [`Next ${i + 1}`, line] as const);
  const others = next.filter(isForced).map((line) => ["Or By Force", line] as const);
  return {
    parts: [
      {
        columns: ["", "Check", "What it means"],
        rows: checks.map(({ name, ok, skipped_by_force: skipped, text }) => [
          ok ? "[x]" : skipped ? "[!]" : "[ ]",
          name,
          ok ? (CHECKS.get(name) ?? "") : `${text}${skipped ? " (-force goes on)" : ""}`,
        ]),
      },
      {
        pairs: [
          ["Can Take Over", verdict],
          ...(seen === undefined ? [] : [["The Primary", seen] as const]),
          [
            "Would Be Lost",
            [
              ...(from === undefined
                ? []
                : [`${counted(Number(count), "entry", "entries")}, ${from} to ${to}`]),
              ...(withheld === null ? [] : [`in every region, ${withheld}`]),
            ].join("; ") || "nothing that is known of",
          ],
          ...(unheard === undefined
            ? []
            : [
                [
                  "And",
                  `what the primary has written in the last ${counted(unheard, "second")}, unheard of here`,
                ] as const,
              ]),
          ...steps,
          ...others,
          ...(evidence === undefined ? [] : [["Signed Report", evidence] as const]),
        ],
        sentences: [
          "Can Take Over",
          "The Primary",
          "Would Be Lost",
          "And",
          ...[...steps, ...others].map(([name]) => name),
        ],
      },
    ],
  };
}
