// Why a plugin is not there, and whether that may pass by itself.

import { Failure } from "@holdfast/shared/failure";

/** They stay until somebody changes what is registered, configured or installed, or the options of the mount. */
const STAYS: ReadonlySet<string> = new Set([
  "plugin-containers-missing",
  "plugin-declaration-refused",
  "plugin-directory-missing",
  "plugin-file-refused",
  "plugin-image-missing",
  "plugin-image-other",
  "plugin-image-refused",
  "plugin-missing",
  "plugin-of-other-kind",
  "plugin-runtime-missing",
  "plugin-runtime-not-allowed",
  "plugin-runtime-unfit",
  "plugin-sandbox-missing",
  "plugin-sum-mismatch",
  "plugin-tmpdir-unfit",
]);

/** Of the system: there is too little of something, or somebody else has it just now. */
const PASSES: ReadonlySet<unknown> = new Set([
  "EAGAIN",
  "EBUSY",
  "EDQUOT",
  "EINTR",
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
  "ENOMEM",
  "ENOSPC",
  "ETIMEDOUT",
  "ETXTBSY",
]);

const MAX_CAUSES = 16;

export function passes(error: unknown): boolean {
  let at = error;
  for (let i = 0; i < MAX_CAUSES && at instanceof Error; i++) {
    if ("code" in at && PASSES.has(at.code)) return true;
    at = at.cause;
  }
  return !(error instanceof Failure && (error.kind === "invalid" || STAYS.has(error.code)));
}
