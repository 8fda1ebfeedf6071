// The page on the TypeScript SDK: its examples, in the order in which they stand there, against a real
// server, over fetch and over Node's sockets.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { cloudaServer, type CloudAServer } from "../support/servers/cloud-server.ts";
import { startServer } from "../support/servers/test-server.ts";

const SPOKEN = `
path "secret/*" { capabilities = ["create", "read", "update", "list"] }
path "clouda/creds/reader" { capabilities = ["read"] }
path "sys/leases/*" { capabilities = ["update"] }
`;

/** How many lines are printed when it comes to credentials of a cloud. */
const BEFORE_CLOUD = 3;

interface Example {
  readonly printed: unknown[][];
}

/** The program of the page, with a console of its own. */
async function run(
  specifier: "sdk.ts" | "node.ts",
  address: string,
  server: CloudAServer,
): Promise<Example> {
  const blocks = blocksOf(readPage("sdk.md")).filter(({ kind }) => kind === "ts");
  assert.ok(blocks.length >= 6, "the page was read");
  const source = adapted(blocks.map(({ text }) => text).join("\n"), [
    ['"@holdfast/client"', JSON.stringify(join(import.meta.dirname, "../../client", specifier))],
    ["https://holdfast.example:8200", address],
    ["import ", "\nimport "],
  ]);
  const printed: unknown[][] = [];
  const key = Symbol.for(`holdfast.sdk-page.${specifier}.${address}`);
  const known = globalThis as unknown as Record<symbol, unknown>;
  const signedIn = Promise.withResolvers<void>();
  const log = (...said: unknown[]) => {
    if (printed.push(said) === BEFORE_CLOUD) signedIn.resolve();
  };
  known[key] = { log, warn: () => {} };
  const program = `const console = globalThis[Symbol.for(${JSON.stringify(key.description)})];
${stripTypeScriptTypes(source).replaceAll(/from "(\/[^"]+)"/g, 'from "file://$1"')}
client.close();`;
  const ended = import(`data:text/javascript,${encodeURIComponent(program)}`);
  // A cloud takes its time, which goes by here; to hash a password takes real time.
  await Promise.race([signedIn.promise, ended]);
  await server.timed(ended);
  return { printed };
}

async function prepared(t: test.TestContext): Promise<CloudAServer> {
  const socket = { address: `/tmp/holdfast-sdk-${process.pid}.sock` };
  const server = await cloudaServer(t, {
    settings: {
      listener: { tcp: { address: "127.0.0.1:0", tls_disable: true }, unix: socket },
    },
  });
  await server.must("POST", "sys/mounts/secret", { type: "kv" });
  await server.must("POST", "sys/auth/userpass", { type: "userpass" });
  await server.must("POST", "sys/policies/acl/shop", { policy: SPOKEN });
  const password = "correct horse battery staple";
  await server.must("POST", "auth/userpass/users/ada", { password, token_policies: ["shop"] });
  await server.writeRole("reader", {
    credential_type: typeOnPage("reader"),
    policy_arns: ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
  });
  return server;
}

/** As the page that the examples lead to configures the role. */
function typeOnPage(role: string): string {
  const line = new RegExp(`^holdfast write clouda/roles/${role} credential_type=(\\w+) `, "m");
  return line.exec(readPage("operations/cloud-engines.md"))?.[1] ?? "no such role";
}

const WANTED = [
  ["ada", ["default", "shop"]],
  [1, { user: "shop", password: "s3cret" }],
  [["db"]],
  [3600],
  [{ data: { user: "shop", password: "better" } }],
  ["there is none"],
];

function check({ printed }: Example): void {
  const lines = JSON.parse(JSON.stringify(printed)) as unknown[][];
  const last = lines[4]?.[0] as { readonly data: unknown };
  lines[4] = [{ data: last.data }];
  lines[0] = [String(lines[0]?.[0]).replace(/^.*-/, ""), lines[0]?.[1]];
  assert.deepEqual(lines, WANTED);
}

test("the examples of the page run over fetch", async (t) => {
  const server = await prepared(t);
  check(await run("sdk.ts", server.test.url, server));
});

test("the examples of the page run over Node's sockets: TCP, and a Unix socket", async (t) => {
  const server = await prepared(t);
  check(await run("node.ts", server.test.url, server));
  await server.must("DELETE", "secret/metadata/shop/db");
  const socket = server.test.server.addresses.find((one) => one.startsWith("unix:"));
  assert.ok(socket !== undefined);
  check(await run("node.ts", socket, server));
});

test("the page's first program runs by the page's command", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  await server.open();
  const home = mkdtempSync(join(tmpdir(), "holdfast-sdk-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(home, "node_modules"));
  const [block] = blocksOf(readPage("sdk.md")).filter(({ kind }) => kind === "sh");
  const env = { PATH: process.env["PATH"], HOME: home, HOLDFAST_ADDR: server.url };
  const script = `set -eu\n${block?.text ?? "exit 1"}\n`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { env, cwd: home });
  assert.equal(stdout, "it is open\n");
});
