// The file of a plugin is swapped by another one all the time, by its name and in place, while it is started.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@holdfast/shared/failure";
import { PrivateCopies } from "../../src/plugins/process/private-copies.ts";
import { SystemProgramFiles } from "../../src/system/program-files.ts";
import { PluginPlace } from "../../tests/support/plugins/plugin-place.ts";
import type { Scene } from "./plugins.ts";

const GOOD = "#!/bin/sh\necho good\n";
const OTHER = "#!/bin/sh\necho evil\n";

/** Hashes the file, and then copies what lies at its path by then. */
class HashedByPath extends SystemProgramFiles {
  readonly #source: string;

  constructor(source: string) {
    super();
    this.#source = source;
  }

  override async write(
    path: string,
    bytes: AsyncIterable<Uint8Array>,
    mode: number,
  ): Promise<void> {
    for await (const _ of bytes);
    const source = this.#source;
    const later = async function* () {
      yield readFileSync(source);
    };
    await super.write(path, later(), mode);
  }
}

export async function swaps({ n, plant }: Scene): Promise<readonly string[]> {
  const place = new PluginPlace();
  const path = join(place.directory, "p");
  const next = join(place.base, "next");
  const sum = place.put("p", GOOD);
  const swapping = `
    const { renameSync, writeFileSync } = require("node:fs");
    const [path, next, good, other] = ${JSON.stringify([path, next, GOOD, OTHER])};
    for (;;) for (const [now, then] of [[other, good], [good, other]]) {
      writeFileSync(path, now);
      writeFileSync(next, then, { mode: 0o755 });
      renameSync(next, path);
    }`;
  const swapper = spawn(process.execPath, ["-e", swapping], { stdio: "ignore" });
  const files = plant ? new HashedByPath(path) : new SystemProgramFiles();
  const settings = {
    directory: place.directory,
    fileOwner: null,
    filePermissions: 0o755,
    folder: place.copies,
    isForOthers: false,
  };
  const copies = new PrivateCopies(files, settings, { platform: "linux", arch: process.arch });
  const wrong: string[] = [];
  let ran = 0;
  try {
    const starts = plant ? 100 * n : n; // by chance, it ran what it should in twenty of them
    for (let i = 0; i < starts && wrong.length === 0; i++) {
      try {
        const copy = await copies.take("p", sum);
        const said = execFileSync(copy.path, { encoding: "utf8" });
        if (said !== "good\n") wrong.push(`start ${i} ran ${JSON.stringify(said)}`);
        ran++;
        await copy.release();
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
    }
    if (ran === 0) wrong.push("nothing ran: it was never the right one");
    return wrong;
  } finally {
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
    place.remove();
  }
}
