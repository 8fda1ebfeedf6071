// H: what a caller can make the server run, and by what: the plugin catalog and plugin runtimes over HTTP, with real files.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { PrivateCopies } from "../../src/plugins/process/private-copies.ts";
import { SystemProgramFiles } from "../../src/system/program-files.ts";
import { Failure } from "@holdfast/shared/failure";
import { type Answer, at, errorsOf } from "../support/http-client.ts";
import { PluginPlace } from "../support/plugins/plugin-place.ts";
import { PluginServer } from "../support/plugins/mounted-plugins.ts";

const AT = "sys/plugins/catalog/secret/small";
const RUNTIMES = "sys/plugins/runtimes/catalog";

function refusal(answer: Answer): string {
  assert.equal(answer.status, 400, answer.text);
  return (errorsOf(answer) as string[]).join("\n");
}

/** A server, and a check that a registration is refused so and nothing is registered. */
async function registering(t: TestContext) {
  const server = await PluginServer.start(t);
  const sha256 = server.place.putSmall();
  const refusedAs = async (text: RegExp, more: object, path = AT) => {
    const body = { sha256, command: "small.mjs", ...more };
    assert.match(refusal(await server.call("POST", path, { body })), text, JSON.stringify(more));
    const { detailed } = await server.data("sys/plugins/catalog");
    assert.ok((detailed as { builtin: boolean }[]).every(({ builtin }) => builtin));
    assert.deepEqual(server.place.runs(), [], "nothing was started");
  };
  return { server, refusedAs };
}

test("T-H01: no command leads out of the plugin directory", async (t) => {
  const { server, refusedAs } = await registering(t);
  mkdirSync(join(server.place.directory, "a"));
  server.place.put(join("a", "b"), "#!/bin/sh\n");
  for (const command of ["../sh", "a/../../sh", "..", "../", "a/.."]) {
    await refusedAs(/^path cannot contain parent references$/, { command });
  }
  for (const command of ["/bin/sh", "a/b", "./small.mjs", "//small.mjs"]) {
    await refusedAs(/^cannot execute files outside of configured plugin directory/, { command });
  }
  for (const command of [".", "-c", "a\u0000b", "a\nb", "x".repeat(256)]) {
    await refusedAs(/^command must be the name of a file in the plugin directory: /, { command });
  }
});

test("T-H02: links, files of two names and what others may write to are refused", async (t) => {
  const { server, refusedAs } = await registering(t);
  const { directory, base } = server.place;
  writeFileSync(join(base, "outside"), "x", { mode: 0o755 });
  symlinkSync(join(base, "outside"), join(directory, "link"));
  symlinkSync("small.mjs", join(directory, "near"));
  linkSync(join(base, "outside"), join(directory, "twice"));
  mkdirSync(join(directory, "folder"));
  server.place.put("writable", "#!/bin/sh\n", 0o775);
  server.place.put("no-program", "#!/bin/sh\n", 0o644);
  const is = (command: string, why: string) =>
    refusedAs(
      new RegExp(`^error while validating the command path: plugin file ${command}: ${why}`),
      { command },
    );
  await is("link", "");
  await is("near", "");
  await is("twice", "it has 2 names");
  await is("folder", "it is no regular file");
  await is("writable", "others may write to it \\(mode 0775\\)");
  await is("no-program", "it is not executable \\(mode 0644\\)");
  chmodSync(directory, 0o777);
  await is("small.mjs", "others may write to the plugin directory");
});

