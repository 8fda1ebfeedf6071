// The plugin catalog over HTTP, with real files in a real plugin directory: what is registered, read, listed and deleted, what
// is refused, and what registration finds out by starting the plugin once.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

const SUM = "ab".repeat(32);
const AT = "sys/plugins/catalog/secret/small";

function warningsOf(answer: Answer): string[] {
  assert.equal(answer.status, 200, answer.text);
  return at(answer, "warnings") as string[];
}

function refusal(answer: Answer, status = 400): string {
  assert.equal(answer.status, status, answer.text);
  return (errorsOf(answer) as string[]).join("\n");
}

test("121: register, read, list, list with details, delete; the environment is in none of them", async (t) => {
  const server = await PluginServer.start(t);
  const trailFile = join(server.test.auditDirectory, "a.log");
  await server.ok("POST", "sys/audit/trail", { type: "file", options: { file_path: trailFile } });
  const sha256 = server.place.putSmall();
  const env = ["CI_KEY=squeamish ossifrage", "OTHER=x=y"];
  const body = {
    sha_256: sha256,
    command: "small.mjs",
    args: ["--one", "two words"],
    env,
    version: "1.2.3",
  };
  const made = await server.call("PUT", AT, { body });
  assert.equal(made.status, 204, made.text);
  const read = await server.data(AT);
  assert.deepEqual(read, {
    name: "small",
    version: "v1.2.3",
    builtin: false,
    command: "small.mjs",
    args: ["--one", "two words"],
    sha256,
    reported_version: "v1.2.3",
    declared: false,
    mounts: [],
    processes: [],
  });
  const all = await server.data("sys/plugins/catalog");
  assert.deepEqual(all["auth"], ["approle", "userpass"]);
  assert.ok(!("database" in all), "a type without plugins is left out");
  assert.ok(!(all["secret"] as string[]).includes("small"), "it has no entry without a version");
  const detailed = all["detailed"] as Record<string, unknown>[];
  assert.deepEqual(
    detailed.find(({ name }) => name === "small"),
    {
      type: "secret",
      name: "small",
      version: "v1.2.3",
      builtin: false,
      sha256,
    },
  );
  assert.deepEqual(
    detailed.find(({ name }) => name === "kv"),
    {
      type: "secret",
      name: "kv",
      version: "v1.0.0+builtin",
      builtin: true,
      deprecation_status: "supported",
    },
  );
  assert.deepEqual(
    detailed.map(({ type, name }) => `${String(type)} ${String(name)}`),
    detailed.map(({ type, name }) => `${String(type)} ${String(name)}`).toSorted(),
  );
  // Older clients and those of others.
  const keys = (answer: Answer) => at(answer, "data", "keys") as string[];
  assert.deepEqual(keys(await server.ok("LIST", "sys/plugins/catalog/auth")), [
    "approle",
    "userpass",
  ]);
  assert.deepEqual(keys(await server.ok("GET", "sys/plugins/catalog/auth?list=true")), [
    "approle",
    "userpass",
  ]);
  const own = await server.data("sys/plugins/catalog/secret/kv");
  assert.deepEqual(
    [own["builtin"], own["version"], own["deprecation_status"]],
    [true, "v1.0.0+builtin", "supported"],
  );
  const everything = [read, all, await server.data(`${AT}?version=v1.2.3`)];
  assert.ok(!JSON.stringify(everything).includes("ossifrage"));
  const trail = readFileSync(trailFile, "utf8");
  assert.ok(!trail.includes("ossifrage") && !trail.includes("CI_KEY"), "hashed in the trail");
  assert.ok(!server.test.lines.join("\n").includes("ossifrage"));

  assert.match(
    warningsOf(await server.call("DELETE", AT)).join(),
    /no secret small without a version; registered: v1\.2\.3/,
  );
  assert.equal((await server.call("DELETE", `${AT}?version=1.2.3`)).status, 204);
  assert.equal(
    (await server.call("DELETE", `${AT}?version=1.2.3`)).status,
    204,
    "also when it is gone",
  );
  const gone = await server.call("GET", AT);
  assert.deepEqual([gone.status, gone.json], [404, { errors: [] }]);
  assert.match(
    refusal(await server.call("DELETE", `sys/plugins/catalog/secret/kv?version=v1.0.0%2Bbuiltin`)),
    /^version "v1.0.0\+builtin" cannot be deleted$/,
  );
  assert.equal(
    (await server.call("LIST", "sys/plugins/catalog/database")).status,
    404,
    "an empty list",
  );
});

