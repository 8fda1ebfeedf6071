// Plugins in containers of an engine: podman's own, where that is installed, and one that is strict about what it is sent.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { test, type TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { busyboxImage, smallPluginImage } from "../../../tests/support/plugins/image-place.ts";
import { hold, PluginPlace, say } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemChildProcesses } from "../../system/child-processes.ts";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { type MadeImage, tarOf } from "../images/made-image.ts";
import type { Program, RuntimeEntry } from "../ports.ts";
import { ANSWERS_WITHIN, DockerEngine } from "./docker-engine.ts";
import { DockerRunner } from "./docker.ts";
import type { Exit, Launch, Running } from "./runner.ts";

const isRoot = process.getuid?.() === 0;
const ID = "ab".repeat(32);
const files = new SystemProgramFiles();
const children = new SystemChildProcesses();

function runnerAt(socket: string): DockerRunner {
  return new DockerRunner({ files, children, socket, runtimes: ["runsc", "runc"] });
}

function programOf(changes: Partial<Program>, container: Partial<RuntimeEntry> = {}): Program {
  return {
    type: "secret",
    name: "boxed",
    version: "v1.0.0",
    sha256: ID,
    command: "",
    args: [],
    env: [],
    ociImage: "box",
    runtime: "",
    network: "none",
    container: {
      name: "box",
      ociRuntime: "runc",
      rootless: false,
      cgroupParent: "",
      cpuNanos: 0,
      memoryBytes: 0,
      ...container,
    },
    ...changes,
  };
}

let count = 0;
function launchOf(place: PluginPlace, program: Program): Launch & { readonly ends: string[][] } {
  const id = `t${process.pid}x${++count}`;
  const base = join(place.base, id);
  const folders = { own: join(base, "own"), ours: join(base, "ours"), aside: join(base, "aside") };
  for (const path of [base, folders.own, folders.ours]) mkdirSync(path, { mode: 0o711 });
  const ends: string[][] = [];
  const kept = {
    group: async () => {},
    command: async (words: readonly string[]) => void ends.push([...words]),
  };
  return { program, file: null, env: { OF_THE_TEST: "yes" }, folders, id, kept, ends };
}

async function outcome(
  running: Running,
): Promise<Exit & { readonly out: string; readonly err: string }> {
  let [out, err] = ["", ""];
  running.stdout.on("data", (bytes: Buffer) => (out += bytes.toString()));
  running.stderr.on("data", (bytes: Buffer) => (err += bytes.toString()));
  const exit = await running.exited;
  return { ...exit, out, err };
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => assert.fail("it was started"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Failure, String(error));
  return `${error.code}: ${error.message}`;
}

// ── an engine that takes what its documentation says, and notes it ──

interface FakeEngine {
  readonly socket: string;
  readonly calls: string[];
  created: Record<string, unknown>;
  /** What the engine does otherwise than it should. */
  runtime: string | null;
  id: string;
  user: string;
  /** Of the image: what the engine packs into an archive; null: there is none. */
  passwd: Buffer | null;
  /** Why it creates nothing. */
  refuses: string | null;
  /** Ends the container. */
  end(code: number): void;
  print(stream: 1 | 2, text: string): void;
}