test("T-H02 T-H03: a file that is exchanged for a link and for another file all the time is never run with other bytes", async () => {
  const place = new PluginPlace();
  const { directory, base, copies } = place;
  const sum = place.put("small", "#!/bin/sh\necho registered\n");
  writeFileSync(join(base, "other"), "#!/bin/sh\necho other\n", { mode: 0o755 });
  const settings = { ...place.settings(), folder: copies, isForOthers: false };
  const machine = { platform: process.platform, arch: process.arch };
  const taken = new PrivateCopies(new SystemProgramFiles(), settings, machine);
  let isOver = false;
  let rounds = 0;
  const put = (round: number) => {
    const fresh = join(directory, "fresh");
    if (round % 3 === 0) symlinkSync(join(base, "other"), fresh);
    else
      writeFileSync(fresh, `#!/bin/sh\necho ${round % 3 === 1 ? "registered" : "other"}\n`, {
        mode: 0o755,
      });
    renameSync(fresh, join(directory, "small"));
  };
  const swapping = (async () => {
    for (; !isOver; rounds++) {
      put(rounds);
      // Written over in place as well, while it is read.
      if (rounds % 3 === 1) writeFileSync(join(directory, "small"), "#!/bin/sh\necho other-----\n");
      await new Promise(setImmediate);
    }
  })();
  try {
    let ran = 0;
    for (let at = 0; at < 400; at++) {
      try {
        const copy = await taken.take("small", sum);
        const found = createHash("sha256").update(readFileSync(copy.path)).digest("hex");
        assert.equal(found, sum);
        ran++;
        await copy.release();
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
      }
    }
    isOver = true;
    await swapping;
    assert.ok(rounds > 100, `${rounds} exchanges, ${ran} starts`);
  } finally {
    isOver = true;
    await taken.close();
    place.remove();
  }
});

test("T-H04: a sum is 64 digits in lower case; another one than the file's is told, and nothing runs", async (t) => {
  const { server, refusedAs } = await registering(t);
  await refusedAs(/^must provide sha256$/, { sha256: "" });
  for (const sha256 of ["abc", "zz".repeat(32), "a".repeat(63), "a".repeat(65), "ab".repeat(20)]) {
    await refusedAs(/^could not decode SHA256 value from hex "[a-z]+": expected 64/, { sha256 });
  }
  await refusedAs(/its letters must be in lower case$/, { sha256: "AB".repeat(32) });
  const counted = join(server.place.base, "started");
  server.place.put("counts", `#!/bin/sh\necho x >> ${counted}\n`);
  const body = { sha256: "ab".repeat(32), command: "counts" };
  const answer = await server.call("POST", AT, { body });
  assert.match(
    String(at(answer, "warnings")),
    /^plugin could not be started: checksums did not match/,
  );
  assert.throws(() => readFileSync(counted), /ENOENT/);
});

test("T-H05: no variable of an entry changes which code runs", async (t) => {
  const { refusedAs } = await registering(t);
  const sets = [
    ["LD_PRELOAD=/x"],
    ["LD_LIBRARY_PATH=/x"],
    ["NODE_OPTIONS=--require=/x"],
    ["PATH=/x"],
    ["without"],
    ["=x"],
    ["A B=x"],
    ["A=1", "A=2"],
    ["A=a\u0000b"],
  ];
  for (const env of sets) await refusedAs(/^env: /, { env });
  await refusedAs(/^env has 129 variables/, {
    env: Array.from({ length: 129 }, (_, i) => `A${i}=1`),
  });
});

test("T-H06: arguments are kept and handed on word for word, names have one spelling", async (t) => {
  const { server, refusedAs } = await registering(t);
  for (const name of ["A", "a%20b", "a%3Bb", "-a", ".a", "%24(a)", "a%0A", "x".repeat(129)]) {
    const answer = await server.call("POST", `sys/plugins/catalog/secret/${name}`, { body: {} });
    assert.equal(answer.status, 400, `${name}: ${answer.text}`);
  }
  await refusedAs(/^path cannot contain parent references$/, {}, "sys/plugins/catalog/secret/a..b");
  await refusedAs(/^args: one holds a NUL$/, { args: ["a\u0000"] });
  const words = join(server.place.base, "words");
  const sha256 = server.place.put(
    "tells",
    `#!/bin/sh\nfor one in "$@"; do printf '<%s>' "$one"; done > ${words}\n`,
  );
  const args = ["a b", ";id", "$(id)", "`id`", "-x", "a\nb", "*", ""];
  const answer = await server.call("POST", AT, { body: { sha256, command: "tells", args } });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(readFileSync(words, "utf8"), args.map((one) => `<${one}>`).join(""));
  assert.deepEqual((await server.data(AT))["args"], args);
});

