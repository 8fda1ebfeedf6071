// Cases for ACL documents: requests, and whether they are wanted to be allowed. An ACL document cannot
// hold them itself, since a server refuses keys that it does not know; they stand in a
// document of their own, `test "name" { path = "…" operation = "…" want = true }`, in HCL or JSON.

import { parseDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { type JsonObject, type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { type AclCapability, CAPABILITIES } from "./capability.ts";
import { CompiledAcl } from "./compile.ts";
import type { AclQuestion } from "./decide.ts";
import type { AclDocument } from "./document.ts";
import { explain } from "./explain.ts";
import { parseDocument } from "../document/document.ts";
import { DocumentFailure, showName } from "../document/document-failure.ts";
import { type BodyShape, NO_BLOCKS } from "../document/document-shape.ts";
import type { Attribute, Block, Position, Value } from "../document/hcl-node.ts";
import { type DocumentLimits, SourceText } from "../document/source-text.ts";

export interface AclCase {
  readonly name: string;
  readonly line: number;
  readonly question: AclQuestion;
  readonly want: boolean;
}

export interface NamedDocument {
  readonly name: string;
  readonly document: AclDocument;
}

export interface CaseOutcome {
  readonly name: string;
  readonly line: number;
  readonly want: boolean;
  readonly got: boolean;
  readonly passed: boolean;
  /** What decided, for people. */
  readonly because: string;
}

const LIMITS: DocumentLimits = { noun: "document", bytes: 2 ** 20, depth: 100, blocks: 10_000 };
const SHAPE: BodyShape = new Map([["test", { labels: 1, body: NO_BLOCKS }]]);
const KEYS = ["path", "operation", "parameters", "wrap_ttl", "sudo", "want"];
const OPERATIONS = CAPABILITIES.filter((word) => word !== "sudo");

export function readAclCases(text: string): AclCase[] {
  const body = parseDocument(new SourceText(text, LIMITS), SHAPE);
  return body.items.map((item) => {
    if (item.kind === "block" && item.type.text === "test") return caseOf(item);
    const key = item.kind === "block" ? item.type : item.key;
    throw refused(key.position, `invalid key ${showName(key.text)}; cases are test "…" { … }`);
  });
}

/** All documents together, as a token has them that carries each. Templates are not filled in. */
export function runAclCases(
  documents: readonly NamedDocument[],
  cases: readonly AclCase[],
  now: Instant,
): CaseOutcome[] {
  const policies = documents.map(({ name, document }) => {
    return { name, namespaceId: "", document, written: 0n, expires: null };
  });
  const acl = CompiledAcl.compile(policies, { now });
  return cases.map(({ name, line, question, want }) => {
    const { allowed, reason } = explain(acl, question);
    return { name, line, want, got: allowed, passed: allowed === want, because: reason };
  });
}

function caseOf(block: Block): AclCase {
  const fields = new Map<string, Attribute>();
  for (const item of block.body.items) {
    const key = item.kind === "block" ? item.type : item.key;
    if (item.kind === "block" || !KEYS.includes(key.text)) {
      throw refused(
        key.position,
        `invalid key ${showName(key.text)}; accepted: ${KEYS.join(", ")}`,
      );
    }
    fields.set(key.text, item);
  }
  const needed = (key: string) => {
    const value = fields.get(key)?.value;
    if (value === undefined) throw refused(block.position, `a test needs ${key}`);
    return value;
  };
  const [label] = block.labels;
  return {
    name: label?.text ?? "",
    line: block.position.line,
    question: {
      path: textOf(needed("path"), "path").replace(/^\/(?:v1\/)?/, ""),
      capability: operationOf(needed("operation")),
      sudo: flagOf(fields.get("sudo")?.value, "sudo"),
      data: parametersOf(fields.get("parameters")?.value),
      wrapTtl: durationOf(fields.get("wrap_ttl")?.value),
    },
    want: flagOf(needed("want"), "want"),
  };
}

function textOf(value: Value, key: string): string {
  if (value.kind !== "string") throw refused(value.position, `${key} takes text in double quotes`);
  return value.text;
}

function operationOf(value: Value): Exclude<AclCapability, "sudo"> {
  const text = textOf(value, "operation");
  const found = OPERATIONS.find((word) => word === text);
  if (found !== undefined) return found;
  throw refused(value.position, `operation must be one of ${OPERATIONS.join(", ")}`);
}

function flagOf(value: Value | undefined, key: string): boolean {
  if (value === undefined) return false;
  if (value.kind !== "bool") throw refused(value.position, `${key} must be true or false`);
  return value.value;
}

function parametersOf(value: Value | undefined): JsonObject {
  if (value === undefined) return {};
  if (value.kind !== "object") throw refused(value.position, "parameters takes an object");
  return objectOf(value.body.items);
}

function durationOf(value: Value | undefined): Nanos | null {
  if (value === undefined) return null;
  if (value.kind === "string" || value.kind === "number") {
    try {
      return parseDuration(value.text);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  }
  throw refused(value.position, 'wrap_ttl takes seconds or a duration such as "90s"');
}

function objectOf(items: readonly (Attribute | Block)[]): JsonObject {
  // No prototype: "__proto__" is a name like any other.
  const members: Record<string, JsonValue> = Object.create(null);
  for (const item of items) {
    if (item.kind === "block") throw refused(item.position, "an object holds names and values");
    members[item.key.text] = jsonOf(item.value);
  }
  return members;
}

function jsonOf(value: Value): JsonValue {
  switch (value.kind) {
    case "string":
      return value.text;
    case "number":
      return rawNumber(value.text);
    case "bool":
      return value.value;
    case "list":
      return value.elements.map(jsonOf);
    case "object":
      return objectOf(value.body.items);
  }
}

/**
 * @code case-invalid A test case for policies is not valid.
 * @remedy Correct the line that the text names.
 */
function refused(position: Position, problem: string): DocumentFailure {
  return new DocumentFailure("case-invalid", problem, position);
}
