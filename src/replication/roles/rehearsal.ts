// The rehearsal of a failover: every check, what would be lost, and the commands that come next; and what is signed of it.
// Pure.

import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { ReplicationKind } from "../../cluster/names.ts";
import {
  type Check,
  type CheckName,
  promotionChecks,
  type PromotionFacts,
  promotionRefusal,
  unreachedWarnings,
} from "./checks.ts";
import type { Secondary } from "./role.ts";
import { type PrimarySeen, primarySeen, silenceWarnings } from "./seen.ts";

export interface Rehearsed {
  readonly checks: readonly Check[];
  /** Whether it would be promoted now, and with force. */
  readonly ready: boolean;
  readonly readyWithForce: boolean;
  /** Entries that the primary has told of and that are not here. */
  readonly lost: { readonly from: bigint; readonly to: bigint } | null;
  /** For how long the primary was not heard of, in seconds: what it has written since nobody here knows. Null while it
   *  is connected, and where there is none. */
  readonly unheard: number | null;
  /** What was seen of the primary. */
  readonly primary: PrimarySeen;
  /** What does not keep it from being promoted, and is to be looked at. */
  readonly warnings: readonly string[];
  /** Commands, in order. */
  readonly next: readonly string[];
}

/** A rehearsal, and the signed report of it; null where it could not be signed. */
export interface SignedRehearsal extends Rehearsed {
  readonly evidence: string | null;
}

export function rehearsed(
  facts: PromotionFacts,
  primaryApi: string,
  kind: ReplicationKind,
): Rehearsed {
  const checks = promotionChecks(facts);
  const { applied, announced, hasPrimary, unheardFor, final } = facts;
  const ready = promotionRefusal(checks, false) === null;
  const readyWithForce = promotionRefusal(checks, true) === null;
  const isOver = final !== null && applied >= final;
  const isTaken = hasPrimary && !facts.superseded && facts.refusal === null;
  return {
    checks,
    ready,
    readyWithForce,
    lost: announced > applied ? { from: applied + 1n, to: announced } : null,
    unheard: hasPrimary && !isOver ? unheardFor : null,
    primary: primarySeen(facts),
    warnings: [
      ...checks.flatMap(({ name, ok, text }) => (name === "unfiltered" && !ok ? [text] : [])),
      ...silenceWarnings(facts),
      ...unreachedWarnings(facts),
    ],
    next: nextCommands(checks, commandsOf(kind), {
      ready,
      readyWithForce,
      primaryApi,
      isTaken,
      isSilent: isTaken && facts.silentFor !== null,
      hasEnded: facts.hasEnded === true,
    }),
  };
}

const HERE = "here: holdfast replication";
const UNTIL_IT_STREAMS = `${HERE} status, until it streams`;

/** As they are typed: a disaster-recovery secondary takes an operation token or a ticket, one of the other kind an ordinary token. */
interface Commands {
  /** Behind the name of one for a secondary, or a primary; and behind those that are for any cluster. */
  readonly there: string;
  readonly primary: string;
  readonly any: string;
  /** What those that are to follow are shown, and whoever takes over makes first. */
  readonly ticket: readonly string[];
}

/** The one of before ends with the change. */
const TICKET = `${HERE} ticket -field ticket generate-public-key update-primary > FILE`;

function commandsOf(kind: ReplicationKind): Commands {
  return kind === "dr"
    ? { there: " -dr-token FILE", primary: "", any: " -dr-token FILE", ticket: [TICKET] }
    : { there: " -kind performance", primary: " -kind performance", any: "", ticket: [] };
}

/** What mends a check that does not hold, in the order in which it is done. */
const mendingBy = ({ any }: Commands): readonly (readonly [CheckName, string])[] => [
  ["keys", `${HERE} recover${any} (the keys of the set are fetched again)`],
  ["copied", UNTIL_IT_STREAMS],
  ["whole", UNTIL_IT_STREAMS],
  ["equal", `${HERE} merkle-check -deep${any}, then: holdfast replication recover${any}`],
  ["cluster-port", "here: add cluster_address to a tcp listener, and restart the server"],
  ["audit", "here: make the place writable that the audit devices of the primary write to"],
  ["alone", `${HERE} status, until the other change is over`],
];

