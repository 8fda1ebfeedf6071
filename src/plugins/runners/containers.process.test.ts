// Plugins in real containers. Where runc cannot run, its own words say why, and these tests fail unless HOLDFAST_NO_CONTAINERS=1
// says that this is known.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  busyboxImage,
  perlImage,
  putImage,
  smallPluginImage,
} from "../../../tests/support/plugins/image-place.ts";
import { REFUSED_CALLS } from "../../../tests/support/plugins/refused-calls.ts";
import { hold, PluginPlace, runs, say } from "../../../tests/support/plugins/plugin-place.ts";
import { until } from "../../../tests/support/until.ts";
import type { Program, RuntimeEntry } from "../ports.ts";
import type { PluginProcesses } from "../process/plugin-processes.ts";
import type { Exit, Running } from "./runner.ts";

const MIB = 2 ** 20;
const RUNTIMES = ["runc", "crun", "runsc"];
const CGROUPS = "/sys/fs/cgroup";
const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path)) ?? "";
const place = new PluginPlace();
const runner = place.containers(RUNTIMES);
const sums = { small: "", box: "" };
let processes: PluginProcesses;
/** Why nothing here can be tried; null where it can. */
let cannot: string | null = null;

before(async () => {
  processes = await place.open({}, { containers: runner });
  if (busybox === "") {
    cannot = "busybox is not there: install busybox-static";
    return;
  }
  sums.box = putImage(place.directory, "box", busyboxImage(busybox));
  try {
    const { code, why = "", said } = await outcome(await box("echo it runs"));
    if (code !== 0 || said !== "it runs\n") cannot = `runc ended with ${code}: ${why}`;
  } catch (error) {
    cannot = String(error);
  }
  if (cannot === null) sums.small = putImage(place.directory, "small", smallPluginImage());
});

after(async () => {
  await processes.close();
  assert.deepEqual(place.runs(), []);
  assert.deepEqual(globSync(`${CGROUPS}/**/holdfast-${MARK}*`), []);
  place.remove();
});

function contained(name: string, run: (t: TestContext) => Promise<void>): void {
  test(name, async (t) => {
    if (cannot === null) return await run(t);
    t.diagnostic(cannot);
    assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", cannot);
  });
}

const MARK = process.pid.toString(36);
let count = 0;

/** Words for the shell of a small image. */
async function box(
  script: string,
  container: Partial<RuntimeEntry> = {},
  changes: Partial<Program> = {},
): Promise<Running & { readonly id: string; readonly ends: readonly (readonly string[])[] }> {
  const id = `${MARK}x${++count}`;
  const base = join(place.base, id);
  const folders = { own: join(base, "own"), ours: join(base, "ours"), aside: join(base, "aside") };
  for (const path of [base, folders.own, folders.ours]) mkdirSync(path, { mode: 0o711 });
  writeFileSync(join(folders.ours, "seen"), "seen");
  const ends: (readonly string[])[] = [];
  const kept = {
    group: async () => {},
    command: async (words: readonly string[]) => void ends.push(words),
  };
  const running = await runner.start({
    program: boxed(container, {
      sha256: sums.box,
      ociImage: "box",
      args: [script],
      ...changes,
    }),
    file: null,
    env: { OF_THE_TEST: "yes" },
    folders,
    id,
    kept,
  });
  return Object.assign(running, { id, ends });
}

function boxed(container: Partial<RuntimeEntry>, changes: Partial<Program> = {}): Program {
  return place.program({
    sha256: sums.small,
    command: "",
    ociImage: "small",
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
  });
}

async function outcome(running: Running): Promise<Exit & { readonly said: string }> {
  let said = "";
  let trouble = "";
  running.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
  running.stderr.on("data", (bytes: Buffer) => (trouble += bytes.toString()));
  const exit = await running.exited;
  return { ...exit, said: said + trouble };
}

