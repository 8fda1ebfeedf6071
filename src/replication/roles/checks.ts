// Whether a secondary may take over now: each thing that has to be true, by name, and what is lost where somebody goes on
// without it. Pure, and the same for a rehearsal and for the real one.

import type { Failure } from "@holdfast/shared/failure";
import { counted } from "@holdfast/shared/text/counted";
import { SECOND } from "@holdfast/shared/text/duration";
import { someNames } from "@holdfast/shared/text/some-names";
import { promotionRefused, promotionTooEarly } from "../failures.ts";
import { SILENCE } from "../silence.ts";
import type { Sighting } from "../stream/receiving.ts";
import type { Epoch } from "./role.ts";
import { clusterText } from "./warnings.ts";

/** What is known when it is decided. */
export interface PromotionFacts {
  /** Whether an entry of the data opens with the keys that are here; null where there is none yet. */
  readonly opens: boolean | null;
  /** Whether everything was copied once. */
  readonly copied: boolean;
  /** Whether that, and data of one index, are needed also by force: what half of the data lacks would go in all other regions, and policies
   *  would not bind. Default false. */
  readonly needsWhole?: boolean;
  /** Whether the store is between two states, which nobody can lead, or has rows of several indexes. */
  readonly between: "states" | "indexes" | null;
  /** Whether the last comparison with the primary was equal, and no damage is known; null where none was made. */
  readonly equal: boolean | null;
  /** How many mounts and namespaces of the primary are withheld from this cluster. Default: none. */
  readonly withheld?: number;
  /** The last index that is here, and the highest that the primary has told of. */
  readonly applied: bigint;
  readonly announced: bigint;
  /** The last index of a primary that was demoted; null where none has said so. */
  readonly final: bigint | null;
  /** For how long it was tried to reach the primary in vain, in seconds; null while it is connected. */
  readonly silentFor: number | null;
  /** For how long it was not heard of, which may be longer: nobody tries while the server is down. */
  readonly unheardFor: number | null;
  /** Whether it has answered since this server began. */
  readonly isHeard: boolean;
  /** Why the primary, which answers, does not take this cluster; null where it does, or does not answer. */
  readonly refusal: string | null;
  /** What answers in the place of the primary; null where nobody does. Default: nobody does. */
  readonly sighting?: Sighting | null;
  /** Where it is called. Default: nobody knows. */
  readonly places?: readonly string[];
  /** Whether it has ended replication, and goes on by itself. Default: it has not. */
  readonly hasEnded?: boolean;
  /** Whether a primary is followed at all. */
  readonly hasPrimary: boolean;
  /** Whether a later one has proved to lead. */
  readonly superseded: boolean;
  /** Who leads, as far as is known here, also where it is not followed. */
  readonly leader: Pick<Epoch, "number" | "cluster">;
  /** Under which a cluster is known here; empty where it is not. */
  readonly nameOf: (cluster: string) => string;
  /** Whether this server has a cluster port, which a primary needs. */
  readonly hasPort: boolean;
  /** Whether an audit device of the data can be written here. */
  readonly audits: boolean;
  /** Whether another change of the role is under way. */
  readonly changing: boolean;
  /** What the other members of the set say; null where they were not called. */
  readonly siblings: SiblingFacts | null;
}

export interface SiblingFacts {
  /** The last epoch that one of them knows of, where it is later than that of here. */
  readonly later: Pick<Epoch, "number" | "cluster"> | null;
  /** Clusters that are about to be promoted, and do not give way to this one. */
  readonly candidates: readonly string[];
  /** Where those are that did not answer; empty where nobody knows that. */
  readonly unreached: readonly string[];
  /** The same of those that only others have named. Default: none. */
  readonly unreachedNamed?: readonly string[];
  /** Where the primary is, if it was demoted and did not answer; else null. */
  readonly demoted: string | null;
  /** Where of all these somebody is there, and sealed. Default: nowhere. */
  readonly sealed?: readonly string[];
}

export type CheckName =
  | "keys"
  | "copied"
  | "whole"
  | "equal"
  | "complete"
  | "primary-gone"
  | "unfiltered"
  | "siblings"
  | "cluster-port"
  | "audit"
  | "alone";

export interface Check {
  readonly name: CheckName;
  readonly ok: boolean;
  /** Whether `force` goes on without it. */
  readonly forced: boolean;
  readonly text: string;
}

const SILENT_SECONDS = Number(SILENCE / SECOND);

/** In the order in which they are told. */
export function promotionChecks(facts: PromotionFacts): readonly Check[] {
  const { opens, copied, needsWhole = false, between, equal, applied, announced } = facts;
  const { withheld = 0 } = facts;
  const behind = announced > applied;
  const sign = signOfPrimary(facts);
  const rival = rivalOf(facts);
  return [
    check(
      "keys",
      opens ?? copied,
      false,
      opens === null
        ? "nothing of the primary's data is here yet"
        : "the data does not open with the keys that are here",
    ),
    check(
      "copied",
      copied,
      !needsWhole,
      "the first copy of the primary's data was never completed",
    ),
    check(
      "whole",
      between === null,
      between === "indexes" && !needsWhole,
      "the data is between two states: a synchronisation is half done",
    ),
    check(
      "equal",
      equal !== false,
      true,
      "the last comparison with the primary found a difference",
    ),
    check(
      "complete",
      !behind,
      true,
      `entries ${applied + 1n} to ${announced} of the primary are missing here, and would be lost`,
    ),
    check("primary-gone", sign === null, true, sign ?? ""),
    check(
      "unfiltered",
      withheld === 0,
      true,
      `a filter withholds ${counted(withheld, "mount or namespace", "mounts and namespaces")} of the primary from this cluster: they would be missing in every region`,
    ),
    check("siblings", rival === null, true, rival ?? ""),
    check(
      "cluster-port",
      facts.hasPort,
      false,
      "this server has no cluster port, which a primary needs: add cluster_address to a tcp listener and restart it",
    ),
    check("audit", facts.audits, false, "no audit device of the data can be written here"),
    check("alone", !facts.changing, false, "another change of the role is under way"),
  ];
}

