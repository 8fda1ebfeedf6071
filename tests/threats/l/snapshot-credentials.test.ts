// Threats L of automated snapshots: credentials go where they were meant to go, whoever writes the configuration.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { dataOf, done, grants, refused } from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
} from "../../support/snapshots/auto-server.ts";

const BOUND = { timeout: 300_000 };

/** Somebody who waits for what is sent to him. */
async function listener(t: TestContext) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(JSON.stringify(request.headers));
    request.resume();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function stores(t: TestContext, now: () => number) {
  const s3 = await startFakeS3({ now });
  const blob = await startFakeBlob({ now });
  const gcs = await startFakeGcs({ now });
  t.after(() => Promise.all([s3.close(), blob.close(), gcs.close()]).then(() => {}));
  return { s3, blob, gcs };
}

test(
  "T-L09: whoever names another host for a configuration does not get the secrets that are stored in it",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const { s3, blob, gcs } = await stores(t, () => server.milliseconds);
    const { url, requests } = await listener(t);
    s3.control.session = { token: "a-session-token", expired: false };
    done(await server.write("a", cloudaConfig(s3, { clouda_session_token: "a-session-token" })));
    done(await server.write("b", cloudbConfig(blob)));
    done(await server.write("c", cloudcConfig(gcs)));
    const everything = ["create", "read", "update", "delete", "list", "sudo"];
    const token = await server.client(grants(`${AUTO}/*`, ...everything));
    const secretOfA = { clouda_secret_access_key: s3.secretAccessKey };
    const cases: readonly [string, object, RegExp][] = [
      [
        "a",
        { clouda_store_endpoint: url },
        /clouda_secret_access_key and clouda_session_token must be given again/,
      ],
      [
        "a",
        { clouda_store_endpoint: url, ...secretOfA },
        /^(?!.*secret_access_key).*clouda_session_token must be given again/,
      ],
      ["a", { clouda_store_endpoint: "" }, /must be given again/],
      ["a", { clouda_store_endpoint: `127.0.0.1:${s3.port + 1}` }, /must be given again/],
      ["b", { cloudb_endpoint: url }, /cloudb_account_key must be given again/],
      ["b", { cloudb_endpoint: "", cloudb_account_name: "another" }, /must be given again/],
      ["c", { cloudc_endpoint: url }, /cloudc_service_account_key must be given again/],
      ["c", { cloudc_endpoint: "" }, /must be given again/],
    ];
    const read = async (name: string) => dataOf(await server.ask("GET", `${AUTO}/config/${name}`));
    for (const [name, change, text] of cases) {
      const before = await read(name);
      for (const verify of [{}, { verify: true }, { verify: false }]) {
        refused(await server.write(name, { ...change, ...verify }, { token }), 400, text);
      }
      assert.deepEqual(await read(name), before);
    }
    assert.deepEqual(requests, [], "nothing was sent there");
    for (const name of ["a", "b", "c"]) assert.equal((await server.run(name)).status, 200);
    // Who knows them may send them where he likes; what changes no host asks for nothing.
    const again = {
      clouda_store_endpoint: url,
      clouda_secret_access_key: "of-his-own",
      clouda_session_token: "",
      verify: false,
    };
    done(await server.write("a", again, { token }));
    done(await server.write("b", { cloudb_endpoint: `${blob.url}/${blob.account}/`, retain: 2 }));
    done(await server.write("c", { path_prefix: "west/", retain: 2 }));
  },
);

test(
  "T-L09: of the provider's own hosts another bucket, region, account, cloud or way asks for secrets again",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const { s3, blob, gcs } = await stores(t, () => server.milliseconds);
    const own = { verify: false };
    const tls = { clouda_store_endpoint: "", clouda_store_disable_tls: false };
    done(await server.write("a", cloudaConfig(s3, { ...own, ...tls })));
    done(await server.write("b", cloudbConfig(blob, { ...own, cloudb_endpoint: "" })));
    const account = JSON.parse(gcs.serviceAccountKey) as object;
    const secure = {
      cloudc_endpoint: "",
      cloudc_disable_tls: false,
      cloudc_service_account_key: JSON.stringify({ ...account, token_uri: undefined }),
    };
    done(await server.write("c", cloudcConfig(gcs, { ...own, ...secure })));
    for (const [name, change] of [
      ["a", { clouda_store_bucket: "another" }],
      ["a", { clouda_store_region: "cn-north-1" }],
      ["a", { clouda_store_disable_tls: true }],
      ["a", { clouda_store_force_path_style: true }],
      ["b", { cloudb_account_name: "another" }],
      ["b", { cloudb_blob_environment: "CloudBChinaCloud" }],
      ["c", { cloudc_disable_tls: true }],
    ] as const) {
      const answer = await server.write(name, { ...change, ...own });
      refused(answer, 400, /must be given again: what is stored would go to https?:\/\//);
    }
    const key = { clouda_secret_access_key: s3.secretAccessKey };
    done(await server.write("a", { clouda_store_bucket: "another", ...key, ...own }));
    done(await server.write("b", { cloudb_container_name: "another", ...own }));
    done(await server.write("c", { cloudc_store_bucket: "another", ...own }));
  },
);

test(
  "T-L09: credentials of the server's environment go to the provider's hosts and to those that its own file names",
  BOUND,
  async (t) => {
    const home = mkdtempSync(join(tmpdir(), "snapshot-credentials-"));
    t.after(() => rmSync(home, { recursive: true }));
    const account = join(home, "account.json");
    const { s3, blob, gcs } = await stores(t, () => Date.now());
    writeFileSync(account, gcs.serviceAccountKey, { mode: 0o600 });
    const server = await autoServer(t, {
      environment: {
        AWS_ACCESS_KEY_ID: s3.accessKeyId,
        AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
        AZURE_STORAGE_ACCOUNT: blob.account,
        AZURE_STORAGE_KEY: blob.key,
        GOOGLE_APPLICATION_CREDENTIALS: account,
      },
      // A network opens addresses and names no host.
      settings: { outbound_allow: ["127.0.0.0/8"] },
    });
    const { url, requests } = await listener(t);
    const a = cloudaConfig(s3, { clouda_access_key_id: "", clouda_secret_access_key: "" });
    const b = cloudbConfig(blob, { cloudb_account_key: "" });
    const c = cloudcConfig(gcs, { cloudc_service_account_key: "" });
    const cloudcHost = "https://storage.googleapis.com.example";
    for (const verify of [true, false]) {
      for (const [body, text] of [
        [{ ...a, clouda_store_endpoint: url }, /clouda_secret_access_key must be given: those of/],
        [{ ...b, cloudb_endpoint: url }, /cloudb_account_key must be given: those of/],
        [{ ...c, cloudc_endpoint: url }, /cloudc_service_account_key must be given: those of/],
        [{ ...c, cloudc_endpoint: "" }, /cloudc_endpoint leads elsewhere/], // by http
        [{ ...c, cloudc_endpoint: cloudcHost, cloudc_disable_tls: false }, /must be given/],
      ] as const) {
        refused(await server.write("x", { ...body, verify }), 400, text);
      }
    }
    assert.deepEqual(requests, []);
    const tls = { clouda_store_disable_tls: false, verify: false };
    done(await server.write("a", { ...a, ...tls, clouda_store_endpoint: "" }));
    refused(
      await server.write("a", { clouda_store_endpoint: "store.example", verify: false }),
      400,
      /clouda_store_endpoint leads elsewhere/,
    );
    const spelled = { clouda_store_endpoint: "s3.eu-central-1.amazonaws.com", verify: false };
    done(await server.write("a", spelled));
  },
);
