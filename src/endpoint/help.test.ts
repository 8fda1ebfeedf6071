import assert from "node:assert/strict";
import test from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { MINUTE } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { helpFor } from "./help.ts";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";

const endpoint = endpointsOf<null>();
const name = wire.path("name").string("What it is called");

const write = endpoint({
  name: "writeThing",
  method: "POST",
  path: "/sys/things/:name",
  summary: "Write a thing",
  description:
    "A thing is what it is, and one can go on about it for quite a while before anybody notices " +
    "that the line has come to its end.",
  access: access.sudo,
  belongs: "local",
  rootOnly: true,
  exists: () => false,
  input: {
    name,
    key: wire.body("key").secret("The key to it"),
    ttl: wire.param("ttl").duration("How long it lives").default(MINUTE, "1m"),
    count: wire.query("count").integer("How many", { min: 1, max: 9 }).default(3),
    kind: wire.body("kind").oneOf(["a", "b"], "Which kind").optional(),
    tags: wire.body("tags").list("Tags").default([]),
  },
  output: out.nothing,
  handler: () => undefined,
});

const read = endpoint({
  name: "readThing",
  method: "GET",
  path: "/sys/things/:name",
  summary: "Read a thing",
  access: access.openWithCaller,
  answers: "always",
  input: { name },
  output: out.object({
    id: out.string("Its id"),
    until: out.nullable(out.time("When it ends")),
    parts: out.optional(out.list(out.object({ size: out.integer("In bytes") }), "What is in it")),
  }),
  handler: () => ({ id: "", until: null }),
});

test("help on a path tells every method on it in words, reads first", () => {
  assert.equal(
    helpFor([write, read]).help,
    `GET sys/things/:name

  Read a thing.

  Access: no token needed; a valid one widens the answer; also while sealed.

  Fields:
    name (string, in the path, required)
      What it is called.

  Answer:
    id (string)  Its id
    until (time or null)  When it ends
    parts (list of object, may be absent)  What is in it
      size (integer)  In bytes

POST or PUT sys/things/:name

  Write a thing.

  A thing is what it is, and one can go on about it for quite a while before
  anybody notices that the line has come to its end.

  Access: the capability create (if it is new) or update and sudo on this
  path; in the root namespace only.

  Fields:
    name (string, in the path, required)
      What it is called.
    key (string, in the body, required, secret)
      The key to it.
    ttl (duration, in the body or the query, default 1m)
      How long it lives.
    count (integer 1 to 9, in the query, default 3)
      How many.
    kind (a | b, in the body)
      Which kind.
    tags (list of string, in the body, default [])
      Tags.

  Answer: nothing (204).
`,
  );
});

test("help on one endpoint tells of it alone", () => {
  const { help, openapi } = helpFor([read]);
  assert.ok(!help.includes("POST"));
  assert.deepEqual(Object.keys(openapi["paths"] as object), ["/sys/things/{name}"]);
});

const words: readonly [string, (typeof read)["access"], RegExp][] = [
  ["open", access.open, /Access: no token needed\.|no token needed; also/],
  ["ceremony", access.ceremony, /as the listener says/],
  ["ceremony of a DR secondary", access.drCeremony, /on a disaster-recovery secondary alone/],
  [
    "operation of a DR secondary",
    access.drOperation("promote"),
    /an operation token or operator ticket;/,
  ],
  ["capability or operation", access.sudoOr("seal"), /and sudo on this path; on a disaster/],
  ["token", access.token, /any valid token/],
  ["management", access.management, /a management token/],
  ["capability", access.capability, /the capability read on this path/],
  ["opened by the listener", access.capabilityUnlessOpen("metrics"), /lets everybody in/],
];
for (const [what, who, text] of words) {
  test(`access in words: ${what}`, () => {
    assert.match(helpFor([{ ...read, access: who }]).help.replaceAll("\n  ", " "), text);
  });
}

test("no line of a text is wider than a terminal", () => {
  for (const line of helpFor([write, read]).help.split("\n")) assert.ok(line.length <= 78, line);
});

test("the OpenAPI part of help is a valid document", async () => {
  const document = JSON.parse(JSON.stringify(helpFor([write, read]).openapi)) as object;
  const { valid, errors } = await new Validator().validate({ ...document });
  assert.deepEqual(errors ?? [], []);
  assert.equal(valid, true);
});

test("text answers and unstructured ones are told by their type", () => {
  const output = out.text(["text/plain"], "Lines of text");
  assert.match(helpFor([{ ...read, output }]).help, /Answer: text \(text\/plain\)\. Lines of text/);
  const anything = out.anyObject("Whatever there is");
  assert.match(helpFor([{ ...read, output: anything }]).help, /Answer: object\. Whatever there is/);
});