/** What speaks for a primary that is still there; null where it has gone: that is known, and never assumed. */
function signOfPrimary(facts: PromotionFacts): string | null {
  const { applied, final, silentFor, refusal, hasPrimary, superseded, leader } = facts;
  const isOver = final !== null && applied >= final;
  if (isOver && !superseded) return null;
  if (!hasPrimary || superseded) {
    return `${clusterText(leader.cluster, facts.nameOf)} leads the set in epoch ${leader.number}, as far as is known here, and is not followed: follow it, with a token of it`;
  }
  if (silentFor === null) return "the primary is alive and connected: demote it first";
  if (refusal !== null) {
    return `the primary does not take this cluster, which does not mean that it is gone: ${refusal}`;
  }
  if (silentFor >= SILENT_SECONDS) return null;
  return `${lastWord(facts)}: demote it first, or wait ${seconds(SILENT_SECONDS - silentFor)} more, in which it stays silent`;
}

/** One that was not heard of since the start may have been gone for long, and is tried all the same. */
function lastWord({ silentFor, unheardFor, isHeard }: PromotionFacts): string {
  if (isHeard) return `the primary was heard of ${seconds(silentFor ?? 0)} ago`;
  const since = `the primary was not heard of since this server began ${seconds(silentFor ?? 0)} ago`;
  const before = unheardFor !== null && unheardFor > (silentFor ?? 0);
  return before ? `${since}, and for ${seconds(unheardFor)} in all` : since;
}

function seconds(count: number): string {
  return counted(count, "second");
}

/** Who leads by now, or is about to, by what the other members say; null where nobody does. */
function rivalOf({ siblings, nameOf }: PromotionFacts): string | null {
  const { later = null, candidates = [] } = siblings ?? {};
  if (later !== null) {
    return `${clusterText(later.cluster, nameOf)} leads the set in epoch ${later.number}, as another member says: follow it, with a token of it`;
  }
  if (candidates.length === 0) return null;
  const all = candidates.map((cluster) => clusterText(cluster, nameOf));
  return `${all.join(" and ")} is about to be promoted: look there, and follow it; where nothing comes of it, try again in a minute`;
}

/** Who was not there to say so: no reason to refuse, since a site that is lost would keep the others from being promoted. */
export function unreachedWarnings({ siblings }: Pick<PromotionFacts, "siblings">): string[] {
  const { demoted = null, unreached = [], unreachedNamed = [], sealed = [] } = siblings ?? {};
  const silence = (address: string) =>
    address !== "" && sealed.includes(address) ? "is sealed, and says nothing" : "did not answer";
  const first =
    demoted === null
      ? []
      : [
          `the primary that was demoted, at ${demoted}, ${silence(demoted)}: look whether it was promoted again, and keep it from that`,
        ];
  const others = unreached.map((address) => {
    const where = address === "" ? "whose address is not known" : `at ${address}`;
    return `another secondary of the set, ${where}, ${silence(address)}: look whether it was promoted, and keep it from that`;
  });
  return [...first, ...others, ...namedWarning(unreachedNamed)];
}

/** In one line however many they are: who names them may have invented them. */
function namedWarning(addresses: readonly string[]): string[] {
  if (addresses.length === 0) return [];
  const known = [...new Set(addresses)].filter((address) => address !== "");
  const where = known.length === 0 ? "whose addresses are not known" : `at ${someNames(known)}`;
  return [
    `${counted(addresses.length, "other secondary", "other secondaries")} of the set that only other members name, ${where}, did not answer: look whether one was promoted, and keep it from that`,
  ];
}

/** What keeps it from being promoted; null where nothing does. */
export function promotionRefusal(checks: readonly Check[], force: boolean): Failure | null {
  const failed = checks.find(({ ok, forced }) => !ok && !(force && forced));
  return failed === undefined ? null : refused(failed);
}

/** What `force` goes on without, in words. */
export function skipped(checks: readonly Check[]): string[] {
  return checks
    .filter(({ ok, forced }) => !ok && forced)
    .map(({ name, text }) => `promoted without the check "${name}": ${text}`);
}

function check(name: CheckName, ok: boolean, forced: boolean, text: string): Check {
  return { name, ok, forced, text: ok ? "" : text };
}

function refused({ name, forced, text }: Check): Failure {
  const hint = forced ? "; force goes on without this check" : "";
  const message = `check "${name}": ${text}${hint}`;
  return name === "complete" ? promotionTooEarly(message) : promotionRefused(message);
}
