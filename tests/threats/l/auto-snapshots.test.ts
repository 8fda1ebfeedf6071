// Threats L of automated snapshots: where they go, what they delete, what they tell.

import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { done, grants, refused } from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
} from "../../support/snapshots/auto-server.ts";

const BOUND = { timeout: 300_000 };

test(
  "T-L05: paths that lead out of the snapshot roots, and prefixes that are more than a name, are refused",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const { place } = server;
    mkdirSync(join(place, "good"), { mode: 0o700 });
    mkdirSync(join(place, "loose"), { mode: 0o700 });
    chmodSync(join(place, "loose"), 0o777);
    symlinkSync("/tmp", join(place, "link"));
    symlinkSync(join(place, "good"), join(place, "inner"));
    const paths = [
      `${place}/../x`,
      `${place}/good/..`,
      "/tmp",
      "/",
      "~/snapshots",
      `${place}/link`,
      `${place}/inner`,
      `${place}/loose`,
      `${place}/good\n`,
      server.test.directory,
      join(server.test.directory, "server"),
      join(server.test.directory, "audit"),
    ];
    for (const path of paths) {
      for (const verify of [true, false]) {
        const answer = await server.write("a", server.local({ path_prefix: path, verify }));
        refused(answer, 400, /path_prefix must/);
      }
    }
    for (const prefix of [
      "../x",
      "a/b",
      "*",
      "a*",
      "a\nb",
      "",
      ".hidden",
      "-x",
      "a b",
      "a\u0000",
    ]) {
      const answer = await server.write("a", server.local({ file_prefix: prefix }));
      refused(answer, 400, /file_prefix must have/);
    }
    done(await server.write("a", server.local({ path_prefix: `${place}/good` })));
  },
);

test(
  "T-L05: a directory that becomes another one between two snapshots is seen",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const below = join(server.place, "below");
    const elsewhere = join(server.test.directory, "elsewhere");
    mkdirSync(below, { mode: 0o700 });
    mkdirSync(elsewhere, { mode: 0o700 });
    done(await server.write("a", server.local({ path_prefix: below })));
    assert.equal((await server.run("a")).status, 200);
    const { renameSync } = await import("node:fs");
    renameSync(below, `${below}-moved`);
    symlinkSync(elsewhere, below);
    refused(
      await server.run("a"),
      502,
      /path_prefix must lie below one of the directories of snapshot_roots/,
    );
    assert.deepEqual(readdirSync(elsewhere), []);
  },
);

test(
  "T-L04: automated snapshots are closed to everybody else, from their first byte",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const before = process.umask(0);
    try {
      done(await server.write("a", server.local()));
      assert.equal((await server.run("a")).status, 200);
    } finally {
      process.umask(before);
    }
    const [name = ""] = server.files();
    assert.equal(statSync(join(server.place, name)).mode & 0o7777, 0o600);
  },
);

test(
  "T-L06: what only looks like ours is neither deleted nor counted, in a directory or a bucket",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds, page: 3 });
    t.after(() => s3.close());
    const alike = [
      "nightly-0.snap",
      "nightly-0000000000000000000.SNAP",
      "nightly-0000000000000000000.snap~",
      "nightly--000000000000000000.snap",
      "xnightly-0000000000000000000.snap",
      "nightly-2-0000000000000000000.snap",
    ];
    for (const name of alike) {
      writeFileSync(join(server.place, name), Buffer.alloc(900_000));
      s3.objects.set(`east/daily/${name}`, { bytes: Buffer.alloc(9), headers: {} });
      s3.objects.set(name, { bytes: Buffer.alloc(9), headers: {} });
    }
    s3.objects.set("east/nightly-0000000000000000000.snap", {
      bytes: Buffer.alloc(9),
      headers: {},
    });
    s3.objects.set("east/daily/x/nightly-0000000000000000000.snap", {
      bytes: Buffer.alloc(9),
      headers: {},
    });
    const foreign = [...s3.objects.keys()];
    done(await server.write("l", server.local({ local_max_space: 1_000_000 })));
    done(await server.write("a", cloudaConfig(s3)));
    for (let i = 0; i < 3; i++) {
      for (const name of ["l", "a"]) assert.equal((await server.run(name)).status, 200);
    }
    assert.equal(server.files().length, alike.length + 1);
    for (const name of alike) assert.equal(readFileSync(join(server.place, name)).length, 900_000);
    for (const key of foreign) assert.ok(s3.objects.has(key), key);
    assert.equal(s3.objects.size, foreign.length + 1);
    for (const name of ["l", "a"]) assert.equal((await server.status(name)).stored_count, 1);
  },
);

