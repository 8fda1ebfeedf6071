// What is judged is what runs. Of every declared endpoint, and of all spellings of a request that it takes
// (case of names, query or body, names of a field, types that are read as one, null), quotas, rules,
// programs, records and the handler are given the same; and spellings that are read as the same request are
// the same to whoever decides. The table is made from the declarations: a new endpoint is in it by itself.

import assert from "node:assert/strict";
import test, { suite } from "node:test";
import fc from "fast-check";
import { fold } from "@holdfast/shared/text/fold";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import {
  type Endpoint,
  serve,
  type Served,
  type ServedField,
} from "@holdfast/shared/endpoint/endpoint";
import { isCaseless } from "@holdfast/shared/endpoint/caseless";
import { canonicalOf } from "@holdfast/shared/endpoint/members";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";
import { ObservedPipeline } from "../support/observed-pipeline.ts";

const UPPER_AND_LOWER = [
  "11111111-2222-4333-8444-55555555ABCD",
  "11111111-2222-4333-8444-55555555abcd",
] as const;

const RUNS = 25; // of each endpoint

type Field = ServedField["field"];

/** Values that are read as one, each in every spelling. */
const MEANINGS: readonly (readonly JsonValue[])[] = [
  [true, "true", "1", "t", "TRUE", "True"],
  [false, "false", "0", "F", "False"],
  [1, "1", true],
  [7, "7"],
  ["1h", "60m", "3600s", 3600, "3600"],
  ["90s", 90, "1m30s"],
  [["dev", "ops"], "dev,ops", "dev, ops"],
  [["Dev"], "Dev", ["dev"], "DEV", [" dev "]],
  [["10.0.0.0/8"], "10.0.0.0/8"],
  ["text", " text", "text\n"],
  ['{"a":1}', '{ "a": 1 }', ' {"a":1}'],
  ["2030-01-01T00:00:00Z", "2030-01-01T01:00:00+01:00", "2030-01-01t00:00:00.0z"],
  ["2030-01-01T00:00:00.500Z", "2029-12-31T19:00:00.5-05:00"],
  ["", "0", 0, "0s", "0h", "0001-01-01T00:00:00Z", "system"],
  [{ a: "b" }, ["a=b"], "a=b", "a = b", { a: "b", c: null }],
  [{ a: "1" }, { a: 1 }, ["a=1"]],
  [{ cas: 1 }, { cas: "1" }],
  [{ cas: 0 }, { cas: "0" }],
  [{ log_raw: "true" }, { log_raw: true }, { log_raw: "1" }, { log_raw: 1 }],
  [{ rotate_interval: "1h" }, { rotate_interval: 3600 }, { rotate_interval: "60m" }],
  [{ rotate_keep: "7" }, { rotate_keep: 7 }, { rotate_keep: "07" }],
  [{ mode: "0600" }, { mode: "600" }],
  [{ facility: "auth" }, { facility: "AUTH" }],
  [{ lockout_disable: true }, { lockout_disable: "true" }, { lockout_disable: "1" }],
  [{ lockout_threshold: 7 }, { lockout_threshold: "7" }],
  [
    { lockout_counter_reset_duration: "1h" },
    { lockout_counter_reset: 3600 },
    { lockout_counter_reset: "60m", lockout_counter_reset_duration: null },
    { lockout_counter_reset: "9m", lockout_counter_reset_duration: "3600" },
  ],
  [
    { max_lease_ttl: "1h", user_lockout_config: { lockout_disable: true } },
    { max_lease_ttl: 3600, user_lockout_config: { lockout_disable: "t" }, token_type: "" },
    { max_lease_ttl: "60m", user_lockout_config: { lockout_disable: "1" }, default_lease_ttl: "" },
  ],
  [{}],
  [[{ a: "b" }]],
  ["client"],
  ["advisory"],
  ["11111111-2222-4333-8444-55555555abcd", "11111111-2222-4333-8444-55555555ABCD"],
  ["open/b", "/open/b", "open/b/", "/open/b/", " open/b"],
  [["open/b"], ["/open/b"], "/open/b", ["open/b/"], [" open/b "]],
  ["k1", "/k1", "k1/", "/k1/"],
  [["10.0.0.0/8"], ["10.1.2.3/8"], "10.1.2.3/8"],
  ["", "AzurePublicCloud", "cloudbpubliccloud", "CloudBPublicCloud"],
  ["AzureChinaCloud", "CLOUDBCHINACLOUD"],
];