test("122: catalog and runtimes are for sudo, and for the root namespace", async (t) => {
  const server = await PluginServer.start(t);
  const policy =
    'path "sys/plugins/*" { capabilities = ["create", "read", "update", "delete", "list"] }';
  await server.ok("POST", "sys/policies/acl/almost", { policy });
  const made = await server.ok("POST", "auth/token/create", { policies: ["almost"] });
  const token = String(at(made, "auth", "client_token"));
  const body = { sha256: server.place.putSmall(), command: "small.mjs" };
  const runtime = "sys/plugins/runtimes/catalog";
  const needSudo: readonly (readonly [string, string, object?])[] = [
    ["POST", AT, body],
    ["GET", AT],
    ["DELETE", AT],
    ["LIST", runtime],
    ["GET", runtime],
    ["POST", `${runtime}/container/r`, {}],
    ["GET", `${runtime}/container/r`],
    ["DELETE", `${runtime}/container/r`],
  ];
  for (const [method, path, sent] of needSudo) {
    const answer = await server.call(method, path, {
      token,
      ...(sent === undefined ? {} : { body: sent }),
    });
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
  }
  assert.deepEqual(
    await server.data("sys/plugins/pins"),
    { pinned_versions: [] },
    "nothing was registered",
  );
  for (const [method, path] of [
    ["GET", "sys/plugins/catalog"],
    ["LIST", "sys/plugins/catalog/secret"],
    ["GET", "sys/plugins/pins"],
  ] as const) {
    assert.equal((await server.call(method, path, { token })).status, 200, path);
  }
  await server.ok("POST", "sys/namespaces/team", {});
  for (const [method, path, sent] of needSudo) {
    const answer = await server.call(method, path, {
      namespace: "team",
      ...(sent === undefined ? {} : { body: sent }),
    });
    assert.match(refusal(answer, 403), /^restricted endpoint$/, `${method} ${path}`);
  }
});

test("123: without a plugin directory nothing but an image is registered", async (t) => {
  const server = await PluginServer.start(t, {
    config: (config) => ({ ...config, directories: { ...config.directories, plugins: null } }),
  });
  const answer = await server.call("POST", AT, { body: { sha256: SUM, command: "small.mjs" } });
  assert.match(refusal(answer), /^could not set plugin, plugin directory is not configured/);
});

test("124, 148: what is refused before anything is started, with its text, and changes nothing", async (t) => {
  const server = await PluginServer.start(t);
  const { directory, base } = server.place;
  const sha256 = server.place.putSmall();
  mkdirSync(join(directory, "folder"));
  writeFileSync(join(base, "outside"), "x", { mode: 0o755 });
  writeFileSync(join(directory, "folder", "inner"), "x", { mode: 0o755 });
  symlinkSync(join(base, "outside"), join(directory, "link"));
  const refusedAs = async (text: RegExp, more: object, path = AT) => {
    const body = { sha256, command: "small.mjs", ...more };
    assert.match(refusal(await server.call("POST", path, { body })), text, JSON.stringify(more));
  };
  await refusedAs(/^path cannot contain parent references$/, { command: "../x" });
  await refusedAs(/^cannot execute files outside of configured plugin directory/, {
    command: "folder/inner",
  });
  const file = "error while validating the command path: plugin file";
  await refusedAs(new RegExp(`^${file} link: `), { command: "link" });
  await refusedAs(new RegExp(`^${file} absent: there is no such file`), { command: "absent" });
  await refusedAs(/^must provide sha256$/, { sha256: "" });
  await refusedAs(/^must provide at least one of command or oci_image$/, { command: "" });
  await refusedAs(/^must not specify args in command and args field$/, {
    command: "small.mjs a",
    args: ["b"],
  });
  await refusedAs(/^version "x" is not a valid semantic version/, { version: "x" });
  await refusedAs(/'builtin' is a reserved metadata identifier$/, { version: "v1.0.0+builtin" });
  await refusedAs(/^network is for a plugin with oci_image or runtime$/, { network: "host" });
  await refusedAs(/^specified plugin runtime "r", but failed to retrieve config/, { runtime: "r" });
  await refusedAs(/^oci_image must be the name of an image/, { oci_image: "team/p:latest" });
  // 148
  await refusedAs(/^specified plugin runtime "r", but failed to retrieve config/, {
    oci_image: "team/p",
    runtime: "r",
  });
  await refusedAs(
    /^type must be one of auth, database, secret$/,
    {},
    "sys/plugins/catalog/unknown/x",
  );
  const { detailed } = await server.data("sys/plugins/catalog");
  assert.ok((detailed as { builtin: boolean }[]).every(({ builtin }) => builtin));
  assert.deepEqual(server.place.runs(), [], "nothing was started");
  // The old path without a type.
  for (const method of ["GET", "DELETE", "POST"]) {
    const body = method === "POST" ? { body: { sha256, command: "small.mjs" } } : {};
    const answer = await server.call(method, "sys/plugins/catalog/small", body);
    assert.equal(answer.status, 404, method);
  }
});