function frame(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

async function fakeEngine(t: TestContext, place: PluginPlace): Promise<FakeEngine> {
  const socket = join(place.base, "engine.sock");
  const ended = Promise.withResolvers<number>();
  let attached: NodeJS.WritableStream | null = null;
  const engine: FakeEngine = {
    socket,
    calls: [],
    created: {},
    runtime: null,
    id: `sha256:${ID}`,
    user: "",
    passwd: null,
    refuses: null,
    end: (code) => ended.resolve(code),
    print: (stream, text) => {
      // In pieces as they may come.
      const bytes = frame(stream, text);
      attached?.write(bytes.subarray(0, 5));
      attached?.write(bytes.subarray(5));
    },
  };
  const answers = async (method: string, path: string, asks: IncomingMessage) => {
    let body = "";
    for await (const piece of asks) body += String(piece);
    const [where = "", query = ""] = path.split("?");
    if (method === "GET" && where === "/images/box:1.0.0/json") {
      return [200, { Id: engine.id, Config: { User: engine.user } }] as const;
    }
    if (method === "POST" && where === "/containers/create") {
      assert.match(query, /^name=holdfast-t\d+x\d+$/);
      assert.equal(asks.headers["content-type"], "application/json");
      if (engine.refuses !== null) return [500, { message: engine.refuses }] as const;
      engine.created = JSON.parse(body) as Record<string, unknown>;
      return [201, { Id: "c1", Warnings: [] }] as const;
    }
    const [, rest] = /^\/containers\/holdfast-t\d+x\d+(.*)$/.exec(where) ?? [];
    const host = (engine.created["HostConfig"] ?? {}) as Record<string, unknown>;
    switch (`${method} ${rest}`) {
      case "GET /json":
        return [
          200,
          { HostConfig: { ...host, Runtime: engine.runtime ?? host["Runtime"] } },
        ] as const;
      case "GET /archive":
        assert.equal(query, "path=/etc/passwd");
        return engine.passwd === null
          ? ([404, { message: "no such file" }] as const)
          : ([200, engine.passwd] as const);
      case "POST /start":
        return [204, null] as const;
      case "POST /wait":
        return [200, { StatusCode: await ended.promise }] as const;
      case "POST /kill":
        engine.end(137);
        return [204, null] as const;
      case "DELETE ":
        return [204, null] as const;
      default:
        return [404, { message: `page not found: ${method} ${path}` }] as const;
    }
  };
  const server: Server = createServer((asks, answer) => {
    engine.calls.push(`${asks.method} ${asks.url?.replace(/t\d+x\d+/, "ID")}`);
    void answers(asks.method ?? "", asks.url ?? "", asks).then(
      ([status, data]) =>
        answer
          .writeHead(status)
          .end(data === null ? "" : Buffer.isBuffer(data) ? data : JSON.stringify(data)),
      (error: unknown) => answer.writeHead(500).end(JSON.stringify({ message: String(error) })),
    );
  });
  server.on("upgrade", (asks, to) => {
    engine.calls.push(`${asks.method} ${asks.url?.replace(/t\d+x\d+/, "ID")}`);
    to.on("error", () => {});
    to.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    attached = to;
    void ended.promise.then(() => to.end());
  });
  server.listen(socket);
  await once(server, "listening");
  t.after(() => void server.close());
  return engine;
}

function placeOf(t: TestContext): PluginPlace {
  const place = new PluginPlace();
  t.after(() => place.remove());
  return place;
}

test("an engine is told what to run, from the image that is registered, with every limit and no right", async (t) => {
  const place = placeOf(t);
  const engine = await fakeEngine(t, place);
  const limits = { cpuNanos: 5e8, memoryBytes: 2 ** 26, cgroupParent: "/plugins" };
  const launch = launchOf(place, programOf({ args: ["a", "b"] }, limits));
  const running = await runnerAt(engine.socket).start(launch);
  assert.deepEqual(engine.created, {
    Image: `sha256:${ID}`,
    Cmd: ["a", "b"],
    Env: ["OF_THE_TEST=yes", ...(isRoot ? [] : [`PLUGIN_UNIX_SOCKET_GROUP=${process.getgid?.()}`])],
    User: "65532:65532",
    AttachStdout: true,
    AttachStderr: true,
    Labels: {
      "io.holdfast.pid": String(process.pid),
      "io.holdfast.plugin.name": "boxed",
      "io.holdfast.plugin.type": "secret",
      "io.holdfast.plugin.version": "v1.0.0",
    },
    HostConfig: {
      Runtime: "runc",
      NetworkMode: "none",
      CapDrop: ["ALL"],
      CapAdd: [],
      SecurityOpt: ["no-new-privileges"],
      Privileged: false,
      ReadonlyRootfs: true,
      Tmpfs: { "/tmp": "rw,nosuid,nodev,noexec,size=16m,mode=1777" },
      Mounts: [
        [launch.folders.own, "/tmp/holdfast/own", false] as const,
        [launch.folders.ours, "/tmp/holdfast/ours", true] as const,
      ].map(([Source, Target, ReadOnly]) => ({
        Type: "bind",
        Source,
        Target,
        ReadOnly,
        BindOptions: { Propagation: "private", NonRecursive: true },
      })),
      GroupAdd: isRoot ? [] : [String(process.getgid?.())],
      PidsLimit: 256,
      Ulimits: [
        { Name: "nofile", Soft: 1024, Hard: 1024 },
        { Name: "nproc", Soft: 4096, Hard: 4096 },
      ],
      Memory: 2 ** 26,
      MemorySwap: 2 ** 26,
      NanoCpus: 5e8,
      CgroupParent: "/plugins",
      LogConfig: { Type: "none" },
      RestartPolicy: { Name: "" },
    },
  });
  if (isRoot) assert.equal(statSync(launch.folders.own).uid, 65532);
  const said = outcome(running);
  engine.print(1, "line of ");
  engine.print(2, "trouble");
  engine.print(1, "output\n");
  engine.end(7);
  const { code, out, err } = await said;
  assert.deepEqual([code, out, err], [7, "line of output\n", "trouble"]);
  assert.deepEqual(engine.calls, [
    "GET /images/box:1.0.0/json",
    "POST /containers/create?name=holdfast-ID",
    "GET /containers/holdfast-ID/json",
    "POST /containers/holdfast-ID/attach?stream=1&stdout=1&stderr=1",
    "POST /containers/holdfast-ID/wait?condition=next-exit",
    "POST /containers/holdfast-ID/start",
    "DELETE /containers/holdfast-ID?force=1&v=1",
  ]);
  // What ends it when the server is gone.
  const [file = "", ...args] = launch.ends[0] ?? [];
  await once(spawn(file, args, { env: {}, stdio: "ignore" }), "exit");
  assert.equal(engine.calls.at(-1), "DELETE /containers/holdfast-ID?force=1&v=1");
  assert.equal(engine.calls.length, 8);
});

test("another image, another runtime, or an engine that is not there: nothing is started, and nothing is left", async (t) => {
  const place = placeOf(t);
  const engine = await fakeEngine(t, place);
  const start = (changes: Partial<Program> = {}, container: Partial<RuntimeEntry> = {}) =>
    runnerAt(engine.socket).start(launchOf(place, programOf(changes, container)));
  engine.id = `sha256:${"0".repeat(64)}`;
  assert.match(await refusal(start()), /^plugin-image-other: checksums did not match/);
  engine.id = `sha256:${ID}`;
  assert.match(await refusal(start({ version: "v2.0.0" })), /^plugin-image-missing: .*box:2\.0\.0/);
  assert.match(await refusal(start({ ociImage: "../x" })), /^plugin-image-missing/);
  assert.match(await refusal(start({}, { ociRuntime: "kata" })), /^plugin-runtime-not-allowed/);
  engine.runtime = "runc";
  const usual = await refusal(start({}, { ociRuntime: "" }));
  assert.match(usual, /^plugin-runtime-unfit: .* would run it by runc and not by runsc/);
  assert.ok(!engine.calls.some((call) => call.endsWith("/start")));
  assert.equal(engine.calls.at(-1), "DELETE /containers/holdfast-ID?force=1&v=1");
  assert.ok(!engine.calls.some((call) => call.includes("..")), "no name leads elsewhere");
  engine.runtime = "runc \u001b[31m";
  assert.match(await refusal(start()), /would run it by another one and not by runc/);
  engine.refuses = `no \u001b[31m\n${"x".repeat(1000)}`;
  const refused = await refusal(start());
  assert.match(refused, /did not create it: no \[31m x+$/);
  assert.ok(refused.length < 500, refused);
  engine.refuses = "x".repeat(5 * 2 ** 20);
  assert.match(await refusal(start()), /it answers with more than is read of it/);
  const nobody = runnerAt(join(place.base, "nobody.sock"));
  const launch = launchOf(place, programOf({}));
  assert.match(
    await refusal(nobody.start(launch)),
    /^plugin-runtime-unfit: .*cannot be reached by its socket/,
  );
});

test(
  "an engine that is silent for too long is told so, and may be so where it is waited for",
  { timeout: 30_000 },
  async (t) => {
    const place = placeOf(t);
    const socket = join(place.base, "silent.sock");
    const requests: string[] = [];
    const server = createServer((asks, answer) => {
      requests.push(`${asks.method} ${asks.url}`);
      // One that begins to answer has as much time for each piece.
      if (asks.url === "/half") answer.writeHead(200).write("{");
    });
    server.listen(socket);
    await once(server, "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    assert.equal(ANSWERS_WITHIN, 60_000);
    const engine = new DockerEngine(socket, 100);
    const waited = engine.call("POST", "/wait", undefined, true);
    let isOver = false;
    const over = waited.catch(() => {}).then(() => (isOver = true));
    for (const asking of [engine.call("GET", "/info"), engine.read("/archive")]) {
      await assert.rejects(asking, /it cannot be reached by its socket: it does not answer/);
    }
    await assert.rejects(engine.call("GET", "/half"), /does not answer|aborted/);
    assert.ok(!isOver, "it may take as long as a plugin lives");
    assert.equal(requests.length, 4);
    server.closeAllConnections();
    await over;
  },
);

test("T-H14: what a container prints and nobody reads is left to its engine", async (t) => {
  const place = placeOf(t);
  const engine = await fakeEngine(t, place);
  const running = await runnerAt(engine.socket).start(launchOf(place, programOf({})));
  const piece = "x".repeat(2 ** 16);
  for (let i = 0; i < 128; i++) engine.print(1, piece);
  const { stdout } = running as unknown as { readonly stdout: Duplex };
  const kept = () => stdout.readableLength + stdout.writableLength;
  for (let still = 0, before = -1; still < 200; still++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (kept() !== before) [still, before] = [0, kept()];
  }
  assert.ok(kept() > 0 && kept() < 2 ** 19, `${kept()} bytes of 8 MiB`);
  let bytes = 0;
  stdout.on("data", (more: Buffer) => (bytes += more.length));
  engine.end(0);
  await once(stdout, "end");
  assert.equal(bytes, 2 ** 23);
  await running.exited;
});

test("T-H07: whatever an image calls it, root is not who it runs as, and nobody else takes its place", async (t) => {
  const place = placeOf(t);
  const engine = await fakeEngine(t, place);
  const archive = (text: string) => tarOf([{ path: "passwd", content: Buffer.from(text) }]);
  const rows = "root:x:0:0::/:/bin/sh\ntoor:x:0:0::/:/bin/sh\nodd:x:+00:0::/:/bin/sh\n";
  engine.passwd = archive(`${rows}app:x:1234:1234::/:/bin/sh\n`);
  const userOf = async (user: string, rootless = false) => {
    engine.user = user;
    const launch = launchOf(place, programOf({}, { rootless }));
    const running = await runnerAt(engine.socket).start(launch);
    running.kill();
    await running.exited;
    return engine.created["User"];
  };
  for (const root of [
    "",
    "root",
    "root:app",
    "0",
    "0:7",
    "000",
    "+0",
    "-0:0",
    ":0",
    "toor",
    "odd:1",
  ]) {
    assert.equal(await userOf(root), "65532:65532", root);
    assert.equal(await userOf(root, true), undefined, `${root}, which is nobody outside`);
  }
  for (const other of ["1", "10:0", "+7", "app", "app:root", "roots"]) {
    assert.equal(await userOf(other), undefined, other);
  }
  engine.calls.length = 0;
  await userOf("toor");
  const begun = engine.calls.indexOf("GET /images/box:1.0.0/json");
  assert.deepEqual(engine.calls.slice(begun + 1, begun + 6), [
    "POST /containers/create?name=holdfast-ID",
    "GET /containers/holdfast-ID/archive?path=/etc/passwd",
    "DELETE /containers/holdfast-ID?force=1&v=1",
    "POST /containers/create?name=holdfast-ID",
    "GET /containers/holdfast-ID/json",
  ]);
  const link = archive("");
  link[156] = 0x32;
  for (const passwd of [
    Buffer.alloc(0),
    Buffer.alloc(4096, "x"),
    link,
    archive("x".repeat(4096)).subarray(0, 1024),
  ]) {
    engine.passwd = passwd;
    const calls = engine.calls.length;
    assert.match(await refusal(userOf("app")), /does not show \/etc\/passwd of the image/);
    assert.ok(!engine.calls.slice(calls).some((call) => call.endsWith("/start")));
    assert.equal(engine.calls.at(-1), "DELETE /containers/holdfast-ID?force=1&v=1");
  }
  engine.passwd = null;
  assert.equal(await userOf("app"), undefined, "the engine itself knows nobody then");
});

test("one that is killed is removed, and an image's own user is left as it is", async (t) => {
  const place = placeOf(t);
  const engine = await fakeEngine(t, place);
  engine.user = "app";
  const running = await runnerAt(engine.socket).start(
    launchOf(place, programOf({ command: "/bin/app" })),
  );
  assert.equal(engine.created["User"], undefined);
  assert.deepEqual([engine.created["Entrypoint"], engine.created["Cmd"]], [["/bin/app"], []]);
  running.kill();
  assert.equal((await running.exited).code, 137);
  assert.equal(engine.calls.at(-1), "DELETE /containers/holdfast-ID?force=1&v=1");
});

// ── podman ──

const podman = ["/usr/bin/podman", "/usr/local/bin/podman"].find((path) => existsSync(path));

async function post(
  socket: string,
  path: string,
  body: Uint8Array = Buffer.alloc(0),
): Promise<void> {
  const headers = { "content-type": "application/x-tar", "content-length": body.length };
  const sent = request({ socketPath: socket, method: "POST", path, headers });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let said = "";
  for await (const piece of answer) said += String(piece);
  assert.ok((answer.statusCode ?? 500) < 300, said);
}

async function load(socket: string, name: string, image: MadeImage): Promise<string> {
  const entries = [...image.files].map(([path, content]) => ({ path, content }));
  await post(socket, "/images/load", tarOf(entries));
  await post(socket, `/images/${image.sha256}/tag?repo=${name}&tag=1.0.0`);
  return image.sha256;
}

if (podman !== undefined && isRoot) {
  test("podman runs a plugin, holds it to its limits, and keeps nothing of it", async (t) => {
    const place = placeOf(t);
    const socket = join(place.base, "podman.sock");
    const folder = (name: string) => join(place.base, name);
    chmodSync(place.base, 0o755);
    const storage = [
      "--root",
      folder("root"),
      "--runroot",
      folder("run"),
      "--storage-driver",
      "vfs",
    ];
    const how = ["--cgroup-manager", "cgroupfs", "--runtime", "runc"];
    const service = spawn(
      podman,
      [...storage, ...how, "system", "service", "--time=0", `unix://${socket}`],
      {
        stdio: "ignore",
      },
    );
    try {
      await until(() => existsSync(socket));
      const runner = runnerAt(socket);
      const busybox = "/bin/busybox";
      const box = await load(socket, "box", busyboxImage(busybox));
      const boxed = (script: string, container: Partial<RuntimeEntry> = {}) =>
        runner.start(launchOf(place, programOf({ sha256: box, args: [script] }, container)));
      const script =
        "id; cat /proc/self/status; ls -ld /tmp/holdfast/own; touch /tmp/holdfast/own/x; touch /x; ip link | grep -c '^[0-9]'";
      const { code, out, err } = await outcome(await boxed(script));
      assert.equal(code, 0, err);
      assert.match(out, /^uid=65532(?:\(65532\))? gid=65532/);
      for (const line of [
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
      ]) {
        assert.ok(out.includes(line), line);
      }
      assert.match(err, /^touch: \/x: Read-only file system\n$/);
      assert.ok(out.endsWith("\n1\n"), "lo alone");
      assert.equal(
        (await outcome(await boxed("tail /dev/zero", { memoryBytes: 2 ** 24 }))).code,
        137,
      );
      assert.match(
        await refusal(boxed("true", { ociRuntime: "runsc" })),
        /would run it by runc and not by runsc/,
      );

      const small = await load(socket, "small", smallPluginImage());
      const processes = await place.open({}, { containers: runner });
      t.after(() => processes.close());
      const program = programOf({ sha256: small, ociImage: "small" }, { memoryBytes: 2 ** 29 });
      const held = await hold(processes, program);
      assert.equal(await say(held, "echo", "by podman"), "by podman");
      assert.match(await say(held, "status"), /^Uid:\s+65532/m);
      await assert.rejects(say(held, "takes memory", String(2 ** 31)));
      assert.match((await held.ended).cause, /exited with code 137: .*memory_bytes/);
      const again = await hold(processes, program);
      assert.equal(await say(again, "echo", "again"), "again");
      await processes.close();
      const sent = request({ socketPath: socket, path: "/containers/json?all=1" });
      sent.end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      assert.equal(String(await answer.toArray()).trim(), "[]");
    } finally {
      service.kill("SIGKILL");
      await once(service, "exit");
    }
  });
}
