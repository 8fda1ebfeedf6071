// Automated snapshots and the stores of three clouds, through HTTP: what each field becomes in the requests that the
// store gets, where credentials come from that are left out, and what is told when the store does not do its part.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { s3Error, startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { blobError, startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { gcsError, startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import type { StoreAnswer, StoreFault, StoreFront } from "../../fakes/stores/front.ts";
import { done, refused, SECOND } from "../../support/servers/engine-server.ts";
import {
  AUTO,
  type AutoServer,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
  secondsBetween,
} from "../../support/snapshots/auto-server.ts";

const BOUND = { timeout: 300_000 };

async function fakes(t: TestContext, now?: () => number) {
  const options = now === undefined ? {} : { now };
  const s3 = await startFakeS3(options);
  const blob = await startFakeBlob(options);
  const gcs = await startFakeGcs(options);
  t.after(() => Promise.all([s3.close(), blob.close(), gcs.close()]).then(() => {}));
  return { s3, blob, gcs };
}

test("every field of a cloud is seen in what the store gets", BOUND, async (t) => {
  const server = await autoServer(t);
  const { s3, blob, gcs } = await fakes(t, () => server.milliseconds);
  const stored = /^deep\/er\/weekly-\d{19}\.snap$/;
  const place = { path_prefix: "deep/er/", file_prefix: "weekly" };

  s3.control.session = { token: "a-session-token", expired: false };
  const kms = { clouda_store_enable_kms: true, clouda_store_kms_key: "alias/backups" };
  const session = { clouda_session_token: "a-session-token" };
  done(await server.write("a", cloudaConfig(s3, { ...place, ...kms, ...session })));
  assert.equal((await server.run("a")).status, 200);
  const put = s3.log.findLast(({ action }) => action === "PutObject");
  assert.ok(put !== undefined);
  const { authorization = "" } = put.headers;
  assert.ok(authorization.includes(`Credential=${s3.accessKeyId}/`), authorization);
  assert.ok(authorization.includes(`/${s3.region}/s3/aws4_request`), authorization);
  assert.ok(put.path.startsWith(`/${s3.bucket}/deep/er/weekly-`), put.path);
  assert.equal(put.host, `127.0.0.1:${s3.port}`);
  assert.equal(put.headers["x-amz-security-token"], "a-session-token");
  assert.equal(put.headers["x-amz-server-side-encryption"], "aws:kms");
  assert.equal(put.headers["x-amz-server-side-encryption-aws-kms-key-id"], "alias/backups");
  assert.match([...s3.objects.keys()].join(), stored);
  const plain = { clouda_store_enable_kms: false, clouda_store_kms_key: "" };
  done(await server.write("a", { ...plain, clouda_store_server_side_encryption: true }));
  assert.equal((await server.run("a")).status, 200);
  const aes = s3.log.findLast(({ action }) => action === "PutObject");
  assert.equal(aes?.headers["x-amz-server-side-encryption"], "AES256");

  done(await server.write("b", cloudbConfig(blob, place)));
  assert.equal((await server.run("b")).status, 200);
  const sent = blob.log.findLast(({ action }) => action === "PutBlockList" || action === "PutBlob");
  assert.ok(sent !== undefined);
  assert.ok(sent.path.startsWith(`/${blob.account}/${blob.container}/deep/er/weekly-`), sent.path);
  assert.match(sent.headers.authorization ?? "", new RegExp(`^SharedKey ${blob.account}:`));
  assert.match([...blob.blobs.keys()].join(), stored);
  done(
    await server.write(
      "gov",
      cloudbConfig(blob, {
        cloudb_endpoint: "",
        cloudb_blob_environment: "CloudBUSGovernmentCloud",
        verify: false,
      }),
    ),
  );
  // Nobody answers there; where it would go is logged.
  const host = `${blob.account}.blob.core.usgovcloudapi.net`;
  assert.ok(server.test.lines.some((line) => line.includes(host)));

  done(await server.write("c", cloudcConfig(gcs, place)));
  assert.equal((await server.run("c")).status, 200);
  assert.ok(gcs.tokens.size > 0, "the account has signed for a token");
  const begun = gcs.log.findLast(({ action }) => action === "BeginUpload");
  assert.ok(begun !== undefined);
  assert.ok(begun.path.includes(`/b/${gcs.bucket}/o`), begun.path);
  assert.equal(begun.host, `127.0.0.1:${gcs.port}`);
  assert.match([...gcs.objects.keys()].join(), stored);
});

