import assert from "node:assert/strict";
import test from "node:test";
import { memoryFiles } from "../../tests/support/memory-files.ts";
import { ConfigFailure } from "./problem.ts";
import { loadConfig } from "./load.ts";

const LISTENER = 'listener "tcp" { tls_disable = true }\n';

async function cloudsOf(text: string, more = "") {
  const files = memoryFiles({ "/a.hcl": LISTENER + text, "/b.hcl": more });
  const paths = ["/a.hcl", "/b.hcl"];
  const sources = { paths, env: {}, files, directory: "/", hostname: "h" };
  return (await loadConfig(sources)).config.clouds;
}

test("both engines are mounted by default, names begin with service-, endpoints are the provider's", async () => {
  assert.deepEqual(await cloudsOf(""), {
    defaultMounts: ["clouda", "cloudb"],
    namePrefix: "service-",
    cloudbEndpoints: null,
  });
});

test("the list of default mounts may be shorter or empty, and the last file counts", async () => {
  assert.deepEqual((await cloudsOf("default_mounts = []")).defaultMounts, []);
  const both = await cloudsOf('default_mounts = ["cloudb"]', 'default_mounts = ["clouda"]');
  assert.deepEqual(both.defaultMounts, ["clouda"]);
});

test("endpoints are https, or http on loopback, without a slash at the end", async () => {
  const found = await cloudsOf(
    'cloudb_endpoints { authority = "https://login.example/" graph = "http://127.0.0.1:80/graph/" arm = "http://[::1]:81" }\n' +
      'cloud_name_prefix = "hf."',
  );
  assert.deepEqual(found, {
    defaultMounts: ["clouda", "cloudb"],
    namePrefix: "hf.",
    cloudbEndpoints: {
      authority: "https://login.example",
      graph: "http://127.0.0.1:80/graph",
      arm: "http://[::1]:81",
    },
  });
});

const refused: readonly [name: string, text: string, problem: RegExp][] = [
  [
    "an engine that is not one",
    'default_mounts = ["kv"]',
    /a\.hcl:2:\d+: "default_mounts": expected/,
  ],
  ["no prefix at all", 'cloud_name_prefix = ""', /"cloud_name_prefix": expected 1 to 20/],
  ["a long prefix", `cloud_name_prefix = "${"x".repeat(21)}"`, /expected 1 to 20/],
  ["a prefix with a blank", 'cloud_name_prefix = "a b"', /expected 1 to 20/],
  [
    "one endpoint of three",
    'cloudb_endpoints { graph = "https://g" }',
    /authority is missing; give/,
  ],
  ["an unknown endpoint", 'cloudb_endpoints { login = "https://g" }', /no setting "login"/],
  ...[
    "http://graph.example",
    "http://127.0.0.1.example",
    "ftp://g",
    "https://u:p@g",
    "https://g?x=1",
    "https://g#x",
    "https://g/../x",
    "https://g/a b",
    "g",
  ].map((url): [string, string, RegExp] => [
    `the endpoint ${url}`,
    `cloudb_endpoints { authority = "https://a" graph = "${url}" arm = "https://c" }`,
    /graph is not an address such as https:/,
  ]),
];
for (const [name, text, problem] of refused) {
  test(`refused: ${name}`, async () => {
    await assert.rejects(cloudsOf(text), (error) => {
      assert.ok(error instanceof ConfigFailure);
      assert.match(error.message, problem);
      return true;
    });
  });
}
