// Threats N, T-N08 where values of a request are worked on while it is decided who may ask: of every declared
// field, the largest and most awkward values cost less than a moment, alone and all of an endpoint together;
// and for a caller without a right to the path nothing is worked on at all. The table is made from the
// declarations, and so are the names of members that a form looks for: a new field is in it by itself.

import assert from "node:assert/strict";
import test, { suite } from "node:test";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import {
  type Endpoint,
  serve,
  type Served,
  type ServedField,
} from "@holdfast/shared/endpoint/endpoint";
import { RequestInput } from "@holdfast/shared/endpoint/input";
import { everyEndpoint, mountedSurface } from "../../../src/surface.ts";
import { someOf } from "../../support/often.ts";
import { ObservedPipeline } from "../../support/observed-pipeline.ts";
import { keepsNobodyWaiting, processorTime } from "../../support/processor-time.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";

type Field = ServedField["field"];

const SUSPECT = 25; // milliseconds: what took longer is tried again, with care
const BODY = 1024 * 1024 - 4096;
const ELEMENTS = 5000; // of an array in a body

/** Texts of about so many characters that some reader may find hard. */
const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  slashes: (length) => `${"/".repeat(length - 1)}x`,
  "slashes and blanks": (length) => `${"/ ".repeat(length / 2 - 1)}x`,
  dots: (length) => `${".".repeat(length - 1)}x`,
  "dots and slashes": (length) => `/${"../".repeat((length - 3) / 3)}x`,
  blanks: (length) => `x${" ".repeat(length - 2)}x`,
  "line feeds": (length) => "\n".repeat(length),
  "short lines": (length) => "x\n".repeat(length / 2),
  "lines of returns": (length) => "QUFB\r\n".repeat(length / 6),
  commas: (length) => ",".repeat(length),
  "equal signs": (length) => `a${"=".repeat(length - 1)}`,
  capitals: (length) => "A".repeat(length),
  digits: (length) => "9".repeat(length),
  zeros: (length) => `1.${"0".repeat(length - 3)}1`,
  "short lengths": (length) => "1h".repeat(length / 2),
  "combining marks": (length) => `a${"\u0315\u0300".repeat((length - 1) / 2)}`,
  base64: (length) => "QUFB".repeat(length / 4),
  url: (length) => `https://${"a:".repeat((length - 10) / 2)}/`,
  arn: (length) => `arn:${":/".repeat((length - 5) / 2)}`,
  "templates' signs": (length) => "{{.".repeat(length / 3),
  "wide JSON": (length) => `{"a":[${"1,".repeat((length - 10) / 2)}1]}`,
  "wide JSON with blanks": (length) => `{"a":[${"1 ,".repeat((length - 10) / 3)}1]}`,
  "escaped JSON": (length) => `{"a":[${'"\\n",'.repeat((length - 10) / 5)}1]}`,
  "escapes in one text": (length) => `{"a":"${"\\u002f".repeat((length - 10) / 6)}"}`,
  "names in JSON": (length) =>
    `{${Array.from({ length: (length - 10) / 14 }, (_, i) => `"k${i}":1`).join(",")}}`,
  "deep JSON": (length) => `${"[".repeat(length / 2)}${"]".repeat(length / 2)}`,
  "JSON that never ends": (length) => '{"a":'.repeat(length / 5),
  "a list of lists": (length) => `[${"[],".repeat((length - 4) / 3)}1]`,
};

/** The same as other kinds of JSON, within what a body may hold. */
function shapesOf(text: (length: number) => string, max: number, names: readonly string[]) {
  const each = (count: number) => text(Math.max(16, Math.floor(max / count)));
  const one = each(1);
  const some = each(100);
  const few = each(ELEMENTS);
  const many = Array<string>(ELEMENTS).fill(few);
  const members = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
  const objects = (count: number) => {
    const value = text(Math.max(16, Math.floor(max / count / Math.max(1, names.length))));
    return Array<JsonObject>(count).fill(members(value));
  };
  return {
    text: one,
    list: Array<string>(100).fill(some),
    "long list": many,
    "list in a text": many.join(","),
    object: Object.fromEntries(many.slice(0, 1000).map((value, i) => [`k${i}`, value])),
    pairs: many.slice(0, 1000).map((value, i) => `k${i}=${value}`),
    members: members(text(Math.max(16, Math.floor(max / Math.max(1, names.length))))),
    "one element": objects(1),
    elements: objects(100),
    "elements in a text": JSON.stringify(objects(100)),
  } satisfies Record<string, JsonValue>;
}