/** The meanings that a field takes, by what it reads them as. */
function meaningsOf(field: Field): JsonValue[][] {
  const words = (field.schema as { readonly enum?: readonly JsonValue[] }).enum ?? [];
  const groups = new Map<string, JsonValue[]>();
  for (const value of [...words.map((word) => [word]), ...MEANINGS].flat()) {
    let read: unknown;
    try {
      read = field.read(value);
    } catch {
      continue;
    }
    if (read === undefined) continue;
    const key = display({ read }).includes(OPAQUE) ? display({ value }) : display({ read });
    groups.set(key, [...(groups.get(key) ?? []), value]);
  }
  const inQuery = field.source === "query" || field.source === "param";
  return [...groups.values()].filter(
    (group) => !inQuery || group.some((value) => typeof value === "string"),
  );
}

/** A reading that cannot be looked into. */
const OPAQUE = "(opaque)";

/** Text that is equal for equal values. */
function display(value: unknown): string {
  return JSON.stringify(value, function displayMember(this: unknown, name: string, one: unknown) {
    const isHolder = typeof this === "object" && this !== null; // an array, too
    const held = isHolder ? (this as Record<string, unknown>)[name] : one;
    if (held instanceof Secret) return `secret ${String(held.reveal())}`;
    return typeof one === "bigint" ? `${one}n` : typeof one === "function" ? OPAQUE : one;
  });
}

/** One field of a request: which of its meanings, and how it is spelt in each of two requests. */
interface Chosen {
  readonly present: boolean;
  readonly meaning: number;
  readonly spellings: readonly [Spelling, Spelling];
}

interface Spelling {
  readonly value: number;
  readonly name: number;
  readonly query: boolean;
  readonly upper: boolean;
  readonly nulls: boolean;
}

const spelling: fc.Arbitrary<Spelling> = fc.record({
  value: fc.nat(20),
  name: fc.nat(3),
  query: fc.boolean(),
  upper: fc.boolean(),
  nulls: fc.boolean(),
});
const chosen: fc.Arbitrary<Chosen> = fc.record({
  present: fc.boolean(),
  meaning: fc.nat(20),
  spellings: fc.tuple(spelling, spelling),
});

const segment = fc.constantFrom(
  "app",
  "Team-A",
  "x9",
  "ZED",
  "11111111-2222-4333-8444-55555555ABCD",
);

interface Sent {
  readonly target: string;
  readonly body: JsonObject | undefined;
}

class Row {
  readonly #endpoint: Served;
  readonly #mount: string | null;
  readonly #pipeline: ObservedPipeline;
  readonly #meanings: ReadonlyMap<string, JsonValue[][]>;

  constructor(endpoint: Served, all: readonly Served[], mount: string | null) {
    this.#endpoint = endpoint;
    this.#mount = mount;
    this.#pipeline = new ObservedPipeline(all, mount);
    this.#meanings = new Map(endpoint.fields.map(({ key, field }) => [key, meaningsOf(field)]));
  }

