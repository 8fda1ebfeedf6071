// That an epoch was begun by who has the authority of the set, for others that trust the same one: they need no other word of it.

import { EMPTY, fromBase64 } from "@holdfast/shared/bytes";
import type { ViewReads } from "../../barrier/view.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { storedMaterial } from "../joining/primary-rows.ts";
import { epochProof } from "../joining/proofs.ts";
import { type Epoch, isSameEpoch, type Role } from "../roles/role.ts";

/** Empty where it is another epoch than that of here, or nobody here has anything of it. Who follows shows what it was shown. */
export function signedEpoch(
  reads: ViewReads,
  kind: ReplicationKind,
  role: Role,
  epoch: Epoch,
): Uint8Array {
  if (role.mode === "disabled" || !isSameEpoch(role.epoch, epoch)) return EMPTY;
  if (role.mode === "secondary") return fromBase64(role.proof ?? "") ?? EMPTY;
  const { set } = role;
  const authority = storedMaterial(reads, kind)?.authority;
  return authority?.set === set ? epochProof(authority.key, { set, kind, epoch }) : EMPTY;
}
