// Uses of what a shared mount counts that another cluster takes for its logins: recorded here as what is done here is, and
// slowed down for the member where there are none to take.

import { Failure } from "@holdfast/shared/failure";
import type { MountRef } from "@holdfast/shared/endpoint/request";
import type { JsonObject } from "@holdfast/shared/json/json";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { Clock, Random } from "@holdfast/shared/world";
import type { Attempts, Auditing } from "../core/seams.ts";
import type { AuditedRequest } from "../endpoint/audited.ts";
import type { UseSender } from "./answering.ts";

export interface ForwardedUsesParts {
  readonly mounts: {
    byUuid(uuid: string): { readonly ref: MountRef } | null;
    takeUse(uuid: string, what: JsonObject): Promise<boolean | null>;
  };
  readonly audit: Auditing;
  readonly attempts: Pick<Attempts, "check" | "count">;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "uuid">;
}

const NO_USE = "there is no such use";

/** Null where there is no such mount. Throws a Failure where nothing was taken. */
export async function takeForwardedUse(
  parts: ForwardedUsesParts,
  { uuid, what }: { readonly uuid: string; readonly what: JsonObject },
  sender: UseSender,
): Promise<boolean | null> {
  const { mounts, audit, attempts } = parts;
  attempts.check(sender.member);
  const mount = mounts.byUuid(uuid)?.ref ?? null;
  if (mount === null || !audit.isOpen) return null;
  const record = recordOf(parts, mount, what, sender);
  await audit.request(record, "");
  let error = "";
  try {
    const isTaken = await mounts.takeUse(uuid, what);
    if (isTaken !== true) error = NO_USE;
    return isTaken;
  } catch (failed) {
    error = failed instanceof Failure ? failed.message : "it failed for a fault of ours";
    throw failed;
  } finally {
    if (error !== "") attempts.count(sender.member);
    await audit.response(record, { data: undefined, warnings: [], error });
  }
}

function recordOf(
  { clock, random }: ForwardedUsesParts,
  { namespace, path, type, accessor, readable }: MountRef,
  what: JsonObject,
  { member, clusterId }: UseSender,
): AuditedRequest {
  const { address } = what;
  return {
    id: random.uuid(),
    time: clock.now(),
    operation: "update",
    namespace,
    path: CanonicalPath.of([...path.split("/").filter((part) => part !== ""), "take-use"]),
    rawPath: null,
    mountPoint: path,
    mountType: type,
    mountAccessor: accessor,
    readable,
    caller: null,
    credential: null,
    data: what,
    remote: { address: typeof address === "string" ? address : "", port: 0, loopback: false },
    wrapTtl: null,
    policyOverride: false,
    decision: null,
    forwarded: { member, clusterId },
    header: () => undefined,
  };
}