for (const how of ["environment", "files"] as const) {
  test(
    `credentials that a configuration leaves out come from the server's ${how}`,
    BOUND,
    async (t) => {
      const { s3, blob, gcs } = await fakes(t);
      const home = mkdtempSync(join(tmpdir(), "auto-stores-"));
      t.after(() => rmSync(home, { recursive: true }));
      const account = join(home, "account.json");
      writeFileSync(account, gcs.serviceAccountKey, { mode: 0o600 });
      const variables = {
        AWS_ACCESS_KEY_ID: s3.accessKeyId,
        AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
        AZURE_STORAGE_ACCOUNT: blob.account,
        AZURE_STORAGE_KEY: blob.key,
        GOOGLE_APPLICATION_CREDENTIALS: account,
      };
      for (const folder of [".aws", ".azure", ".config/gcloud"]) {
        mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
      }
      const key = `aws_access_key_id=${s3.accessKeyId}\naws_secret_access_key=${s3.secretAccessKey}\n`;
      writeFileSync(join(home, ".aws/credentials"), `[default]\n${key}`, { mode: 0o600 });
      const azure = `[storage]\naccount = ${blob.account}\nkey = ${blob.key}\n`;
      writeFileSync(join(home, ".azure/config"), azure, { mode: 0o600 });
      const gcloud = join(home, ".config/gcloud/application_default_credentials.json");
      writeFileSync(gcloud, gcs.serviceAccountKey, { mode: 0o600 });
      const environment = how === "environment" ? variables : { HOME: home };
      const server = await autoServer(t, {
        environment,
        world: { clock: { now: () => BigInt(Date.now()) * 1_000_000n, elapsed: () => 0n } },
      });
      const none = (names: readonly string[]) =>
        Object.fromEntries(names.map((name) => [name, undefined]));
      const [a, b, c] = [
        cloudaConfig(s3, none(["clouda_access_key_id", "clouda_secret_access_key"])),
        cloudbConfig(blob, none(["cloudb_account_name", "cloudb_account_key"])),
        cloudcConfig(gcs, none(["cloudc_service_account_key"])),
      ];
      done(await server.write("a", a));
      done(await server.write("b", b));
      done(await server.write("c", c));
      for (const name of ["a", "b", "c"]) {
        const answer = await server.run(name);
        assert.equal(answer.status, 200, answer.text);
        const read = await server.ask("GET", `${AUTO}/config/${name}`);
        for (const secret of [s3.secretAccessKey, blob.key, "PRIVATE KEY"]) {
          assert.ok(!read.text.includes(secret));
        }
      }
      assert.deepEqual([s3.objects.size, blob.blobs.size, gcs.objects.size], [1, 1, 1]);
    },
  );
}

test("a directory with two spellings is one place", BOUND, async (t) => {
  const link = join(mkdtempSync(join(tmpdir(), "auto-link-")), "link");
  const real = mkdtempSync(join(tmpdir(), "auto-real-"));
  symlinkSync(real, link);
  t.after(() => rmSync(real, { recursive: true }));
  const server = await autoServer(t, { settings: { snapshot_roots: [link] } });
  done(await server.write("one", server.local({ path_prefix: link })));
  const same = server.local({ path_prefix: real });
  refused(await server.write("two", same), 400, /the configuration "one" writes to the same place/);
  done(await server.write("two", { ...same, file_prefix: "other" }));
});

interface Store {
  readonly fake: StoreFront;
  readonly config: object;
  readonly objects: () => readonly string[];
  /** The first call of an upload. */
  readonly writes: string;
  readonly error: (status: number, code: string) => StoreAnswer;
  readonly wrongPlace: readonly [change: object, back: object, text: RegExp];
  readonly wrongKey: readonly [change: object, back: object, text: RegExp];
  readonly expired: readonly [fault: StoreFault, text: RegExp];
}

