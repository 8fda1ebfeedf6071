// How tightly a container is shut, looked at from outside while it runs, and what an image may do to the disk.

import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { makeImage, plainLayer, tarOf } from "../../../src/plugins/images/made-image.ts";
import { errorsOf } from "../../support/http-client.ts";
import { busyboxImage, putImage } from "../../support/plugins/image-place.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { until } from "../../support/until.ts";

const AT = "sys/plugins/catalog/secret/boxed";
const RUNTIMES = "sys/plugins/runtimes/catalog/container";
const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path)) ?? "";
const RUNC = ["/usr/sbin/runc", "/usr/bin/runc"].some((path) => existsSync(path));

/** Without runc, busybox and root it fails, unless that is known. */
function canRun(t: TestContext): boolean {
  if (process.getuid?.() === 0 && BUSYBOX !== "" && RUNC) return true;
  const what = "it needs runc, busybox-static, and root";
  t.diagnostic(what);
  assert.equal(process.env["HOLDFAST_NO_CONTAINERS"], "1", what);
  return false;
}

/** While it is registered it is started once, and stays until it is ended from outside. */
async function whileItRuns(
  server: PluginServer,
  body: object,
  look: (pid: number) => void,
): Promise<string> {
  const registered = server.call("POST", AT, { body });
  const noted = join(server.place.temporary, "holdfast-*", "*", "aside", "pid");
  const number = () => Number(globSync(noted).map((path) => readFileSync(path, "utf8"))[0] ?? 0);
  await until(() => number() > 1 && commandOf(number()).includes("sleep"));
  try {
    look(number());
  } finally {
    process.kill(number(), "SIGKILL");
  }
  const answer = await registered;
  assert.equal(answer.status, 400, answer.text);
  return String(errorsOf(answer));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it is not there yet
  }
}

interface Mount {
  readonly at: string;
  readonly type: string;
  readonly options: readonly string[];
  /** What of its file system is seen there. */
  readonly part: string;
}

function mountsOf(pid: number): Mount[] {
  const lines = readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , part = "", at = "", options = ""] = before.split(" ");
    return { at, part, options: options.split(","), type: after.split(" ")[0] ?? "" };
  });
}

test("T-H07: a container of which nothing is said has no rights, nothing of the machine, and nothing to write to but its own", async (t) => {
  if (!canRun(t)) return;
  const server = await PluginServer.start(t, { settings: { plugin_oci_runtimes: ["runc"] } });
  const sha256 = putImage(server.place.directory, "team/box", busyboxImage(BUSYBOX));
  await server.ok("POST", `${RUNTIMES}/plain`, { oci_runtime: "runc" });
  const body = { oci_image: "team/box", sha256, runtime: "plain", args: ["exec sleep 60"] };
  const why = await whileItRuns(server, body, (pid) => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      assert.match(status, new RegExp(`^${set}:\\s+0+$`, "m"));
    }
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^Seccomp:\s+2$/m);
    assert.match(status, /^Uid:\s+65532\s+65532\s+65532\s+65532$/m);
    assert.match(status, /^Gid:\s+65532\s+65532\s+65532\s+65532$/m);
    const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
    assert.match(limits, /^Max core file size\s+0\s+0\s/m);
    assert.match(limits, /^Max open files\s+4096\s+4096\s/m);
    for (const space of ["pid", "ipc", "net", "uts", "mnt", "cgroup"]) {
      const [its, ours] = [pid, "self"].map((one) => readlinkSync(`/proc/${one}/ns/${space}`));
      assert.notEqual(its, ours, `the ${space} of the machine`);
    }
    const interfaces = readFileSync(`/proc/${pid}/net/dev`, "utf8").match(/^ *[\w.-]+(?=:)/gm);
    assert.deepEqual(
      interfaces?.map((name) => name.trim()),
      ["lo"],
    );
    const [root, ...others] = mountsOf(pid);
    assert.ok(root?.at === "/" && root.options.includes("ro"), JSON.stringify(root));
    const ofOurs = new Map(others.map((mount) => [mount.at, mount]));
    for (const { at, type, options, part } of others) {
      if (/^\/tmp\/holdfast\/(?:own|ours)$/.test(at)) {
        assert.match(part, new RegExp(`/holdfast-[0-9a-f]{12}/\\d+/${at.slice(14)}$`));
      } else assert.ok(["proc", "tmpfs"].includes(type), `${at} is of the machine: ${type}`);
      // Programs and devices come from nowhere but the image.
      const isOff =
        options.includes("ro") || (options.includes("noexec") && options.includes("nosuid"));
      assert.ok(isOff, `${at} ${options.join()}`);
    }
    assert.ok(ofOurs.get("/tmp/holdfast/ours")?.options.includes("ro"));
    assert.ok(ofOurs.get("/proc/sys")?.options.includes("ro"));
    for (const hidden of ["/proc/kcore", "/proc/keys", "/proc/timer_list"]) {
      if (existsSync(hidden)) assert.ok(ofOurs.has(hidden), `${hidden} is the machine's`);
    }
    assert.ok(
      readdirSync(`/proc/${pid}/root/dev`).every(
        (name) => !/^(?:sd|vd|nvme|kvm|mem|kmsg)/.test(name),
      ),
    );
  });
  // How long its pipe outlives it is a matter of the runtime.
  assert.match(why, /could not be started: (?:plugin exited before we could connect|timeout)/);
});

