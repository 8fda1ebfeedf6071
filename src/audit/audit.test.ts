import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  aRequest,
  linesOf,
  type MadeAudit,
  madeAudit,
  recordsOf,
} from "../../tests/support/made/made-audit.ts";
import { until } from "../../tests/support/until.ts";
import { AppendError } from "../base/append-error.ts";
import { SystemAppendFiles } from "../system/append-file.ts";
import { Failure } from "@holdfast/shared/failure";
import type { AppendFile } from "@holdfast/shared/world";
import { Audit } from "./audit.ts";

const SECOND = 1_000_000_000n;
const ANSWER = { data: { ok: "yes" }, warnings: [], error: "" };
const NONE_OPENS = "audit-no-device";
const LOST = {
  kind: "internal",
  code: "audit-failed",
  message: "no audit device succeeded in logging the request",
};

async function refusal(run: () => unknown): Promise<Failure> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  throw new Error("it was not refused");
}

async function enableFile(made: MadeAudit, path = "file", options: Record<string, string> = {}) {
  const file = made.file(`${path.replaceAll("/", "-")}.log`);
  await made.audit.enable({
    path,
    type: "file",
    description: `of ${path}`,
    options: { file_path: file, ...options },
    local: false,
  });
  return file;
}

/** Waits for so many records: the first of two devices lets a request go on, the other has it later. */
async function holds(file: string, count: number): Promise<void> {
  await until(() => wholeRecords(file) >= count);
  assert.equal(recordsOf(file).length, count);
}

/** A line that is being written has no end yet. */
function wholeRecords(file: string): number {
  return readFileSync(file, "utf8").match(/^.*"type":"re(?:quest|sponse)".*\n/gm)?.length ?? 0;
}

/** Files whose disk can be told to be full or to hang. */
function badDisk() {
  const files = new SystemAppendFiles();
  const disk = { state: "works" as "works" | "full" | "hangs", only: "", hanging: 0 };
  const open = files.open.bind(files);
  files.open = async (path, options) => {
    const file = await open(path, options);
    const bad: AppendFile = {
      identity: file.identity,
      size: file.size,
      modified: file.modified,
      read: (at, length) => file.read(at, length),
      close: () => file.close(),
      append: (bytes) => {
        if (!path.includes(disk.only) || disk.state === "works") return file.append(bytes);
        if (disk.state === "hangs") {
          disk.hanging++;
          return new Promise(() => {});
        }
        return Promise.reject(new AppendError("ENOSPC: no space left on device", 0));
      },
    };
    return bad;
  };
  return { files, disk };
}

test("without a device nothing is waited for, and the log warns", async (t) => {
  const { audit, lines, health } = await madeAudit(t).then((made) => ({ ...made, ...made.world }));
  await audit.open();
  assert.equal(audit.request(aRequest(), ""), undefined);
  assert.equal(audit.response(aRequest(), ANSWER), undefined);
  assert.ok(lines.some((line) => line.includes("no audit device is enabled")));
  assert.deepEqual(health.healthy, [0]);
});

test("an enabled device has a test record first, then two records for each request", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  assert.equal(statSync(file).mode & 0o7777, 0o600);
  const request = aRequest();
  await made.audit.request(request, "");
  await made.audit.response(request, ANSWER);
  assert.deepEqual(
    linesOf(file).map((line) => JSON.parse(line).type),
    ["chain", "test", "request", "response"],
  );
  const [first, second] = recordsOf(file);
  assert.equal(first.request.id, second.request.id);
  assert.equal(made.health.healthy.at(-1), 1);
  assert.ok(made.health.writes.every(({ device, ok }) => device === "file" && ok));
});