test("125, 127, 128: what is found by starting it is a warning, and with verify a refusal", async (t) => {
  const server = await PluginServer.start(t);
  const sha256 = server.place.putSmall();
  const register = (body: object, query = "") =>
    server.call("POST", `${AT}${query}`, { body: { sha256, command: "small.mjs", ...body } });
  const wrong = await register({ sha256: SUM });
  assert.match(
    warningsOf(wrong).join(),
    /^plugin could not be started: checksums did not match: plugin file small\.mjs has SHA-256 /,
  );
  assert.equal((await server.data(AT))["sha256"], SUM, "and it is there");

  const refused = await register({}, "?verify=true&version=v9.0.0");
  assert.match(
    refusal(refused),
    /^plugin version mismatch: the plugin reports version "v1\.2\.3", and "v9\.0\.0" was requested$/,
  );
  assert.match(refusal(await register({ version: "v1.0.1" })), /^plugin version mismatch/);
  assert.match(refusal(await register({ sha256: SUM }, "?verify=true")), /checksums did not match/);

  const crash = await register({ args: ["--exits"] });
  assert.match(warningsOf(crash).join(), /^plugin "small" could not be started: /);
  assert.ok(
    !warningsOf(crash).join().includes("begins badly"),
    "what it wrote is for the caller alone",
  );
  assert.match(JSON.stringify(at(crash, "data", "output")), /it begins badly/);
  assert.match(
    refusal(await register({ args: ["--exits"] }, "?verify=true")),
    /could not be started[^]*it begins badly/,
  );

  const arm = Buffer.alloc(64);
  arm.write("\x7fELF", "latin1");
  arm.set([2, 1, 1], 4);
  arm.writeUInt16LE(process.arch === "arm64" ? 62 : 183, 18);
  const other = await register({ sha256: server.place.put("other", arm), command: "other" });
  assert.match(
    warningsOf(other).join(),
    /plugin file other: it is built for .*, and this machine is /,
  );
  const script = server.place.put("script", "#!/no/such/interpreter\n");
  assert.match(
    warningsOf(await register({ sha256: script, command: "script" })).join(),
    /its interpreter \/no\/such\/interpreter is not there/,
  );

  const plain = await register({});
  assert.match(
    warningsOf(plain).join(),
    /the plugin reports version v1\.2\.3; it was registered without a version and stays so/,
  );
  assert.equal((await register({ version: "1.2.3" }, "?verify=true")).status, 204);
  assert.equal((await server.data(`${AT}?version=1.2.3`))["version"], "v1.2.3");
  const words = await register({ command: "small.mjs  --a b", version: "v1.2.3" });
  assert.equal(words.status, 204, words.text);
  assert.deepEqual((await server.data(`${AT}?version=1.2.3`))["args"], ["--a", "b"]);
  assert.deepEqual(server.place.runs().length, 1);
  await server.ok("DELETE", AT);
});

test("129, 130: several versions are named, one is pinned and stays", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ version: "v1.0.0" });
  const only = await server.call("GET", AT);
  assert.match(warningsOf(only).join(), /^no version was named: this is v1\.0\.0, the only one$/);
  await server.register({ version: "v1.10.0" });
  assert.match(
    refusal(await server.call("GET", AT)),
    /^small is registered in several versions: give version, one of v1\.0\.0, v1\.10\.0$/,
  );
  const pin = "sys/plugins/pins/secret/small";
  assert.match(refusal(await server.call("GET", pin), 404), /^no pinned version for this plugin$/);
  assert.match(
    refusal(await server.call("POST", pin, { body: { version: "v2.0.0" } })),
    /^plugin not found in the catalog: small, version=v2\.0\.0$/,
  );
  assert.match(refusal(await server.call("POST", pin, { body: {} })), /^version must name/);
  assert.equal((await server.call("PUT", pin, { body: { version: "1" } })).status, 204);
  const pinned = { name: "small", type: "secret", version: "v1.0.0" };
  assert.deepEqual(await server.data(pin), pinned);
  assert.deepEqual(await server.data("sys/plugins/pins"), { pinned_versions: [pinned] });
  assert.match(
    refusal(await server.call("DELETE", `${AT}?version=v1.0.0`)),
    /^cannot delete a pinned version$/,
  );
  assert.equal((await server.call("DELETE", pin)).status, 204);
  assert.equal((await server.call("DELETE", pin)).status, 204);
  assert.equal((await server.call("DELETE", `${AT}?version=v1.0.0`)).status, 204);
});