test("T-H07: without a runtime it is runsc, and where that is not there or not allowed nothing weaker takes its place", async (t) => {
  const image = makeImage([plainLayer(tarOf([]))], { Entrypoint: ["/x"] }, process.arch);
  const body = { oci_image: "team/box", sha256: image.sha256 };
  for (const [plugin_oci_runtimes, says] of [
    [["runc"], /"runsc" is not among plugin_oci_runtimes, which has runc/],
    [["/nowhere/runsc", "runc"], /install the package runsc \(gVisor\)/],
  ] as const) {
    const server = await PluginServer.start(t, {
      settings: { plugin_oci_runtimes: [...plugin_oci_runtimes] },
    });
    putImage(server.place.directory, "team/box", image);
    const answer = await server.call("POST", AT, { body });
    assert.equal(answer.status, 400, answer.text);
    assert.match(String(errorsOf(answer)), says);
    assert.deepEqual(unpacked(server), [], "nothing was made ready for another one");
  }
});

/** What of images lies on the disk, beside their layouts. */
function unpacked(server: PluginServer): string[] {
  const { temporary, base } = server.place;
  const inside = [temporary, base, server.test.directory].flatMap((folder) =>
    globSync(join(folder, "**", "{images,holdfast-images-*}", "**"), { withFileTypes: false }),
  );
  return inside.filter((path) => /\/(?:images|holdfast-images-[0-9a-f]+)\/\d+(?:\/|$)/.test(path));
}

test("T-H10: an image that unpacks to more than it may, or is not what it says, is refused, and nothing of it stays", async (t) => {
  if (!canRun(t)) return;
  const server = await PluginServer.start(t, { settings: { plugin_oci_runtimes: ["runc"] } });
  await server.ok("POST", `${RUNTIMES}/plain`, { oci_runtime: "runc" });
  const large = tarOf([{ path: "a", content: Buffer.alloc(96 * 2 ** 20) }]);
  const packed = {
    bytes: gzipSync(large),
    mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
    inner: plainLayer(large).inner,
  };
  const small = plainLayer(tarOf([{ path: "a", content: Buffer.from("x") }]));
  const said = { ...small, inner: packed.inner };
  for (const [layer, says] of [
    [packed, /more than 100 times as large/],
    [said, /has another digest than its configuration says/],
  ] as const) {
    const image = makeImage([layer], { Entrypoint: ["/x"] }, process.arch);
    const sha256 = putImage(server.place.directory, "team/bomb", image);
    const answer = await server.call("POST", AT, {
      body: { oci_image: "team/bomb", sha256, runtime: "plain" },
    });
    assert.equal(answer.status, 400, answer.text);
    assert.match(String(errorsOf(answer)), says);
    assert.deepEqual(unpacked(server), []);
  }
});
