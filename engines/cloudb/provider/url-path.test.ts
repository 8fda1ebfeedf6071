import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { encodedPath, path, quoted } from "./url-path.ts";

const BASE = "https://graph.example/v1.0/applications";
const odd = fc.oneof(
  fc.string({ minLength: 1, unit: "binary" }),
  fc.constantFrom(
    "..",
    ".",
    "%2e%2e",
    "a/b",
    "a\\b",
    "?x=1",
    "#x",
    "@evil.example",
    "//evil.example",
  ),
);

test("T-I11: whatever a text holds, it is one segment of the path and comes out as it went in", () => {
  fc.assert(
    fc.property(odd, (text) => {
      let made: string;
      try {
        made = path`/${text}/addPassword`;
      } catch (error) {
        assert.ok(error instanceof Failure && error.kind === "invalid" && /^\.{0,2}$/.test(text));
        return;
      }
      const url = new URL(BASE + made);
      assert.equal(url.origin, "https://graph.example");
      assert.equal(url.search + url.hash, "");
      const segments = url.pathname.split("/");
      assert.equal(segments.length, 5, url.pathname);
      assert.equal(decodeURIComponent(segments[3] ?? ""), text.toWellFormed());
      assert.equal(segments[4], "addPassword");
    }),
  );
});

test("T-I11: a path keeps its segments, and cannot leave its place", () => {
  fc.assert(
    fc.property(fc.array(odd, { minLength: 1, maxLength: 5 }), (parts) => {
      const sent = `/${parts.join("/")}`;
      const wanted = sent.split("/").slice(1);
      try {
        const url = new URL(`https://arm.example${encodedPath(sent)}?api-version=1`);
        assert.deepEqual(
          url.pathname.split("/").slice(1).map(decodeURIComponent),
          wanted.map((one) => one.toWellFormed()),
        );
        assert.equal(url.search, "?api-version=1");
      } catch (error) {
        assert.ok(error instanceof Failure && wanted.some((part) => /^\.{0,2}$/.test(part)));
      }
    }),
  );
});

test("T-I11: a text of a filter ends where it is meant to end", () => {
  assert.equal(quoted("it's"), "'it''s'");
  fc.assert(
    fc.property(fc.string(), (text) => {
      const inside = quoted(text).slice(1, -1);
      assert.equal(inside.replaceAll("''", "'"), text);
      assert.ok(!/'/.test(inside.replaceAll("''", "")));
    }),
  );
});
