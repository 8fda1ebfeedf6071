// The same random tree, written in HCL, JSON and YAML, gives the same configuration.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { memoryFiles } from "../../tests/support/memory-files.ts";
import { type Loaded, loadConfig } from "./load.ts";

type Tree = { readonly [key: string]: TreeValue };
type TreeValue = string | number | boolean | readonly TreeValue[] | Tree;

const word = fc.stringMatching(/^[a-z][a-z0-9.-]{0,10}[a-z0-9]$/);
const path = word.map((name) => `/p/${name}`);
/** Texts with everything that needs care in one of the notations. */
const text = fc
  .array(
    fc.constantFrom(
      "a",
      " ",
      '"',
      "'",
      "\\",
      "\n",
      "\t",
      ": ",
      "#",
      "- ",
      "{",
      "%",
      "é",
      "😀",
      "0",
      "~",
      "\u0085",
      "\u2028",
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join("").replaceAll("${", "$${"));
const seconds = fc.integer({ min: 1, max: 3600 });
const length = fc.oneof(
  seconds,
  seconds.map((count) => `${count}s`),
  seconds.map(String),
);
const part = <T extends Record<string, fc.Arbitrary<TreeValue>>>(fields: T) =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Tree>;

const tcp = fc.integer({ min: 1024, max: 65_535 }).chain((port) =>
  fc.record(
    {
      address: fc.constant(`127.0.0.1:${port}`),
      tls_disable: fc.constant(true),
      max_headers: fc.integer({ min: 8, max: 256 }),
      max_request_size: fc.constantFrom("1 MiB", 65_536, "65536"),
      idle_timeout: length,
      telemetry: part({ metrics_only: fc.boolean() }),
      custom_response_headers: fc.dictionary(
        fc.constantFrom("default", "4xx", "404"),
        fc.dictionary(fc.constantFrom("X-A", "X-B"), fc.array(word, { maxLength: 2 })),
      ),
    },
    { requiredKeys: ["address", "tls_disable"] },
  ),
);

const tree = fc.record(
  {
    listener: fc.uniqueArray(tcp, {
      minLength: 1,
      maxLength: 3,
      selector: ({ address }) => address,
    }),
    region: word,
    ui: fc.boolean(),
    cache_size: fc.constantFrom(2 ** 20, "2 MiB", "1048576"),
    audit_file_roots: fc.uniqueArray(path, { maxLength: 3 }),
    acl: part({
      bootstrap: fc.constantFrom("open", "loopback"),
      token_gc_threshold: length.map((n) => `${n}`.replace(/s?$/, "m")),
    }),
    storage: fc.constantFrom("memory", "sqlite").chain((type) => fc.constant({ [type]: {} })),
    audit: fc.dictionary(
      word,
      part({
        description: text,
        local: fc.boolean(),
        options: fc.dictionary(word, fc.oneof(text, fc.boolean(), fc.nat())),
      }),
      { maxKeys: 2 },
    ),
  },
  { requiredKeys: ["listener"] },
);

const LABELS: Readonly<Record<string, number>> = { listener: 1, storage: 1, audit: 2 };
const SECTIONS = new Set(["acl", "telemetry"]);

/** With listeners as a list and labels as keys, as the other two notations have it. */
function plain({
  listener,
  audit,
  ...rest
}: { listener: readonly Tree[]; audit?: Tree } & Record<string, unknown>): Tree {
  return {
    ...(rest as Tree),
    listener: listener.map((one) => ({ tcp: one })),
    ...(audit === undefined ? {} : { audit: { file: audit } }),
  };
}

function hcl(tree: Tree): string {
  return Object.entries(tree)
    .map(([key, value]) => item(key, value))
    .join("\n");
}

function item(key: string, value: TreeValue): string {
  const labels = LABELS[key];
  if (labels !== undefined) {
    const objects = Array.isArray(value) ? value : [value];
    return objects.flatMap((object) => labelled(key, labels, object as Tree)).join("\n");
  }
  if (SECTIONS.has(key)) return `${key} {\n${hcl(value as Tree)}\n}`;
  return `${key} = ${literal(value)}`;
}

function labelled(head: string, left: number, object: Tree): string[] {
  if (left === 0) return [`${head} {\n${hcl(object)}\n}`];
  return Object.entries(object).flatMap(([label, inner]) =>
    labelled(`${head} ${literal(label)}`, left - 1, inner as Tree),
  );
}

function literal(value: TreeValue): string {
  if (typeof value === "string") {
    const escaped = value.replace(/[\\"\n\t\u0085\u2028]|\$/g, (char) =>
      char === "\n"
        ? "\\n"
        : char === "\t"
          ? "\\t"
          : char === "$"
            ? "\\x24"
            : char === "\u0085" || char === "\u2028"
              ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
              : `\\${char}`,
    );
    return `"${escaped}"`;
  }
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return `{\n${Object.entries(value)
    .map(([key, inner]) => `${literal(key)} = ${literal(inner)}`)
    .join("\n")}\n}`;
}

function load(name: string, source: string): Promise<Loaded> {
  const files = memoryFiles({ [name]: source });
  return loadConfig({ paths: [name], env: {}, files, directory: "/srv", hostname: "h" });
}

test("one tree is one configuration, whichever notation it is written in", async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (made) => {
      const written = plain(made as never);
      const [fromHcl, fromJson, fromYaml] = await Promise.all([
        load("/c.hcl", hcl(written)),
        load("/c.json", JSON.stringify(written)),
        // No block texts: the writer of the package gets those of blanks alone wrong.
        load("/c.yaml", stringify(written, { blockQuote: false })),
      ]);
      assert.deepEqual(fromHcl.config, fromJson.config);
      assert.deepEqual(fromYaml.config, fromJson.config);
      assert.equal(fromJson.config.listeners.length, made.listener.length);
      if (made.region !== undefined) assert.equal(fromJson.config.region, made.region);
    }),
    { numRuns: 150 },
  );
});
