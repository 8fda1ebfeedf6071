// Cases 97 to 120 of docs/cases/policies.md as data, as far as they are a question of what programs say of a
// request: used where programs are evaluated and over HTTP. The rest of those cases is about writing,
// and about what a real request is told.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { EnforcementLevel, GoverningKind } from "../../../src/endpoint/judgement.ts";

export interface ProgramInput {
  readonly kind: GoverningKind;
  readonly name: string;
  readonly level: EnforcementLevel;
  readonly text: string;
  /** Of an EGP. */
  readonly paths: readonly string[];
}

export interface GoverningRow {
  readonly id: string;
  readonly about: string;
  readonly programs: readonly ProgramInput[];
  /** With rights to everything, or without a token; management is never judged. */
  readonly caller: "client" | "nobody" | "management";
  readonly operation: "read" | "update" | "delete" | "list";
  readonly path: string;
  readonly data: JsonObject;
  readonly address: string;
  readonly override: boolean;
  readonly want: "allow" | "deny";
  /** Of the programs that apply, in the order in which they are asked. */
  readonly results: readonly (readonly [name: string, result: "pass" | "fail" | "error"])[];
}

const HARD = "hard-mandatory";
const SOFT = "soft-mandatory";

function rgp(name: string, level: EnforcementLevel, text: string): ProgramInput {
  return { kind: "rgp", name, level, text, paths: [] };
}

function egp(name: string, text: string, ...paths: readonly string[]): ProgramInput {
  return { kind: "egp", name, level: HARD, text, paths };
}

type Short = Pick<GoverningRow, "id" | "about" | "programs" | "want" | "results"> &
  Partial<GoverningRow>;

function row(short: Short): GoverningRow {
  return {
    caller: "client",
    operation: "read",
    path: "secret/orders",
    data: {},
    address: "127.0.0.1",
    override: false,
    ...short,
  };
}

/** The path of the one-time exchange, which is how this server logs somebody in. */
const LOGIN = {
  caller: "nobody",
  operation: "update",
  path: "acl/token/onetime/exchange",
} as const;

const FROM_TEN = egp("network", 'ip_in(request.connection.remote_addr, "10.0.0.0/8")', "*");
const KNOWN = egp("known", "request.unauthenticated || token.creation_time_unix > 0", "*");
const NO_DELETE = rgp("no-delete", HARD, 'main when request.operation == "delete" { false }');
const PATTERN = rgp("pattern", HARD, 'request.data.s.matches("^(a+)+$")');
const BELOW = egp("below", "false", "secret/*");
const THREE = [
  egp("a-all", "false", "*"),
  egp("b-glob", "false", "secret/*"),
  egp("c-exact", "false", "secret/orders"),
];

function loops(levels: number): string {
  const names = ["a", "b", "c", "d", "e", "f"].slice(0, levels);
  const nested = (inner: string, name: string) => `[0,1,2,3,4,5,6,7,8,9].all(${name}, ${inner})`;
  return names.reduceRight(nested, "true");
}

