// The policy table as data: cases 1 to 75 of docs/cases/policies.md, and its worked examples. Used
// at the decision function and over HTTP, so that neither can be right about another table.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { AclCapability } from "../../../src/acl/capability.ts";

export interface PolicyRow {
  /** The case, or the line of the examples. */
  readonly id: string;
  /** What the rules are, in the notation of that page or in words. */
  readonly about: string;
  /** Texts of the policies of one token. */
  readonly policies: readonly string[];
  readonly operation: Exclude<AclCapability, "sudo">;
  readonly path: string;
  readonly data: JsonObject;
  /** Seconds; null where no wrapping is asked for. */
  readonly wrap: number | null;
  /** Whether `sudo` is needed beside the capability. */
  readonly sudo: boolean;
  readonly want: "allow" | "deny";
  /** No request can ask it: reads of a path with a slash at the end, and `*` in a path. */
  readonly decisionOnly: boolean;
}

const WORDS: Readonly<Record<string, string>> = {
  r: "read",
  l: "list",
  c: "create",
  u: "update",
  d: "delete",
  p: "patch",
  s: "sudo",
  X: "deny",
};

/** `path`:r,u · `path`:X | the rules of another policy. */
function policiesOf(notation: string): string[] {
  return notation.split("|").map((policy) =>
    policy
      .split("·")
      .map((rule) => {
        const at = rule.lastIndexOf(":");
        const letters = rule.slice(at + 1).trim();
        const words = letters === "∅" ? [] : letters.split(",").map(wordOf);
        return block(rule.slice(0, at).trim(), `capabilities = ${JSON.stringify(words)}`);
      })
      .join("\n"),
  );
}

function wordOf(letter: string): string {
  const word = WORDS[letter.trim()];
  if (word === undefined) throw new Error(`${letter} is no capability in this notation`);
  return word;
}

function block(path: string, body: string): string {
  return `path "${path}" { ${body} }`;
}

type Operation = PolicyRow["operation"];
type Want = PolicyRow["want"];

const PLAIN = { data: {}, wrap: null, sudo: false, decisionOnly: false };
const ALL = "c,r,u,d,l,p,s";

type Precedence = readonly [id: string, notation: string, operation: Operation, path: string, Want];

