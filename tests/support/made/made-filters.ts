// Filters for tests of the filter language: random ones that are right for tokens, their text in any
// of its notations, random tokens, and the plainest evaluator that could be written.

import fc from "fast-check";
import type { FilteredToken } from "../../../src/tokens/filter/filtered-token.ts";
import type { Expression, Match, Operator, Selector } from "../../../src/tokens/filter/syntax.ts";

const TEXTS = [
  "",
  "a",
  "b",
  "client",
  "read",
  "x y",
  "or",
  "in",
  "a/b",
  "/a/b",
  "é\n",
  'q"`',
  "42",
  "-7",
];
const PATTERNS = ["^re", "a|b", "d$", "[a-c]+", ".", "\\bx", "é"];
const TIMES = ["2026-03-01T10:00:00Z", "2026-03-01T11:00:00.000000001+01:00"];
const INSTANTS = [
  1_772_359_200_000_000_000n,
  1_772_359_200_000_000_001n,
  1_772_359_199_999_999_999n,
];
const NUMBERS = ["0", "1", "2", "0x2", "0b1", "0o1"];

export const NOW = 1_772_359_200_000_000_000n;

export function madeToken(fields: Partial<FilteredToken> = {}): FilteredToken {
  return {
    accessor: "c8427da3-8cf6-48b2-beaf-9bb747302196",
    name: "",
    type: "client",
    policies: ["readonly"],
    global: false,
    created: NOW,
    expires: null,
    ttl: null,
    createIndex: 1n,
    modifyIndex: 1n,
    ...fields,
  };
}

export const anyToken: fc.Arbitrary<FilteredToken> = fc
  .record({
    accessor: fc.uuid(),
    name: fc.constantFrom(...TEXTS),
    policies: fc.uniqueArray(fc.constantFrom("a", "b", "read", "or", "a/b", "x y"), {
      maxLength: 4,
    }),
    global: fc.boolean(),
    created: fc.constantFrom(...INSTANTS),
    expires: fc.constantFrom(null, ...INSTANTS),
    ttl: fc.constantFrom(null, 1n, 2n),
    createIndex: fc.constantFrom(0n, 1n, 2n),
    modifyIndex: fc.constantFrom(0n, 1n, 2n),
  })
  .map((token) => ({ ...token, type: token.policies.length === 0 ? "management" : "client" }));

const negated = fc.boolean();

function match(
  selectors: fc.Arbitrary<Selector>,
  operators: readonly Operator[],
  values: fc.Arbitrary<string>,
): fc.Arbitrary<Match> {
  return fc
    .record({
      selector: selectors,
      operator: fc.constantFrom(...operators),
      negated,
      value: values,
    })
    .map((made) => {
      const bare = made.operator === "empty" || made.operator === "nil";
      const ordered = ["below", "at-most", "above", "at-least"].includes(made.operator);
      const value = bare ? "" : made.value;
      return { kind: "match", ...made, value, negated: !ordered && made.negated };
    });
}

const ORDER: readonly Operator[] = ["below", "at-most", "above", "at-least"];

function matchIn(elements: readonly string[], places: readonly string[]): fc.Arbitrary<Match> {
  const paths = (...names: string[]) => fc.constantFrom<Selector>(...names.map((name) => [name]));
  const strings = fc.constantFrom<Selector>(
    ...["AccessorID", "Name", "Type", ...elements].map((name) => [name]),
    ["Policies", "0"],
  );
  const texts = fc.constantFrom(...TEXTS);
  return fc.oneof(
    match(strings, ["equal", "contains", "empty"], texts),
    match(strings, ["matches"], fc.constantFrom(...PATTERNS)),
    match(paths("Policies"), ["contains", "empty", "nil"], texts),
    match(paths("Roles"), ["empty", "nil"], texts),
    match(paths("Global", "Expired"), ["equal"], fc.constantFrom("1", "t", "FALSE", "False", "0")),
    match(
      paths("CreateIndex", "ModifyIndex", "ExpirationTTL", ...places),
      ["equal", ...ORDER],
      fc.constantFrom(...NUMBERS),
    ),
    match(paths("ExpirationTime", "CreateTime"), ORDER, fc.constantFrom(...TIMES)),
    match(paths("ExpirationTime", "CreateTime"), ["nil"], texts),
  );
}