test(
  "T-L07: when the allowance is short the attempt fails, earlier snapshots stay, and status says so",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    done(await server.write("a", server.local({ retain: 2 })));
    for (let i = 0; i < 2; i++) assert.equal((await server.run("a")).status, 200);
    const before = server.files();
    done(await server.write("a", { local_max_space: 1 }));
    refused(await server.run("a"), 502, /local_max_space is 1 bytes/);
    assert.deepEqual(server.files(), before);
    const status = await server.status("a");
    assert.match(status.last_snapshot_error, /local_max_space is 1 bytes/);
    assert.equal(status.consecutive_errors, 1);
  },
);

test(
  "T-L08: no key, token or account of a configuration is in any answer, line of the log, record or row",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const now = () => server.milliseconds;
    const s3 = await startFakeS3({ now });
    const blob = await startFakeBlob({ now });
    const gcs = await startFakeGcs({ now });
    t.after(() => Promise.all([s3.close(), blob.close(), gcs.close()]).then(() => {}));
    const file = join(server.test.auditDirectory, "trail.log");
    mkdirSync(server.test.auditDirectory, { recursive: true, mode: 0o700 });
    await server.must("POST", "sys/audit/file", { type: "file", options: { file_path: file } });
    s3.control.session = { token: "a-session-token-that-is-secret", expired: false };
    done(
      await server.write("a", cloudaConfig(s3, { clouda_session_token: s3.control.session.token })),
    );
    done(await server.write("b", cloudbConfig(blob)));
    done(await server.write("c", cloudcConfig(gcs)));
    const texts: string[] = [];
    for (const name of ["a", "b", "c"]) {
      assert.equal((await server.run(name)).status, 200);
      for (const set of [s3.control.denied, blob.denied, gcs.denied]) {
        for (const action of ["PutObject", "PutBlock", "BeginUpload"]) set.add(action);
      }
      texts.push((await server.run(name)).text);
      for (const set of [s3.control.denied, blob.denied, gcs.denied]) set.clear();
      for (const place of ["config", "status", "history"]) {
        texts.push((await server.ask("GET", `${AUTO}/${place}/${name}`)).text);
      }
      texts.push((await server.write(name, { verify: true, retain: 2 })).text);
    }
    texts.push(...server.test.lines, readFileSync(file, "utf8"));
    const { private_key: pem } = JSON.parse(gcs.serviceAccountKey) as { private_key: string };
    const secrets = [
      s3.secretAccessKey,
      s3.control.session.token,
      blob.key,
      pem.slice(60, 120),
      ...gcs.tokens,
    ];
    for (const secret of secrets) {
      for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 300));
    }
    for (const bytes of [...s3.objects.values()].map((object) => object.bytes)) {
      for (const secret of secrets) assert.ok(!bytes.includes(secret));
    }
  },
);