const precedence: readonly Precedence[] = [
  ["1", "secret/*:r,u,d,l · secret/foo:l", "read", "secret/foo", "deny"],
  ["2", "secret/*:r · secret/x:X", "read", "secret/x", "deny"],
  ["3", "secret/*:r · secret/x:X", "read", "secret/x/y", "allow"],
  ["4", "secret/*:c,r,u · secret/a/*:r", "update", "secret/a/b", "deny"],
  ["5", "secret/*:r | secret/*:u", "update", "secret/a", "allow"],
  ["6", "secret/*:r,s | secret/*:X", "read", "secret/a", "deny"],
  ["7", "secret/fo*:r", "read", "secret/food/z", "allow"],
  ["8", "secret/bar/*:r", "read", "secret/bars/zip", "deny"],
  ["9", "secret/bar/*:r", "read", "secret/bar", "deny"],
  ["10", "secret/bar/*:r", "read", "secret/bar/", "allow"],
  ["11", "secret/*/db:r", "read", "secret/a/db", "deny"],
  ["12", "secret/*/db:r", "read", "secret/*/db", "allow"],
  ["13", "secret/+/teamb:r", "read", "secret/a/teamb", "allow"],
  ["14", "secret/+/teamb:r", "read", "secret/a/b/teamb", "deny"],
  ["15", "secret/+:r", "read", "secret/", "allow"],
  ["16", "secret/a+b:r", "read", "secret/axb", "deny"],
  ["17", "secret/+b/c:r", "read", "secret/xb/c", "deny"],
  ["18", "1/2/*:c · 1/2/+:r", "create", "1/2/3", "deny"],
  ["19", "1/2/*:c · 1/2/+:r", "read", "1/2/3", "allow"],
  ["20", "1/2/*:c · 1/2/+/+:u", "update", "1/2/3/4", "allow"],
  ["21", "secret/*:l · secret/+/prefix-*:c,u", "update", "secret/alice/prefix-x", "deny"],
  ["22", "foo/+/bar:r · foo/b+/x:l · foo/bar/*:u", "update", "foo/bar/bar", "allow"],
  ["23", "+/*:r · *:u", "update", "foo/bar", "allow"],
  ["24", "foo/bar/+/b*:r · foo/bar/+/ba*:u", "update", "foo/bar/x/baz", "allow"],
  ["25", "test/+/w/*:r", "read", "test/a/w", "deny"],
  ["26", "test/+/w/*:r", "read", "test/a/w/", "allow"],
  ["27", "secret/foo:l", "list", "secret/foo/", "allow"],
  ["28", "secret/foo/:l", "list", "secret/foo/", "allow"],
  ["29", "secret/foo:l · secret/foo/:X", "list", "secret/foo/", "deny"],
  ["30", "kv/+:l", "list", "kv/private/", "allow"],
  ["31", "kv/*:l | kv/private/*:X", "list", "kv/private/", "deny"],
  ["32", "kv/*:X | kv/private/*:l", "list", "kv/private/", "allow"],
  ["33", "kv/*:l · kv/+:X", "list", "kv/private/", "deny"],
  ["34", "kv/*:l · kv/private/*:r", "list", "kv/private/", "allow"],
  ["35", "kv/*:l · kv/private/*:r", "list", "kv/private/sub/", "deny"],
  ["36", "secret/foo:r", "read", "secret/foo/", "deny"],
  ["37", "/secret/foo:r", "read", "secret/foo", "allow"],
  ["38", "secret/*:r · secret/a:∅", "read", "secret/a", "deny"],
  ["43", "s/*:c,u", "patch", "s/x", "deny"],
  ["44", "s/*:c", "update", "s/x", "deny"],
  ["45", "sys/leases/revoke/*:u", "update", "sys/leases/revoke/x", "allow"], // revoking is an update
  ["47", `sys/leases/lookup:u | sys/leases/*:${ALL}`, "read", "sys/leases/lookup", "deny"],
  ["48", "Secret/a:r", "read", "secret/a", "deny"],
  ["49", "*:r", "read", "any/thing/at/all", "allow"],
  ["50", "+:r", "read", "foo/bar", "deny"],
  ["e1", "secret/*:r,u · secret/foo:l", "read", "secret/foo", "deny"],
  ["e2", "secret/*:c,r,u · secret/a/*:r", "update", "secret/a/b", "deny"],
  ["e3", "1/2/*:c · 1/2/+:r", "create", "1/2/3", "deny"],
  ["e4", "1/2/*:c · 1/2/+:r", "create", "1/2/3/4", "allow"],
  ["e5", "secret/*:l · secret/+/prefix-*:u", "update", "secret/alice/prefix-x", "deny"],
  ["e6", "+/*:r · *:u", "update", "a/b", "allow"],
  ["e7", "foo/+/bar:r · foo/bar/*:u", "update", "foo/bar/bar", "allow"],
  ["e8", "foo/bar/+/b*:r · foo/bar/+/ba*:u", "update", "foo/bar/x/baz", "allow"],
  ["e9", "s/*:r,s | s/*:X", "read", "s/x", "deny"],
  ["e10", `sys/leases/lookup:u | sys/leases/*:${ALL}`, "read", "sys/leases/lookup", "deny"],
  ["e11", "secret/bar/*:r", "read", "secret/bar", "deny"],
  ["e12", "kv/+:l", "list", "kv/private/", "allow"],
  ["e13", "kv/*:l · kv/private/*:X", "list", "kv/private/", "deny"],
];

type Shorthand = readonly [id: string, body: string, operation: Operation, sudo: boolean, Want];

/** All on s/*, asked for s/x. Case 46, help, asks no policy: it is a test of its own. */
const shorthands: readonly Shorthand[] = [
  ["39", 'policy = "write"', "delete", false, "allow"],
  ["40", 'policy = "read" capabilities = ["update", "sudo"]', "list", true, "allow"],
  ["41", 'policy = "deny" capabilities = ["read"]', "read", false, "deny"],
  ["42", 'capabilities = ["read", "deny", "sudo"]', "read", false, "deny"],
];

interface Row {
  readonly operation?: Operation;
  readonly data?: JsonObject;
  readonly wrap?: number;
  readonly path?: string;
}

type Constraint = readonly [id: string, body: string | readonly string[], request: Row, Want];

const GRANT = 'capabilities = ["create", "read", "update", "delete", "list"]';
const BAR_ZIP = 'allowed_parameters = { bar = ["zip"] }';
const BAR_ZIP_STAR = 'allowed_parameters = { bar = ["zip"], "*" = [] }';
const A_OR_B = 'allowed_parameters = { x = ["A", "B"] }';
const TWO_BOUNDS = [
  "max_wrapping_ttl = 300 min_wrapping_ttl = 100",
  "max_wrapping_ttl = 200 min_wrapping_ttl = 50",
];

