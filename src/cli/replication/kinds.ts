// The two kinds of replication, as commands have them: the same steps at other endpoints. A disaster-recovery secondary knows no tokens
// and is run with an operation token or a ticket; one of the other kind serves, and takes an ordinary token.

import * as replication from "@holdfast/client/api/replication";
import type { Client } from "@holdfast/client/client";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { operationCall } from "./operation-secret.ts";
import { isCopying } from "./secondary-advice.ts";

export const KINDS = ["dr", "performance"] as const;

export type Kind = (typeof KINDS)[number];

export const KIND_FLAG = {
  kind: flag.oneOf(KINDS, "Disaster recovery, or performance replication").default("dr"),
};

export const KIND_HELP =
  "With -kind performance it is of performance replication, at sys/replication/performance/ in the place of dr/, and an ordinary token is enough on a secondary too, unless its first copy is under way.";

/** In sentences. */
export const KIND_NAMES: Readonly<Record<Kind, string>> = {
  dr: "disaster-recovery replication",
  performance: "performance replication",
};

/** What a command that is named in a hint has to have for this kind. */
export const WITH_KIND: Readonly<Record<Kind, string>> = {
  dr: "",
  performance: " -kind performance",
};

/** And one that is for a secondary. */
export const ON_SECONDARY: Readonly<Record<Kind, string>> = {
  dr: " -dr-token FILE",
  performance: " -kind performance",
};

export const CALLS = {
  dr: {
    status: replication.readDrStatus,
    enable: replication.enableDrPrimary,
    demote: replication.demoteDrPrimary,
    disablePrimary: replication.disableDrPrimary,
    token: replication.makeDrSecondaryToken,
    revoke: replication.revokeDrSecondary,
    join: replication.enableDrSecondary,
    updatePrimary: replication.updateDrPrimary,
    promote: replication.promoteDrSecondary,
    leave: replication.disableDrSecondary,
    publicKey: replication.generateDrPublicKey,
  },
  performance: {
    status: replication.readPerformanceStatus,
    enable: replication.enablePerformancePrimary,
    demote: replication.demotePerformancePrimary,
    disablePrimary: replication.disablePerformancePrimary,
    token: replication.makePerformanceSecondaryToken,
    revoke: replication.revokePerformanceSecondary,
    join: replication.enablePerformanceSecondary,
    updatePrimary: replication.updatePerformancePrimary,
    promote: replication.promotePerformanceSecondary,
    leave: replication.disablePerformanceSecondary,
    publicKey: replication.generatePerformancePublicKey,
  },
} as const;

/** How a secondary is called, and what is sent with it. */
export interface SecondaryCall {
  readonly client: Client;
  readonly body: { readonly dr_operation_token?: string };
}

export async function secondaryCall(
  context: Context,
  kind: Kind,
  drToken: string | undefined,
): Promise<SecondaryCall> {
  if (kind === "dr") {
    await assertMeant(context, drToken);
    return await operationCall(context, drToken);
  }
  // There are no tokens yet that it could look up.
  if (isCopying(await statusOf(context, kind))) return await operationCall(context, drToken);
  assertOrdinary(drToken);
  return { client: context.client.inRoot(), body: {} };
}

/** Before anybody looks for a token that only the other kind needs. */
async function assertMeant(context: Context, drToken: string | undefined): Promise<void> {
  if (drToken !== undefined) return;
  const modes = await Promise.all(KINDS.map((kind) => modeOf(context, kind).catch(() => "")));
  const [ofDr, ofPerformance] = modes;
  if (ofDr === "secondary" || ofPerformance !== "secondary") return;
  throw new UsageError(
    "this cluster is a secondary of performance replication, and none of disaster recovery",
    "add -kind performance",
  );
}

function assertOrdinary(drToken: string | undefined): void {
  if (drToken === undefined) return;
  throw new UsageError(
    "-dr-token is for disaster recovery, and until a first copy is whole: this cluster takes an ordinary token",
    "leave it out; `holdfast login` or HOLDFAST_TOKEN has the token",
  );
}

/** What this cluster is, and the rest of its status. */
export async function statusOf({ openly }: Context, kind: Kind): Promise<JsonObject> {
  return (await CALLS[kind].status(openly.inRoot())).data;
}

export async function modeOf(context: Context, kind: Kind): Promise<string> {
  const { mode } = await statusOf(context, kind);
  return typeof mode === "string" ? mode : "";
}
