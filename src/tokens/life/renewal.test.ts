import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { HOUR, MINUTE } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { grantedLife, increment, lastMoment, renewedUntil } from "./renewal.ts";
import type { Token } from "../token.ts";
import type { TokenTerms } from "../token-terms.ts";

const NONE = { ttl: null, longest: null, period: null };
const BOUNDS = { usual: 2n * HOUR, max: 24n * HOUR };
const TERMS: TokenTerms = {
  parent: null,
  meta: {},
  withoutDefault: false,
  longest: null,
  period: null,
  usesLeft: null,
};

function token(terms: Partial<TokenTerms>, expires: bigint): Token & { expires: bigint } {
  return {
    accessor: "a",
    secret: new Secret("s"),
    name: "",
    type: "client",
    policies: ["p"],
    global: false,
    namespaceId: "root",
    created: 0n,
    expires,
    ttl: HOUR,
    renewable: true,
    terms: { ...TERMS, ...terms },
    createIndex: 1n,
    modifyIndex: 1n,
  };
}

test("what is not given, or 0, is the usual time; a period goes before a ttl", () => {
  assert.equal(grantedLife(NONE, BOUNDS).ttl, 2n * HOUR);
  const zero = { ttl: 0n, longest: 0n, period: 0n };
  assert.deepEqual(grantedLife(zero, BOUNDS), {
    ttl: 2n * HOUR,
    longest: null,
    period: null,
    warnings: [],
  });
  const both = grantedLife({ ...NONE, ttl: HOUR, period: MINUTE }, BOUNDS);
  assert.deepEqual([both.ttl, both.period], [MINUTE, MINUTE]);
});

test("T-B14: whatever is asked for, a token ends, and a renewal keeps it within its bounds", () => {
  const time = fc.bigInt({ min: 0n, max: 400n * HOUR });
  const maybe = fc.option(time, { nil: null });
  fc.assert(
    fc.property(maybe, maybe, maybe, maybe, time, (ttl, longest, period, by, later) => {
      const life = grantedLife({ ttl, longest, period }, BOUNDS);
      const max = life.period === null ? BOUNDS.max : 400n * HOUR; // what one can ask for
      assert.ok(life.ttl > 0n && life.ttl <= max);
      const warns = (what: RegExp) => life.warnings.some((warning) => what.test(warning));
      const own = life.ttl === life.longest; // who names no time is told of the server's bound alone
      const wanted = life.period ?? (ttl || (own ? 0n : BOUNDS.usual));
      assert.equal(warns(/was cut/), life.ttl < wanted);
      const passed = (ttl ?? 0n) > 0n && life.period !== null && ttl !== life.period;
      assert.equal(warns(/does not count/), passed);
      const made = token({ longest: life.longest, period: life.period }, life.ttl);
      const now = later % life.ttl;
      const requested = increment(made, by);
      const end = renewedUntil(made, { now, by: requested, max: BOUNDS.max });
      const last = lastMoment(made, BOUNDS.max);
      assert.ok(end >= life.ttl && (last === null || end <= last));
      if (last === null || now + requested <= last) assert.ok(end >= now + requested);
    }),
  );
});

test("a period goes on for as long as it is renewed, up to the maximum of its maker alone", () => {
  const { max } = BOUNDS;
  const free = grantedLife({ ...NONE, period: 2n * max }, BOUNDS);
  assert.deepEqual([free.ttl, free.warnings], [2n * max, []]);
  const later = 1000n * max;
  const renewed = (longest: bigint | null) =>
    renewedUntil(token({ period: HOUR, longest }, later), { now: later, by: HOUR, max });
  assert.equal(renewed(null), later + HOUR);
  assert.equal(renewed(later + MINUTE), later + MINUTE);
});

test("a cut to the longest lifetime is told, whether or not a time was asked for", () => {
  const { max } = BOUNDS;
  const long = { usual: 2n * max, max };
  assert.deepEqual(
    [grantedLife(NONE, long).ttl, grantedLife(NONE, long).warnings],
    [
      max,
      ["the default lifetime of 48h0m0s was cut to 24h0m0s, the longest lifetime of tokens here"],
    ],
  );
  assert.deepEqual(grantedLife({ ...NONE, longest: HOUR }, long).warnings, []);
  assert.match(
    grantedLife({ ...NONE, ttl: 2n * max }, long).warnings[0] ?? "",
    /was cut to .*, the longest lifetime of tokens here$/,
  );
});

test("a longest lifetime that was lowered since takes nothing away", () => {
  const made = token({}, 10n * HOUR);
  assert.equal(renewedUntil(made, { now: HOUR, by: HOUR, max: 2n * HOUR }), 10n * HOUR);
});