test("a device that another cluster has made for all and that was never open here holds nobody up; once it was, it does", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  await made.audit.close();
  const node = made.barrier.view("core/other/");
  const elsewhere = { roots: [join(made.root, "elsewhere")], forbidden: [] };
  const other = (change: Partial<MadeAudit["options"]> = {}) => {
    const views = { ...made.options.views, node };
    const options = { ...made.options, views, places: elsewhere, sharedElsewhere: () => true };
    const audit = new Audit({ ...options, ...change });
    t.after(() => audit.close());
    return audit;
  };
  const never = other();
  await never.open();
  assert.equal(never.request(aRequest(), ""), undefined);
  assert.equal(never.response(aRequest(), ANSWER), undefined);
  const standing = (audit: Audit) => audit.facts().map((one) => [one.healthy, one.elsewhere]);
  assert.deepEqual(standing(never), [[false, true]]);
  await never.close();

  // Who writes what is shared has made it itself.
  assert.equal(
    (await refusal(() => other({ sharedElsewhere: () => false }).open())).code,
    NONE_OPENS,
  );

  const once = other({ places: made.options.places });
  await once.open();
  await once.request(aRequest(), "");
  await holds(file, 1);
  assert.deepEqual(standing(once), [[true, false]]);
  await until(() => node.keys("", { limit: 8 }).includes("met"));
  await once.close();
  assert.equal((await refusal(() => other().open())).code, NONE_OPENS);
});

test("a device that another cluster makes for all is open here, or known not to be, before anything is answered", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const node = made.barrier.view("core/other/");
  const views = { ...made.options.views, node };
  const region = (change: Partial<MadeAudit["options"]>) => {
    const audit = new Audit({ ...made.options, views, sharedElsewhere: () => true, ...change });
    t.after(() => audit.close());
    return audit;
  };
  const [can, cannot] = [
    region({}),
    region({ places: { roots: [join(made.root, "elsewhere")], forbidden: [] } }),
  ];
  await can.open();
  await cannot.open();
  const file = await enableFile(made);
  const before = wholeRecords(file);
  await Promise.all([can.request(aRequest(), ""), can.response(aRequest(), ANSWER)]);
  await until(() => wholeRecords(file) === before + 2);
  await cannot.request(aRequest(), "");
  assert.equal(cannot.request(aRequest(), ""), undefined);
});

test("devices are listed, found again after a restart, and gone when disabled", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  const log = await enableFile(made, "second/one");
  const listed = () => made.audit.list().map(({ path, healthy }) => `${path} ${healthy}`);
  assert.deepEqual(listed(), ["file true", "second/one true"]);
  assert.equal(made.audit.list()[0]?.options["file_path"], file);
  const hash = made.audit.hash("file", "text");
  await made.audit.close();
  assert.equal(made.audit.request(aRequest(), ""), undefined);

  const again = new Audit(made.options);
  t.after(() => again.close());
  await again.open();
  assert.equal(again.hash("file", "text"), hash);
  await again.disable("second/one");
  assert.deepEqual(
    again.list().map(({ path }) => path),
    ["file"],
  );
  await again.request(aRequest(), "");
  assert.equal(recordsOf(log).length, 0);
  assert.equal(recordsOf(file).length, 1);
  assert.equal((await refusal(() => again.disable("second/one"))).kind, "not-found");
  await again.disable("file");
  assert.equal(again.request(aRequest(), ""), undefined);
  assert.equal(await again.verify("file").catch((error: Failure) => error.kind), "not-found");
});

test("sealing and unsealing closes and opens the same devices, with one chain through both", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  await made.audit.request(aRequest(), "");
  await made.audit.close();
  await made.audit.open();
  await made.audit.request(aRequest(), "");
  assert.equal(recordsOf(file).length, 2);
  const { problem, records } = await made.audit.verify("file");
  assert.deepEqual([problem, records], [null, 5]);
});