async function refusal(promise: Promise<unknown>): Promise<Failure> {
  const error: unknown = await promise.then(
    () => assert.fail("it was started"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Failure, String(error));
  return error;
}

contained(
  "case 150: a plugin in a container works, as nobody, without rights and without a network",
  async () => {
    const held = await hold(processes, boxed({ memoryBytes: 512 * MIB }));
    const status = await say(held, "status");
    assert.match(status, /^Uid:\s+65532\s+65532/m);
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^CapBnd:\s+0+$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^Seccomp:\s+2$/m);
    assert.match(status, /^Pid:\s+1$/m, "it sees its own processes alone");
    assert.deepEqual(JSON.parse(await say(held, "interfaces")), ["lo"]);
    assert.equal(await say(held, "writes", "/srv/x"), "EROFS");
    assert.equal(await say(held, "writes", "/tmp/holdfast/ours/x"), "EROFS");
    assert.equal(await say(held, "writes", "/tmp/x"), "written");
    const env = JSON.parse(await say(held, "environment")) as Record<string, string>;
    assert.equal(env["OF_THE_IMAGE"], "yes");
    assert.equal(env["PLUGIN_UNIX_SOCKET_DIR"], "/tmp/holdfast/own");
    for (const name of Object.keys(process.env)) {
      assert.ok(
        !(name in env) || ["PATH", "HOME", "TMPDIR"].includes(name),
        `${name} is not passed on`,
      );
    }
    await until(() => (processes.reports()[0]?.memory ?? 0) > 10 * MIB);
    assert.equal(processes.reports()[0]?.runner, "oci");

    // Too much memory ends this one alone, and the next who asks finds another.
    await assert.rejects(say(held, "takes memory", String(2048 * MIB)));
    assert.match((await held.ended).cause, /exited with code 137: .*memory_bytes/);
    const again = await hold(processes, boxed({ memoryBytes: 512 * MIB }));
    assert.equal(await say(again, "echo", "here"), "here");
    assert.equal(processes.figures.of("small").restarts, 1);
    await again.release();
    assert.ok(!runs(again.pid));
  },
);

contained("what it runs as, sees and may do is what its specification says", async () => {
  const script = `
    id; pwd; hostname; echo "$OF_THE_TEST"; ls /; ls -ld /tmp /tmp/holdfast/own
    cat /tmp/holdfast/ours/seen; echo; echo x > /tmp/holdfast/own/written && echo wrote
    mount -t tmpfs x /tmp 2>&1; unshare -r true 2>&1; chroot / true 2>&1; sysctl -w kernel.hostname=x 2>&1
    mknod /tmp/null c 1 3 2>&1; ls /proc | grep -c '^[0-9]'`;
  const { code, said } = await outcome(await box(script));
  assert.equal(code, 0, said);
  assert.match(said, /^uid=65532 gid=65532( groups=65532)?\n\/\nplugin\nyes\n/);
  assert.match(said, /drwxrwxrwt .* \/tmp\n/);
  assert.match(said, /\nseen\nwrote\n/);
  assert.match(said, /mount: .*(?:not permitted|denied)/);
  assert.match(said, /unshare: .*not permitted/);
  assert.match(said, /chroot: .*not permitted/);
  assert.match(said, /mknod: .*not permitted/);
  assert.ok(Number(said.trim().split("\n").at(-1)) <= 3, said);
});

contained(
  "T-H07: each call that others have broken out with is refused by the kernel",
  async (t) => {
    if (process.arch !== "x64") return t.diagnostic("the numbers are those of x86-64");
    const CLONE = 56;
    const CLONE3 = 435;
    const sum = putImage(place.directory, "perl", perlImage());
    const numbers = Object.values(REFUSED_CALLS).filter((number) => number !== null);
    const program = `
    sub told { my ($what, $said) = @_; print "$what ", $said == -1 ? $!+0 : "ok", "\\n"; }
    told($_, syscall($_, (-1) x 6)) for (${numbers.join(", ")}, ${CLONE3});
    for my $bit (17, 25 .. 30) {
      my $said = syscall(${CLONE}, 2 ** $bit | 17, 0, 0, 0, 0);
      syscall(60, 0) if $said == 0;
      told("clone-$bit", $said);
    }
    my $said = syscall(${CLONE}, 17, 0, 0, 0, 0);
    syscall(60, 0) if $said == 0;
    told("fork", $said);`;
    const changes = { ociImage: "perl", sha256: sum, args: [program] };
    const { code, said } = await outcome(await box("", {}, changes));
    assert.equal(code, 0, said);
    const answers = new Map(
      said
        .trim()
        .split("\n")
        .map((line) => line.split(" ") as [string, string]),
    );
    for (const [name, number] of Object.entries(REFUSED_CALLS)) {
      if (number !== null) assert.equal(answers.get(String(number)), "1", name);
    }
    for (const bit of [17, 25, 26, 27, 28, 29, 30]) {
      assert.equal(answers.get(`clone-${bit}`), "1", `a new namespace of ${bit}`);
    }
    assert.equal(answers.get(String(CLONE3)), "38");
    assert.equal(answers.get("fork"), "ok", "a process may begin another");
  },
);

