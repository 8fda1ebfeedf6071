// A length of time is read in one way, whatever field it is given in: every spelling that one takes, all
// take, and mean the same. The table is made from the declarations: a new field is in it by itself. Only /acl/
// has a dialect of its own, with parts of a second and nanoseconds.

import assert from "node:assert/strict";
import test from "node:test";
import { LOCKOUT_FIELDS } from "@holdfast/plugin-sdk/lockout";
import { canonicalOf } from "@holdfast/shared/endpoint/members";
import type { Field } from "@holdfast/shared/endpoint/field";
import { Failure } from "@holdfast/shared/failure";
import { type JsonValue, rawNumber } from "@holdfast/shared/json/json";
import { everyEndpoint, mountedSurface } from "../../src/surface.ts";
import { at } from "../support/http-client.ts";
import { done, engineServer, issuedIn, refused } from "../support/servers/engine-server.ts";

const raw = (...texts: readonly string[]): readonly JsonValue[] => texts.map(rawNumber);

const HALF_A_MINUTE: readonly JsonValue[] = [
  30,
  "30",
  "30s",
  "0.5m",
  "30000ms",
  "0m30s",
  "0030",
  ...raw("30.0", "30.00", "3e1", "3E+1", "300e-1"),
];

const texts = " 30s,30s ,30 s,+30s,-30s,-1,3e1,30.0,soon,30y,1.5s,1500ms,500ms,1ns".split(",");
const REFUSED: readonly JsonValue[] = [
  ...texts,
  ...raw("1.50", "1.0000000000000000000001", "-30.0", "1e400", "15e-1"),
  -1,
  1.5,
  true,
  [],
  [30],
  {},
  99_999_999_999,
  "99999999999",
  "9".repeat(200),
];

/** Where an empty text says that nothing is said, and is not 0. */
const EMPTY_IS_NONE = new Set([
  "default_lease_ttl",
  "max_lease_ttl",
  "lease",
  "lease_max",
  "overlap",
]);

const TIMELY = /ttl|period|interval|window|duration|increment|(^|_)(after|wait|overlap|lease)$/;

function isLength({ schema }: Field<unknown>): boolean {
  const { oneOf = [] } = schema as { readonly oneOf?: readonly { readonly format?: string }[] };
  return oneOf.some(({ format }) => format === "duration");
}

const fields = everyEndpoint
  .concat(mountedSurface.flatMap(({ endpoints }) => endpoints))
  .filter(({ path }) => !path.startsWith("/acl/"))
  .flatMap(({ name, input }) =>
    Object.values(input).map((field) => [`${name}.${field.name}`, field] as const),
  )
  .concat(LOCKOUT_FIELDS.map((field) => [`lockout.${field.name}`, field] as const));
const lengths = fields.filter(([, field]) => isLength(field));

function outcome(field: Field<unknown>, input: JsonValue): string {
  try {
    return String(field.read(input));
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error.message;
  }
}

test("every length takes the same spellings of a value, and to whoever decides they are one", () => {
  assert.ok(lengths.length > 40, String(lengths.length));
  for (const [name, field] of lengths) {
    const read = new Set(HALF_A_MINUTE.map((input) => outcome(field, input)));
    assert.match([...read].join(" "), /^30(000000000)?$/, name);
    const forms = new Set(HALF_A_MINUTE.map((input) => canonicalOf(field, input)));
    assert.deepEqual([...forms], ["30s"], name);
  }
});

test("every length refuses the same, parts of a second too, and says how long it may be", () => {
  for (const [name, field] of lengths) {
    for (const input of REFUSED) {
      const why = new RegExp(`^${field.name} must be .* in whole seconds .*, at most \\d+[hms]`);
      assert.match(outcome(field, input), why, `${name} ${JSON.stringify(input)}`);
    }
    const empty = outcome(field, "");
    if (EMPTY_IS_NONE.has(field.name)) assert.match(empty, /^(undefined|null)$/, name);
    else assert.equal(empty, outcome(field, 0), name);
  }
});

test("whatever is named as a length is declared as one", () => {
  const others = fields.filter(([, field]) => TIMELY.test(field.name) && !isLength(field));
  const names = new Set(others.map(([, { name }]) => name));
  assert.deepEqual(names, new Set(["after"])); // a cursor
});

test("a lifetime is told as it holds: a part of a second is refused wherever one is asked for", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const whole = /must be .* in whole seconds/;
  const token = (body: object) => server.ask("POST", "auth/token/create", body);
  for (const field of ["ttl", "explicit_max_ttl", "period"]) {
    refused(await token({ [field]: "1.5s" }), 400, whole);
  }
  const wrapped = (wrapTtl: string) =>
    server.ask("GET", "auth/token/lookup-self", undefined, {
      headers: { "x-service-wrap-ttl": wrapTtl },
    });
  refused(await wrapped("1.5s"), 400, whole);
  assert.equal(at(await wrapped("1m30s"), "wrap_info", "ttl"), 90);
  const { id } = await server.issue();
  const renew = (increment: JsonValue) =>
    server.ask("POST", "sys/leases/renew", { lease_id: id, increment });
  refused(await renew("1.5s"), 400, whole);
  assert.equal(issuedIn(await renew("90")).seconds, 90);
  done(await server.ask("POST", "sys/mounts/count/tune", { max_lease_ttl: rawNumber("36e2") }));
});
