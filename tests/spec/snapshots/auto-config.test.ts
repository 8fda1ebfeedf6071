// Configurations of automated snapshots over HTTP: what is accepted, kept, told and refused.

import assert from "node:assert/strict";
import test from "node:test";
import { startFakeS3 } from "../../fakes/stores/clouda-store.ts";
import { startFakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import { startFakeGcs } from "../../fakes/stores/cloudc-store.ts";
import { at } from "../../support/http-client.ts";
import {
  absent,
  dataOf,
  done,
  grants,
  keysOf,
  refused,
} from "../../support/servers/engine-server.ts";
import {
  AUTO,
  autoServer,
  cloudaConfig,
  cloudbConfig,
  cloudcConfig,
} from "../../support/snapshots/auto-server.ts";

const BOUND = { timeout: 300_000 };

test(
  "case 112: what is missing, contradictory or out of bounds is refused with what would do",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const now = () => server.milliseconds;
    const s3 = await startFakeS3({ now });
    const blob = await startFakeBlob({ now });
    const gcs = await startFakeGcs({ now });
    t.after(() => Promise.all([s3.close(), blob.close(), gcs.close()]).then(() => {}));
    const local = server.local();
    const [a, b, c] = [cloudaConfig(s3), cloudbConfig(blob), cloudcConfig(gcs)];
    const without = (config: object, field: string) =>
      Object.fromEntries(Object.entries(config).filter(([name]) => name !== field));
    const cases: readonly [object, RegExp][] = [
      ...["interval", "path_prefix", "storage_type", "local_max_space"].map(
        (field): [object, RegExp] => [without(local, field), new RegExp(`${field} is missing`)],
      ),
      ...["clouda_store_bucket", "clouda_store_region", "path_prefix"].map(
        (field): [object, RegExp] => [without(a, field), new RegExp(`${field} is missing`)],
      ),
      [without(b, "cloudb_container_name"), /cloudb_container_name is missing/],
      [without(c, "cloudc_store_bucket"), /cloudc_store_bucket is missing/],
      [{ ...local, storage_type: "tape" }, /storage_type must be one of local, cloudb-blob/],
      [{ ...local, interval: 0 }, /interval must be .* at least 10s/],
      [{ ...local, interval: "9s" }, /interval must be/],
      [{ ...local, interval: -5 }, /interval must be/],
      [{ ...local, retain: 0 }, /retain must be a whole number from 1/],
      [{ ...local, local_max_space: 0 }, /local_max_space must be/],
      [{ ...local, path_prefix: "relative" }, /path_prefix must be an absolute path/],
      [
        { ...local, path_prefix: `${server.place}/no-such` },
        /path_prefix must be a directory that is there/,
      ],
      [{ ...local, file_prefix: "a/b" }, /file_prefix must have/],
      [
        { ...b, path_prefix: "east" },
        /path_prefix must end with a \/ for storage_type cloudb-blob/,
      ],
      [
        { ...c, path_prefix: "east" },
        /path_prefix must end with a \/ for storage_type cloudc-store/,
      ],
      [{ ...a, path_prefix: "east/../west" }, /path_prefix must be folders/],
      [
        { ...a, clouda_store_enable_kms: true, clouda_store_server_side_encryption: true },
        /cannot be combined/,
      ],
      [
        { ...a, clouda_store_kms_key: "alias/x" },
        /clouda_store_kms_key needs clouda_store_enable_kms/,
      ],
      [{ ...a, clouda_secret_access_key: "" }, /must be given together, or neither/],
      [{ ...a, clouda_access_key_id: "" }, /must be given together, or neither/],
      [{ ...a, clouda_store_region: "no region" }, /clouda_store_region must be/],
      [{ ...a, clouda_store_bucket: "Evil.example/" }, /clouda_store_bucket must have/],
      [{ ...a, clouda_store_endpoint: "ftp://x" }, /clouda_store_endpoint/],
      [{ ...a, clouda_store_disable_tls: false }, /clouda_store_endpoint: must begin with https/],
      [{ ...b, cloudb_account_name: "No!" }, /cloudb_account_name must have/],
      [{ ...b, cloudb_account_key: "?" }, /cloudb_account_key must be base64/],
      [{ ...b, cloudb_blob_environment: "Moon" }, /cloudb_blob_environment must be/],
      [{ ...b, cloudb_endpoint: "http://blobs.example" }, /cloudb_endpoint: must begin with https/],
      [{ ...c, cloudc_service_account_key: "{}" }, /must be the JSON of a service account/],
    ];
    for (const [body, text] of cases) refused(await server.write("a", body), 400, text);
    refused(await server.write("-a", local), 400, /the name of a configuration must have/);
    absent(await server.ask("LIST", `${AUTO}/config`));
  },
);