test("local devices are kept apart in storage, and a path is used once", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const options = { file_path: made.file("l.log") };
  const device = { path: "l", type: "file", description: "", options };
  await made.audit.enable({ ...device, local: true });
  const { local, shared } = made.options.views;
  assert.equal(local.keys("devices/", { limit: 9 }).length, 1);
  assert.equal(shared.keys("devices/", { limit: 9 }).length, 0);
  assert.equal(
    (await refusal(() => made.audit.enable({ ...device, local: false }))).code,
    "audit-path-in-use",
  );
  for (const path of ["", "/", "a//b", "a b", "x".repeat(65), "a/b/c/d/e/f/g/h/i", "../a"]) {
    const refused = await refusal(() => made.audit.enable({ ...device, path, local: false }));
    assert.equal(refused.code, "audit-path-invalid", path);
  }
  const twice = await Promise.allSettled(
    [1, 2].map((n) =>
      made.audit.enable({
        ...device,
        path: "twice",
        options: { file_path: made.file(`twice-${n}.log`) },
        local: false,
      }),
    ),
  );
  assert.deepEqual(twice.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

test("T-G01: every marker in a request, its answer and its headers is found only as a hash", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  await made.audit.headers.set("x-custom", true);
  await made.audit.headers.set("authorization", true);
  const raw = await enableFile(made, "raw", { log_raw: "true" });
  const file = await enableFile(made);
  let count = 0;
  const mark = () => `MARKER-${String(count++).padStart(4, "0")}`;
  const { caller } = aRequest();
  assert.ok(caller !== null);
  const bytes = Buffer.from(mark());
  for (const error of ["", "permission denied"]) {
    const request = aRequest({
      credential: mark(),
      caller: { ...caller, accessor: mark() },
      data: { a: mark(), list: [mark(), { b: mark() }], deep: { er: { est: mark() } } },
      header: () => mark(),
    });
    await made.audit.request(request, error);
    const data = { keys: [mark()], secret: mark(), bytes: bytes as never };
    await made.audit.response(request, { data, warnings: [], error });
  }
  await Promise.all([raw, file].map((path) => holds(path, 4)));
  const text = readFileSync(file, "utf8");
  assert.doesNotMatch(text, /MARKER/);
  assert.ok(!text.includes(bytes.toString("base64")) && !text.includes(String([...bytes])));
  // The raw option is that device's alone.
  assert.match(readFileSync(raw, "utf8"), /MARKER/);
  // T-O03: nor do they reach the server's log, at its finest level.
  assert.doesNotMatch(made.world.lines.join(""), /MARKER/);
});

test("the same value has one hash in a device and another in the next", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const one = await enableFile(made, "one");
  const two = await enableFile(made, "two");
  await made.audit.request(aRequest(), "");
  await Promise.all([one, two].map((path) => holds(path, 1)));
  const passwordIn = (file: string) => recordsOf(file)[0].request.data.data.password;
  assert.equal(passwordIn(one), made.audit.hash("one", "hunter2"));
  assert.equal(passwordIn(two), made.audit.hash("two", "hunter2"));
  assert.notEqual(passwordIn(one), passwordIn(two));
  assert.equal(recordsOf(one)[0].auth.client_token, made.audit.hash("one", "token-of-ci"));
});

test("T-G02: a file outside the roots, or among the server's data, is refused by one text", async (t) => {
  const made = await madeAudit(t);
  const { root, data, store } = made;
  await made.audit.open();
  mkdirSync(data, { recursive: true });
  mkdirSync(join(data, "plugins"));
  mkdirSync(join(data, "open"));
  chmodSync(join(data, "open"), 0o777);
  symlinkSync(store, join(data, "way-out"));
  writeFileSync(join(store, "program"), "kept");
  symlinkSync(join(store, "program"), join(data, "link.log"));
  linkSync(join(store, "program"), join(data, "hard.log"));
  const audit = new Audit({
    ...made.options,
    places: { roots: [data], forbidden: [store, join(data, "plugins")] },
  });
  await audit.open();
  t.after(() => audit.close());
  const places = [
    join(root, "a.log"),
    "/etc/passwd",
    "/proc/self/mem",
    join(store, "a.log"),
    join(data, "plugins", "a.log"),
    join(data, "way-out", "a.log"),
    join(data, "open", "a.log"),
    join(data, "link.log"),
    join(data, "hard.log"),
    join(data, "none", "a.log"),
  ];
  const texts = new Set<string>();
  for (const place of places) {
    const device = { path: "x", type: "file", description: "", local: false };
    const refused = await refusal(() => audit.enable({ ...device, options: { file_path: place } }));
    assert.deepEqual([refused.kind, refused.code], ["invalid", "audit-file-refused"], place);
    texts.add(refused.message);
  }
  assert.equal(texts.size, 1);
  assert.equal(readFileSync(join(store, "program"), "utf8"), "kept");
  assert.equal(existsSync(join(store, "a.log")), false);
  assert.deepEqual(audit.list(), []);
});

test("T-G03: a directory, a pipe and a device node are no audit files", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  mkdirSync(made.file("folder"), { recursive: true });
  execFileSync("mkfifo", [made.file("pipe")]);
  for (const file of [made.file("folder"), made.file("pipe"), "/dev/null"]) {
    const device = { path: "x", type: "file", description: "", local: false };
    const refused = await refusal(() =>
      made.audit.enable({ ...device, options: { file_path: file } }),
    );
    assert.equal(refused.kind, "invalid", file);
  }
});

