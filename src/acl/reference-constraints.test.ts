// The second evaluator's other half: what equal labels mean together, and what a rule says about the
// parameters and the wrapping of a request, straight from docs/policies/acl.md.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { CompiledAcl } from "./compile.ts";
import { decide } from "./decide.ts";
import { parseAclDocument } from "./document.ts";
import { often } from "../../tests/support/often.ts";

type Named = Readonly<Record<string, readonly JsonValue[]>>;

/** One `path "p"` block. Undefined is not written. */
interface Block {
  readonly capabilities: readonly string[];
  readonly allowed_parameters?: Named | undefined;
  readonly denied_parameters?: Named | undefined;
  readonly required_parameters?: readonly string[] | undefined;
  readonly min_wrapping_ttl?: number | undefined;
  readonly max_wrapping_ttl?: number | undefined;
}

type Operation = "read" | "create" | "update" | "patch" | "delete" | "list";

interface Request {
  readonly operation: Operation;
  readonly data: JsonObject;
  readonly wrap: number | null; // seconds
}

// --- the text, sentence by sentence ---

function isAllowed(blocks: readonly Block[], { operation, data, wrap }: Request): boolean {
  const capabilities = blocks.flatMap((block) => block.capabilities);
  if (capabilities.includes("deny") || !capabilities.includes(operation)) return false;
  const max = lowest(blocks.map((block) => block.max_wrapping_ttl));
  const min = lowest(blocks.map((block) => block.min_wrapping_ttl));
  if (max !== null && min !== null && max < min) return false;
  if (max !== null && (wrap === null || wrap > max)) return false;
  if (min !== null && (wrap === null || wrap < min)) return false;
  if (operation === "list" || operation === "delete") return true;

  const denied = united(blocks.map((block) => block.denied_parameters));
  const allowed = united(blocks.map((block) => block.allowed_parameters));
  const names = Object.keys(data).map((name) => name.toLowerCase());
  const required = blocks.flatMap((block) => block.required_parameters ?? []);
  const valued = Object.keys(data).filter((name) => data[name] !== null);
  const there = valued.map((name) => name.toLowerCase());
  if (!required.every((name) => there.includes(name.toLowerCase()))) return false;
  if (names.length === 0) return true;
  if (denied.has("*")) return false;
  for (const [key, value] of Object.entries(data)) {
    const values = denied.get(key.toLowerCase());
    if (values !== undefined && (values.length === 0 || caught(key, value ?? null, values))) {
      return false;
    }
  }
  if (allowed.size === 0 || (allowed.size === 1 && allowed.has("*"))) return true;
  return Object.entries(data).every(([key, value]) => {
    const values = allowed.get(key.toLowerCase());
    if (values === undefined) return allowed.has("*");
    return values.length === 0 || accepted(key, value ?? null, values);
  });
}

function lowest(values: readonly (number | undefined)[]): number | null {
  const set = values.filter((value) => value !== undefined);
  return set.length === 0 ? null : Math.min(...set);
}

/** Keys united; same key: value lists united, but an empty list on either side wins. */
function united(all: readonly (Named | undefined)[]): Map<string, readonly JsonValue[]> {
  const result = new Map<string, readonly JsonValue[]>();
  for (const named of all) {
    for (const [name, values] of Object.entries(named ?? {})) {
      const key = name.toLowerCase();
      const before = result.get(key);
      if (before === undefined) result.set(key, values);
      else
        result.set(key, before.length === 0 || values.length === 0 ? [] : [...before, ...values]);
    }
  }
  return result;
}

/** Accepted if the whole list equals one entry or each element matches one. */
function accepted(name: string, value: JsonValue, values: readonly JsonValue[]): boolean {
  const parts = partsOf(value);
  if (values.some((one) => isSame(name, one, value))) return true;
  return parts.length > 0 && parts.every((part) => values.some((one) => isSame(name, one, part)));
}

/** Caught if the whole or any element matches; blanks around an element do not hide it. A value with a star is
 *  also tried on every text inside. */
function caught(name: string, value: JsonValue, values: readonly JsonValue[]): boolean {
  const parts = partsOf(value).flatMap((part) => [
    part,
    typeof part === "string" ? part.trim() : part,
  ]);
  if ([value, ...parts].some((part) => values.some((one) => isSame(name, one, part)))) return true;
  const patterns = values.filter((one) => typeof one === "string" && /^\*|\*$/.test(one));
  const inside = typeof value === "string" ? [] : textsIn(value);
  return inside.some((text) => patterns.some((one) => isSame(name, one, text)));
}

/** Elements and members however deep; of members the names, and name=value, too. */
function textsIn(value: JsonValue): string[] {
  if (typeof value === "string") return [value, value.trim()];
  if (isList(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member = null]) => {
    const pair = typeof member === "object" ? [] : [`${name}=${String(member)}`];
    return [name, ...pair, ...textsIn(member)];
  });
}

