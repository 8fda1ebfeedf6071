// The compiled decision against one written down again, naively, from the contract's sentences: every
// rule is looked at for every question. The two agree on whatever fast-check can think of.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { CompiledAcl } from "./acl-compile.ts";
import { decide } from "./acl-decide.ts";
import { parseAclDocument } from "./acl-document.ts";

interface Rule {
  readonly label: string;
  readonly words: readonly string[];
}

type Kind = "exact" | "prefix" | "segment";

function kindOf(label: string): Kind {
  if (label === "+" || /^\+\/|\/\+/.test(label)) return "segment";
  return label.endsWith("*") ? "prefix" : "exact";
}

function textOf(label: string): string {
  return kindOf(label) !== "exact" && label.endsWith("*") ? label.slice(0, -1) : label;
}

function matches(label: string, path: string): boolean {
  const kind = kindOf(label);
  if (kind === "exact") return label === path;
  if (kind === "prefix") return path.startsWith(textOf(label));
  const star = label.endsWith("*");
  const wanted = textOf(label).split("/");
  const given = path.split("/");
  if (star ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, i) => {
    const segment = given[i] ?? "";
    if (star && i === wanted.length - 1) return segment.startsWith(part);
    return part === "+" || part === segment;
  });
}

function wildcardAt(label: string): number {
  return kindOf(label) === "prefix" ? textOf(label).length : label.indexOf("+");
}

function plusSegments(label: string): number {
  return kindOf(label) === "prefix"
    ? 0
    : textOf(label)
        .split("/")
        .filter((s) => s === "+").length;
}

function weaker(a: string, b: string): boolean {
  if (wildcardAt(a) < wildcardAt(b)) return true;
  if (wildcardAt(a) > wildcardAt(b)) return false;
  if (a.endsWith("*") && !b.endsWith("*")) return true;
  if (!a.endsWith("*") && b.endsWith("*")) return false;
  if (plusSegments(a) !== plusSegments(b)) return plusSegments(a) > plusSegments(b);
  if (textOf(a).length !== textOf(b).length) return textOf(a).length < textOf(b).length;
  return textOf(a) < textOf(b);
}

/** Of equal labels, what they grant together. */
function wordsFor(rules: readonly Rule[], label: string): readonly string[] {
  const words = rules.filter((rule) => rule.label === label).flatMap((rule) => rule.words);
  return words.includes("deny") ? ["deny"] : words;
}

function strongest(labels: readonly string[]): string | null {
  const best = labels.filter((a) => labels.every((b) => a === b || weaker(b, a)));
  assert.ok(labels.length === 0 || new Set(best).size === 1, "the order is total");
  return best[0] ?? null;
}

function candidates(rules: readonly Rule[], path: string): string[] {
  const matching = rules.map(({ label }) => label).filter((label) => matches(label, path));
  const prefixes = matching.filter((label) => kindOf(label) === "prefix");
  const longest = Math.max(-1, ...prefixes.map((label) => label.length));
  return matching.filter(
    (label) =>
      kindOf(label) === "segment" || (kindOf(label) === "prefix" && label.length === longest),
  );
}

function allowed(rules: readonly Rule[], word: string, path: string): boolean {
  const grants = (label: string | null) => label !== null && wordsFor(rules, label).includes(word);
  const has = (label: string) =>
    kindOf(label) === "exact" && rules.some((rule) => rule.label === label);
  if (word !== "list") {
    return grants(has(path) ? path : strongest(candidates(rules, path)));
  }
  const bare = path.slice(0, -1);
  if (has(path)) return grants(path);
  if (has(bare)) return grants(bare);
  const pool = [...new Set([...candidates(rules, path), ...candidates(rules, bare)])];
  const denying = strongest(pool.filter((label) => wordsFor(rules, label).includes("deny")));
  const listing = strongest(pool.filter((label) => grants(label)));
  if (denying !== null && (listing === null || weaker(listing, denying))) return false;
  return listing !== null;
}

// A small alphabet, so that rules meet each other and the paths.
const segment = fc.constantFrom("a", "b", "ab", "abc", "", "b+", "*b");
const labelSegment = fc.oneof({ weight: 3, arbitrary: segment }, fc.constant("+"));
const label = fc
  .tuple(fc.array(labelSegment, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([segments, star]) => segments.join("/") + (star ? "*" : ""))
  .filter((text) => text !== "" && !text.startsWith("/") && !text.includes("+*"));
const words = fc.uniqueArray(fc.constantFrom("read", "update", "list", "deny", "sudo"), {
  maxLength: 3,
});
const rules = fc.array(fc.record({ label, words }), { maxLength: 8 });
const path = fc
  .array(segment, { minLength: 1, maxLength: 5 })
  .map((segments) => segments.join("/"));
const word = fc.constantFrom("read", "update", "list");

test("the compiled decision and the naive one agree on 20,000 random questions", () => {
  let grants = 0;
  const property = fc.property(
    fc.array(rules, { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(word, path), { minLength: 20, maxLength: 20 }),
    (policies, questions) => {
      const inForce = policies.map((policy, i) => ({
        name: `p${i}`,
        namespaceId: "root",
        document: parseAclDocument(
          policy
            .map((rule) => `path "${rule.label}" { capabilities = ${JSON.stringify(rule.words)} }`)
            .join("\n"),
        ),
        written: 1n,
        expires: null,
      }));
      const acl = CompiledAcl.compile(inForce, { now: 0n });
      for (const [capability, asked] of questions) {
        const at = capability === "list" ? `${asked}/` : asked;
        const want = allowed(policies.flat(), capability, at);
        const got = decide(acl, { path: at, capability, sudo: false, data: {}, wrapTtl: null });
        assert.equal(got.allowed, want, `${capability} ${at}`);
        if (want) grants += 1;
      }
    },
  );
  fc.assert(property, { numRuns: 1_000 });
  assert.ok(grants > 500, `the questions find grants (${grants})`);
});
