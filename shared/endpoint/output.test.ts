import assert from "node:assert/strict";
import test from "node:test";
import { out, type OutputOf } from "./output.ts";

test("an object's schema names its members and which of them are always there", () => {
  const made = out.object(
    {
      id: out.string("Id."),
      note: out.optional(out.string("Note.")),
      until: out.nullable(out.time("Until.")),
      tags: out.list(out.string("Tag."), "Tags."),
      byName: out.mapOf(out.integer("Count."), "Counts."),
      state: out.oneOf(["on", "off"], "State."),
      key: out.secret("Key."),
    },
    "Whole.",
  );
  assert.deepEqual(made.schema, {
    type: "object",
    description: "Whole.",
    properties: {
      id: { type: "string", description: "Id." },
      note: { type: "string", description: "Note." },
      until: { type: "string", format: "date-time", description: "Until.", nullable: true },
      tags: { type: "array", items: { type: "string", description: "Tag." }, description: "Tags." },
      byName: {
        type: "object",
        additionalProperties: { type: "integer", description: "Count." },
        description: "Counts.",
      },
      state: { type: "string", enum: ["on", "off"], description: "State." },
      key: { type: "string", format: "password", description: "Key." },
    },
    required: ["id", "until", "tags", "byName", "state", "key"],
  });
});

test("an object of which nothing is required has no list of required members", () => {
  assert.equal("required" in out.object({ a: out.optional(out.boolean("A.")) }).schema, false);
  assert.deepEqual(out.object({}).schema, { type: "object", properties: {} });
});

test("the type of an answer lets optional members be left out and no others", () => {
  const made = out.object({ id: out.string("Id."), note: out.optional(out.number("Note.")) });
  type Answer = OutputOf<typeof made>;
  const min: Answer = { id: "a" };
  const whole: Answer = { id: "a", note: 1 };
  // @ts-expect-error: the id is not optional
  const none: Answer = { note: 1 };
  // @ts-expect-error: a note is a number
  const other: Answer = { id: "a", note: "b" };
  assert.deepEqual([min, whole, none, other].length, 4);
});

test("lists of keys, texts, free objects and nothing", () => {
  assert.deepEqual(out.keys("Keys.").schema.required, ["keys"]);
  assert.deepEqual(out.text(["text/plain"], "Text.").schema, {
    type: "string",
    format: "text/plain",
    description: "Text.",
  });
  assert.equal(out.anyObject("Any.").schema.additionalProperties, true);
  assert.deepEqual(out.json("Json.").schema, { description: "Json." });
  assert.deepEqual(out.nothing.schema, {});
});
