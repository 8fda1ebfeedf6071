// The answer of sys/inspect/request for people, who may be woken up by it: first whether and why, then by
// which line, what else was looked at, and what to write to change it.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";
import { showValue } from "../terminal/value.ts";

interface InspectedRequest {
  readonly operation: string;
  readonly path: string;
}

export function inspectionText(found: JsonObject, { operation, path }: InspectedRequest): string {
  const allowed = found["allowed"] === true;
  const needed = found["sudo"] === true ? `${operation} and sudo` : operation;
  const steps = list(found, "steps");
  const denying = allowed ? [] : steps.filter(isDenying);
  const reason =
    denying.length > 0 ? denying.map(failureText).join("; ") : showValue(found["reason"]);
  const decided = denying.length > 0 ? "The ACL allows it by" : "Decided by";
  return [
    `${allowed ? "ALLOWED" : "DENIED"}: ${needed} on ${oneLine(path)}`,
    `Because ${oneLine(reason)}.`,
    ...section(decided, ruleLines(found["rule"])),
    ...section("Matched too, and did not decide", list(found, "candidates").map(candidateLine)),
    ...section("Governing policies", governingLines(steps)),
    ...overrideLines(denying),
    ...suggestionLines(found),
  ].join("\n");
}

/** An RGP or EGP that fails, and whose failure counts. */
function isDenying({ kind, level, result }: JsonObject): boolean {
  return kind !== "acl" && level !== "advisory" && result !== "pass";
}

/** `egp hours (soft-mandatory) fails: main (line 3) = false`. */
function failureText(step: JsonObject): string {
  const { kind, name, level, result, message } = step;
  const why = result === "error" && typeof message === "string" ? [message] : rulesOf(step);
  const policy = `${showValue(kind)} ${nameOf(name, step)} (${showValue(level)}) fails`;
  return why.length === 0 ? policy : `${policy}: ${why.join(", ")}`;
}

function rulesOf(step: JsonObject): string[] {
  return list(step, "rules").map(({ name, line, value }) => {
    const came = typeof value === "boolean" ? String(value) : "error";
    return `${showValue(name)} (line ${showValue(line)}) = ${came}`;
  });
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines.map((line) => `  ${line}`.trimEnd())];
}

function ruleLines(rule: JsonValue | undefined): string[] {
  if (!isObject(rule)) return [];
  const words = Array.isArray(rule["capabilities"]) ? rule["capabilities"].map(showValue) : [];
  const what = words.includes("deny") ? "denies" : `grants ${words.join(", ") || "nothing"}`;
  const places = list(rule, "policies");
  // Several blocks with one label are one rule; none of them says alone what they say together.
  if (places.length > 1) return [`path ${quoted(rule["path"])} ${what}`, ...places.map(placeText)];
  return places.map((place) => `${placeText(place)} ${what}`);
}

/** `readonly, line 3, column 1: path "secret/*"`. */
function placeText(place: JsonObject): string {
  const { name, line, column, path } = place;
  return `${nameOf(name, place)}, line ${showValue(line)}, column ${showValue(column)}: path ${quoted(path)}`;
}

function candidateLine(candidate: JsonObject): string {
  const places = list(candidate, "policies").map(placeText);
  const why = showValue(candidate["why"]);
  return `${places.join("; ")}${why === "<none>" ? "" : ` – ${oneLine(why)}`}`;
}

function governingLines(steps: readonly JsonObject[]): string[] {
  const rows = steps
    .filter(({ kind }) => kind === "rgp" || kind === "egp")
    .map((step) => {
      const { kind, name, level, result, message } = step;
      // Of a program that passes, what its author has to say to those who fail is of no interest.
      const said = result !== "pass" && typeof message === "string" ? [message] : [];
      const because = [rulesOf(step).join(", "), ...said].filter((text) => text !== "");
      const cells = [result, kind, nameOf(name, step), level].map(showValue);
      return [...cells, because.join(" – ") || "–"];
    });
  if (rows.length === 0) return [];
  const columns = ["Result", "Kind", "Policy", "Level", "Rules"];
  return table(columns, rows, { width: null, heading: (text) => text })
    .trimEnd()
    .split("\n");
}

/** Only where it would help: a hard-mandatory policy knows no override. */
function overrideLines(denying: readonly JsonObject[]): string[] {
  const soft = denying.length > 0 && denying.every(({ level }) => level === "soft-mandatory");
  return soft
    ? ["", "The caller may override it: X-Service-Policy-Override: true, which is audited."]
    : [];
}

function suggestionLines(found: JsonObject): string[] {
  const { minimal_policy: text } = found;
  if (typeof text !== "string") return [];
  const replaced = list(found, "minimal_policy_replaces").map(placeText);
  const lines = text.trimEnd().split("\n").map(oneLine);
  if (replaced.length === 0) {
    return section("Smallest rule that would allow it; add it to a policy of the token", lines);
  }
  return [
    ...section("Smallest rule that would allow it", lines),
    ...section("It must stand instead of", replaced),
  ];
}

/** Namespaces have their ids in front, but for root. */
function nameOf(name: JsonValue | undefined, { namespace_id: id }: JsonObject): string {
  const prefix = typeof id === "string" && id !== "" && id !== "root" ? `${id}/` : "";
  return oneLine(`${prefix}${showValue(name)}`);
}

function quoted(value: JsonValue | undefined): string {
  return JSON.stringify(oneLine(showValue(value)));
}

function list(found: JsonObject, name: string): readonly JsonObject[] {
  const value = found[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}