function expression(depth: number, elements: string[], places: string[]): fc.Arbitrary<Expression> {
  const leaf = matchIn(elements, places);
  if (depth === 0) return leaf;
  const inner = expression(depth - 1, elements, places);
  const [element, place] = [`e${depth}`, `Type_${depth}`];
  const body = expression(depth - 1, [...elements, element], [...places, place]);
  const unnamed = expression(depth - 1, [...elements, element], places);
  const unused = expression(depth - 1, elements, [...places, place]);
  const head = { list: fc.constant<Selector>(["Policies"]), every: fc.boolean() };
  const quantified = fc.oneof(
    fc.record({ ...head, body, element: fc.constant(element), position: fc.constant(place) }),
    fc.record({
      ...head,
      body: unnamed,
      element: fc.constant(element),
      position: fc.constant(null),
    }),
    fc.record({ ...head, body: unused, element: fc.constant(null), position: fc.constant(place) }),
  );
  return fc.oneof(
    leaf,
    fc
      .tuple(
        fc.constantFrom("or" as const, "and" as const),
        fc.array(inner, { minLength: 2, maxLength: 3 }),
      )
      .map(([kind, operands]): Expression => ({ kind, operands })),
    inner.map((operand): Expression => ({ kind: "not", operand })),
    quantified.map((made): Expression => ({ kind: "quantified", ...made })),
  );
}

export const anyExpression: fc.Arbitrary<Expression> = expression(3, [], []);

const SYMBOLS = {
  below: "<",
  "at-most": "<=",
  above: ">",
  "at-least": ">=",
};