test("T-H08: what is left out of a runtime, null or empty is the safe default", async (t) => {
  const server = await PluginServer.start(t);
  const path = `${RUNTIMES}/container/box`;
  const nulls = {
    rootless: null,
    oci_runtime: null,
    cgroup_parent: null,
    cpu_nanos: null,
    memory_bytes: null,
  };
  const empty = {
    rootless: false,
    oci_runtime: "",
    cgroup_parent: "",
    cpu_nanos: 0,
    memory_bytes: 0,
  };
  for (const body of [{}, nulls, empty]) {
    await server.ok("POST", path, body);
    const { rootless, oci_runtime, cgroup_parent, cpu_nanos, memory_bytes } =
      await server.data(path);
    assert.deepEqual(
      [rootless, oci_runtime, cgroup_parent, cpu_nanos, memory_bytes],
      [false, "runsc", "", 0, 0],
    );
  }
  await server.ok("POST", AT, {
    sha256: server.place.putSmall(),
    command: "small.mjs",
    network: null,
  });
  assert.ok(!("network" in (await server.data(AT))), "it is for containers, whose default is none");
});

test("T-H09: a runtime names no program but those that operators have named, and no place outside", async (t) => {
  const server = await PluginServer.start(t);
  const path = `${RUNTIMES}/container/box`;
  for (const body of [
    { oci_runtime: "/opt/x" },
    { oci_runtime: "/bin/sh" },
    { oci_runtime: "a b" },
    { oci_runtime: "sh" },
    { oci_runtime: "../runc" },
    { cgroup_parent: "../../" },
    { cgroup_parent: "/a/../b" },
    { cpu_nanos: -1 },
    { memory_bytes: -1 },
    { memory_bytes: 2 ** 63 },
    { memory_bytes: "NaN" },
  ]) {
    refusal(await server.call("POST", path, { body }));
  }
  assert.deepEqual(await server.data(RUNTIMES), { runtimes: [] });
});

test("T-H15: a runtime that is deleted while plugins that need it are registered is never missing", async (t) => {
  const server = await PluginServer.start(t);
  const { catalog, runtimes } = server.test.server.plugins;
  const entry = {
    type: "secret",
    name: "boxed",
    version: "",
    sha256: "ab".repeat(32),
    command: "",
    args: [],
    env: [],
    ociImage: "team/a",
    runtime: "box",
    network: "none",
    reportedVersion: "",
    declared: false,
  } as const;
  for (let round = 0; round < 100; round++) {
    await server.ok("POST", `${RUNTIMES}/container/box`, {});
    const works = [
      () => catalog.register(entry),
      () => server.call("DELETE", `${RUNTIMES}/container/box`),
    ];
    if (round % 2 === 1) works.reverse();
    await Promise.allSettled(works.map((work) => work()));
    const needs = catalog.find(entry) !== null;
    assert.ok(!needs || runtimes.find("box") !== null);
    await catalog.delete(entry);
  }
});

test("T-H16: registering, reading and removing plugins, and every runtime, take sudo", async (t) => {
  const server = await PluginServer.start(t);
  const policy =
    'path "sys/plugins/*" { capabilities = ["create", "read", "update", "delete", "list"] }';
  await server.ok("POST", "sys/policies/acl/almost", { policy });
  const made = await server.ok("POST", "auth/token/create", { policies: ["almost"] });
  const token = String(at(made, "auth", "client_token"));
  const body = { sha256: server.place.putSmall(), command: "small.mjs" };
  for (const [method, path, sent] of [
    ["POST", AT, body],
    ["GET", AT, undefined],
    ["DELETE", AT, undefined],
    ["LIST", RUNTIMES, undefined],
    ["GET", RUNTIMES, undefined],
    ["POST", `${RUNTIMES}/container/r`, {}],
    ["GET", `${RUNTIMES}/container/r`, undefined],
    ["DELETE", `${RUNTIMES}/container/r`, undefined],
  ] as const) {
    const answer = await server.call(method, path, { token, body: sent });
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
  }
  assert.deepEqual(server.place.runs(), [], "nothing was started");
});