test(
  "T-L09: where everything stored goes is for sudo in the root namespace, and the host is recorded with who chose it",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    await server.namespaces("team");
    const everything = ["create", "read", "update", "delete", "list", "sudo"];
    const inside = await server.client(grants("*", ...everything), {}, "team");
    const place = `${AUTO}/config/a`;
    for (const [method, path, body] of [
      ["POST", place, cloudaConfig(s3)],
      ["GET", place],
      ["LIST", `${AUTO}/config`],
      ["DELETE", place],
      ["POST", `${AUTO}/run/a`],
      ["GET", `${AUTO}/status/a`],
      ["GET", `${AUTO}/history/a`],
    ] as const) {
      const answer = await server.ask(method, path, body, { token: inside, namespace: "team" });
      assert.equal(answer.status, 403, path);
    }
    const weak = await server.client(grants(`${AUTO}/*`, ...everything.slice(0, -1)));
    const refusal = await server.write("a", cloudaConfig(s3), { token: weak });
    assert.equal(refusal.status, 403);
    assert.equal(s3.log.length, 0, "nobody was called");
    const strong = await server.clientToken(grants(`${AUTO}/*`, ...everything));
    const file = join(server.test.auditDirectory, "trail.log");
    mkdirSync(server.test.auditDirectory, { recursive: true, mode: 0o700 });
    await server.must("POST", "sys/audit/file", { type: "file", options: { file_path: file } });
    done(await server.write("a", cloudaConfig(s3), { token: strong.secret }));
    const line = server.test.lines.find((text) => text.includes("snapshot.configured")) ?? "";
    assert.ok(line.includes(`127.0.0.1:${s3.port}`), line);
    assert.ok(line.includes(strong.accessor), line);
    // The record of the answer has the host in clear, whether or not anything was tried there, and for a change too;
    // what the caller sent has hashes alone.
    const token = strong.secret;
    const elsewhere = { clouda_store_endpoint: "exfil.example", clouda_store_disable_tls: false };
    done(await server.write("b", cloudaConfig(s3, { ...elsewhere, verify: false }), { token }));
    const own = { clouda_store_endpoint: "", clouda_store_disable_tls: false };
    const unkeyed = { clouda_access_key_id: "", clouda_secret_access_key: "" };
    const wrapping = { token, headers: { "x-vault-wrap-ttl": "60" } };
    await server.write(
      "c",
      cloudaConfig(s3, { ...own, ...unkeyed, path_prefix: "other", verify: false }),
      wrapping,
    );
    const second = { clouda_store_endpoint: "second.example", verify: false };
    done(await server.write("a", { ...second, clouda_secret_access_key: s3.secretAccessKey }));
    done(await server.write("l", server.local()));
    const records = readFileSync(file, "utf8")
      .split("\n")
      .filter((text) => text.includes('"type":"response"') && text.includes("snapshot-auto/config"))
      .map((text) => JSON.parse(text) as { response: { noted?: object }; request: object });
    assert.deepEqual(
      records.map(({ response }) => response.noted),
      [
        { target_host: `127.0.0.1:${s3.port}` },
        { target_host: "exfil.example" },
        { target_host: "backups.s3.eu-central-1.amazonaws.com" },
        { target_host: `second.example` },
        { target_host: "" },
      ],
    );
    assert.ok(!JSON.stringify(records.map(({ request }) => request)).includes("exfil"));
    // A test write that was refused has gone out as well, and so has what a run or a drill sends.
    const bad = await server.write("d", cloudaConfig(s3, { clouda_store_bucket: "no-such" }));
    assert.equal(bad.status, 400);
    const back = { path_prefix: "back", verify: false };
    done(await server.write("e", cloudaConfig(s3, { ...back, clouda_store_bucket: "none" })));
    for (const verb of ["run", "drill"]) await server.ask("POST", `${AUTO}/${verb}/e`);
    // What is refused before anything is sent names nobody.
    const short = { ...cloudaConfig(s3), interval: "1s" };
    assert.equal((await server.write("f", short)).status, 400);
    const later = readFileSync(file, "utf8")
      .split("\n")
      .filter((text) => text.includes('"type":"response"') && text.includes("snapshot-auto/"))
      .map((text) => JSON.parse(text) as { response: { noted?: object }; error: string })
      .slice(records.length);
    const host = { target_host: `127.0.0.1:${s3.port}` };
    assert.deepEqual(
      later.map(({ response, error }) => [response.noted, error !== ""]),
      [
        [host, true],
        [host, false],
        [host, true],
        [host, true],
        [undefined, true],
      ],
    );
  },
);