contained(
  "one whose image names a user runs as that, by number or by name, and never as root",
  async () => {
    const passwd = "root:x:0:0::/:/bin/sh\napp:x:1234:2345::/:/bin/sh\n";
    for (const [user, ids] of [
      ["77:88", "uid=77 gid=88"],
      ["app", "uid=1234(app) gid=2345"],
      ["0", "uid=65532 gid=65532"],
      ["root:root", "uid=65532 gid=65532"],
    ] as const) {
      const name = `user-${count}`;
      const sha256 = putImage(
        place.directory,
        name,
        busyboxImage(busybox, { User: user }, [
          { path: "etc/passwd", content: Buffer.from(passwd) },
          { path: "etc/group", content: Buffer.from("root:x:0:\n") },
        ]),
      );
      const { said } = await outcome(await box("id", {}, { ociImage: name, sha256 }));
      assert.ok(said.startsWith(ids), said);
    }
    const strange = busyboxImage(busybox, { User: "nobody-here" });
    const sha256 = putImage(place.directory, "strange", strange);
    const { message } = await refusal(box("id", {}, { ociImage: "strange", sha256 }));
    assert.match(message, /its user "nobody-here" is not in its \/etc\/passwd/);
  },
);

contained(
  "limits bite: memory, processes and processor time, below the group that is asked for",
  async () => {
    const memory = await outcome(await box("tail /dev/zero", { memoryBytes: 16 * MIB }));
    assert.equal(memory.code, 137, memory.said);
    assert.match(memory.why ?? "", /memory_bytes/);

    const bomb = await outcome(await box("i=0; while sleep 60 & do i=$((i + 1)); echo $i; done"));
    const begun = Math.max(
      ...bomb.said
        .split("\n")
        .map(Number)
        .filter((n) => !Number.isNaN(n)),
    );
    assert.ok(begun > 100 && begun < 256, `${begun} processes`);

    const parent = `/holdfast-test-${MARK}`;
    const running = await box("while :; do :; done", {
      cpuNanos: 50_000_000,
      cgroupParent: parent,
    });
    const group = `${parent}/holdfast-${running.id}`;
    const throttled = () => {
      const [path] = globSync([`${CGROUPS}${group}/cpu.stat`, `${CGROUPS}/cpu*${group}/cpu.stat`]);
      const stat = path === undefined ? "" : readFileSync(path, "utf8");
      return Number(/^nr_throttled (\d+)$/m.exec(stat)?.[1] ?? 0);
    };
    await until(() => throttled() > 2);
    running.kill();
    const { code } = await running.exited;
    assert.notEqual(code, 0);
    assert.deepEqual(
      globSync([`${CGROUPS}${parent}`, `${CGROUPS}/*${parent}`]),
      [],
      "nothing is left",
    );
  },
);

contained("a group above that is the operator's own stays", async () => {
  const parent = `/holdfast-kept:${MARK}`;
  const [base = ""] = globSync([`${CGROUPS}/cgroup.controllers`, `${CGROUPS}/pids`]);
  const path = join(base.replace(/\/cgroup\.controllers$/, ""), parent);
  mkdirSync(path);
  try {
    const { code } = await outcome(await box("true", { cgroupParent: parent }));
    assert.equal(code, 0);
    assert.ok(existsSync(path));
    assert.deepEqual(globSync(`${path}/holdfast-*`), []);
    assert.deepEqual(globSync([`${CGROUPS}${parent}`, `${CGROUPS}/*${parent}`]), [path]);
  } finally {
    await outcomeOf("rmdir", path);
  }
});

contained("rootless: root inside is nobody outside, by a namespace of users", async () => {
  const running = await box("id -u; cat /proc/self/uid_map; sleep 60", { rootless: true });
  let said = "";
  running.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
  await until(() => said.split("\n").length > 2);
  assert.match(said, /^0\n\s+0 1879048192\s+65536\n/);
  // The runtime writes it when the container has begun, so what runs there may speak before.
  const path = join(place.base, running.id, "aside", "pid");
  await until(() => existsSync(path));
  const status = readFileSync(`/proc/${readFileSync(path, "utf8").trim()}/status`, "utf8");
  assert.match(status, /^Uid:\s+1879048192\s/m);
  running.kill();
  await running.exited;
});

contained("with the machine's network it has that, and its names", async () => {
  const script = "ls /sys/class/net 2>/dev/null; ip link | grep -c '^[0-9]'; cat /etc/hosts";
  const { said } = await outcome(await box(script, {}, { network: "host" }));
  const interfaces = readdirSync("/sys/class/net").length;
  assert.ok(said.startsWith(`${interfaces}\n`), said);
  assert.ok(said.includes(readFileSync("/etc/hosts", "utf8").trim().split("\n")[0] ?? "?"), said);
  const { said: without } = await outcome(await box("ip link | grep -c '^[0-9]'"));
  assert.equal(without, "1\n");
});