test("T-G04: the only device fails: requests are refused at once, and go on when it is back", async (t) => {
  const { files, disk } = badDisk();
  const made = await madeAudit(t, { files });
  await made.audit.open();
  await enableFile(made);
  disk.state = "full";
  const refused = await refusal(() => made.audit.request(aRequest(), ""));
  assert.deepEqual({ kind: refused.kind, code: refused.code, message: refused.message }, LOST);
  for (let i = 0; i < 100; i++) await refusal(() => made.audit.response(aRequest(), ANSWER));
  assert.equal(made.health.healthy.at(-1), 0);
  const told1 = made.world.lines.filter((line) => line.includes("no audit device took a record"));
  assert.equal(told1.length, 1); // not a line for each request
  const fell = made.world.lines.find((line) => line.includes("an audit device fails")) ?? "";
  assert.match(fell, /device="?file"? file="?\/\S+/, "the file is named, for whoever moved it");
  disk.state = "works";
  await made.world.timers.advance(5n * SECOND);
  await until(() => made.health.healthy.at(-1) === 1);
  await made.audit.request(aRequest(), "");
  assert.equal((await made.audit.verify("file")).problem, null);
});

test("T-G04: the only device hangs: requests fail after its time-out", async (t) => {
  const { files, disk } = badDisk();
  const made = await madeAudit(t, { files });
  await made.audit.open();
  await enableFile(made);
  disk.state = "hangs";
  const waiting = refusal(() => made.audit.request(aRequest(), ""));
  await until(() => disk.hanging === 1);
  await made.world.timers.advance(10n * SECOND);
  assert.equal((await waiting).code, "audit-failed");
  assert.equal((await refusal(() => made.audit.request(aRequest(), ""))).code, "audit-failed");
  const closing = made.audit.close();
  await made.world.timers.advance(30n * SECOND);
  await closing; // a hanging disk does not keep the server from sealing
});

test("T-G04: of two devices one suffices, at once, whether the other is full or hangs", async (t) => {
  for (const state of ["full", "hangs"] as const) {
    const { files, disk } = badDisk();
    disk.only = "bad";
    const made = await madeAudit(t, { files });
    await made.audit.open();
    await enableFile(made, "bad");
    const good = await enableFile(made, "good");
    disk.state = state;
    for (let i = 0; i < 20; i++) {
      await made.audit.request(aRequest(), ""); // no time passes
      await made.audit.response(aRequest(), ANSWER);
    }
    assert.equal(recordsOf(good).length, 40);
    await made.world.timers.advance(10n * SECOND);
    assert.equal(made.health.healthy.at(-1), 1);
    assert.deepEqual(
      made.audit.list().map(({ healthy }) => healthy),
      [false, true],
    );
    const closing = made.audit.close();
    await made.world.timers.advance(30n * SECOND);
    await closing;
  }
});

test("a device that takes no test record is not enabled, unless the test is skipped", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const options = { address: join(made.root, "nobody.sock"), socket_type: "unix" };
  const device = { path: "s", type: "socket", description: "", options, local: false };
  assert.equal((await refusal(() => made.audit.enable(device))).code, "audit-test-failed");
  assert.deepEqual(made.audit.list(), []);
  assert.equal(made.audit.request(aRequest(), ""), undefined);
  await made.audit.enable({ ...device, skipTest: true });
  assert.deepEqual(
    made.audit.list().map(({ healthy }) => healthy),
    [false],
  );
  assert.equal((await refusal(() => made.audit.request(aRequest(), ""))).code, "audit-failed");
});

test("opening: one device that opens is enough, none is refused, and nothing is left open", async (t) => {
  const { files, disk } = badDisk();
  const made = await madeAudit(t, { files });
  await made.audit.open();
  await enableFile(made, "bad");
  await enableFile(made, "good");
  await made.audit.close();
  disk.state = "full";
  disk.only = "bad";
  const one = new Audit(made.options);
  await one.open();
  assert.deepEqual(
    one.list().map(({ path, healthy }) => [path, healthy]),
    [
      ["bad", false],
      ["good", true],
    ],
  );
  await one.close();
  disk.only = "";
  const none = new Audit(made.options);
  assert.equal((await refusal(() => none.open())).code, "audit-no-device");
  assert.deepEqual(none.list(), []);
});

