// A rule as it would be written in HCL: for suggestions, which people copy into their policies.

import { showDuration } from "@holdfast/shared/text/duration";
import type { ParameterRules } from "./parameters/parameters.ts";
import type { Wrapping } from "./rule.ts";
import type { RuleValue } from "./parameters/value.ts";
import { isIdentifier } from "../document/hcl-node.ts";
import { quoteHcl } from "../document/hcl-quote.ts";

export interface WrittenRule {
  readonly label: string;
  readonly capabilities: readonly string[];
  readonly parameters: ParameterRules;
  readonly wrapping: Wrapping;
}

/** On one line where it has capabilities alone. */
export function printRule({ label, capabilities, parameters, wrapping }: WrittenRule): string {
  const { allowed, denied, required } = parameters;
  const lines = [`capabilities = ${list(capabilities.map(quoteHcl))}`];
  if (required.size > 0) lines.push(`required_parameters = ${list([...required].map(quoteHcl))}`);
  for (const [key, named] of [
    ["allowed_parameters", allowed],
    ["denied_parameters", denied],
  ] as const) {
    if (named.size === 0) continue;
    const members = Array.from(
      named,
      ([name, values]) => `    ${keyOf(name)} = ${list(values.map(valueText))}\n`,
    );
    lines.push(`${key} = {\n${members.join("")}  }`);
  }
  if (wrapping.min !== null) lines.push(`min_wrapping_ttl = "${showDuration(wrapping.min)}"`);
  if (wrapping.max !== null) lines.push(`max_wrapping_ttl = "${showDuration(wrapping.max)}"`);
  const head = `path ${quoteHcl(label)} {`;
  if (lines.length === 1) return `${head} ${lines[0] ?? ""} }`;
  return `${head}\n${lines.map((line) => `  ${line}\n`).join("")}}`;
}

function list(elements: readonly string[]): string {
  return `[${elements.join(", ")}]`;
}

function keyOf(name: string): string {
  return isIdentifier(name) ? name : quoteHcl(name);
}

function valueText(value: RuleValue): string {
  switch (value.kind) {
    case "string":
      return quoteHcl(value.text);
    case "number":
      return numberText(value.canonical);
    case "bool":
      return String(value.value);
    case "list":
      return list(value.elements.map(valueText));
    case "object": {
      const members = Array.from(value.members, ([key, of]) => `${keyOf(key)} = ${valueText(of)}`);
      return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
    }
  }
}

const PLAIN = /^(-?\d+)e(\d)$/;

/** As people write it, where that is short. */
function numberText(canonical: string): string {
  const parts = PLAIN.exec(canonical);
  return parts === null ? canonical : `${parts[1] ?? ""}${"0".repeat(Number(parts[2]))}`;
}