contained("what cannot be run as it is asked for is not run, and why is said", async () => {
  const other = await refusal(box("true", { ociRuntime: "kata" }));
  assert.equal(other.code, "plugin-runtime-not-allowed");
  assert.match(
    other.message,
    /"kata" is not among plugin_oci_runtimes, which has runc, crun, runsc/,
  );
  const none = place.containers(["/opt/none/runsc"]);
  const launch = { program: boxed({ ociRuntime: "" }), file: null, env: {}, id: "x" };
  const folders = { own: "/x", ours: "/x", aside: "/x" };
  const kept = { group: async () => {}, command: async () => {} };
  const missing = await refusal(none.start({ ...launch, folders, kept }));
  assert.equal(missing.code, "plugin-runtime-missing");
  assert.match(missing.message, /install the package runsc \(gVisor\), or set oci_runtime/);

  for (const cgroupParent of ["a", "/a/../b", "/a b", "/-a", "/*", "/.."]) {
    const unfit = await refusal(box("true", { cgroupParent }));
    assert.match(unfit.message, /its cgroup_parent is no whole path/, cgroupParent);
  }
  const failed = await outcome(await box("true", {}, { command: "/bin/none" }));
  assert.notEqual(failed.code, 0);
  assert.match(failed.why ?? "", /^runc says: .*\/bin\/none.*no such file/);
  const { message } = await refusal(
    hold(processes, boxed({}, { ociImage: "box", sha256: sums.box, command: "/bin/none" })),
  );
  assert.match(message, /exited before we could connect: .*runc says: .*\/bin\/none/);
});

contained(
  "nothing is left when the server is killed: the keeper ends containers, too",
  async () => {
    const program = boxed({ cgroupParent: `/holdfast-keeper-${MARK}` });
    const base = join(place.base, "server");
    const inner = new PluginPlace(makeBase(base));
    putImage(inner.directory, "small", smallPluginImage());
    const file = join(import.meta.dirname, "../../../tests/support/plugins/plugin-server.ts");
    const server = spawn(process.execPath, [file, base, JSON.stringify(program)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const [pid = 0] = JSON.parse(line.toString()) as number[];
    const [run = ""] = inner.runs();
    const path = join(inner.temporary, run, "1", "aside", "pid");
    await until(() => existsSync(path));
    const first = Number(readFileSync(path, "utf8"));
    assert.ok(runs(pid) && runs(first));
    server.kill("SIGKILL");
    await once(server, "exit");
    await until(() => !runs(pid) && !runs(first) && inner.runs().length === 0);
    assert.deepEqual(
      globSync([`${CGROUPS}/holdfast-keeper-*`, `${CGROUPS}/*/holdfast-keeper-*`]),
      [],
    );
  },
);

contained(
  "a fork bomb in runsc ends there, within its limits, and nothing is left of it",
  async (t) => {
    const isHere = ["/usr/bin/runsc", "/usr/local/bin/runsc"].some((path) => existsSync(path));
    if (!isHere) return t.diagnostic("runsc is not on this machine");
    const parent = `/holdfast-bomb-${MARK}`;
    const running = await box("while sleep 60 & do :; done; echo refused; sleep 60", {
      ociRuntime: "runsc",
      cgroupParent: parent,
      memoryBytes: 256 * MIB,
    });
    const most = { processes: 0, bytes: 0 };
    const read = (file: string) => {
      const [path] = globSync([`${CGROUPS}${parent}/*/${file}`, `${CGROUPS}/*${parent}/*/${file}`]);
      return path === undefined ? 0 : Number(readFileSync(path, "utf8"));
    };
    let said = "";
    running.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    running.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
    let isOver = false;
    void running.exited.then(() => (isOver = true));
    await until(() => {
      most.processes = Math.max(most.processes, read("pids.current"));
      most.bytes = Math.max(most.bytes, read("memory.usage_in_bytes") + read("memory.current"));
      return isOver || said !== "";
    });
    t.diagnostic(`${JSON.stringify(most)} ${isOver ? "it has ended" : said}`);
    assert.ok(most.processes > 20 && most.processes <= 256, `${most.processes} processes`);
    assert.ok(most.bytes <= 256 * MIB, `${most.bytes} bytes`);
    running.kill();
    await running.exited;
    assert.deepEqual(globSync([`${CGROUPS}${parent}`, `${CGROUPS}/*${parent}`]), []);
  },
);

for (const runtime of ["crun", "runsc"]) {
  const path = ["/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, runtime))
    .find(existsSync);
  if (path === undefined) continue;
  contained(`${runtime} runs the same, or says why it does not`, async (t) => {
    const { code, why, said } = await outcome(await box("id; echo done", { ociRuntime: runtime }));
    if (code === 0) {
      assert.match(said, /^uid=65532 gid=65532/);
      assert.match(said, /\ndone\n$/);
    } else {
      assert.match(
        why ?? "",
        new RegExp(`^${runtime} says: .{10}`),
        `it ended with ${code} without a word`,
      );
      t.diagnostic(why ?? "");
    }
  });
}

function makeBase(path: string): string {
  mkdirSync(path);
  return path;
}

async function outcomeOf(file: string, ...args: string[]): Promise<void> {
  await once(spawn(file, args, { stdio: "ignore" }), "exit");
}