/** What the form of a field looks for in an object, or in the objects of a list. */
function membersOf(field: Field): string[] {
  const names = new Set<string>();
  const seen = <T>(name: string | symbol, result: T): T => {
    if (typeof name === "string" && name !== "toJSON") names.add(name);
    return result;
  };
  const object = new Proxy<Record<string, JsonValue>>(
    {},
    {
      get: (_, name) => seen(name, undefined),
      has: (_, name) => seen(name, false),
      getOwnPropertyDescriptor: (_, name) => seen(name, undefined),
    },
  );
  for (const value of [object, [object]]) quietly(() => field.canonical?.(value));
  return [...names];
}

/** What is refused is done with. */
function quietly(work: () => unknown): void {
  try {
    work();
  } catch {}
}

/** In milliseconds on the processor. */
function cost(work: () => unknown): number {
  const before = processorTime();
  quietly(work);
  return processorTime() - before;
}

function longestText(field: Field): number {
  const { maxLength = BODY } = field.schema as { readonly maxLength?: number };
  return Math.min(maxLength, BODY);
}

type Text = (length: number) => string;

/** Of one kind of text, in the shapes that many fields share: making them is most of the work here. */
class Awkward {
  readonly #text: Text;
  readonly #made = new Map<string, ReturnType<typeof shapesOf>>();

  constructor(text: Text) {
    this.#text = text;
  }

  shapes(max: number, names: readonly string[]): ReturnType<typeof shapesOf> {
    const key = `${max} ${names.join()}`;
    const made = this.#made.get(key) ?? shapesOf(this.#text, max, names);
    this.#made.set(key, made);
    return made;
  }