const STORES: Readonly<Record<string, (t: TestContext, server: AutoServer) => Promise<Store>>> = {
  "clouda-store": async (t, server) => {
    const { s3 } = await fakes(t, () => server.milliseconds);
    return {
      fake: s3,
      config: cloudaConfig(s3, { interval: "24h" }),
      objects: () => [...s3.objects.keys()],
      writes: "PutObject",
      error: (status, code) => s3Error(status, code, "not now"),
      wrongPlace: [
        { clouda_store_bucket: "no-such-bucket" },
        { clouda_store_bucket: s3.bucket },
        /404: NoSuchBucket/,
      ],
      wrongKey: [
        { clouda_secret_access_key: "wJalr/XUtnFEMI+K7MDENGbPxRfiCX" },
        { clouda_secret_access_key: s3.secretAccessKey },
        /403: SignatureDoesNotMatch/,
      ],
      expired: [
        {
          action: "PutObject",
          kind: "refuse",
          answer: s3Error(400, "ExpiredToken", "The provided token has expired."),
        },
        /ExpiredToken: "The provided token has expired/,
      ],
    };
  },
  "cloudb-blob": async (t, server) => {
    const { blob } = await fakes(t, () => server.milliseconds);
    return {
      fake: blob,
      config: cloudbConfig(blob, { interval: "24h" }),
      objects: () => [...blob.blobs.keys()],
      writes: "PutBlock",
      error: (status, code) => blobError(status, code, "not now"),
      wrongPlace: [
        { cloudb_container_name: "no-such-container" },
        { cloudb_container_name: blob.container },
        /404: ContainerNotFound/,
      ],
      wrongKey: [
        { cloudb_account_key: Buffer.from("another key").toString("base64") },
        { cloudb_account_key: blob.key },
        /403: AuthenticationFailed/,
      ],
      expired: [
        {
          action: "PutBlock",
          kind: "refuse",
          answer: blobError(403, "AuthenticationFailed", "Signature not valid in the time frame"),
        },
        /AuthenticationFailed/,
      ],
    };
  },
  "cloudc-store": async (t, server) => {
    const { gcs } = await fakes(t, () => server.milliseconds);
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const private_key = privateKey.export({ type: "pkcs8", format: "pem" });
    const other = { ...(JSON.parse(gcs.serviceAccountKey) as object), private_key };
    return {
      fake: gcs,
      config: cloudcConfig(gcs, { interval: "24h" }),
      objects: () => [...gcs.objects.keys()],
      writes: "BeginUpload",
      error: (status) => gcsError(status, "backendError", "not now"),
      wrongPlace: [
        { cloudc_store_bucket: "no-such-bucket" },
        { cloudc_store_bucket: gcs.bucket },
        /404: notFound/,
      ],
      wrongKey: [
        { cloudc_service_account_key: JSON.stringify(other) },
        { cloudc_service_account_key: gcs.serviceAccountKey },
        /asking for an access token: .*400: invalid_grant/,
      ],
      expired: [
        {
          action: "BeginUpload",
          kind: "refuse",
          answer: gcsError(401, "authError", "Invalid Credentials"),
        },
        /401: authError/,
      ],
    };
  },
};

for (const [kind, open] of Object.entries(STORES)) {
  test(
    `case 120: ${kind}: whatever the store refuses or does not do is told, costs nothing and is tried again`,
    BOUND,
    async (t) => {
      const server = await autoServer(t);
      const store = await open(t, server);
      const { fake, objects, writes, error } = store;
      const file = join(server.test.auditDirectory, "trail.log");
      await server.must("POST", "sys/audit/file", { type: "file", options: { file_path: file } });
      done(await server.write("a", store.config));
      assert.equal((await server.run("a")).status, 200);

      /** The attempt fails with this text, what is there stays, and the next comes in a minute and succeeds. */
      const failsThenRecovers = async (what: string, text: RegExp, mend: () => Promise<void>) => {
        const before = [await server.status("a"), objects()] as const;
        const running = server.run("a");
        const failed = await server.ended("a", 5n * SECOND);
        assert.ok([202, 502].includes((await running).status), what);
        assert.match(failed.last_snapshot_error, text, what);
        assert.equal(failed.consecutive_errors, 1, what);
        assert.deepEqual(objects(), before[1], what);
        const { last_success, last_snapshot_url, stored_count } = before[0];
        const { last_success: success, last_snapshot_url: url, stored_count: count } = failed;
        assert.deepEqual(
          [success, url, count],
          [last_success, last_snapshot_url, stored_count],
          what,
        );
        const pause = secondsBetween(failed.last_snapshot_end, failed.next_snapshot_start);
        assert.equal(pause, 60, what);
        await mend();
        const recovered = await server.ended("a", 5n * SECOND);
        const { last_snapshot_error, consecutive_errors } = recovered;
        assert.deepEqual([last_snapshot_error, consecutive_errors], ["", 0], what);
        assert.notDeepEqual(objects(), before[1], what);
        assert.equal(objects().length, 1, what);
      };
      const nothing = async () => {};
      const unhurt = async () => void (fake.faults.length = 0);

      for (const [what, [change, back, text]] of Object.entries({
        place: store.wrongPlace,
        key: store.wrongKey,
      })) {
        done(await server.write("a", { ...change, verify: false }));
        await failsThenRecovers(`wrong ${what}`, text, async () =>
          done(await server.write("a", back)),
        );
      }
      const [expired, text] = store.expired;
      fake.faults.push({ ...expired });
      await failsThenRecovers("a token that has ended", text, nothing);
      const busy = { action: writes, kind: "refuse", answer: error(503, "SlowDown") } as const;
      fake.faults.push({ ...busy, times: 100 });
      await failsThenRecovers("throttling that does not end", /answered 503/, unhurt);
      fake.faults.push({ action: writes, kind: "lost-before", times: 100 });
      await failsThenRecovers("connections that are cut", /gave no whole answer/, unhurt);
      fake.faults.push({ action: writes, kind: "hang", times: 100 });
      await failsThenRecovers("a store that does not answer", /./, unhurt);

      const texts = [...server.test.lines, readFileSync(file, "utf8")].join("\n");
      for (const secret of Object.values({ ...store.wrongKey[0], ...store.wrongKey[1] })) {
        assert.ok(!texts.includes(String(secret)));
      }
    },
  );
}