  async holds(): Promise<number> {
    const { fields, parameters } = this.#endpoint;
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(segment, { minLength: parameters.length, maxLength: parameters.length }),
        fc.tuple(fc.boolean(), fc.boolean()),
        fc.array(chosen, { minLength: fields.length, maxLength: fields.length }),
        async (names, cases, choice) => {
          const seen = [];
          for (const which of [0, 1] as const) {
            const sent = this.#spell(names, cases[which] === true, choice, which);
            seen.push(await this.#check(sent));
          }
          const [one, other] = seen;
          if (one === null || one === undefined || other === null || other === undefined) return;
          ran++;
          assert.equal(display(one), display(other), "two spellings of one request");
        },
      ),
      { numRuns: RUNS, seed: 20261115 },
    );
    return ran;
  }

  /** A parameter that is one of several words is one of them. */
  #named(parameter: string, text: string): string {
    const { field } = this.#endpoint.fields.find(({ field: one }) => one.name === parameter) ?? {};
    const { enum: words = [] } = (field?.schema ?? {}) as { readonly enum?: readonly string[] };
    return words[text.length % Math.max(1, words.length)] ?? text;
  }

  #spell(names: readonly string[], upper: boolean, choice: readonly Chosen[], which: 0 | 1): Sent {
    const { path, method, folds, parameters, fields, family } = this.#endpoint;
    const byName = new Map(parameters.map((name, i) => [name, i]));
    const target = path.replaceAll(/:(\w+)\+?/g, (_, name: string) => {
      const at = byName.get(name) ?? 0;
      const text = this.#named(name, names[at] ?? "x");
      return folds[at] === "case" && upper ? text.toUpperCase() : text;
    });
    const body: Record<string, JsonValue> = {};
    const query: string[] = [];
    const readsBody = method !== "GET" && method !== "LIST";
    for (const [i, { key, field, names: known }] of fields.entries()) {
      const one = choice[i];
      const meanings = this.#meanings.get(key) ?? [];
      if (one === undefined || field.source === "path") continue;
      const how = one.spellings[which];
      if (field.source === "whole") {
        Object.assign(body, { anything: "goes", Policies: ["a"], nothing: null });
        continue;
      }
      const inQuery =
        field.source === "query" || (field.source === "param" && (how.query || !readsBody));
      if (!inQuery && !readsBody) continue;
      const spelt = known[how.name % known.length] ?? field.name;
      const name = !inQuery && family === "acl" && how.upper ? spelt.toUpperCase() : spelt;
      if (!one.present && !field.required) {
        if (how.nulls && !inQuery && field.clears !== true) body[name] = null;
        continue;
      }
      const meaning = meanings[one.meaning % Math.max(1, meanings.length)];
      if (meaning === undefined) continue;
      const values = inQuery ? meaning.filter((value) => typeof value === "string") : meaning;
      const value = values[how.value % Math.max(1, values.length)];
      if (value === undefined) continue;
      // In a query there are texts alone, chosen above.
      if (!inQuery) body[name] = value;
      else if (typeof value === "string") query.push(`${name}=${encodeURIComponent(value)}`);
    }
    const prefix = this.#mount === null ? "" : `/${this.#mount}`;
    const slash = path === "/" ? "" : target;
    const text = `${prefix}${slash}${query.length === 0 ? "" : `?${query.join("&")}`}`;
    return { target: text, body: readsBody ? body : undefined };
  }

  /** What whoever decides was given, where the handler ran; null for what is refused. */
  async #check({ target, body }: Sent): Promise<unknown> {
    const { method, access, name, takesAnyBody } = this.#endpoint;
    const token = access.kind === "management" ? "management" : "client";
    const seen = await this.#pipeline.ask(method, target, { body, token });
    const { handler, question, program, record, quota } = seen;
    const label = `${name}: ${method} ${target} ${JSON.stringify(body)}`;
    if (handler === null) return null;
    const folder = method === "LIST" ? "/" : "";
    const paths = [quota, record?.path?.text, handler.path];
    const judged = [question?.path, program?.request.path];
    for (const path of paths) if (path !== undefined) assert.equal(path, handler.path, label);
    for (const path of judged) {
      if (path !== undefined) assert.equal(path, `${handler.path}${folder}`, label);
    }
    this.#checkPath(handler, label);
    const views = [question?.data, program?.request.data, record?.data ?? undefined].map(
      (data) => data ?? undefined,
    );
    for (const data of views) {
      if (data !== undefined) this.#checkValues(data, handler.input, label);
    }
    if (question !== null && program !== null) {
      assert.equal(display(program.request.data ?? {}), display(question.data), label);
    }
    if (takesAnyBody && question !== null) {
      for (const [member, value] of Object.entries(body ?? {})) {
        if (!this.#endpoint.byName.has(fold(member))) {
          assert.equal(display(question.data[member]), display(value), label);
        }
      }
    }
    return {
      path: handler.path,
      data: question?.data,
      program: program?.request.data,
      input: handler.input,
    };
  }

  /** The path that is judged is made of the names that the handler gets. */
  #checkPath(
    { path, input }: { readonly path: string; readonly input: Readonly<Record<string, unknown>> },
    label: string,
  ): void {
    const keys = new Map(
      this.#endpoint.fields.flatMap(({ key, field }) =>
        field.source === "path" ? [[field.name, key]] : [],
      ),
    );
    const made = this.#endpoint.path
      .replaceAll(/:(\w+)\+?/g, (_, name: string) => String(input[keys.get(name) ?? ""]))
      .slice(1);
    const whole =
      this.#mount === null ? made : made === "" ? this.#mount : `${this.#mount}/${made}`;
    assert.equal(path, whole, label);
  }

  /** What is seen of a field, read as its declaration reads it, is what the handler gets. */
  #checkValues(data: JsonObject, input: Readonly<Record<string, unknown>>, label: string): void {
    for (const { key, field } of this.#endpoint.fields) {
      if (field.source === "path" || field.source === "whole") continue;
      const value = Object.hasOwn(data, field.name) ? data[field.name] : undefined;
      const got = input[key];
      const judged = display({ is: field.read(value) });
      if (display({ is: got }) === judged) continue;
      // What is kept as it was given, to be shown so again, is judged in the one form of all that mean it.
      const json = Array.isArray(got) || typeof got === "string" || isObject(got as JsonValue);
      const form = json ? canonicalOf(field, got as JsonValue) : got;
      assert.equal(display({ is: form }), display({ is: value }), `${label}: ${field.name}`);
    }
  }
}

