// Case A8 of docs/cases/cloud-engines.md: credentials of the machine the server runs on. In a process of its own, as
// the provider's library looks for the container's address among the variables of the process.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import type { MadeUser } from "../../fakes/clouda/control.ts";
import type { FakeCloudA } from "../../fakes/clouda/fake.ts";
import { type CloudAServer, cloudaServer } from "../../support/servers/cloud-server.ts";
import { dataOf, refused } from "../../support/servers/engine-server.ts";

const NAMES = ["HOME", "AWS_EC2_METADATA_DISABLED", "AWS_CONTAINER_CREDENTIALS_FULL_URI"];

function variables(t: TestContext, values: Readonly<Record<string, string>>): void {
  const before = NAMES.map((name) => [name, process.env[name]] as const);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  for (const name of NAMES) delete process.env[name];
  Object.assign(process.env, { AWS_EC2_METADATA_DISABLED: "true", ...values });
}

/** What a container's agent answers to whoever runs in it. */
async function container(t: TestContext, keys: () => MadeUser): Promise<string> {
  const server = createServer((_request, response) => {
    const { accessKeyId, secretAccessKey } = keys();
    response.setHeader("Content-Type", "application/json");
    const expiry = { Token: "", Expiration: "2099-01-01T00:00:00Z" };
    response.end(
      JSON.stringify({ AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, ...expiry }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/credentials`;
}

interface Machine {
  readonly server: CloudAServer;
  readonly directory: string;
}

/** A server without stored keys, with or without a shared file. */
async function machine(t: TestContext, withFile: boolean): Promise<Machine> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-chain-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "credentials");
  const write = ({ accessKeyId, secretAccessKey }: FakeCloudA) => {
    const keys = `aws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`;
    if (withFile) writeFileSync(path, `[default]\n${keys}`);
    return withFile ? { AWS_SHARED_CREDENTIALS_FILE: path } : {};
  };
  const server = await cloudaServer(t, { configured: false, environment: write });
  const { url } = server.fake;
  await server.must("POST", "clouda/config/root", { iam_endpoint: url, sts_endpoint: url });
  await server.makeRole("r");
  return { server, directory };
}

async function callerOf(server: CloudAServer): Promise<string> {
  await server.creds("clouda/creds/r");
  const [call] = server.fake.control.calls("CreateUser");
  return call?.accessKeyId ?? "";
}

test("A8: keys of a shared file are used", async (t) => {
  const { server, directory } = await machine(t, true);
  variables(t, { HOME: directory });
  assert.equal(await callerOf(server), server.fake.accessKeyId);
  const root = dataOf(await server.ask("GET", "clouda/config/root"));
  assert.equal(root["credential_source"], "chain");
  assert.equal(root["access_key"], "");
});

test("A8: keys of the container are used where there is no file, and not where there is one", async (t) => {
  for (const withFile of [false, true]) {
    const { server, directory } = await machine(t, withFile);
    const other = server.fake.control.makeUser("container", { allow: ["*"], keys: 1 });
    const uri = await container(t, () => other);
    variables(t, { HOME: directory, AWS_CONTAINER_CREDENTIALS_FULL_URI: uri });
    const used = withFile ? server.fake.accessKeyId : other.accessKeyId;
    assert.equal(await callerOf(server), used);
  }
});

test("A8: where nothing has keys, the sources are named", async (t) => {
  const { server, directory } = await machine(t, false);
  variables(t, { HOME: directory });
  refused(await server.askCreds("clouda/creds/r"), 400, /no credentials.*CLOUDA_ACCESS_KEY/);
});
