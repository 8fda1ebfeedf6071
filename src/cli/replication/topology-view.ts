// The clusters of a set as a tree, for a person on call: who leads, who follows whom and how far behind, who stands in for whom, and what is not
// reached. Pure; 80 columns, in letters that every terminal has.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { counted } from "@holdfast/shared/text/counted";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { relative } from "../terminal/relative-time.ts";
import { oneLine, wrap } from "../terminal/text.ts";
import {
  entriesText,
  listOf,
  numberOf,
  rowsOf,
  stateText,
  STREAMING,
  textOf,
} from "./status-fields.ts";

export interface TopologyView {
  readonly text: string;
  /** Somewhere in the set something does not replicate as it should. */
  readonly troubled: boolean;
  readonly advice: readonly string[];
}

const WIDTH = 80;
const OWN = "this cluster";
/** What was told longer ago is told with its age. */
const FRESH: Nanos = 20n * SECOND;

const UNTOLD =
  "This server tells of the set only who has a token (`status_access`). Next: `holdfast login`, or HOLDFAST_TOKEN.";

const ODD: ReadonlyMap<string, string> = new Map([
  ["absent", "NOT HEARD OF since its primary leads"],
  ["awaited", "HAS NOT COME OVER since the failover"],
  ["doubled", "TWO CLUSTERS come as this one"],
  ["led-by-another", "KNOWS A LATER PRIMARY"],
]);

interface Member {
  readonly number: number;
  readonly follows: number | null;
  readonly facts: JsonObject;
}

/** `topology`: as the API answers it; not there where the server does not tell it. */
export function topologyView(topology: JsonValue | undefined): TopologyView {
  const members = membersIn(topology);
  if (members.length === 0) return { text: "", troubled: false, advice: [UNTOLD] };
  const tree = new Tree(members);
  const troubled = members.filter((member) => tree.isTroubled(member));
  const others = troubled.filter(({ facts }) => facts["this_cluster"] !== true);
  return {
    text: tree.lines().join("\n"),
    troubled: troubled.length > 0,
    advice: others.flatMap((member) => {
      const address = textOf(member.facts["api_address"]);
      if (address === "") return [];
      return `What is the matter with ${tree.nameOf(member)}: \`holdfast replication status -address ${address}\`.`;
    }),
  };
}

function membersIn(topology: JsonValue | undefined): readonly Member[] {
  if (!isObject(topology)) return [];
  return rowsOf(topology["members"]).map((facts) => {
    const { follows } = facts;
    const number = numberOf(facts["member"]);
    return { number, follows: typeof follows === "number" ? follows : null, facts };
  });
}

class Tree {
  readonly #members: readonly Member[];
  readonly #drawn = new Set<number>();

  constructor(members: readonly Member[]) {
    this.#members = members;
  }

