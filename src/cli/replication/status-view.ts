// What a cluster is among others, as a person on call reads it: what is the matter, and what to do next. Pure.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { counted } from "@holdfast/shared/text/counted";
import { MILLISECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import type { View } from "../terminal/output.ts";
import { shortTime } from "../terminal/relative-time.ts";
import { NONE } from "../terminal/value.ts";
import type { Kind } from "./kinds.ts";
import {
  FOLLOW,
  isCopying,
  isReplaced,
  ofKind,
  REPLACED_NEXT,
  secondaryAdvice,
  surplusAdvice,
  TICKET_HERE,
} from "./secondary-advice.ts";
import {
  entriesText,
  isSuperseded,
  leaderName,
  leaderText,
  listOf,
  numberOf,
  rowsOf,
  stateText,
  STREAMING,
  textOf,
} from "./status-fields.ts";

export interface StatusView {
  readonly view: View;
  /** Something does not replicate as it should. */
  readonly troubled: boolean;
  /** What is the matter and what to do, a sentence or two each. */
  readonly advice: readonly string[];
}

const LAPSED =
  "No secondary was heard of for the time of `primary_lease`, and nothing is written here until one is. Next: look at the secondaries and the " +
  "network to them; where one was promoted, `holdfast replication demote` here; where all are lost, `holdfast replication revoke` them here.";

const ADD_PORT =
  "add `cluster_address` to a tcp listener in the configuration of this server (and `cluster_addr`, where others reach it at another address), and restart it";
const PORTLESS = `No other cluster can come to this primary: this server has no cluster port. Next: ${ADD_PORT}.`;
const PORTLESS_SECONDARY = `This secondary cannot be promoted, and others of the set cannot tell it who leads: this server has no cluster port. Next: ${ADD_PORT}.`;

export function statusView(status: JsonObject, now: Instant, kind: Kind = "dr"): StatusView {
  const mode = textOf(status["mode"]);
  if (mode !== "primary" && mode !== "secondary") return alone(kind);
  const found =
    mode === "primary" ? primaryView(status, now, kind) : secondaryView(status, now, kind);
  // What is said of disaster recovery stays as it is typed there.
  const typed = (text: string) => (text === REPLACED_NEXT ? text : ofKind(text, kind));
  return { ...found, advice: found.advice.map(typed) };
}

function alone(kind: Kind): StatusView {
  const next =
    "Next: `holdfast replication enable` makes it a primary; `holdfast replication join` a secondary, in place of all " +
    "of its data.";
  return {
    view: { pairs: [["This Cluster", "on its own: it replicates to nobody"]] },
    troubled: false,
    advice: [ofKind(next, kind)],
  };
}

const HEADINGS: Readonly<Record<Kind, string>> = {
  dr: "Disaster recovery",
  performance: "Performance replication",
};

/** What this cluster is in both kinds: each of them in which it is something. */
export function bothView(
  statuses: Readonly<Record<Kind, JsonObject>>,
  now: Instant,
  more: (status: JsonObject) => readonly View[] = () => [],
): StatusView {
  const kinds = (["dr", "performance"] as const).filter(
    (kind) => textOf(statuses[kind]["mode"]) !== "disabled",
  );
  const found = kinds.map((kind) => statusView(statuses[kind], now, kind));
  if (found.length === 0) {
    const { advice, ...rest } = alone("dr");
    const regions =
      "With -kind performance: one that shares data with other regions, which serve it.";
    return { ...rest, advice: [...advice, regions] };
  }
  const headed = (kind: Kind): View[] => (found.length === 1 ? [] : [{ text: HEADINGS[kind] }]);
  const parts = found.flatMap(({ view }, i) => {
    const kind = kinds[i] ?? "dr";
    return [...headed(kind), view, ...more(statuses[kind])];
  });
  return {
    view: { parts },
    troubled: found.some(({ troubled }) => troubled),
    // Where disaster recovery says what is to be done, the other kind need not.
    advice: found
      .flatMap(({ advice }) => advice)
      .filter((text) => statuses.dr["state"] !== "fenced" || text !== REPLACED_NEXT),
  };
}

/** How far a copy is. */
export function copyText(status: JsonObject): string | null {
  const progress = status["merkle_sync_progress"];
  if (!isObject(progress)) return null;
  const [done, total] = [progress["sync_progress"], progress["sync_total_keys"]].map(numberOf);
  return total === 0 ? `${done} rows` : `${done} of ${total} rows`;
}

// --- primary ---

function primaryView(status: JsonObject, now: Instant, kind: Kind): StatusView {
  const isRegion = kind === "performance";
  const fenced = status["state"] === "fenced";
  const rival = !fenced && isSuperseded(status);
  const lapsed = status["state"] === "lapsed";
  const portless = status["cluster_port"] === false;
  const members = rowsOf(status["secondaries"]);
  const known = Array.isArray(status["known_secondaries"]) ? status["known_secondaries"] : [];
  const expired = listOf(status["expired_tokens"]);
  const left = listOf(status["left_secondaries"]);
  const absent = known
    .map(textOf)
    .filter((id) => !expired.includes(id) && !left.includes(id))
    .filter((id) => !members.some((member) => member["node_id"] === id));
  const awaited = rowsOf(status["awaited_members"]);
  const orphans = numberOf(status["orphans_left"]);
  const divergent = numberOf(status["divergent_entries"]);
  const isFiltered = members.some((member) => numberOf(member["withheld"]) > 0);
  const facts: View = {
    pairs: [
      ["This Cluster", isRegion ? "performance primary" : "primary"],
      ...regionRow(status, kind),
      ["State", stateText(textOf(status["state"]))],
      ...(fenced ? [["Primary Now", leaderText(status)] as const] : []),
      ...(rival ? [["Primary Beside", leaderText(status)] as const] : []),
      ["Replication Set", status["cluster_id"]],
      ["Epoch", status["epoch"]],
      ["Last Index", status[`last_${kind}_wal`]],
      ["Cluster Address", ownAddressText(status)],
      ...(orphans === 0
        ? []
        : [["Left Outside", `${orphans} leases that nobody here can end`] as const]),
      ...surplusRow(divergent),
      // Where some are listed below, or another cluster leads, there is more to say than "none".
      ...(known.length === 0 && (awaited.length === 0 || portless) && !fenced
        ? [["Secondaries", portless ? "none can come" : "none"] as const]
        : []),
    ],
  };
  const absentRow = (name: string, how: string) => [
    name,
    ...(isRegion ? [NONE] : []),
    NONE,
    how,
    NONE,
    NONE,
    ...(isFiltered ? [NONE] : []),
  ];
  const secondaries: View = {
    columns: [
      "Secondary",
      ...(isRegion ? ["Region"] : []),
      "State",
      "Connection",
      "Behind",
      "Heartbeat",
      ...(isFiltered ? ["Withheld"] : []),
    ],
    rows: [
      ...members.map((member) => [
        member["node_id"],
        ...(isRegion ? [textOf(member["region"]) || NONE] : []),
        textOf(member["state"]) || NONE,
        connectionOf(member),
        behindText(member),
        shortTime(member["last_heartbeat"], now),
        ...(isFiltered ? [withheldText(member)] : []),
      ]),
      ...absent.map((id) => absentRow(id, "not come yet")),
      ...awaited.map((one) => absentRow(awaitedName(one), "NOT COME OVER")),
      ...expired.map((id) => absentRow(id, "token ended")),
      ...left.map((id) => absentRow(id, "left")),
    ],
    whole: ["Secondary"],
  };
  const advice =
    isRegion && isReplaced(status)
      ? [REPLACED_NEXT]
      : fenced
        ? [
            `${leaderName(status)} was promoted, and nothing ${isRegion ? "that is shared is written here any more" : "is written here any more: send clients there"}. Next: \`holdfast replication demote\` ` +
              `here, then ${FOLLOW}.`,
          ]
        : lapsed
          ? [LAPSED]
          : [
              ...(rival ? [rivalAdvice(status)] : []),
              ...awaited.map((one) => awaitedAdvice(one, now)),
              ...(portless ? [PORTLESS] : []),
              ...((awaited.length > 0 && known.length === 0) || (portless && known.length === 0)
                ? []
                : primaryAdvice(members, { absent, expired, left })),
            ];
  const surplus = divergent === 0 ? [] : [surplusAdvice("")];
  return {
    view:
      (known.length === 0 && awaited.length === 0) || fenced
        ? facts
        : { parts: [facts, secondaries] },
    troubled:
      fenced ||
      portless ||
      lapsed ||
      rival ||
      known.length === 0 ||
      absent.length > 0 ||
      awaited.length > 0 ||
      members.some((member) => !streams(member)),
    advice: [...advice, ...surplus],
  };
}

function primaryAdvice(
  members: readonly JsonObject[],
  {
    absent,
    expired,
    left,
  }: {
    readonly absent: readonly string[];
    readonly expired: readonly string[];
    readonly left: readonly string[];
  },
): string[] {
  if (members.length === 0 && absent.length === 0 && expired.length === 0) {
    return [
      "Nobody follows this primary. Next: `holdfast replication public-key` on the cluster that is to, then `holdfast replication " +
        "token -public-key KEY ID` here makes a token for it.",
    ];
  }
  return [
    ...expired.map(
      (id) =>
        `The token for ${id} has ended before it was used. Next: \`holdfast replication revoke ${id}\`; where it is still to come, then \`holdfast replication public-key\` there, and here ` +
        `\`holdfast replication token -public-key KEY ${id}\`.`,
    ),
    ...left.map(
      (id) =>
        `The cluster that came as ${id} comes under another name by now, and ${id} is waited for no more. Next: \`holdfast replication revoke ${id}\`.`,
    ),
    ...members.flatMap((member) => memberAdvice(member)),
    ...absent.map(
      (id) =>
        `${id} was not heard of since this server leads. Where it had joined, and was not promoted or fenced since, it comes back by itself within a minute; after that ` +
        "`holdfast replication status` there says what keeps it away. Where it never has: `holdfast replication join` there with its token.",
    ),
  ];
}

/** By its name, where it had one, or by what it is revoked by. */
function awaitedName(member: JsonObject): string {
  return textOf(member["node_id"]) || textOf(member["cluster_id"]);
}

function whatItKnows(member: JsonObject): string {
  if (member["refuses"] === true) return "refuses this cluster: whom it follows has revoked it";
  const follows = textOf(member["follows"]);
  if (follows !== "") return `takes cluster ${follows} for the primary`;
  return member["informed"] === true ? "knows who leads" : "was not reached since";
}

/** It was in the set before this primary led it. */
function awaitedAdvice(member: JsonObject, now: Instant): string {
  const name = awaitedName(member);
  const wasPrimary = member["was"] === "primary";
  const who = wasPrimary ? `The primary of before (${name})` : name;
  const since = member["since"] === null ? "" : `, ${shortTime(member["since"], now)}`;
  const heard = whatItKnows(member);
  // Also one that was a secondary may have been promoted beside this cluster.
  const first = `\`holdfast replication demote\` there where it ${wasPrimary ? "still " : ""}is a primary, then `;
  return (
    `${who} has not come over since this cluster was promoted${since}, and ${heard}. Next: ${first}${TICKET_HERE}, \`holdfast replication public-key -dr-token FILE\` there, ` +
    "`holdfast replication token -public-key KEY ID` here, and `holdfast replication update-primary -dr-token FILE @TOKEN` there. Where it is gone for good: " +
    `\`holdfast replication revoke ${textOf(member["cluster_id"])}\`.`
  );
}

function rivalAdvice(status: JsonObject): string {
  return (
    `${leaderText(status, "Cluster")} had revoked this one or ended replication before it was promoted by force, and does not hear that it leads: as long as ` +
    "that one runs there are two, with the same tokens and leases. Next: keep clients from one of the two, and stop it, or `holdfast replication demote` " +
    "there. Where that one has gone for good: `holdfast replication demote` here, and `holdfast replication promote -dr-token FILE` here."
  );
}

/** Where secondaries come; where nobody has named it, it is told to management tokens. */
function ownAddressText(status: JsonObject): string {
  const address = textOf(status["primary_cluster_addr"]) || textOf(status["cluster_addr"]);
  if (address !== "") return address;
  if (status["cluster_port"] === false) return "none: this server has no cluster port";
  return status["cluster_addr"] === undefined
    ? "as configured (shown to management tokens)"
    : "none";
}

function withheldText(member: JsonObject): string {
  const withheld = numberOf(member["withheld"]);
  return withheld === 0 ? "nothing" : counted(withheld, "path");
}

function connectionOf(member: JsonObject): JsonValue | undefined {
  if (member["duplicated"] === true) return "DOUBLED";
  return knowsLater(member) ? "LED BY ANOTHER" : member["connection_status"];
}

function knowsLater(member: JsonObject): boolean {
  return textOf(member["later_primary"]) !== "";
}

function memberAdvice(member: JsonObject): string[] {
  const id = textOf(member["node_id"]);
  if (knowsLater(member)) {
    const name = textOf(member["later_primary_name"]);
    const who = `cluster ${textOf(member["later_primary"])}`;
    return [
      `${id} knows of a later primary than this one: ${name === "" ? who : `${name} (${who})`}, of epoch ${textOf(member["later_epoch"])}. Nothing should be written here. Next: ` +
        "`holdfast replication status` there; where it leads, send clients there, and `holdfast replication demote` here.",
    ];
  }
  if (member["duplicated"] === true) {
    const from = listOf(member["duplicated_from"]);
    return [
      `Two clusters come as ${id}${from.length === 0 ? "" : `, from ${from.join(" and ")}`}: a copy of its disk was started beside it. Next: stop the copy; where it is to be a secondary of its ` +
        "own, begin it with an empty data directory, and `holdfast replication join` there with a token of its own.",
    ];
  }
  if (member["connection_status"] !== "connected") {
    return [
      `${id} is disconnected. Next: look whether it runs, is unsealed and reaches the cluster port; \`holdfast replication status\` ` +
        "there says what it waits for.",
    ];
  }
  const state = textOf(member["state"]);
  if (state === STREAMING) return [];
  if (state === "idle") {
    return [
      `${id} is connected, and applies nothing. Next: \`holdfast replication status\` there says why, such as a disk that is full.`,
    ];
  }
  return [`${id} is ${stateText(state)}: wait until it streams.`];
}

function streams(member: JsonObject): boolean {
  const isAlone = member["duplicated"] !== true && !knowsLater(member);
  return isAlone && member["connection_status"] === "connected" && member["state"] === STREAMING;
}

// --- secondary ---

/** When it was seen last: it may be long over. */
function errorAge(status: JsonObject, now: Instant): string {
  const at = status["last_sync_error_at"];
  return typeof at === "string" ? ` (${shortTime(at, now)})` : "";
}

function secondaryView(status: JsonObject, now: Instant, kind: Kind): StatusView {
  const id = textOf(status["secondary_id"]);
  const state = textOf(status["state"]);
  const [primary] = rowsOf(status["primaries"]);
  const error = textOf(status["last_sync_error"]);
  const copy = copyText(status);
  const divergent = numberOf(status["divergent_entries"]);
  const waiting = numberOf(status["orphans_waiting"]);
  const portless = kind === "dr" && status["cluster_port"] === false;
  const view: View = {
    pairs: [
      [
        "This Cluster",
        `${kind === "dr" ? "" : "performance "}secondary ${id || "without a primary"}`,
      ],
      ...regionRow(status, kind),
      ["State", stateText(state)],
      ...standsInRow(status),
      ...(kind === "dr" ? [] : [["Writes", writesText(status)] as const]),
      ...withheldRow(status),
      ...(copy === null ? [] : [["Copied", copy] as const]),
      ...(isSuperseded(status) ? [["Primary Now", leaderText(status)] as const] : []),
      ...(id === "" ? [] : primaryRows(status, primary, now)),
      ...(portless ? [["Cluster Port", "none: it cannot be promoted"] as const] : []),
      ["Replication Set", status["cluster_id"]],
      ["Epoch", status["epoch"]],
      ...surplusRow(divergent),
      ...(waiting === 0
        ? []
        : [["Outside", `${counted(waiting, "lease")} to be taken over by the primary`] as const]),
      ...(status["corrupted_merkle_tree"] === true
        ? [["Data", "DIFFERS from the primary"] as const]
        : []),
      ...(error === "" ? [] : [["Last Error", `${error}${errorAge(status, now)}`] as const]),
    ],
    sentences: ["Last Error", "Writes"],
  };
  const connected = primary?.["connection_status"] === "connected";
  const damaged = status["corrupted_merkle_tree"] === true;
  return {
    view,
    troubled: state !== STREAMING || !connected || damaged || portless,
    advice: [
      ...secondaryAdvice(status, { kind, hasPrimary: id !== "", connected, damaged }),
      ...(portless ? [PORTLESS_SECONDARY] : []),
      ...(divergent === 0 ? [] : [surplusAdvice(kind === "dr" ? " -dr-token FILE" : "")]),
    ],
  };
}

/** Entries that only this cluster had when another one was promoted. */
function surplusRow(entries: number): (readonly [string, string])[] {
  return entries === 0 ? [] : [["Given Up", `${entriesText(entries)} that only this cluster had`]];
}

/** Whose place it would take among regions, where there are some. */
function standsInRow(status: JsonObject): (readonly [string, string])[] {
  const found = status["stands_in_for"];
  if (!isObject(found)) return [];
  const region = textOf(found["region"]);
  const what =
    found["mode"] === "primary"
      ? "the performance primary"
      : `performance secondary ${textOf(found["name"])}`;
  return [["Stands In For", `${what}${region === "" ? "" : `, region ${region}`}`]];
}

/** How much a filter of the primary keeps from this region. */
function withheldRow(status: JsonObject): (readonly [string, string])[] {
  const withheld = numberOf(status["withheld"]);
  return withheld === 0
    ? []
    : [["Withheld", `${counted(withheld, "path")} not sent here, by a filter of the primary`]];
}

function regionRow(status: JsonObject, kind: Kind): (readonly [string, string])[] {
  return kind === "dr" ? [] : [["Region", textOf(status["region"]) || NONE]];
}

/** It was reached, and has said no. */
const REFUSED = /^the primary (?:refuses|has revoked|has disabled)/;

/** What becomes of who writes here what is shared. */
function writesText(status: JsonObject): string {
  if (isCopying(status)) return "none, and no reads, until the first copy is whole";
  if (status["serves_shared"] === false)
    return "none, and no reads of what is shared (503), until a comparison is over; the rest goes on";
  const there = textOf(status["primary_region"]);
  const where = there === "" ? "the primary" : `region ${there}`;
  if (status["forwards_writes"] === true) return `what is shared is sent on to ${where}`;
  const isRefused = REFUSED.test(textOf(status["last_sync_error"]));
  const why =
    textOf(status["secondary_id"]) === ""
      ? "it follows nobody"
      : `${where} ${isRefused ? "does not take this cluster" : "is not reached"}`;
  return `what is shared is REFUSED (503), as ${why}; the rest goes on`;
}

/** What it knows of the primary that it follows. */
function primaryRows(
  status: JsonObject,
  primary: JsonObject | undefined,
  now: Instant,
): (readonly [string, JsonValue | undefined])[] {
  return [
    ["Behind", primary === undefined ? NONE : behindPrimary(status, primary, now)],
    ["Primary", addressText(primary ?? {}, status)],
    ["Connection", connectionText(status, primary)],
    ["Last Heartbeat", shortTime(primary?.["last_heartbeat"], now)],
    ...(primary === undefined
      ? []
      : [["Clock Skew", millisText(primary["clock_skew_ms"])] as const]),
    ["Last Index", status["last_remote_wal"]],
  ];
}

/** Of one that is away only what it has told is known. */
function behindPrimary(status: JsonObject, primary: JsonObject, now: Instant): string {
  if (typeof status["wal_lag"] !== "number") return "not known: the primary was never heard of";
  if (primary["connection_status"] === "connected") return behindText({ ...status, ...primary });
  return `${entriesText(status["wal_lag"])} when it was last heard of, ${shortTime(primary["last_heartbeat"], now)}`;
}

function connectionText(status: JsonObject, primary: JsonObject | undefined): string {
  const channel = textOf(status["connection_state"]);
  const seen = textOf(primary?.["connection_status"]);
  return (
    [seen, channel === "" || channel === "ready" ? "" : channel].filter(Boolean).join(", ") || NONE
  );
}

function addressText(primary: JsonObject, status: JsonObject): string {
  const port = textOf(primary["cluster_address"]) || textOf(status["primary_cluster_addr"]);
  const api = textOf(primary["api_address"]); // where clients go
  if (port === "") return api || NONE;
  return api === "" ? `${port} (cluster port)` : `${api} (cluster port ${port})`;
}

// --- both ---

/** In entries, and for how long where that says something. */
function behindText(peer: JsonObject): string {
  const lag = peer["wal_lag"];
  const age = millisText(peer["replication_primary_canary_age_ms"]);
  if (typeof lag !== "number") return NONE;
  if (lag === 0) return "0 entries";
  const entries = entriesText(lag);
  return age === NONE || age === "0s" ? entries : `${entries}, ${age}`;
}

function millisText(value: JsonValue | undefined): string {
  const text = textOf(value);
  return /^-?\d{1,15}$/.test(text) ? showDuration(BigInt(text) * MILLISECOND) : NONE;
}
