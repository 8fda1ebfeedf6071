// A second evaluator, straight from docs/policies/acl.md: no index, no tree, every
// rule looked at for every question. The two agree on whatever fast-check can think of.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { atOnce } from "@holdfast/shared/sliced";
import { type AclCapability, CAPABILITIES } from "./capability.ts";
import { CompiledAcl } from "./compile.ts";
import { capabilitiesOn, decide } from "./decide.ts";
import { parseAclDocument } from "./document.ts";
import { shadowing } from "./shadow.ts";

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
  const segments = path.split("/");
  if (star ? segments.length < wanted.length : segments.length !== wanted.length) return false;
  return wanted.every((part, i) => {
    const segment = segments[i] ?? "";
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

/** 3.4 for all but lists. Null where nothing matches. */
function decides(rules: readonly Rule[], path: string): string | null {
  return rules.some(({ label }) => label === path && kindOf(label) === "exact")
    ? path
    : strongest(candidates(rules, path));
}

/**
 * 3.5: an exact label, with the slash before the one without; else each form is decided alone by 3.4.
 * If the stronger of the two denies, or one denies and the other does not grant: denied; else either
 * may grant it. The label whose word counts, or null.
 */
function decidesList(rules: readonly Rule[], path: string, word: string): string | null {
  const forms = [path, path.slice(0, -1)];
  for (const form of forms) {
    if (rules.some(({ label }) => label === form && kindOf(label) === "exact")) return form;
  }
  const deciding = [...new Set(forms.map((form) => decides(rules, form)))].filter(
    (label) => label !== null,
  );
  const strong = strongest(deciding);
  const says = (label: string, what: string) => wordsFor(rules, label).includes(what);
  if (strong === null || says(strong, "deny")) return strong;
  const granting = deciding.filter((label) => says(label, word));
  if (deciding.some((label) => says(label, "deny")) && granting.length === 0) return null;
  return strongest(granting);
}

function isAllowed(rules: readonly Rule[], { word, path, sudo }: Question): boolean {
  const listing = word === "list" || word === "scan";
  const label = listing ? decidesList(rules, path, word) : decides(rules, path);
  const words = label === null ? [] : wordsFor(rules, label);
  return words.includes(word) && (!sudo || words.includes("sudo"));
}

// A small alphabet, so that rules meet each other and the paths. `b+` and `*b` are plain text.
const segment = fc.constantFrom("a", "b", "ab", "abc", "", "b+", "*b");
const labelSegment = fc.oneof({ weight: 3, arbitrary: segment }, fc.constantFrom("+", "+", "+b"));
const label = fc
  .tuple(fc.array(labelSegment, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([segments, star]) => segments.join("/") + (star ? "*" : ""))
  .filter((text) => text !== "" && !text.startsWith("/") && !text.includes("+*"));
const granted = fc.uniqueArray(
  fc.constantFrom("read", "read", "update", "create", "delete", "list", "scan", "deny", "sudo"),
  { maxLength: 4 },
);
const policy = fc.array(fc.record({ label, words: granted }), { maxLength: 8 });

type Word = Exclude<AclCapability, "sudo">;

interface Question {
  readonly word: Word;
  readonly path: string;
  readonly sudo: boolean;
}

const REQUESTED: readonly Word[] = [
  ...(["read", "read", "list", "list"] as const), // more often than the others
  ...(["update", "scan", "create", "delete", "patch"] as const),
];

/** Of a rule's label, what takes the place of its wildcards; else a path of its own. */
const draft = fc.record({
  word: fc.constantFrom(...REQUESTED),
  sudo: fc.nat(4).map((n) => n === 0),
  slash: fc.boolean(),
  rule: fc.nat(30),
  own: fc.array(segment, { minLength: 1, maxLength: 4 }),
});

type Draft = typeof draft extends fc.Arbitrary<infer T> ? T : never;

function questionOf({ word, sudo, slash, rule, own }: Draft, rules: readonly Rule[]): Question {
  const near = rules[rule]?.label;
  let path = own.join("/");
  if (near !== undefined) {
    let at = 0;
    const filled = textOf(near).split("/");
    path = filled.map((part) => (part === "+" ? (own[at++] ?? "a") : part)).join("/");
    if (near.endsWith("*")) path += own.slice(at).join("/");
  }
  if (word === "list" || word === "scan") path = path.endsWith("/") ? path : `${path}/`;
  else if (slash && path.endsWith("/")) path = path.slice(0, -1);
  return { word, path, sudo };
}

function textsOf(policies: readonly (readonly Rule[])[], slash: string): string[] {
  return policies.map((rules) =>
    rules
      .map(
        (rule) => `path "${slash}${rule.label}" { capabilities = ${JSON.stringify(rule.words)} }`,
      )
      .join("\n"),
  );
}

function compiled(texts: readonly string[]): CompiledAcl {
  const policies = texts.map((text, i) => ({
    name: `p${i}`,
    namespaceId: "root",
    document: parseAclDocument(text),
    written: 1n,
    expires: null,
  }));
  return CompiledAcl.compile(policies, { now: 0n });
}

// A fixed seed and a few seconds; ACL_CASES=N asks that many times fifty, of a seed that is told when
// they disagree.
const LONG = Number(process.env["ACL_CASES"] ?? "0");
const SETS = LONG > 0 ? LONG : 1_000;
const SEED = LONG > 0 ? Date.now() : 34;
const QUESTIONS = 50;

test("the compiled decision and the naive one agree on random (policies, path, operation)", () => {
  const seen = { requests: 0, allowed: 0, contested: 0, denied: 0 };
  const property = fc.property(
    fc.array(policy, { minLength: 1, maxLength: 3 }),
    fc.array(draft, { minLength: QUESTIONS, maxLength: QUESTIONS }),
    fc.constantFrom("", "/"), // a slash in front of a label does not count
    (policies, drafts, slash) => {
      const rules = policies.flat();
      const acl = compiled(textsOf(policies, slash));
      for (const question of drafts.map((one) => questionOf(one, rules))) {
        const { word: capability, path, sudo } = question;
        const want = isAllowed(rules, question);
        const got = decide(acl, { path, capability, sudo, data: {}, wrapTtl: null });
        assert.equal(got.allowed, want, `${capability} ${path}`);
        const pool = new Set(candidates(rules, path));
        seen.requests += 1;
        if (want) seen.allowed += 1;
        if (pool.size > 1) seen.contested += 1;
        if ([...pool].some((one) => wordsFor(rules, one).includes("deny"))) seen.denied += 1;
      }
    },
  );
  fc.assert(property, { numRuns: SETS, seed: SEED });
  assert.equal(seen.requests, SETS * QUESTIONS);
  // Were nothing granted, or never two rules in question, agreement would mean little.
  assert.ok(seen.allowed > seen.requests / 20, `${seen.allowed} were allowed`);
  assert.ok(seen.contested > seen.requests / 20, `${seen.contested} had several candidates`);
  assert.ok(seen.denied > seen.requests / 20, `${seen.denied} met a deny`);
});

test("each word for a path is what the naive evaluator decides for that operation", () => {
  const property = fc.property(policy, fc.array(draft, { maxLength: 20 }), (rules, drafts) => {
    const acl = compiled(textsOf([rules], ""));
    for (const { path } of drafts.map((one) => questionOf(one, rules))) {
      const folder = path.endsWith("/") ? path : `${path}/`;
      const want = CAPABILITIES.filter((word) => {
        const of = word === "sudo" ? decides(rules, path) : null;
        if (word === "sudo") return of !== null && wordsFor(rules, of).includes(word);
        const listing = word === "list" || word === "scan";
        return isAllowed(rules, { word, path: listing ? folder : path, sudo: false });
      });
      assert.deepEqual(capabilitiesOn(acl, path), want, path);
    }
  });
  fc.assert(property, { numRuns: Math.ceil(SETS / 4), seed: SEED });
});

// Who denies stays in any case. Some rules and policies end, some bind the request, and of the policies
// some were written before a namespace below was made, where they do not count.
const often = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
const end = often<number | null>(null, 10, 20, 30);
const granting = fc.array(fc.constantFrom("read", "update", "create", "list", "scan", "sudo"), {
  minLength: 1,
  maxLength: 4,
});
const BOUNDS = [
  "min_wrapping_ttl = 20",
  "max_wrapping_ttl = 40",
  "min_wrapping_ttl = 20 max_wrapping_ttl = 40",
  "denied_parameters = { x = [1] }",
  "allowed_parameters = { x = [1] }",
  'required_parameters = ["x"]',
];
// Half of them lead into the namespace.
const placed = fc.oneof(
  label,
  label.map((text) => `a/${text}`),
);
const limitedPolicy = fc.record({
  rules: fc.array(fc.record({ label: placed, words: granting, end, bound: often("", ...BOUNDS) }), {
    maxLength: 8,
  }),
  end,
  written: fc.constantFrom(1n, 2n, 3n),
});
type LimitedPolicy = typeof limitedPolicy extends fc.Arbitrary<infer T> ? T : never;

const MADE = 1n; // when namespace "a" was
const NAMESPACES = [null, { path: "a", created: MADE }];
const DATA = [{}, { x: 1 }, { x: 2 }, { y: 1 }];
const WRAPPINGS = [null, null, 10n, 30n, 50n];
const SECOND = 1_000_000_000n;

const instantOf = (seconds: number | null) => (seconds === null ? null : BigInt(seconds) * SECOND);

function limitedText({ rules }: LimitedPolicy): string {
  const blocks = rules.map((rule) => {
    const words = `capabilities = ${JSON.stringify(rule.words)}`;
    const expires = rule.end === null ? "" : `expiration = "1970-01-01T00:00:${rule.end}Z"`;
    return `path "${rule.label}" { ${words} ${rule.bound} ${expires} }`;
  });
  return blocks.join("\n");
}

test("whoever leaves policies behind, but for those that limit the rest, gains nothing, then or later", () => {
  const seen = { requests: 0, allowed: 0, stayed: 0, left: 0, gained: 0, later: 0, below: 0 };
  const property = fc.property(
    fc.array(limitedPolicy, { minLength: 2, maxLength: 4 }),
    fc.array(draft, { minLength: QUESTIONS, maxLength: QUESTIONS }),
    fc.infiniteStream(fc.nat(99)),
    (policies, drafts, dice) => {
      const inForce = policies.map((one, i) => ({
        name: `p${i}`,
        namespaceId: "root",
        document: parseAclDocument(limitedText(one)),
        written: one.written,
        expires: instantOf(one.end),
      }));
      const compile = (some: (name: string) => boolean, now: number, child = NAMESPACES[0]) =>
        CompiledAcl.compile(
          inForce.filter(({ name }) => some(name)),
          { now: BigInt(now) * SECOND, child: child ?? null },
        );
      const kept = new Set(["p0"]);
      const reachOf = (written: bigint) => Number(written > MADE);
      const staying = atOnce(
        shadowing(
          compile(() => true, 0),
          kept,
          { reachOf },
        ),
      );
      seen.stayed += staying.size;
      seen.left += policies.length - 1 - staying.size;
      const rules = policies.flatMap((one) => one.rules);
      for (const now of [0, 10, 25, 35]) {
        for (const child of NAMESPACES) {
          const whole = compile(() => true, now, child);
          const part = compile((name) => kept.has(name) || staying.has(name), now, child);
          const bare = compile((name) => kept.has(name), now, child);
          const lead = child === null ? "" : `${child.path}/`;
          for (const one of drafts) {
            const { word: capability, path, sudo } = questionOf(one, rules);
            if (!path.startsWith(lead) || path === lead) continue;
            const data = DATA[dice.next().value % DATA.length] ?? {};
            const wrap = WRAPPINGS[dice.next().value % WRAPPINGS.length] ?? null;
            const wrapTtl = wrap === null ? null : wrap * SECOND;
            const question = { path: path.slice(lead.length), capability, sudo, data, wrapTtl };
            const [had, has] = [decide(whole, question).allowed, decide(part, question).allowed];
            assert.ok(had || !has, `${capability} ${path} at ${now} below "${lead}"`);
            seen.requests += 1;
            if (has) seen.allowed += 1;
            if (had || !decide(bare, question).allowed) continue;
            seen.gained += 1;
            if (now > 0) seen.later += 1;
            if (child !== null) seen.below += 1;
          }
        }
      }
    },
  );
  fc.assert(property, { numRuns: LONG > 0 ? LONG : SETS / 2, seed: SEED });
  // Otherwise it would mean little.
  const results = JSON.stringify(seen);
  assert.ok(seen.allowed > seen.requests / 100, results);
  assert.ok(
    Math.min(seen.stayed, seen.left, seen.gained, seen.later, seen.below) > SETS / 20,
    results,
  );
});