function rowsOf(endpoints: readonly Endpoint<never>[], mount: string | null): [Served, Row][] {
  // No room stands behind them: how long a body may be is not what is looked at here.
  const declared = serve(null as never, endpoints);
  const all = declared.map((endpoint) => ({ ...endpoint, longBody: null }));
  return all.map((endpoint) => [endpoint, new Row(endpoint, all, mount)]);
}

suite("what is judged is what runs, of every declared endpoint", () => {
  const tables = [
    ["", rowsOf(everyEndpoint, null)] as const,
    ...mountedSurface.map(
      ({ title, endpoints, at }) =>
        [title, rowsOf(endpoints, at.startsWith("auth/") ? "auth/m" : "m")] as const,
    ),
  ];
  for (const [title, rows] of tables) {
    test(title === "" ? "the server's own" : `a mount of ${title}`, async () => {
      const refused: string[] = [];
      for (const [endpoint, row] of rows) {
        if ((await row.holds()) === 0) refused.push(endpoint.name);
      }
      // Each row says something: of every endpoint some request got as far as its handler.
      assert.deepEqual(refused, []);
    });
  }
});

test("a value looks the same in every spelling only where its declaration says so", () => {
  const endpoints = everyEndpoint.concat(
    mountedSurface.flatMap(({ endpoints: mounted }) => mounted),
  );
  const several: string[] = [];
  for (const { name, input } of endpoints) {
    for (const field of Object.values(input)) {
      if (field.source === "path" || field.source === "whole") continue;
      for (const group of meaningsOf(field)) {
        const forms = new Set(group.map((value) => display(canonicalOf(field, value))));
        if (forms.size > 1) several.push(`${name}.${field.name}: ${[...forms].join(" ")}`);
      }
    }
  }
  assert.deepEqual(several, []);
});

/** Names under which callers give what has several spellings. */
const SPELT: readonly (readonly [name: RegExp, spellings: readonly [string, string]])[] = [
  [/^(token|accessor|token_accessor|AccessorID|SecretID|OneTimeSecretID)$/, UPPER_AND_LOWER],
  [/^(path|paths|from|to|under|rate_limit_exempt_paths)$/, ["/a/b", "a/b"]],
  [/cidr/, ["10.1.2.3/8", "10.0.0.0/8"]],
  [/^(passthrough_request|allowed_response|allowed)_headers$/, ["X-Abc", "x-abc"]],
];

