// Comments, names of tests and pages lead to texts of this repository alone: whoever has a clone has all there is to
// read. What is said elsewhere is said again where it is needed.

import { lineAt } from "./source.ts";

/** Ways to point at a text that a clone does not have. */
const ELSEWHERE = new RegExp(
  [
    String.raw`\b(?:(?:[Cc]ore|ACL|[Pp]olicy|engines|replication|storage) )?[Cc]ontract(?:'s)? (?:section |decision )?[A-Z]?\d`,
    String.raw`\b(?:[Cc]ore|ACL|[Pp]olicy|engines|replication) [Cc]ontract\b`,
    String.raw`\b[Cc]ontract's\b|\bof the contract\b`,
    String.raw`\b(?:cloud-engines|policies-and-plugins|acl-tokens|core-system|reliability)(?:\.md)? [A-Z]?\d`,
    String.raw`(?<!docs/)\b[Dd]ecisions? D?\d`,
    String.raw`(?<![-\w])[DP]\d{1,3}\b(?!-)(?=[\s).,:;]|$)`,
    String.raw`\b[Ss]pec(?:ification)?s?,? (?:section |part )?\d`,
    String.raw`\bPLAN(?:\.md)?\b`,
    String.raw`\bdesign (?:document|text|paper)s?\b`,
    String.raw`\bsections? \d[\d.]* of the (?:spec|contract|design|plan)`,
    String.raw`\b(?:issue|item|ADR) \d+\b`,
    String.raw`\b(?:[Aa]s|[Ss]ee|in|by|of) rows? \d`,
    String.raw`\b[Rr]ows? \d+ (?:says?|settles?|has|have|decides?|tells?|asks?|wants?)\b`,
    String.raw`\b[\w-]+\.md of the (?:findings|contract|spec|design)`,
    String.raw`\bas the (?:contract|findings|design) (?:says?|has|have)\b`,
    String.raw`\bREADME(?:\.md)? row\b`,
    String.raw`\b(?:findings|second-look|design|threats\.md part)\b(?:/[\w.-]+|\.md)(?! of docs)`,
  ].join("|"),
  "g",
);
/** Threats are listed in docs/threats.md. */
const THREAT = /\bT-[A-Z]\d+\b/g;
const PAGE = /\bdocs\/[\w./-]*\w/g;
/** A file of ours, by as much of its path as tells it from others. */
const SOURCE = /(?<![\w./@*-])(?:[\w-]+\/)*[a-z][\w-]*\.ts\b(?![\w-])/g;
const COMMENT = /\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*|\/\*[\s\S]*?\*\//g;
const PARAGRAPH = /\S[^\n]*(?:\n(?!\n)[^\n]*)*/g;
const TEST_NAME = /(?<![.\w])(?:test|it)\(\s*(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`)/g;
/** Not prose: what stands in it is data. */
const NO_PROSE = /^tests\/house|^tests\/vectors\//;

/** `exists` tells whether there is a file, or several, whose path begins so; `isSource` whether the path of one
 *  of ours ends so; `isThreat` whether a threat is listed. */
export function strayPointers(
  path: string,
  source: string,
  exists: (start: string) => boolean,
  isSource: (end: string) => boolean = () => true,
  isThreat: (id: string) => boolean = () => true,
): string[] {
  const isPage = path.endsWith(".md");
  if (NO_PROSE.test(path) || !(isPage || path.endsWith(".ts"))) return [];
  const prose = isPage
    ? [...source.matchAll(PARAGRAPH)]
    : [...source.matchAll(COMMENT), ...source.matchAll(TEST_NAME)];
  return prose.flatMap((found) => {
    // A comment goes on over the break of a line.
    const text = found[0].replace(/\n\s*(?:\*|\/\/)?\s*/g, " ");
    const line = lineAt(source, found.index);
    const elsewhere = text.match(ELSEWHERE) ?? [];
    const absent = (text.match(PAGE) ?? []).filter((page) => !exists(page));
    const gone = isPage ? [] : (text.match(SOURCE) ?? []).filter((file) => !isSource(file));
    const unlisted = (text.match(THREAT) ?? []).filter((id) => !isThreat(id));
    return [...elsewhere, ...absent, ...gone, ...unlisted].map(
      (what) => `${path}:${line}: "${what}" is in no text of the repository: say it here`,
    );
  });
}
