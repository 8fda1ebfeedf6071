// What the system does not let the user do whom this process runs as. Waiting mends none of it, so it is told
// with the command that does.

import { userInfo } from "node:os";
import { dirname } from "node:path";
import { OwnError, Failure } from "@holdfast/shared/failure";
import { FORBIDDEN } from "@holdfast/shared/failures";

const CODES = new Set(["EACCES", "EPERM", "EROFS"]);

/** Whether an error of this code is one of rights. */
export function isRefusal(code: string | undefined): boolean {
  return code !== undefined && CODES.has(code);
}

/** Whether rights are to blame, also as a cause of something else. */
export function isForbidden(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof OwnError && depth < 8; at = at.cause, depth++) {
    if (at instanceof Failure && at.code === FORBIDDEN) return true;
  }
  return false;
}

/** What stands in the way: the path itself, or the lowest directory above it that can be looked at. */
export interface Barred {
  readonly path: string;
  readonly directory: boolean;
  readonly ours: boolean;
}

export function whyForbidden(code: string, { path, directory, ours }: Barred): string {
  if (code === "EROFS") {
    return `${path} is read-only here (EROFS); in a systemd unit, ReadWritePaths= must name it`;
  }
  const mended = ours
    ? `chmod ${directory ? "u+rwx" : "u+rw"} ${path}`
    : `${handOver(path)}, or let that user in`;
  return `user ${userName()} may not ${directory ? "work in" : "open"} ${path} (${code}); ${mended}`;
}

/** A socket is a file of its directory. */
export function whyNoSocket(code: string, path: string): string {
  return whyForbidden(code, { path: dirname(path), directory: true, ours: false });
}

export function whyNoPort(code: string, port: number): string {
  const low = port > 0 && port < 1024;
  const mended = low
    ? "ports below 1024 need AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit, or choose a higher one"
    : "choose another address";
  return `user ${userName()} may not (${code}); ${mended}`;
}

/** The command that makes it the property of the user whom we run as. */
export function handOver(path: string): string {
  return `chown ${userName()} ${path}`;
}

/** By name where it has one: in a container it often has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? "of this process");
  }
}