/** A token of another kind: a signed or sealed text, which has one spelling. */
const ACTIVATION = new Set([
  "enableDrSecondary",
  "updateDrPrimary",
  "enablePerformanceSecondary",
  "updatePerformancePrimary",
]);

test("whatever has several spellings is declared with the one that counts, by its name alone", () => {
  const endpoints = everyEndpoint.concat(
    mountedSurface.flatMap(({ endpoints: mounted }) => mounted),
  );
  const seen = new Set<string>();
  const several: string[] = [];
  for (const { name, input } of endpoints) {
    for (const field of Object.values(input)) {
      if (field.source === "path" || field.source === "whole") continue;
      if (ACTIVATION.has(name)) continue;
      for (const [names, spellings] of SPELT) {
        if (!names.test(field.name) || (field.schema as { type?: string }).type === "object")
          continue;
        seen.add(field.name);
        const forms = new Set(spellings.map((value) => display(canonicalOf(field, value))));
        if (forms.size > 1) several.push(`${name}.${field.name}: ${[...forms].join(" ")}`);
      }
    }
  }
  assert.ok(seen.size > 10, [...seen].join());
  assert.deepEqual(several, []);
});

/** Of each kind of text that may be read without regard to case, one with capitals. */
const CAPITALS: readonly string[] = [
  "Ab",
  "ABCDEF",
  "X-Abc",
  "READ",
  "FE80::/10",
  "FE80::1",
  "::FFFF:10.0.0.0/104",
  "00-1A-2B-3C-4D-5E",
  "HTTPS://Example.COM",
  "https://Example.COM/A",
  "Host.Example.COM:8200",
  "2030-01-01T00:00:00Z",
  "1H",
  "1H30M",
  "AES256-GCM96",
  "0 0 * * SUN",
  "0 0 1 JAN *",
  "RW-R",
  "Sys/Policy",
  "arn:aws:iam::123456789012:Role/X",
  ...UPPER_AND_LOWER,
  ...MEANINGS.flat().filter((value) => typeof value === "string"),
];

test("a field that reads capitals as small letters is declared so: patterns deny in every case", () => {
  const endpoints = everyEndpoint.concat(
    mountedSurface.flatMap(({ endpoints: mounted }) => mounted),
  );
  const samples: readonly JsonValue[] = [
    ...CAPITALS.flatMap((text) => [text, [text], { a: text }]),
    ...MEANINGS.flat().filter((value) => typeof value !== "string"),
    { facility: "AUTH" },
  ];
  const missed = new Set<string>();
  for (const { name, input } of endpoints) {
    for (const field of Object.values(input)) {
      if (field.source === "path" || field.canonical === undefined || isCaseless(field)) continue;
      for (const sample of samples) {
        const small = JSON.parse(display(sample).toLowerCase()) as JsonValue;
        const [one, other] = [sample, small].map((value) => display(readIfAny(field, value)));
        if (display(sample) === display(small) || one !== other) continue;
        // What is no text to whoever decides (a switch, a number) has no pattern that could miss it.
        if (/"[^"]*[A-Za-z]/.test(one ?? "")) missed.add(`${name}.${field.name}: ${one}`);
      }
    }
  }
  assert.deepEqual([...missed], []);
});

test("a map that may be written as a list of name=value is declared so: rules count each pair", () => {
  const endpoints = everyEndpoint.concat(
    mountedSurface.flatMap(({ endpoints: mounted }) => mounted),
  );
  const pairs = new Set<string>();
  for (const { name, input } of endpoints) {
    for (const field of Object.values(input)) {
      if (field.source === "path" || field.source === "whole") continue;
      const isMap = display(readIfAny(field, ["a=b"])) === display({ a: "b" });
      assert.equal(field.pairs === true, isMap, `${name}.${field.name}`);
      if (isMap) pairs.add(field.name);
    }
  }
  assert.deepEqual([...pairs].toSorted(), ["iam_tags", "session_tags"]);
});

function readIfAny(field: Field, value: JsonValue): JsonValue {
  try {
    return canonicalOf(field, value);
  } catch {
    return null; // it takes no such value
  }
}