export const governingRows: readonly GoverningRow[] = [
  row({
    id: "98",
    about: "a hard RGP says no",
    programs: [rgp("no", HARD, "false")],
    want: "deny",
    results: [["no", "fail"]],
  }),
  row({
    id: "99",
    about: "an advisory RGP says no",
    programs: [rgp("no", "advisory", "false")],
    want: "allow",
    results: [["no", "fail"]],
  }),
  row({
    id: "100 without override",
    about: "a soft RGP says no",
    programs: [rgp("no", SOFT, "false")],
    want: "deny",
    results: [["no", "fail"]],
  }),
  row({
    id: "100 with override",
    about: "a soft RGP says no",
    programs: [rgp("no", SOFT, "false")],
    override: true,
    want: "allow",
    results: [["no", "fail"]],
  }),
  row({
    id: "101",
    about: "a soft and a hard one say no, with override",
    programs: [rgp("a", SOFT, "false"), rgp("b", HARD, "false")],
    override: true,
    want: "deny",
    results: [
      ["a", "fail"],
      ["b", "fail"],
    ],
  }),
  row({
    id: "102",
    about: "two soft ones say no, with override",
    programs: [rgp("b", SOFT, "false"), rgp("a", SOFT, "false")],
    override: true,
    want: "allow",
    results: [
      ["a", "fail"],
      ["b", "fail"],
    ],
  }),
  row({
    id: "103",
    about: "a hard one says no, with override",
    programs: [rgp("no", HARD, "false")],
    override: true,
    want: "deny",
    results: [["no", "fail"]],
  }),
  row({
    id: "105",
    about: "EGPs on the path, above it and on everything",
    programs: THREE,
    want: "deny",
    results: [
      ["c-exact", "fail"],
      ["b-glob", "fail"],
      ["a-all", "fail"],
    ],
  }),
  row({
    id: "105 with one EGP on several paths",
    about: "it is evaluated once",
    programs: [egp("many", "true", "*", "secret/*", "secret/orders")],
    want: "allow",
    results: [["many", "pass"]],
  }),
  row({
    id: "106",
    about: "an EGP on secret/*, beside it",
    programs: [BELOW],
    path: "secretx",
    want: "allow",
    results: [],
  }),
  row({
    id: "106 below",
    about: "an EGP on secret/*, below it",
    programs: [BELOW],
    path: "secret/x",
    want: "deny",
    results: [["below", "fail"]],
  }),
  row({
    id: "107",
    about: "an EGP on * judges a login by its address",
    programs: [FROM_TEN],
    ...LOGIN,
    want: "deny",
    results: [["network", "fail"]],
  }),
  row({
    id: "107 from the network",
    about: "an EGP on * judges a login by its address",
    programs: [FROM_TEN],
    ...LOGIN,
    address: "10.1.2.3",
    want: "allow",
    results: [["network", "pass"]],
  }),
  row({
    id: "108",
    about: "management is not judged",
    programs: [FROM_TEN],
    caller: "management",
    want: "allow",
    results: [],
  }),
  row({
    id: "110",
    about: "a missing key",
    programs: [rgp("team", HARD, 'token.metadata.team == "a"')],
    want: "deny",
    results: [["team", "error"]],
  }),
  row({
    id: "110 with override",
    about: "an error counts as a no at its level",
    programs: [rgp("team", SOFT, 'token.metadata.team == "a"')],
    override: true,
    want: "allow",
    results: [["team", "error"]],
  }),
  row({
    id: "111",
    about: "true for somebody unknown",
    programs: [KNOWN],
    ...LOGIN,
    want: "allow",
    results: [["known", "pass"]],
  }),
  row({
    id: "111 for a client",
    about: "true for somebody known",
    programs: [KNOWN],
    want: "allow",
    results: [["known", "pass"]],
  }),
  row({
    id: "112",
    about: "an answer that is text",
    programs: [rgp("text", HARD, "request.data.x")],
    data: { x: "true" },
    want: "deny",
    results: [["text", "error"]],
  }),
  row({
    id: "114",
    about: "a pattern that others take for ever on, and it matches",
    programs: [PATTERN],
    data: { s: "a".repeat(10_000) },
    want: "allow",
    results: [["pattern", "pass"]],
  }),
  row({
    id: "114 without a match",
    about: "a pattern that others take for ever on",
    programs: [PATTERN],
    data: { s: `${"a".repeat(10_000)}!` },
    want: "deny",
    results: [["pattern", "fail"]],
  }),
  row({
    id: "115",
    about: "six nested loops",
    programs: [rgp("loops", HARD, loops(6))],
    want: "deny",
    results: [["loops", "error"]],
  }),
  row({
    id: "115 within the budget",
    about: "three nested loops",
    programs: [rgp("loops", HARD, loops(3))],
    want: "allow",
    results: [["loops", "pass"]],
  }),
  row({
    id: "117",
    about: "main is about something else",
    programs: [NO_DELETE],
    want: "allow",
    results: [["no-delete", "pass"]],
  }),
  row({
    id: "117 for a delete",
    about: "main is about that",
    programs: [NO_DELETE],
    operation: "delete",
    want: "deny",
    results: [["no-delete", "fail"]],
  }),
  row({
    id: "P17",
    about: "an exact EGP path is met by the list of its folder",
    programs: [egp("exact", "false", "secret/orders")],
    operation: "list",
    path: "secret/orders/",
    want: "deny",
    results: [["exact", "fail"]],
  }),
];

/** What a test of the row is called. */
export function nameOf({ id, about, want }: GoverningRow): string {
  return `${id}: ${about} → ${want}`;
}