test("devices of another cluster that do not open here keep nobody from opening: what has to be recorded is refused", async (t) => {
  const { files, disk } = badDisk();
  const made = await madeAudit(t, { files });
  await made.audit.open();
  await enableFile(made);
  await made.audit.close();
  disk.state = "full";
  const foreign = new Audit(made.options);
  t.after(() => foreign.close());
  await foreign.open({ foreign: true });
  assert.deepEqual(
    foreign.list().map(({ healthy }) => healthy),
    [false],
  );
  await assert.rejects(async () => foreign.request(aRequest(), ""), LOST);
});

test("on a node whose data is another cluster's, a declared device has a key of this node", async (t) => {
  const made = await madeAudit(t);
  await made.stored.follow();
  const conf = { path: "conf", type: "file", options: { file_path: join(made.root, "c.log") } };
  const audit = new Audit({ ...made.options, declared: [conf] });
  t.after(() => audit.close());
  await audit.open();
  await audit.request(aRequest(), "");
  assert.equal(recordsOf(join(made.root, "c.log")).length, 1);
  assert.equal(made.stored.keys("core/audit/declared/", { limit: 9 }).length, 1);
});

test("a stored device that this server does not allow counts as one that cannot be opened", async (t) => {
  const made = await madeAudit(t, { allowPrefix: true });
  await made.audit.open();
  await enableFile(made, "p", { prefix: "x " });
  await made.audit.close();
  const strict = new Audit({ ...made.options, allowPrefix: false });
  assert.equal((await refusal(() => strict.open())).code, "audit-no-device");
});

test("files are opened anew on reload, as outside tools expect", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  await made.audit.request(aRequest(), "");
  renameSync(file, `${file}.1`);
  await made.audit.request(aRequest(), "");
  assert.equal(recordsOf(`${file}.1`).length, 2);
  assert.deepEqual(await made.audit.reload(), []);
  await made.audit.request(aRequest(), "");
  assert.equal(recordsOf(`${file}.1`).length, 2);
  assert.equal(recordsOf(file).length, 1);
});

test("declared devices may lie outside the roots, cannot be changed over the API, and follow reloads", async (t) => {
  const made = await madeAudit(t);
  const { root, store } = made;
  const at = (name: string) => ({ file_path: join(root, name) });
  const first = { path: "conf", type: "file", options: at("c.log") };
  const audit = new Audit({ ...made.options, declared: [first] });
  t.after(() => audit.close());
  await audit.open();
  await audit.request(aRequest(), "");
  assert.equal(recordsOf(join(root, "c.log")).length, 1);
  assert.equal(audit.list()[0]?.declared, true);
  assert.equal((await refusal(() => audit.disable("conf"))).code, "audit-device-declared");
  const same = { ...first, description: "", local: false };
  assert.equal((await refusal(() => audit.enable(same))).code, "audit-device-declared");

  const hash = audit.hash("conf", "x");
  const moved = { ...first, options: at("d.log") };
  assert.deepEqual(
    await audit.reload([moved, { path: "more", type: "file", options: at("e.log") }]),
    [],
  );
  await audit.request(aRequest(), "");
  await Promise.all(["d.log", "e.log"].map((name) => holds(join(root, name), 1)));
  assert.equal(recordsOf(join(root, "c.log")).length, 1);
  assert.equal(audit.hash("conf", "x"), hash); // it is the same device

  const problems = await audit.reload([
    { ...moved, options: { ...moved.options, colour: "red" } },
    { path: "bad", type: "file", options: { file_path: join(store, "f.log") } },
  ]);
  assert.equal(problems.length, 2);
  assert.match(problems[0] ?? "", /conf.*unknown option colour/);
  assert.match(problems[1] ?? "", /bad: it cannot be opened/);
  assert.equal(existsSync(join(store, "f.log")), false);
  await audit.request(aRequest(), "");
  assert.equal(recordsOf(join(root, "d.log")).length, 2); // the old setting is kept
  assert.equal(recordsOf(join(root, "e.log")).length, 1); // no longer declared
  assert.deepEqual(await audit.reload([]), []);
  assert.equal(audit.request(aRequest(), ""), undefined);
});

