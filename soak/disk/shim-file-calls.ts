// Every way in which Node changes files, once from the main thread and once from libuv's pool: the
// second program of shim-selftest.ts, which compares the replayed trace with what is really there.
// Argument: the directory.

import * as fs from "node:fs";
import { open, copyFile, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

const directory = process.argv[2] ?? "";
const at = (name: string): string => join(directory, name);

function onMainThread(): void {
  const file = fs.openSync(at("plain"), "w+");
  fs.writeSync(file, "0123456789");
  fs.writeSync(file, "ab", 3); // at an offset
  fs.writevSync(file, [Buffer.from("one "), Buffer.from("two")]);
  fs.writevSync(file, [Buffer.from("X"), Buffer.from("Y")], 1);
  fs.ftruncateSync(file, 12);
  fs.closeSync(file);
  const appending = fs.openSync(at("plain"), "a");
  fs.writeSync(appending, "end", 0); // Linux appends although an offset is given
  fs.closeSync(appending);
  const durable = fs.openSync(at("durable"), "as"); // O_SYNC: each write is a sync too
  fs.writeSync(durable, "kept");
  fs.closeSync(durable);
  fs.writeFileSync(relative(process.cwd(), at("relative")), "by a relative path");
  fs.copyFileSync(at("plain"), at("copy"));
  fs.copyFileSync(at("plain"), at("clone"), fs.constants.COPYFILE_FICLONE);
  fs.linkSync(at("copy"), at("link"));
  fs.appendFileSync(at("link"), " through the link");
  fs.mkdirSync(at("a/b/c"), { recursive: true });
  fs.writeFileSync(at("a/b/c/deep"), "deep");
  fs.renameSync(at("a/b"), at("moved"));
  fs.cpSync(at("moved"), at("copied"), { recursive: true });
  fs.mkdirSync(at("gone/inner"), { recursive: true });
  fs.writeFileSync(at("gone/inner/file"), "x");
  fs.rmSync(at("gone"), { recursive: true });
  fs.rmSync(at("clone"));
  fs.rmdirSync(at("a"));
}

async function onPool(): Promise<void> {
  const file = await open(at("pool"), "w");
  await file.write("0123456789");
  await file.writev([Buffer.from("one "), Buffer.from("two")]);
  await file.truncate(12);
  await file.sync();
  await file.datasync();
  await file.close();
  await truncate(at("pool"), 11);
  await writeFile(at("pool-2"), "to be replaced");
  await rename(at("pool"), at("pool-2"));
  await copyFile(at("pool-2"), at("pool-3"));
  await writeFile(join(await mkdtemp(at("temporary-")), "inner"), "x");
  await writeFile(at("flushed"), "f", { flush: true });
  await rm(at("copied"), { recursive: true });
  const stream = fs.createWriteStream(at("stream"));
  await new Promise((done) => stream.end("streamed", () => done(null)));
}

onMainThread();
await onPool();