test(
  "case 113: a read has whole seconds, the fields of its type alone, and no secret, only whether it is set",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const now = () => server.milliseconds;
    const s3 = await startFakeS3({ now });
    const blob = await startFakeBlob({ now });
    const gcs = await startFakeGcs({ now });
    t.after(() => Promise.all([s3.close(), blob.close(), gcs.close()]).then(() => {}));
    done(await server.write("l", server.local({ interval: "1h30m", file_prefix: undefined })));
    done(await server.write("a", cloudaConfig(s3, { retain: "7" })));
    done(await server.write("b", cloudbConfig(blob)));
    done(await server.write("c", cloudcConfig(gcs)));
    const read = async (name: string) => dataOf(await server.ask("GET", `${AUTO}/config/${name}`));
    assert.deepEqual(await read("l"), {
      interval: 5400,
      retain: 1,
      path_prefix: server.place,
      file_prefix: "service-snapshot",
      storage_type: "local",
      drill: "off",
      local_max_space: 1_000_000_000,
    });
    assert.deepEqual(await read("a"), {
      interval: 3600,
      retain: 7,
      path_prefix: "east/daily/",
      file_prefix: "nightly",
      storage_type: "clouda-store",
      drill: "7d",
      clouda_store_bucket: "backups",
      clouda_store_region: "eu-central-1",
      clouda_access_key_id: s3.accessKeyId,
      clouda_secret_access_key_set: true,
      clouda_session_token_set: false,
      clouda_store_endpoint: s3.url,
      clouda_store_disable_tls: true,
      clouda_store_force_path_style: false,
      clouda_store_enable_kms: false,
      clouda_store_server_side_encryption: false,
      clouda_store_kms_key: "",
    });
    assert.deepEqual(await read("b"), {
      interval: 3600,
      retain: 1,
      path_prefix: "east/daily/",
      file_prefix: "nightly",
      storage_type: "cloudb-blob",
      drill: "7d",
      cloudb_container_name: "backups",
      cloudb_account_name: blob.account,
      cloudb_account_key_set: true,
      cloudb_blob_environment: "",
      cloudb_endpoint: `${blob.url}/${blob.account}`,
    });
    assert.deepEqual(await read("c"), {
      interval: 3600,
      retain: 1,
      path_prefix: "east/daily/",
      file_prefix: "nightly",
      storage_type: "cloudc-store",
      drill: "7d",
      cloudc_store_bucket: "backups",
      cloudc_service_account_key_set: true,
      cloudc_endpoint: gcs.url,
      cloudc_disable_tls: true,
    });
  },
);

test(
  "case 114: a change keeps what it leaves out, secrets as well; the type stays",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("a", cloudaConfig(s3)));
    const probes = s3.log.length;
    done(await server.write("a", { interval: "2h", retain: 3 }));
    assert.equal(s3.log.length, probes, "nothing of the place has changed");
    const read = dataOf(await server.ask("GET", `${AUTO}/config/a`));
    assert.deepEqual([read["interval"], read["retain"]], [7200, 3]);
    assert.equal(read["clouda_secret_access_key_set"], true);
    assert.equal((await server.run("a")).status, 200);
    refused(
      await server.write("a", server.local()),
      400,
      /storage_type of a configuration cannot change/,
    );
    done(await server.write("a", { storage_type: "clouda-store", path_prefix: "west" }));
    assert.ok(s3.log.length > probes, "another place is tried");
    refused(await server.write("a", { clouda_secret_access_key: "" }), 400, /together/);
  },
);

test(
  "case 115: names are listed, unknown ones not found and deleted all the same; all but status needs sudo",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    absent(await server.ask("LIST", `${AUTO}/config`));
    done(await server.write("b", server.local()));
    done(await server.write("a", server.local({ file_prefix: "other" })));
    assert.deepEqual(keysOf(await server.ask("LIST", `${AUTO}/config`)), ["a", "b"]);
    for (const place of ["config", "status", "history"]) {
      absent(await server.ask("GET", `${AUTO}/${place}/c`));
    }
    absent(await server.run("c"));
    done(await server.ask("DELETE", `${AUTO}/config/c`));
    done(await server.ask("DELETE", `${AUTO}/config/b`));
    absent(await server.ask("GET", `${AUTO}/status/b`));
    const all = ["create", "read", "update", "delete", "list"];
    const weak = { token: await server.client(grants(`${AUTO}/*`, ...all)) };
    const strong = { token: await server.client(grants(`${AUTO}/*`, ...all, "sudo")) };
    for (const [method, path, body] of [
      ["LIST", "config"],
      ["GET", "config/a"],
      ["POST", "config/a", { retain: 2 }],
      ["POST", "run/a"],
      ["DELETE", "config/a"],
    ] as const) {
      const answer = await server.ask(method, `${AUTO}/${path}`, body, weak);
      assert.equal(answer.status, 403, path);
    }
    for (const place of ["status", "history"]) {
      assert.equal((await server.ask("GET", `${AUTO}/${place}/a`, undefined, weak)).status, 200);
    }
    done(await server.write("a", { retain: 2 }, strong));
    assert.equal((await server.ask("GET", `${AUTO}/config/a`, undefined, strong)).status, 200);
  },
);