  /** As long as the field declares, and as long as can be sent. */
  *of(field: Field, names: readonly string[]): Generator<[string, JsonValue]> {
    for (const max of new Set([longestText(field), BODY])) {
      if (field.source === "query") yield ["text", this.#text(Math.min(max, 8192))];
      else yield* Object.entries(this.shapes(max, names));
    }
  }
}

const fieldsOf = ({ fields }: Served) =>
  fields.filter(({ field: { source } }) => source !== "path" && source !== "whole");

/** All of an endpoint's fields with one kind of text, in one request. */
function* requests(
  { fields, method }: Served,
  awkward: Awkward,
  names: ReadonlyMap<Field, readonly string[]>,
): Generator<[string, JsonObject]> {
  const inBody = fields.map(({ field }) => field).filter(({ source }) => BODIES.has(source));
  if (inBody.length === 0 || method === "GET" || method === "LIST") return;
  const each = Math.floor(BODY / inBody.length);
  const shapes = inBody.map((field) => {
    const max = Math.min(each, longestText(field));
    return [field.name, awkward.shapes(max, names.get(field) ?? [])] as const;
  });
  for (const shape of ["text", "elements", "elements in a text", "long list"] as const) {
    yield [shape, Object.fromEntries(shapes.map(([name, values]) => [name, values[shape]]))];
  }
}

const BODIES: ReadonlySet<string> = new Set(["body", "param"]);

const tables: readonly (readonly [string, string | null, readonly Endpoint<never>[]])[] = [
  ["the server's own", null, everyEndpoint],
  ...mountedSurface.map(
    ({ title, endpoints, at }) =>
      [`a mount of ${title}`, at.startsWith("auth/") ? "auth/m" : "m", endpoints] as const,
  ),
];

/** Many endpoints declare the same one. */
function signature({ name, help, schema }: Field): string {
  return JSON.stringify([name, help, schema]);
}

suite("T-N08: no value of a declared field costs more than a moment", () => {
  const all = tables.flatMap(([, , endpoints]) => serve(null as never, endpoints));
  const fields = new Map(
    all.flatMap((endpoint) =>
      fieldsOf(endpoint).map(({ field }) => [signature(field), { field, endpoint }]),
    ),
  );
  const names = new Map(
    all.flatMap((endpoint) => fieldsOf(endpoint).map(({ field }) => [field, membersOf(field)])),
  );
  for (const [what, text] of someOf(Object.entries(TEXTS), 6)) {
    test(what, { timeout: 300_000 }, async () => {
      const awkward = new Awkward(text);
      const tell = async (of: string, work: () => unknown) => {
        if (cost(work) > SUSPECT) await keepsNobodyWaiting(of, () => quietly(work));
      };
      for (const { field, endpoint } of fields.values()) {
        for (const [shape, value] of awkward.of(field, names.get(field) ?? [])) {
          const of = `${endpoint.name}.${field.name}, ${shape}`;
          await tell(`${of}, judged`, () => field.canonical?.(value));
          await tell(`${of}, read`, () => field.read(value));
        }
      }
      for (const endpoint of all) {
        for (const [shape, body] of requests(endpoint, awkward, names)) {
          const input = () => new RequestInput(endpoint, { path: {}, query: new Map(), body });
          await tell(`${endpoint.name}, ${shape}, judged`, () => input().data);
          await tell(`${endpoint.name}, ${shape}, read`, () => input().read(new Set()));
        }
      }
    });
  }
});

suite("T-N01: nothing is worked on for a caller without a right", () => {
  for (const [title, mount, endpoints] of tables) {
    test(title, async () => {
      let worked: string[] = [];
      let refused = 0;
      const served = serve(null as never, endpoints).map((one) =>
        watched(one, (name) => worked.push(name)),
      );
      const pipeline = new ObservedPipeline(served, mount, { allowed: false });
      for (const { method, path, name, parameters, access, bodyStream } of served) {
        if (access.kind !== "capability" || path === "/" || bodyStream !== null) continue;
        worked = [];
        const spelt = path.replaceAll(/:(\w+)\+?/g, () => "x");
        const reads = method === "GET" || method === "LIST";
        const body = reads ? undefined : bodyFor(served, name);
        const seen = await pipeline.ask(method, `${mount === null ? "" : `/${mount}`}${spelt}`, {
          body,
          token: "client",
        });
        assert.equal(seen.handler, null, `${name} ${parameters.join()}`);
        if (!seen.refusal.startsWith("permission-denied")) continue; // asked for otherwise
        refused++;
        assert.deepEqual(worked, [], name);
        // It is recorded with what it held, as it was sent.
        if (body !== undefined && seen.record !== null)
          assert.deepEqual(seen.record.data, body, name);
      }
      assert.ok(refused > 0);
    });
  }
});

function bodyFor(served: readonly Served[], name: string): JsonObject {
  const endpoint = served.find((one) => one.name === name);
  const fields = endpoint === undefined ? [] : fieldsOf(endpoint);
  return Object.fromEntries(fields.map(({ field }) => [field.name, " X/"]));
}

/** The same, telling of whatever works on a value. */
function watched(endpoint: Served, tell: (name: string) => void): Served {
  const fields = endpoint.fields.map((served) => ({
    ...served,
    field: {
      ...served.field,
      source: served.field.source,
      name: served.field.name,
      canonical: (value: JsonValue) => {
        tell(`${served.field.name} was judged`);
        return value;
      },
      read: (value: JsonValue | undefined) => {
        tell(`${served.field.name} was read`);
        return value;
      },
    },
  }));
  const implied = (data: JsonObject) => {
    tell("what it implies was worked out");
    return data;
  };
  return { ...endpoint, fields, implied };
}

suite("T-N08: through HTTP, with documents as large as may be", () => {
  const list = `{"a":[${"1,".repeat(64_999)}1]}`;

  test("cloud A's, of who may write roles and of who may not", async (t) => {
    const server = await cloudaServer(t);
    const may = await server.client(
      'path "clouda/*" { capabilities = ["create", "update", "read"] }',
    );
    const judged = await server.client(`path "clouda/*" {
  capabilities = ["create", "update"]
  denied_parameters = { policy_document = ["*iam:*"] }
}`);
    const no = await server.client('path "elsewhere" { capabilities = ["read"] }');
    const body = { policy: list, arn: list, policy_document: list };
    for (const [token, status] of [
      [may, 400],
      [judged, 403],
      [no, 403],
    ] as const) {
      await keepsNobodyWaiting(`${status}`, async () => {
        const answer = await server.ask("POST", "clouda/roles/x", body, { token });
        assert.equal(answer.status, status, answer.text);
      });
    }
  });

  test("slashes without end in what roles of cloud B grant", async (t) => {
    const server = await cloudbServer(t);
    const may = await server.client('path "cloudb/*" { capabilities = ["create", "update"] }');
    const no = await server.client('path "elsewhere" { capabilities = ["read"] }');
    const scope = `${"/".repeat(100_000)}x`;
    const element = { role_name: "a", scope: `${"/".repeat(3000)}x` };
    const bodies = [
      { cloudb_roles: [{ role_name: "a", scope }] },
      { cloudb_roles: Array<typeof element>(300).fill(element) },
      { azure_groups: JSON.stringify([{ group_name: "a", object_id: scope.slice(50_000) }]) },
    ];
    for (const body of bodies) {
      for (const [token, status] of [
        [may, 400],
        [no, 403],
      ] as const) {
        await keepsNobodyWaiting(`${status}`, async () => {
          const answer = await server.ask("POST", "cloudb/roles/x", body, { token });
          assert.equal(answer.status, status, answer.text);
        });
      }
    }
  });
});
