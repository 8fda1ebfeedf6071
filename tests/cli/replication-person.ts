// Who types `holdfast replication …` against clusters of a test, and what is read on a terminal then.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";
import type { Cluster } from "../support/replication/clusters.ts";
import { makeHome, type Ran, run, type RunOptions } from "./harness.ts";

export class Person {
  readonly home: string;

  constructor(t: TestContext) {
    this.home = makeHome((call) => t.after(call));
  }

  /** With the token of `as`, where it is not the cluster's own. */
  at(cluster: Cluster, line: string, options: RunOptions = {}, as = cluster): Promise<Ran> {
    const env = {
      HOLDFAST_ADDR: cluster.server.url,
      HOLDFAST_TOKEN: as.token,
      HOME: this.home,
      ...options.env,
    };
    return run(["replication", ...line.split(" ")], { ...options, env });
  }

  async must(cluster: Cluster, line: string, options: RunOptions = {}, as = cluster): Promise<Ran> {
    const ran = await this.at(cluster, line, options, as);
    assert.equal(ran.code, 0, `${line}\n${ran.all}`);
    return ran;
  }

  /** An operation token of this secondary in a file, by the ceremony. */
  async operate(cluster: Cluster, share: string): Promise<string> {
    const made = await this.must(cluster, "operation-token -field token", { typed: [share] });
    return this.keep("dr-token", made.stdout);
  }

  keep(name: string, text: string): string {
    const path = join(this.home, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }
}

/** As somebody reads it on call. */
export function fits({ all }: Ran): void {
  const plain = stripVTControlCharacters(all);
  for (const line of plain.split(/[\n\r]/)) assert.ok(line.length <= 80, `${line.length}: ${line}`);
}

export const words = ({ all }: Ran) => all.replaceAll(/\s+/g, " ");
