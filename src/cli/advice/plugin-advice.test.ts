// What is said next to whoever meets a plugin that is not there.

import assert from "node:assert/strict";
import test from "node:test";
import { ApiError } from "@holdfast/client/api-error";
import { adviceFor } from "./advice.ts";

function nextAfter(status: number, code: string, text: string, namespace = ""): string {
  const refusal = { method: "GET", path: "doorbell/front", status, errors: [text], code };
  const situation = {
    command: "read",
    tokenFrom: "HOLDFAST_TOKEN",
    login: "holdfast login",
    namespace: namespace === "" ? null : { value: namespace, from: "-namespace" },
    base: null,
  };
  const error = new ApiError({ ...refusal, requestId: "", body: undefined });
  return adviceFor(error, situation) ?? "";
}

test("who asks a mount whose plugin does not start is told to mend it and to reload the mount, and not to try again", () => {
  const cause = 'mount "doorbell/" is not loaded: plugin file doorbell.mjs: there is no such file';
  const next = nextAfter(503, "mount_not_loaded", cause);
  assert.match(next, /^mend that, then `holdfast plugin reload -mounts doorbell\/`/);
  assert.doesNotMatch(next, /in a moment|doctor/);
  const below = nextAfter(503, "mount_not_loaded", cause, "team/ours");
  assert.match(below, /-mounts team\/ours\/doorbell\/`/);
});

test("who mounts one that ends at its start is told where its last lines are, and who names none what there is", () => {
  const ended = 'plugin "crash" could not be started: plugin exited before we could connect';
  assert.match(nextAfter(400, "plugin_not_started", ended), /log, under plugin\.NAME/);
  assert.match(nextAfter(404, "plugin_not_registered", ""), /`holdfast plugin list -detailed`/);
});