  /** Those that follow nobody first; then whoever is left, since what others have told may not fit together. */
  lines(): readonly string[] {
    const roots = this.#members.filter((one) => this.#above(one) === undefined);
    const drawn = [...roots, ...this.#members].flatMap((one) => {
      const lines = this.#draw(one, "", "");
      return lines.length === 0 ? [] : [lines];
    });
    return drawn.flatMap((lines, i) => (i === 0 ? lines : ["", ...lines]));
  }

  nameOf({ facts }: Member): string {
    const own = textOf(facts["name"]) || textOf(facts["region"]);
    const nameless = isAwaited(facts) ? "the one before" : "primary";
    return oneLine(own || (facts["this_cluster"] === true ? OWN : nameless));
  }

  /** Whether something is the matter with it, or between it and whom it follows. */
  isTroubled({ facts }: Member): boolean {
    const state = textOf(facts["state"]);
    const isWell =
      facts["kind"] === null ? ["running", "alone", ""].includes(state) : state === STREAMING;
    return !isWell || facts["connected"] !== true;
  }

  #above({ follows }: Member): Member | undefined {
    return this.#members.find(({ number }) => number === follows);
  }

  #below({ number }: Member): readonly Member[] {
    const all = this.#members.filter(({ follows }) => follows === number);
    const isStandIn = ({ facts }: Member) => facts["kind"] === "dr";
    return [...all.filter(isStandIn), ...all.filter((one) => !isStandIn(one))];
  }

  /** `first`: in front of its name; `rest`: in front of what is below it. */
  #draw(member: Member, first: string, rest: string): string[] {
    if (this.#drawn.has(member.number)) return [];
    this.#drawn.add(member.number);
    const below = this.#below(member);
    const under = `${rest}${below.length === 0 ? "   " : "|  "}`;
    return [
      ...shaped(this.#title(member), first, under),
      ...this.#facts(member).flatMap((text) => shaped(text, under, under)),
      ...below.flatMap((one, i) => {
        const isLast = i === below.length - 1;
        return [`${rest}|`, ...this.#draw(one, `${rest}+- `, `${rest}${isLast ? "   " : "|  "}`)];
      }),
    ];
  }

  #title(member: Member): string {
    const name = this.nameOf(member);
    const isOwn = member.facts["this_cluster"] === true && name !== OWN;
    return `${name}${isOwn ? ` (${OWN})` : ""}  ${this.#part(member)}`;
  }

  /** What it is among them. */
  #part(member: Member): string {
    const { facts } = member;
    const region = textOf(facts["region"]);
    const where = region === "" ? "" : `, region ${oneLine(region)}`;
    const leads = listOf(facts["leads"]);
    if (facts["kind"] === "performance") return `performance secondary${where}`;
    if (facts["kind"] === "dr") {
      const above = this.#above(member);
      if (above === undefined) return "stands in for nobody";
      return `${isAwaited(facts) ? "is to stand in" : "stands in"} for ${this.nameOf(above)}`;
    }
    if (leads.length === 0) return "on its own";
    const kinds = [
      ...(leads.includes("performance") ? ["performance replication"] : []),
      ...(leads.includes("dr") ? ["disaster recovery"] : []),
    ];
    return `PRIMARY of ${kinds.join(" and ")}`; // its region is its name
  }

  #facts(member: Member): readonly string[] {
    const { facts } = member;
    const withheld = numberOf(facts["withheld"]);
    const isRegion =
      facts["kind"] === "performance" || listOf(facts["leads"]).includes("performance");
    const hasStandIn = this.#below(member).some((one) => one.facts["kind"] === "dr");
    const isBare = isRegion && facts["tells_stand_ins"] === true && !hasStandIn;
    const address = textOf(facts["api_address"]);
    return [
      this.#state(member),
      ...(withheld === 0 ? [] : [`${counted(withheld, "path")} withheld by a filter`]),
      ...(isBare ? ["nobody stands in for it"] : []),
      ...(address === "" ? [] : [oneLine(address)]),
    ];
  }

  #state({ facts }: Member): string {
    const state = textOf(facts["state"]);
    const odd = ODD.get(state);
    if (odd !== undefined) return odd;
    const since = agoText(facts["heard_ms_ago"]);
    const isOwn = facts["this_cluster"] === true;
    if (isOwn && state === "fenced") return plain(state); // whom it followed it follows no more, and nobody need look for that one
    if (facts["connected"] !== true) {
      const who = facts["kind"] === null ? "NOT REACHED" : "NOT CONNECTED";
      const heard = isOwn ? "" : since === null ? ", not known since when" : `, heard of ${since}`;
      return `${who}${heard}${behindText(facts, isOwn ? "" : " then")}`;
    }
    const age = numberOf(facts["heard_ms_ago"]);
    const isOld = !isOwn && BigInt(Math.trunc(age)) * MILLISECOND > FRESH;
    const words = state === "" ? "its state is not known" : plain(state);
    return `${words}${behindText(facts, "")}${isOld ? `, as of ${since}` : ""}`;
  }
}

/** It has led, and comes back as one that follows: it is named by whoever made its token, which nobody has. */
function isAwaited(facts: JsonObject): boolean {
  return facts["state"] === "awaited";
}

/** Without the name that other tools know it by. */
function plain(state: string): string {
  return stateText(oneLine(state)).replace(/ \([a-z-]+\)$/, "");
}

function behindText(facts: JsonObject, when: string): string {
  const { kind, wal_lag: lag } = facts;
  if (kind === null || typeof lag !== "number") return "";
  const millis = numberOf(facts["behind_ms"]);
  const length = lag === 0 || millis < 1000 ? "" : ` (${spanText(millis)})`;
  return `, ${entriesText(lag)} behind${length}${when}`;
}

function agoText(value: JsonValue | undefined): string | null {
  return typeof value === "number" ? relative(0n, nanosOf(value)) : null;
}

function spanText(millis: number): string {
  return relative(0n, nanosOf(millis)).replace(" ago", "");
}

function nanosOf(millis: number): Nanos {
  return BigInt(Math.max(0, Math.trunc(millis))) * MILLISECOND;
}

/** Lines that end between words, all of them within the width. */
function shaped(text: string, first: string, rest: string): string[] {
  const room = Math.max(20, WIDTH - Math.max(first.length, rest.length));
  return wrap(text, room).map((line, i) => `${i === 0 ? first : rest}${line}`.trimEnd());
}