/** The text of a filter. `choose(n)` gives a number below n and picks among notations. */
export function printed(filter: Expression, choose: (options: number) => number): string {
  const pick = (...options: string[]) => options[choose(options.length)] ?? "";
  const ws = () => pick(" ", " ", "\t", "\n", " \r\n ");
  const maybe = () => pick("", " ", "\n\t");

  function selector(path: Selector): string {
    const [first = "", ...rest] = path;
    const dotted =
      first + rest.map((part) => pick(`.${part}`, `["${part}"]`, "[ `" + part + "` ]")).join("");
    return pick(dotted, dotted, `"/${path.join("/")}"`);
  }

  function value(text: string): string {
    const escaped = Array.from(text, (character) => {
      if (/^[a-zA-Z0-9 _/-]$/.test(character)) return character;
      const code = character.codePointAt(0) ?? 0;
      return `\\U${code.toString(16).padStart(8, "0")}`;
    }).join("");
    const options = [`"${escaped}"`];
    if (!/[`\r]/.test(text)) options.push("`" + text + "`");
    if (/^[A-Za-z][A-Za-z0-9_/]*$/.test(text)) options.push(text, text);
    if (/^-?(?:0|[1-9][0-9]*)$/.test(text)) options.push(`${text} `);
    return pick(...options);
  }

  function matched({ selector: path, operator, negated: no, value: text }: Match): string {
    const left = selector(path);
    const not = no ? `not${ws()}` : "";
    switch (operator) {
      case "equal":
        return `${left}${maybe()}${no ? "!=" : "=="}${maybe()}${value(text)}`;
      case "empty":
      case "nil":
        return `${left}${ws()}is${ws()}${not}${operator}`;
      case "matches":
        return `${left}${ws()}${not}matches${ws()}${value(text)}`;
      case "contains":
        return choose(2) === 0
          ? `${left}${ws()}${not}contains${ws()}${value(text)}`
          : `${value(text)}${ws()}${not}in${ws()}${left}`;
      case "below":
      case "at-most":
      case "above":
      case "at-least":
        return `${left}${maybe()}${SYMBOLS[operator]}${maybe()}${value(text)}`;
    }
  }

  function whole(part: Expression): string {
    switch (part.kind) {
      case "match":
        return matched(part);
      case "not":
        return `not${ws()}${operand(part.operand)}`;
      case "quantified": {
        const { every, list, position, element, body } = part;
        const two = `${position ?? "_"}${maybe()},${maybe()}${element ?? "_"}`;
        const names = position === null && element !== null ? pick(two, element) : two;
        const head = `${every ? "all" : "any"}${ws()}${selector(list)}${ws()}as${ws()}${names}`;
        return `${head}${maybe()}{${maybe()}${whole(body)}${ws()}}`;
      }
      case "or":
      case "and":
        return part.operands.map(operand).join(`${ws()}${part.kind}${ws()}`);
    }
  }

  function operand(part: Expression): string {
    const bare = part.kind !== "or" && part.kind !== "and" && choose(3) > 0;
    return bare ? whole(part) : `(${maybe()}${whole(part)}${maybe()})`;
  }

  return `${maybe()}${whole(filter)}${maybe()}`;
}

/** The language by its meaning, without a thought for speed. A place that is not there throws a RangeError. */
export function naively(
  filter: Expression,
  token: FilteredToken,
  names: ReadonlyMap<string, string | bigint> = new Map(),
): boolean {
  switch (filter.kind) {
    case "or":
      for (const operand of filter.operands) if (naively(operand, token, names)) return true;
      return false;
    case "and":
      for (const operand of filter.operands) if (!naively(operand, token, names)) return false;
      return true;
    case "not":
      return !naively(filter.operand, token, names);
    case "quantified": {
      for (const [at, policy] of token.policies.entries()) {
        const inner = new Map(names);
        if (filter.element !== null) inner.set(filter.element, policy);
        if (filter.position !== null) inner.set(filter.position, BigInt(at));
        const holds = naively(filter.body, token, inner);
        if (holds && !filter.every) return true;
        if (!holds && filter.every) return false;
      }
      return filter.every;
    }
    case "match": {
      const holds = compared(valueOf(filter.selector, token, names), filter);
      return filter.negated ? !holds : holds;
    }
  }
}

function valueOf(
  selector: Selector,
  token: FilteredToken,
  names: ReadonlyMap<string, string | bigint>,
): unknown {
  const [first = "", place] = selector;
  const management = token.type === "management";
  const record: Readonly<Record<string, unknown>> = {
    AccessorID: token.accessor,
    Name: token.name,
    Type: token.type,
    Policies: management ? null : token.policies,
    Roles: null,
    Global: token.global,
    CreateIndex: token.createIndex,
    ModifyIndex: token.modifyIndex,
    ExpirationTTL: token.ttl ?? 0n,
    ExpirationTime: token.expires,
    CreateTime: token.created,
    Expired: token.expires !== null && token.expires < NOW,
  };
  if (place === undefined) return names.get(first) ?? record[first];
  const policy = token.policies[Number(place)];
  if (policy === undefined) throw new RangeError(`no ${place}`);
  return policy;
}

function compared(value: unknown, { selector, operator, value: text }: Match): boolean {
  if (operator === "nil") return value === null;
  if (operator === "empty")
    return value === "" || value === null || (value as string[]).length === 0;
  if (typeof value === "string") {
    if (operator === "equal") return value === text;
    return operator === "contains" ? value.includes(text) : new RegExp(text, "u").test(value);
  }
  if (operator === "contains") return value !== null && (value as string[]).includes(text);
  if (typeof value === "boolean") return value === ["1", "t"].includes(text);
  if (value === null) return false;
  const isTime = selector[0]?.endsWith("Time") ?? false;
  const right = isTime ? NOW + BigInt(TIMES.indexOf(text)) : BigInt(text);
  const left = value as bigint;
  if (operator === "equal") return left === right;
  if (operator === "below") return left < right;
  if (operator === "at-most") return left <= right;
  return operator === "above" ? left > right : left >= right;
}