test("fields of another type are ignored and told of", BOUND, async (t) => {
  const server = await autoServer(t);
  const answer = await server.write(
    "a",
    server.local({ clouda_store_bucket: "b", cloudc_endpoint: "x" }),
  );
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(at(answer, "warnings"), [
    "clouda_store_bucket is a field of storage_type clouda-store and was ignored",
    "cloudc_endpoint is a field of storage_type cloudc-store and was ignored",
  ]);
});

test(
  "two configurations whose snapshots nobody could tell apart are refused, and more than 32",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    done(await server.write("one", server.local()));
    const taken = /the configuration "one" writes to the same place/;
    refused(await server.write("two", server.local()), 400, taken);
    refused(
      await server.write("two", server.local({ path_prefix: `${server.place}/` })),
      400,
      taken,
    );
    done(await server.write("two", server.local({ file_prefix: "weekly" })));
    refused(await server.write("two", { file_prefix: "nightly" }), 400, taken);
    done(await server.write("three", cloudaConfig(s3)));
    const same = cloudaConfig(s3, {
      path_prefix: "/east/daily",
      clouda_store_force_path_style: true,
    });
    refused(await server.write("four", same), 400, /"three"/);
    // However the same place is spelled.
    const dotted = server.local({ path_prefix: `${server.place}/./` });
    refused(await server.write("four", dotted), 400, taken);
    const away = { path_prefix: "far", verify: false, clouda_store_disable_tls: false };
    const region = { clouda_store_endpoint: "https://s3.eu-central-1.amazonaws.com:443/" };
    done(await server.write("far", cloudaConfig(s3, { ...away, clouda_store_endpoint: "" })));
    refused(await server.write("four", cloudaConfig(s3, { ...away, ...region })), 400, /"far"/);
    done(await server.ask("DELETE", `${AUTO}/config/far`));
    const blobs = {
      interval: "1h",
      storage_type: "cloudb-blob",
      path_prefix: "far/",
      cloudb_container_name: "backups",
      cloudb_account_key: "a2V5",
      verify: false,
    };
    done(await server.write("far", { ...blobs, cloudb_account_name: "holdfasttest" }));
    const explicit = { cloudb_endpoint: "https://holdfasttest.blob.core.windows.net/" };
    for (const spelled of [{}, explicit]) {
      refused(await server.write("four", { ...blobs, ...spelled }), 400, /"far"/);
    }
    done(await server.write("four", { ...blobs, cloudb_account_name: "another" }));
    for (const name of ["far", "four"]) done(await server.ask("DELETE", `${AUTO}/config/${name}`));
    done(await server.write("four", cloudaConfig(s3, { path_prefix: "west" })));
    for (let i = 4; i < 32; i++) {
      done(await server.write(`more-${i}`, server.local({ file_prefix: `p${i}`, verify: false })));
    }
    const oneMore = server.local({ file_prefix: "last" });
    refused(await server.write("last", oneMore), 400, /at most 32 snapshot configurations/);
    done(await server.write("more-4", { retain: 2 }));
  },
);

test(
  "a place that cannot be written is refused at once, and not without a test",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const s3 = await startFakeS3({ now: () => server.milliseconds });
    t.after(() => s3.close());
    const wrong = cloudaConfig(s3, { clouda_store_bucket: "no-such-bucket" });
    refused(
      await server.write("a", wrong),
      400,
      /a test write failed: .*404: NoSuchBucket: .*verify=false stores the configuration without one/,
    );
    absent(await server.ask("GET", `${AUTO}/config/a`));
    const calls = s3.log.length;
    done(await server.write("a", { ...wrong, verify: false }));
    assert.equal(s3.log.length, calls, "nobody was called");
    refused(await server.write("a", { verify: true }), 400, /NoSuchBucket/);
    const denied = cloudaConfig(s3, { path_prefix: "other" });
    s3.control.denied.add("DeleteObject");
    refused(await server.write("b", denied), 400, /deleting an object: .*AccessDenied/);
    const keyless = cloudaConfig(s3, {
      clouda_access_key_id: undefined,
      clouda_secret_access_key: undefined,
    });
    refused(await server.write("c", keyless), 400, /clouda_access_key_id is not set/);
  },
);

test("a count of drills may be sent as a number, and a length may not", BOUND, async (t) => {
  const server = await autoServer(t);
  done(await server.write("a", server.local({ drill: 4 })));
  const read = async () => dataOf(await server.ask("GET", `${AUTO}/config/a`))["drill"];
  assert.equal(await read(), "4");
  done(await server.write("a", { drill: "12" }));
  assert.equal(await read(), "12");
  for (const drill of [0, -1, 1.5, 1e9, true, ["4"], { count: 4 }]) {
    refused(await server.write("a", { drill }), 400, /drill must be|drill/);
  }
  assert.equal(await read(), "12");
});

test(
  "a directory that is not there is to be made only where snapshots may lie",
  BOUND,
  async (t) => {
    const server = await autoServer(t);
    const write = (path_prefix: string) => server.write("a", server.local({ path_prefix }));
    refused(await write(`${server.place}/none`), 400, /must be a directory that is there: make /);
    for (const outside of ["/no/such/place", `${server.place}-beside`]) {
      refused(await write(outside), 400, /must lie below one of the directories of snapshot_roots/);
    }
  },
);
