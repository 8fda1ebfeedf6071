// `holdfast server` by a user who owns nothing here. All code is loaded before the rights are given up: the
// checkout may lie where that user cannot read.

import "../../../src/server/server.ts";
import "../../../src/storage/engines/sqlite-place.ts";
import { runDaemon } from "../../../src/daemon/run.ts";

const NOBODY = 65534;

if (process.geteuid?.() === 0) {
  process.setgroups?.([]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
}
process.exit(await runDaemon(process.argv.slice(2), process.env));