function nextCommands(
  checks: readonly Check[],
  commands: Commands,
  {
    ready,
    readyWithForce,
    primaryApi,
    isTaken,
    isSilent,
    hasEnded,
  }: {
    readonly ready: boolean;
    readonly readyWithForce: boolean;
    readonly primaryApi: string;
    readonly isTaken: boolean;
    readonly isSilent: boolean;
    readonly hasEnded: boolean;
  },
): string[] {
  const failed = new Set(checks.flatMap(({ name, ok }) => (ok ? [] : [name])));
  const { there, primary, ticket } = commands;
  const promote = `${HERE} promote${there}`;
  const mending = new Set(
    mendingBy(commands).flatMap(([name, line]) => (failed.has(name) ? [line] : [])),
  );
  const where = primaryApi === "" ? "" : ` (${primaryApi})`;
  const afterwards = [
    ...ticket,
    `there, on each cluster that is to follow: holdfast replication public-key${there}`,
    `${HERE} token${primary} -public-key KEY ID`,
    `there: holdfast replication update-primary${there} @TOKEN`,
  ];
  // One that is silent cannot be demoted: where it stays so, nobody need do it.
  const demote = isSilent
    ? `here: wait until the primary was silent for 15 seconds; where it answers${where}, there: holdfast replication demote${primary}`
    : `on the primary${where}: holdfast replication demote${primary}`;
  if (ready) return [promote, ...afterwards];
  // Demoted, the primary would have nobody to take its place.
  const isFiltered = failed.has("unfiltered") && isTaken;
  if (isFiltered && !isSilent) {
    const all = `on the primary${where}: holdfast replication filter delete ID, and here: holdfast replication status, until it streams; or promote another secondary`;
    return [...mending, all, demote, promote, ...afterwards];
  }
  const follow = `${HERE} update-primary${there} @TOKEN, with a token of the cluster that leads`;
  if (hasEnded) {
    const leave = `here, where the primary of before${where} is to go on: stop this server for good; it joins anew with an empty data directory`;
    const instead = `here, where that one was stopped for good: holdfast replication promote -force${there}`;
    return [...mending, leave, ...(readyWithForce ? [instead, ...afterwards] : [])];
  }
  // Demoted, it would wait for one that applies nothing, such as for want of room.
  const isBehind = failed.has("complete") && isTaken && !isSilent;
  const steps = [
    ...mending,
    ...(isBehind ? [UNTIL_IT_STREAMS] : []),
    ...(failed.has("primary-gone") ? (isTaken ? [demote] : [follow, demote]) : []),
    ...(failed.has("siblings") ? [follow] : []),
    ...(failed.has("complete") ? [`${HERE} status, until nothing is missing`] : []),
    promote,
  ];
  const lost = `here, where the primary is lost: holdfast replication promote -force${there}`;
  return [...new Set(steps), ...afterwards, ...(readyWithForce ? [lost] : [])];
}

/** As evidence takes it. */
export interface RehearsalReport {
  readonly subject: JsonObject;
  readonly result: JsonObject & { readonly state: string };
  readonly statement: string;
}

export function rehearsalReport(
  { checks, ready, readyWithForce, lost, unheard, primary, warnings, next }: Rehearsed,
  { set, id, address, epoch }: Pick<Secondary, "set" | "id" | "address" | "epoch">,
  { applied, announced }: Pick<PromotionFacts, "applied" | "announced">,
  now: Instant,
): RehearsalReport {
  const failed = checks.filter(({ ok }) => !ok);
  const state = ready ? "ready" : readyWithForce ? "only-by-force" : "not-ready";
  return {
    subject: { set, secondary: id, primary_cluster_addr: address, epoch: epoch.number },
    result: {
      state,
      applied: Number(applied),
      announced: Number(announced),
      lost_from: lost === null ? null : Number(lost.from),
      lost_to: lost === null ? null : Number(lost.to),
      unheard_seconds: unheard,
      primary_seen: primary.seen,
      primary_seen_text: primary.text,
      checks: checks.map(({ name, ok, forced, text }) => ({
        name,
        ok,
        skipped_by_force: forced,
        text,
      })),
      warnings: [...warnings],
      next: [...next],
    },
    statement: statementOf(state, failed, lost, showTime(now)),
  };
}

function statementOf(
  state: string,
  failed: readonly Check[],
  lost: Rehearsed["lost"],
  at: string,
): string {
  if (state === "ready") {
    return `On ${at} this secondary would have been promoted: all checks held, and nothing that the primary had told of was missing.`;
  }
  const how = state === "only-by-force" ? "only by force" : "not even by force";
  const missing = lost === null ? "" : ` Entries ${lost.from} to ${lost.to} would have been lost.`;
  const names = failed.map(({ name, text }) => `${name} (${text})`).join("; ");
  return `On ${at} this secondary would have been promoted ${how}. What did not hold: ${names}.${missing}`;
}
