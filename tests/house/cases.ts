// Case numbers in names of tests, and the tables in docs/cases that say what each is: neither without the
// other. A name begins with its numbers, and those of threats: "C5, T-I02: …", "A-12 …", "76: …".

import { readCode } from "./source.ts";

export interface Cases {
  /** Id and where it is named. */
  readonly named: readonly (readonly [id: string, path: string])[];
  readonly listed: readonly (readonly [id: string, path: string])[];
}

const TAG = /^(?:T-[A-Z]\d+|[A-Z]-\d{1,3}|(?:[A-Z]|PV)\d{1,2}|\d{1,3})$/;
const ROW = /^\| ([A-Z]-\d{1,3}|(?:[A-Z]|PV)\d{1,2}|e?\d{1,3}) +\|/gm;
const TEST = /(?<![.\w])(?:test|it)\(\s*"(\d+)"/g;
/** Tables in the tests themselves: the first element of a row. */
const TABLE = /\[\s*"(\d+)"/g;
const TABLES =
  /^(?:src\/acl\/(?:precedence|parameters\/parameters)|engines\/clouda\/(?:[a-z]+\/)?roles|tests\/spec\/policies\/policies-conformance-governing)\.test\.ts$|^tests\/spec\/(?:policies|governing)\/(?:policy|governing)-rows\.ts$/;

export function casesNamed(path: string, source: string): Cases["named"] {
  const { text, strings } = readCode(source);
  const names = Array.from(text.matchAll(TEST), ([, at]) => strings[Number(at)] ?? "");
  const tags = names.flatMap((name) => {
    const short = /^(A-\d{1,3}) /.exec(name)?.[1];
    if (short !== undefined) return [short];
    const head = /^([^:]{1,40}):/.exec(name)?.[1]?.split(/, | and | /) ?? [];
    return head.every((tag) => TAG.test(tag)) ? head.filter((tag) => !tag.startsWith("T-")) : [];
  });
  const rows = TABLES.test(path)
    ? Array.from(text.matchAll(TABLE), ([, at]) => strings[Number(at)] ?? "").flatMap(
        (id) => /^(e?\d{1,3}|V\d{1,2})(?:$|[:, ])/.exec(id)?.[1] ?? [],
      )
    : [];
  return [...tags, ...rows].map((id) => [id, path] as const);
}

export function casesListed(path: string, page: string): Cases["listed"] {
  return Array.from(page.matchAll(ROW), ([, id = ""]) => [id, path] as const);
}

export function casesApart({ named, listed }: Cases): string[] {
  const known = new Set(listed.map(([id]) => id));
  const used = new Set(named.map(([id]) => id));
  const twice = listed.filter(([id], i) => listed.findIndex(([other]) => other === id) !== i);
  return [
    ...named
      .filter(([id]) => !known.has(id))
      .map(([id, path]) => `${path}: no page of docs/cases has ${id}`),
    ...listed.filter(([id]) => !used.has(id)).map(([id, path]) => `${path}: no test names ${id}`),
    ...twice.map(([id, path]) => `${path}: ${id} is listed twice`),
  ];
}