test("headers are recorded in the requests that follow the setting, also after a restart", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made);
  const request = aRequest({ header: (name) => (name === "x-trace" ? "abc" : undefined) });
  await made.audit.request(request, "");
  await made.audit.headers.set("x-trace", false);
  assert.deepEqual(made.audit.headers.all(), { "x-trace": { hmac: false } });
  await made.audit.request({ ...request }, "");
  await made.audit.close();
  const again = new Audit(made.options);
  t.after(() => again.close());
  await again.open();
  await again.request({ ...request }, "");
  await again.headers.remove("x-trace");
  await again.request({ ...request }, "");
  const headers = recordsOf(file).map((record) => record.request.headers);
  assert.deepEqual(headers, [{}, { "x-trace": ["abc"] }, { "x-trace": ["abc"] }, {}]);
  for (const name of ["authorization", "x-service-token", "x-vault-token", "cookie", "x-api-key"]) {
    assert.equal((await refusal(() => again.headers.set(name, false))).code, "audit-header-secret");
  }
  for (const name of ["", "a b", "x\r\ny", "é", "x".repeat(65)]) {
    assert.equal((await refusal(() => again.headers.set(name, true))).code, "audit-header-invalid");
  }
  assert.equal((await refusal(() => again.headers.find("none"))).kind, "not-found");
});

test("T-G08: hashing is paced, for all devices together", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  await enableFile(made);
  for (let i = 0; i < 10; i++) made.audit.hash("file", `guess ${i}`);
  const refused = await refusal(() => made.audit.hash("file", "one more"));
  assert.deepEqual([refused.kind, refused.retryAfter], ["rate-limited", 1]);
  made.world.clock.pass(SECOND);
  made.audit.hash("file", "one more");
});

test("T-G09: the check of a trail reads all files of a device and names the bad line", async (t) => {
  const made = await madeAudit(t);
  await made.audit.open();
  const file = await enableFile(made, "file", { rotate_bytes: "8192" });
  for (let i = 0; i < 30; i++) {
    await made.audit.request(aRequest(), "");
    await made.world.timers.advance(SECOND);
  }
  const good = await made.audit.verify("file");
  assert.ok(good.files.length > 3);
  assert.deepEqual([good.problem, good.first, good.head?.number], [null, 1, good.records]);

  const [, second] = good.files;
  const lines = linesOf(second!);
  writeFileSync(second!, `${lines.with(1, lines[1]!.replace("secret", "public")).join("\n")}\n`);
  const bad = await made.audit.verify("file");
  assert.equal(bad.file, second);
  assert.equal(bad.problem?.line, 2);
  writeFileSync(second!, `${lines.join("\n")}\n`);

  // Cut off at the end, while the server runs.
  const last = linesOf(file);
  writeFileSync(file, `${last.slice(0, -1).join("\n")}\n`);
  assert.match((await made.audit.verify("file")).problem?.reason ?? "", /record.* missing/);
});

test("no two devices write one file, by whatever path leads there, and the refusal names the other", async (t) => {
  const made = await madeAudit(t);
  const file = made.file("a.log");
  mkdirSync(made.file("deeper"), { recursive: true, mode: 0o700 });
  symlinkSync(made.file("deeper"), made.file("link"));
  const conf = { path: "conf", type: "file", options: { file_path: made.file("deeper/c.log") } };
  const twin = { path: "twin", type: "file", options: { file_path: made.file("link/c.log") } };
  const audit = new Audit({ ...made.options, declared: [conf] });
  t.after(() => audit.close());
  await audit.open();
  const device = { type: "file", description: "", local: false };
  const enable = (path: string, file_path: string) =>
    audit.enable({ ...device, path, options: { file_path } });
  await enable("f", file);
  for (const [path, other] of [
    [file, "f"],
    [made.file("deeper/../a.log"), "f"],
    [made.file("deeper/c.log"), "conf"],
    [made.file("link/c.log"), "conf"],
  ] as const) {
    const refused = await refusal(() => enable("g", path));
    assert.deepEqual([refused.kind, refused.code], ["invalid", "audit-file-in-use"], path);
    assert.equal(
      refused.message,
      `file_path is the file of the audit device ${other}/; each needs one of its own`,
    );
  }
  const both = await Promise.allSettled(["h", "i"].map((path) => enable(path, made.file("b.log"))));
  assert.equal(both.filter(({ status }) => status === "fulfilled").length, 1);
  const problems = await audit.reload([conf, twin]);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /"twin": file_path is the file of the audit device conf\//);
  await audit.disable("f");
  await enable("g", file); // nobody's now
});
