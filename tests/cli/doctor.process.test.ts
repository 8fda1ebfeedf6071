// `doctor` against a server that answers as the real one does: what it finds, and what it says to do.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FakeServer } from "./fakes/fake-server.ts";
import { enveloped } from "./fakes/fake-server.ts";
import { eachWithServer } from "./fakes/each-with-server.ts";

let server: FakeServer;
let home: string;
const cli = eachWithServer((...began) => ([server, home] = began));

test("doctor finds what is wrong and says what to do", async () => {
  const fresh = await cli(["doctor"]);
  assert.equal(fresh.code, 1);
  assert.match(
    fresh.stdout,
    /^seal +wrong +not initialised +run `holdfast operator init` once .* its disk is not mounted/m,
  );
  server.opened();
  server.skewSeconds = 300;
  const open = JSON.parse((await cli(["doctor", "-json"])).stdout);
  const result = Object.fromEntries(
    open.map(({ check, result: one }: { check: string; result: string }) => [check, one]),
  );
  assert.deepEqual(result, {
    address: "good",
    "token file": "good",
    server: "good",
    clock: "wrong",
    seal: "good",
    version: "good",
    token: "good",
    audit: "watch",
  });
  writeFileSync(join(home, ".holdfast-token"), "x", { mode: 0o666 });
  const loose = await cli(["doctor"]);
  assert.match(loose.stdout, /^token file +wrong +.*chmod 600/m);
  const bad = await cli(["doctor"], { env: { HOLDFAST_TOKEN: "unknown" } });
  assert.equal(bad.code, 1);
});

test("doctor names the governing policy that keeps a token from being read", async () => {
  server.opened();
  server.instead.set("GET auth/token/lookup-self", {
    status: 403,
    body: {
      errors: [
        '2 errors occurred:\n\t* egp standard policy "root/all" evaluation resulted in denial.\n\t* permission denied\n\n',
      ],
    },
  });
  const found = JSON.parse((await cli(["doctor", "-json"])).stdout);
  server.instead.delete("GET auth/token/lookup-self");
  const token = found.find(({ check }: { check: string }) => check === "token");
  assert.equal(token.result, "watch");
  assert.match(token.found, /known to the server.*denied by egp root\/all/);
});

test("doctor names the audit devices that cannot be written to", async () => {
  server.opened();
  server.devices.set("main/", { type: "file", healthy: true });
  server.devices.set("second/", { type: "file", healthy: true });
  const whole = await cli(["doctor"]);
  assert.match(whole.stdout, /^audit +good +2 devices/m);
  server.devices.set("main/", { type: "file", healthy: false });
  const half = await cli(["doctor"]);
  assert.equal(half.code, 1);
  assert.match(half.stdout, /^audit +wrong +main\/ cannot be written to \(1 of 2 devices\)/m);
});

test("doctor tells a namespace that is not there from a token that is not known", async () => {
  server.opened();
  let requests = 0;
  server.instead.set("GET auth/token/lookup-self", () =>
    Promise.resolve(
      requests++ === 0
        ? { status: 403, body: { errors: ["permission denied"] } }
        : enveloped({ display_name: "root" }),
    ),
  );
  const gone = await cli(["doctor", "-namespace", "nosuch"]);
  assert.equal(gone.code, 1);
  assert.match(gone.stdout, /^namespace +wrong +nosuch \(from -namespace\): there is none/m);
  assert.match(gone.stdout, /^token +good/m);
  server.instead.delete("GET auth/token/lookup-self");
  const unknown = await cli(["doctor"], { env: { HOLDFAST_TOKEN: "unknown" } });
  assert.match(unknown.stdout, /^token +wrong .* set HOLDFAST_TOKEN to another, or unset it/m);
});

test("a nearly full disk: doctor looks at it, and the refusal says where to look", async () => {
  server.opened();
  const looked = async (free_bytes: number | null) => {
    server.instead.set("GET sys/host-info", enveloped({ disk: { free_bytes } }));
    return cli(["doctor"]);
  };
  assert.match((await looked(2 ** 36)).stdout, /^disk +good +65536 MiB are free/m);
  assert.match((await looked(2 ** 29)).stdout, /^disk +watch +512 MiB .*make room/m);
  const full = await looked(2 ** 20);
  assert.match(full.stdout, /^disk +wrong +1 MiB .*make room/m);
  assert.equal(full.code, 1);
  assert.doesNotMatch((await looked(null)).stdout, /^disk/m);
  const errors = ["the storage is nearly full: 1 bytes are free and 2 are kept in reserve"];
  server.instead.set("POST kv/a", { status: 503, body: { errors } });
  const { stderr } = await cli(["write", "kv/a", "x=1"]);
  assert.match(stderr, /Next: make room on the disk .*`holdfast read -field disk sys\/host-info`/);
});