function partsOf(value: JsonValue): readonly JsonValue[] {
  if (typeof value === "string") return value.split(",");
  return isList(value) ? value : [];
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isSame(name: string, inRule: JsonValue, value: JsonValue): boolean {
  if (typeof inRule === "string" && typeof value === "string") {
    const folds = ["policies", "token_policies"].includes(name.toLowerCase());
    const [rule, text] = folds ? [inRule.toLowerCase(), value.toLowerCase()] : [inRule, value];
    if (rule === text || rule === "*") return true;
    if (rule.startsWith("*") && rule.endsWith("*")) return text.includes(rule.slice(1, -1));
    if (rule.endsWith("*")) return text.startsWith(rule.slice(0, -1));
    return rule.startsWith("*") && text.endsWith(rule.slice(1));
  }
  return JSON.stringify(value) === JSON.stringify(inRule); // objects here have one member
}

// --- questions ---

const text = fc.constantFrom("a", "ab", "b", "A", "", "a,b", "a, ab", " a", "b*", "admin", "ADMIN");
const pattern = fc.constantFrom(
  "a",
  "ab",
  "a*",
  "*b",
  "*a*",
  "*",
  "admin",
  "A,b",
  "",
  "k=a*",
  "*=ab",
);
const scalar: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(1, 2, 2.5, true, false);
const inRule: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: pattern },
  scalar,
  fc.array(fc.oneof(fc.constantFrom("a", "b"), scalar), { maxLength: 2 }),
  fc.record({ k: fc.constantFrom("a", "b") }),
);
const sent: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: text },
  scalar,
  fc.constant(null),
  fc.array(fc.oneof(text, scalar), { maxLength: 3 }),
  fc.record({ k: fc.constantFrom("a", "b") }),
  fc.array(fc.dictionary(fc.constantFrom("k", "ab"), fc.oneof(text, scalar), { maxKeys: 2 }), {
    maxLength: 2,
  }),
  fc.record({ k: fc.array(fc.oneof(text, scalar), { maxLength: 2 }) }),
);
const named = fc.dictionary(
  fc.constantFrom("x", "Y", "policies", "*"),
  fc.array(inRule, { maxLength: 3 }),
  { maxKeys: 3 },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const block: fc.Arbitrary<Block> = fc.record({
  capabilities: fc.oneof(
    { weight: 9, arbitrary: fc.constant(["read", "create", "update", "delete", "list"]) },
    fc.uniqueArray(fc.constantFrom("read", "create", "update", "patch", "delete", "list", "deny")),
  ),
  allowed_parameters: maybe(named),
  denied_parameters: maybe(named),
  required_parameters: maybe(fc.uniqueArray(fc.constantFrom("x", "Y", "z"), { maxLength: 2 })),
  min_wrapping_ttl: fc.option(fc.constantFrom(1, 60), { nil: undefined, freq: 1 }),
  max_wrapping_ttl: fc.option(fc.constantFrom(60, 90), { nil: undefined, freq: 1 }),
});
const request: fc.Arbitrary<Request> = fc.record({
  operation: fc.constantFrom<Operation[]>(
    ...(["read", "create", "update", "update", "patch", "delete", "list"] as const),
  ),
  data: fc.dictionary(fc.constantFrom("x", "X", "y", "z", "policies"), sent, { maxKeys: 3 }),
  wrap: fc.option(fc.constantFrom(1, 59, 60, 61, 90, 91), { freq: 3 }),
});

test("merged rules, parameters and wrapping: the compiled rule and the naive reading agree on 40,000 requests", () => {
  let allowed = 0;
  const property = fc.property(
    fc.array(fc.tuple(block, fc.boolean()), { minLength: 1, maxLength: 3 }),
    fc.array(request, { minLength: 20, maxLength: 20 }),
    (written, requests) => {
      // A block in a policy of its own, or in that of the block before.
      const texts: string[] = [];
      for (const [one, apart] of written) {
        const body = JSON.stringify({ p: one });
        if (apart || texts.length === 0) texts.push(body);
        else texts.push(`${texts.pop()},${body}`);
      }
      const policies = texts.map((all, i) => ({
        name: `p${i}`,
        namespaceId: "root",
        document: parseAclDocument(`{"path":[${all}]}`),
        written: 1n,
        expires: null,
      }));
      const acl = CompiledAcl.compile(policies, { now: 0n });
      const blocks = written.map(([one]) => one);
      for (const each of requests) {
        const { operation: capability, data, wrap } = each;
        const wrapTtl = wrap === null ? null : BigInt(wrap) * 1_000_000_000n;
        const want = isAllowed(blocks, each);
        const got = decide(acl, { path: "p", capability, sudo: false, data, wrapTtl });
        assert.equal(got.allowed, want, JSON.stringify(each));
        if (want) allowed += 1;
      }
    },
  );
  fc.assert(property, { numRuns: 2_000 });
  assert.ok(allowed > 4_000, `${allowed} were allowed`);
});

// --- fields that an endpoint reads: a rule and a request may spell the same otherwise ---

/** A list of objects with a name, which has no case; or the text of one. */
const GRANTS = {
  name: "grants",
  caseless: true,
  canonical: (input: JsonValue): JsonValue => {
    const value = typeof input === "string" ? (JSON.parse(input) as JsonValue) : input;
    if (!isList(value)) return value;
    return value.map((one) => ({ n: (one as { n: string }).n.toLowerCase() }));
  },
};

/** A map, or a list of name=value. */
const TAGS = {
  name: "tags",
  pairs: true,
  canonical: (value: JsonValue): JsonValue => {
    const list = typeof value === "string" ? [value] : value;
    if (!isList(list)) return value;
    return Object.fromEntries(list.map((one) => halvesOf(one)));
  },
};

function halvesOf(pair: JsonValue): [string, string] {
  const at = typeof pair === "string" ? pair.indexOf("=") : -1;
  if (typeof pair !== "string" || at < 0) throw new Error("no pair");
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

/** What a value means: its elements, each as one text. And a spelling of it. */
interface Spelt {
  readonly elements: readonly string[];
  readonly value: JsonValue;
}

const grantName = fc.constantFrom("Owner", "OWNER", "reader", "Reader", "x");
const grants: fc.Arbitrary<Spelt> = fc
  .tuple(fc.array(grantName, { minLength: 1, maxLength: 3 }), fc.boolean(), fc.boolean())
  .map(([names, asText, alone]) => {
    const objects = names.map((n) => ({ n }));
    const value = alone && objects.length === 1 ? { n: names[0] ?? "" } : objects;
    const elements = names.map((name) => name.toLowerCase());
    return { elements, value: asText ? JSON.stringify(value) : value };
  });
const tags: fc.Arbitrary<Spelt> = fc
  .tuple(
    fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("x", "y"), {
      minKeys: 1,
      maxKeys: 3,
    }),
    fc.constantFrom("map", "list", "spaced", "text"),
  )
  .map(([map, how]) => {
    const pairs = Object.entries(map).map(([name, value]) => `${name}=${value}`);
    const spaced = pairs.map((pair) => ` ${pair.replace("=", " = ")} `);
    const [first = ""] = pairs;
    const list = how === "spaced" ? spaced : pairs;
    const value = how === "map" ? map : how === "text" && pairs.length === 1 ? first : list;
    return { elements: pairs.toSorted(), value };
  });
const tagPattern: fc.Arbitrary<Spelt> = fc
  .constantFrom("a=*", "b=*", "*=y")
  .map((value) => ({ elements: [value], value }));

test("elements: a rule and a request that spell them otherwise agree with what they mean, 40,000 times", () => {
  const matches = (one: string, element: string) =>
    one.startsWith("*")
      ? element.endsWith(one.slice(1))
      : one.endsWith("*")
        ? element.startsWith(one.slice(0, -1))
        : one === element;
  const isWhole = ({ elements }: Spelt, sent: Spelt) => elements.join() === sent.elements.join();
  const isNamed = (rules: readonly Spelt[], element: string) =>
    rules.some(
      ({ elements: [one = ""], elements }) => elements.length === 1 && matches(one, element),
    );
  const seen = { allowed: 0, denied: 0 };
  for (const [field, written] of [
    [GRANTS, fc.tuple(fc.array(grants, { minLength: 1, maxLength: 3 }), grants)],
    [TAGS, fc.tuple(fc.array(fc.oneof(tags, tagPattern), { minLength: 1, maxLength: 3 }), tags)],
  ] as const) {
    const property = fc.property(written, ([rules, sent]) => {
      const whole = rules.some((one) => isWhole(one, sent));
      const data = { [field.name]: field.canonical(sent.value) };
      // A grant that stands alone is no list, and so none that an endpoint takes.
      fc.pre(field !== GRANTS || isList(data[field.name] ?? null));
      for (const [key, want] of [
        ["denied", !whole && !sent.elements.some((element) => isNamed(rules, element))],
        ["allowed", whole || sent.elements.every((element) => isNamed(rules, element))],
      ] as const) {
        const named = { [field.name]: rules.map(({ value }) => value) };
        const body = { capabilities: ["update"], [`${key}_parameters`]: named };
        const policy = {
          name: "p",
          namespaceId: "root",
          document: parseAclDocument(JSON.stringify({ path: { p: body } })),
          written: 1n,
          expires: null,
        };
        const { allowed } = decide(CompiledAcl.compile([policy], { now: 0n }), {
          path: "p",
          capability: "update",
          sudo: false,
          data,
          fields: new Map([[field.name, field]]),
          wrapTtl: null,
        });
        assert.equal(allowed, want, `${key} ${JSON.stringify(named)}: ${JSON.stringify(data)}`);
        if (want) seen[key] += 1;
      }
    });
    fc.assert(property, { numRuns: often(4_000) });
  }
  assert.ok(seen.allowed > 800 && seen.denied > 800, JSON.stringify(seen));
});