/** Constraints of a rule on p that grants the operation. */
const constraints: readonly Constraint[] = [
  ["51", 'required_parameters = ["name", "id"]', creating({ name: "a" }), "deny"],
  ["52", 'required_parameters = ["name"]', creating({ name: "a", z: "b" }), "allow"],
  ["53", 'allowed_parameters = { bar = ["zip", "zap"] }', { data: { bar: "zip" } }, "allow"],
  ["54", BAR_ZIP, { data: { baz: 1 } }, "deny"],
  ["55", BAR_ZIP_STAR, { data: { baz: 1 } }, "allow"],
  ["56", BAR_ZIP_STAR, { data: { bar: "no" } }, "deny"],
  ["57", "denied_parameters = { bar = [] }", { data: { bar: "x" } }, "deny"],
  ["58", 'denied_parameters = { "*" = [] }', { data: { x: 1 } }, "deny"],
  ["59", 'denied_parameters = { "*" = [] }', { data: {} }, "allow"],
  [
    "60",
    "allowed_parameters = { a = [] } denied_parameters = { a = [] }",
    { data: { a: 1 } },
    "deny",
  ],
  ["61", 'allowed_parameters = { bar = ["foo-*"] }', { data: { bar: "foo-1" } }, "allow"],
  ["62", A_OR_B, { data: { x: ["B", "A"] } }, "allow"],
  ["63", A_OR_B, { data: { x: "A,B" } }, "allow"],
  ["64", A_OR_B, { data: { x: ["A", "C"] } }, "deny"],
  ["65", 'denied_parameters = { x = ["A"] }', { data: { x: ["Z", "A"] } }, "deny"],
  ["66", 'denied_parameters = { policies = ["admin"] }', { data: { policies: "ADMIN" } }, "deny"],
  ["67", 'min_wrapping_ttl = "1s"', { operation: "read" }, "deny"],
  ["68", 'max_wrapping_ttl = "90s"', { operation: "read", wrap: 91 }, "deny"],
  ["69", 'max_wrapping_ttl = "90s"', { operation: "read", wrap: 90 }, "allow"],
  [
    "70",
    'denied_parameters = { "*" = [] }',
    { operation: "list", path: "p/", data: { limit: "5" } },
    "allow",
  ],
  ["71", 'required_parameters = ["x"]', { operation: "delete" }, "allow"],
  ["72", "allowed_parameters = { int = [1, 2] }", { data: { int: 2 } }, "allow"],
  ["73", "allowed_parameters = { flag = [false] }", { data: { flag: "false" } }, "deny"],
  ["74", 'required_parameters = ["name"]', { data: { Name: "x" } }, "allow"],
  ["75 at 40 s", TWO_BOUNDS, { operation: "read", wrap: 40 }, "deny"],
  ["75 at 150 s", TWO_BOUNDS, { operation: "read", wrap: 150 }, "allow"],
];

function creating(data: JsonObject): Row {
  return { operation: "create", data };
}

export const policyRows: readonly PolicyRow[] = [
  ...precedence.map(([id, notation, operation, path, want]): PolicyRow => ({
    ...PLAIN,
    id,
    about: notation,
    policies: policiesOf(notation),
    operation,
    path,
    want,
    decisionOnly: path.includes("*") || (operation !== "list" && path.endsWith("/")),
  })),
  ...shorthands.map(([id, body, operation, sudo, want]): PolicyRow => ({
    ...PLAIN,
    id,
    about: `s/* ${body}`,
    policies: [block("s/*", body)],
    operation,
    path: operation === "list" ? "s/x/" : "s/x",
    sudo,
    want,
  })),
  ...constraints.map(([id, document, request, want]): PolicyRow => {
    const bodies = typeof document === "string" ? [document] : document;
    return {
      ...PLAIN,
      id,
      about: bodies.join(" | "),
      policies: bodies.map((body) => block("p", `${GRANT} ${body}`)),
      operation: request.operation ?? "update",
      path: request.path ?? "p",
      data: request.data ?? {},
      wrap: request.wrap ?? null,
      want,
    };
  }),
];

/** What a test of the row is called. */
export function nameOf({ id, about, operation, path, want }: PolicyRow): string {
  return `${id}: ${about} – ${operation} ${path} → ${want}`;
}
