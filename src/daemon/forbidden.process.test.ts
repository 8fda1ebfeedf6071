// What the server may not enter, read or write: told in a line that says what to do, by --validate as by the
// start, which ends with 2 so that nothing restarts it for ever. By a real user without rights.

import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Readable } from "node:stream";
import test, { after, type TestContext } from "node:test";
import { SystemClock } from "../system/clock.ts";
import { makeDevCertificate } from "./dev/dev-certificate.ts";

const SCRIPT = join(
  import.meta.dirname,
  "..",
  "..",
  "tests",
  "support",
  "servers",
  "server-as-nobody.ts",
);
const FLAGS = ["--disable-warning=ExperimentalWarning"];
const NOBODY = 65534;
const asRoot = process.geteuid?.() === 0;
const PLAIN = 'listener "tcp" { address = "127.0.0.1:0" tls_disable = true }\n';

/** A directory that the server's user can use, and one that it cannot. */
function places(t: TestContext): { own: string; closed: string } {
  const home = mkdtempSync(join(tmpdir(), "holdfast-forbidden-"));
  const [own, closed] = [join(home, "own"), join(home, "closed")];
  chmodSync(home, 0o755);
  for (const path of [own, closed]) mkdirSync(path, { mode: 0o700 });
  if (asRoot) chownSync(own, NOBODY, NOBODY);
  t.after(() => {
    chmodSync(closed, 0o700);
    rmSync(home, { recursive: true });
  });
  return { own, closed };
}

/** Without root a user can close what is theirs to themselves. */
function close(path: string): void {
  if (!asRoot) chmodSync(path, 0);
}

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** One process of that user, in which the command is run again and again: loading it costs more than the rest. */
class Nobody {
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(home: string) {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, HOME: home, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
    this.#child = spawn(process.execPath, [...FLAGS, SCRIPT], { env, cwd: home });
  }

  async run(...args: readonly string[]): Promise<Ended> {
    const { stdin, stdout, stderr } = this.#child;
    const texts = Promise.all([stdout, stderr].map(untilMark));
    stdin.write(`${JSON.stringify(args)}\n`);
    const [out, err] = (await texts) as [Ended, Ended];
    return { code: out.code, text: out.text + err.text };
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    await once(this.#child, "close");
  }
}

/** What a run writes, up to the mark behind it, which has its code. */
function untilMark(stream: Readable): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let text = "";
    const take = (piece: Buffer) => {
      text += piece.toString("utf8");
      const [, before = "", code] = /^([^]*)\0(\d+)\n$/.exec(text) ?? [];
      if (code === undefined) return;
      stream.off("data", take).off("end", fail);
      resolve({ code: Number(code), text: before });
    };
    const fail = () => reject(new Error(`the process is gone: ${text}`));
    stream.on("data", take).on("end", fail);
  });
}

const home = mkdtempSync(join(tmpdir(), "holdfast-nobody-"));
chmodSync(home, 0o755);
const nobody = new Nobody(home);
after(async () => {
  await nobody.end();
  rmSync(home, { recursive: true });
});

async function report(own: string, config: string, closed: string, check: string): Promise<void> {
  const file = join(own, "h.hcl");
  writeFileSync(file, config);
  const validated = await nobody.run("--config", file, "--validate");
  const started = await nobody.run("--config", file);
  for (const { code, text } of [validated, started]) {
    assert.equal(code, 2, text);
    assert.doesNotMatch(text, /\n\s+at |a mistake in the server/);
    assert.match(text, new RegExp(`ch(own \\S+|mod \\S+) ${closed}`), text);
  }
  assert.match(validated.text, new RegExp(`^FAIL {2}${check} `, "m"));
  assert.match(validated.text, /^(ok|warn) {2,4}configuration/m, "the other checks are made");
}

test("a data directory of another user", async (t) => {
  const { own, closed } = places(t);
  close(closed);
  await report(own, `data_dir = "${closed}"\n${PLAIN}`, closed, "directories");
});

test("a data directory inside one that may not be entered", async (t) => {
  const { own, closed } = places(t);
  mkdirSync(join(closed, "data"));
  close(closed);
  await report(own, `data_dir = "${closed}/data"\n${PLAIN}`, closed, "directories");
});

test("certificates in a directory that may not be entered", async (t) => {
  const { own, closed } = places(t);
  const made = await makeDevCertificate([{ type: "dns", value: "h" }], new SystemClock().now());
  writeFileSync(join(closed, "cert.pem"), made.certificate, { mode: 0o600 });
  writeFileSync(join(closed, "key.pem"), made.key, { mode: 0o600 });
  close(closed);
  const listener = `listener "tcp" {
    address = "127.0.0.1:0"
    tls_cert_file = "${closed}/cert.pem"
    tls_key_file = "${closed}/key.pem"
  }`;
  await report(own, `data_dir = "${own}/data"\n${listener}\n`, closed, "certificate");
});

test("a socket in a directory that may not be entered, or only read", async (t) => {
  const { own, closed } = places(t);
  const config = `data_dir = "${own}/data"\nlistener "unix" { address = "${closed}/api.sock" }\n`;
  chmodSync(closed, asRoot ? 0o755 : 0o500);
  await report(own, config, closed, "listener");
  chmodSync(closed, 0o700);
  close(closed);
  await report(own, config, closed, "listener");
});

test("the key of a static seal, the log and the file for the process number", async (t) => {
  const { own, closed } = places(t);
  writeFileSync(join(closed, "key"), "ab".repeat(32), { mode: 0o600 });
  close(closed);
  const data = `data_dir = "${own}/data"\n${PLAIN}`;
  await report(own, `${data}seal "static" { key_file = "${closed}/key" }\n`, closed, "seal");
  await report(own, `${data}log_file = "${closed}/h.log"\n`, closed, "log_file");
  await report(own, `${data}pid_file = "${closed}/h.pid"\n`, closed, "pid_file");
});
