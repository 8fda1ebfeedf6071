import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { notInCatalog, notSetUp } from "./foreign/failures.ts";
import { optionsRefused } from "./own/failures.ts";
import { passes } from "./passing.ts";
import {
  fileRefused,
  notStarted,
  sumMismatch,
  temporaryUnfit,
  waiting,
} from "./process/failures.ts";
import { cannotRun } from "./runners/failures.ts";

function systemError(code: string): Error {
  return Object.assign(new Error("it failed"), { code });
}

test("what a plugin lacks for want of room, time or a file that is free passes, what is registered or installed otherwise stays", () => {
  const busy = new Failure("internal", "file-failed", "open", { cause: systemError("EMFILE") });
  const passing: unknown[] = [
    notStarted("a", "timeout while waiting for plugin to start"),
    waiting("a", "it failed", 1n),
    notSetUp("a", "its database is not there"),
    cannotRun("a", "spawn", { cause: systemError("EAGAIN") }),
    fileRefused("a", "it could not be opened", { cause: busy }),
    temporaryUnfit("no room", { cause: systemError("ENOSPC") }),
    new Error("something else"),
  ];
  const staying: unknown[] = [
    sumMismatch("a", "b", "c"),
    notInCatalog("a", "v1"),
    fileRefused("a", "there is no such file in the plugin directory"),
    fileRefused("a", "x", { cause: systemError("EACCES") }),
    optionsRefused(new Failure("invalid", "options", "no", { texts: ["no"] })),
    temporaryUnfit("too long"),
  ];
  assert.deepEqual(
    passing.map(passes),
    passing.map(() => true),
  );
  assert.deepEqual(
    staying.map(passes),
    staying.map(() => false),
  );
});
