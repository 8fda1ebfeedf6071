// Endpoints of replication as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment } from "../request-path.ts";

export type ReadReplicationStatusInput = {
  /** With lag_history of each secondary: the last hour, a point every ten seconds */
  readonly history?: boolean | undefined;
  /** With topology: the clusters of the set that this one knows or was told of */
  readonly topology?: boolean | undefined;
};

export type ReadReplicationStatusAnswer = {
  /** Disaster recovery: mode (disabled, primary or secondary), and for a cluster that replicates its set, state, indexes, peers and trees */
  readonly dr: JsonObject;
  /** Performance: mode (disabled, primary or secondary), and for a cluster that replicates its set, state, indexes, peers and trees */
  readonly performance: JsonObject;
  readonly topology?: {
    /** This cluster first */
    readonly members: readonly {
      /** By which others name it in follows; 0 is this cluster */
      readonly member: number;
      /** There for this cluster alone */
      readonly this_cluster?: boolean;
      /** As whom it follows knows it; empty where it follows nobody */
      readonly name: string;
      /** The member that it follows */
      readonly follows: number | null;
      /** In which it follows: dr or performance */
      readonly kind: string | null;
      /** The kinds of which it is the primary */
      readonly leads: readonly string[];
      /** Empty where it is not known, or there are none */
      readonly region: string;
      /** As in status; or absent, awaited, doubled, led-by-another */
      readonly state: string;
      /** To whom it follows */
      readonly connected: boolean;
      /** In entries of the log */
      readonly wal_lag: number | null;
      /** For how long */
      readonly behind_ms: number;
      /** When it was heard of, by this cluster or by whoever has told of it */
      readonly heard_ms_ago: number | null;
      /** Mounts and namespaces that it is not sent */
      readonly withheld: number;
      /** Whether it has said who stands in for it */
      readonly tells_stand_ins: boolean;
      /** Where clients reach it; empty where it is not known */
      readonly api_address: string;
      /** For management tokens */
      readonly cluster_id?: string;
    }[];
  };
};

/** Show what this cluster is among others, of both kinds */
export async function readReplicationStatus(
  client: Caller,
  query: ReadReplicationStatusInput = {},
  options?: CallOptions,
): Promise<Answer<ReadReplicationStatusAnswer>> {
  return client.call(
    { method: "GET", path: "sys/replication/status", query, answer: "data" },
    options,
  );
}

export type ReadDrStatusInput = {
  /** With lag_history of each secondary: the last hour, a point every ten seconds */
  readonly history?: boolean | undefined;
};

/** Show what this cluster is in disaster-recovery replication */
export async function readDrStatus(
  client: Caller,
  query: ReadDrStatusInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "GET", path: "sys/replication/dr/status", query, answer: "data" },
    options,
  );
}

export type ReadPerformanceStatusInput = ReadDrStatusInput;

/** Show what this cluster is in performance replication */
export async function readPerformanceStatus(
  client: Caller,
  query: ReadPerformanceStatusInput = {},
  options?: CallOptions,
): Promise<Answer<JsonObject>> {
  return client.call(
    { method: "GET", path: "sys/replication/performance/status", query, answer: "data" },
    options,
  );
}

export type EnableDrPrimaryInput = {
  /** Where secondaries come: https://host:port; the cluster port's own address unless said */
  readonly primary_cluster_addr?: string | undefined;
};

/** Make this cluster a primary of disaster-recovery replication */
export async function enableDrPrimary(
  client: Caller,
  body: EnableDrPrimaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/primary/enable", body, answer: "nothing" },
    options,
  );
}

/** Make this primary a secondary without a primary */
export async function demoteDrPrimary(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/primary/demote", answer: "nothing" },
    options,
  );
}

/** End disaster-recovery replication of this primary */
export async function disableDrPrimary(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/primary/disable", answer: "nothing" },
    options,
  );
}

export type MakeDrSecondaryTokenInput = {
  /** Name of the secondary; each is used once, and again after it was revoked */
  readonly id: string;
  /** How long the token is good for */
  readonly ttl?: string | number | undefined;
  /** Of the secondary, by its generate-public-key */
  readonly secondary_public_key?: string | undefined;
};

export type MakeDrSecondaryTokenAnswer = {
  /** The token, where it is sealed */
  readonly token?: string;
};

/** Make a token with which another cluster becomes a secondary */
export async function makeDrSecondaryToken(
  client: Caller,
  body: MakeDrSecondaryTokenInput,
  options?: CallOptions,
): Promise<Answer<MakeDrSecondaryTokenAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/primary/secondary-token", body, answer: "data" },
    options,
  );
}

export type RevokeDrSecondaryInput = {
  /** Name of the secondary, or the one that it had at the primary before this one, or the id of its cluster */
  readonly id: string;
};

/** Refuse a secondary from now on */
export async function revokeDrSecondary(
  client: Caller,
  body: RevokeDrSecondaryInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/dr/primary/revoke-secondary",
      body,
      answer: "nothing",
    },
    options,
  );
}

export type GenerateDrPublicKeyInput = {
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

export type GenerateDrPublicKeyAnswer = {
  /** Public half, in base64 */
  readonly secondary_public_key: string;
};

/** Make the key that a token for this cluster is sealed to */
export async function generateDrPublicKey(
  client: Caller,
  body: GenerateDrPublicKeyInput = {},
  options?: CallOptions,
): Promise<Answer<GenerateDrPublicKeyAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/dr/secondary/generate-public-key",
      body,
      answer: "data",
    },
    options,
  );
}

export type EnableDrSecondaryInput = {
  /** Token that the primary has made */
  readonly token: string;
  /** Only tell how far it would come: address, step and cause */
  readonly dry_run?: boolean | undefined;
  /** API address of the primary; the token's own unless said */
  readonly primary_api_addr?: string | undefined;
  /** File with the authorities of that API, in PEM */
  readonly ca_file?: string | undefined;
  /** Directory with such files */
  readonly ca_path?: string | undefined;
  /** The same as text */
  readonly ca_pem?: string | undefined;
  /** Certificate to show there, in PEM */
  readonly client_cert_pem?: string | undefined;
  /** Its key, in PEM */
  readonly client_key_pem?: string | undefined;
};

export type EnableDrSecondaryAnswer = {
  /** Of a trial: whether nothing was found that is in the way */
  readonly ready?: boolean;
  /** What was tried, in order */
  readonly steps?: readonly {
    /** The last that was taken; hello is the last of all */
    readonly step: "token" | "api" | "role" | "address" | "connect" | "certificate" | "hello";
    /** Where; empty where nobody was called */
    readonly address: string;
    /** Whether it went well */
    readonly ok: boolean;
    /** What is in the way; empty where nothing is */
    readonly cause: string;
  }[];
};

/** Make this cluster a secondary: the primary's data takes the place of ALL of its own */
export async function enableDrSecondary(
  client: Caller,
  body: EnableDrSecondaryInput,
  options?: CallOptions,
): Promise<Answer<EnableDrSecondaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/enable", body, answer: "data" },
    options,
  );
}

export type UpdateDrPrimaryInput = {
  /** Token that the primary has made; empty to follow none */
  readonly token?: string | undefined;
  /** Addresses of the primary's cluster port */
  readonly update_primary_addrs?: readonly string[] | undefined;
  /** With token: follow this primary also where a later epoch is known here, which is given up */
  readonly force?: boolean | undefined;
  /** Only tell how far it would come: address, step and cause */
  readonly dry_run?: boolean | undefined;
  /** API address of the primary; the token's own unless said */
  readonly primary_api_addr?: string | undefined;
  /** File with the authorities of that API, in PEM */
  readonly ca_file?: string | undefined;
  /** Directory with such files */
  readonly ca_path?: string | undefined;
  /** The same as text */
  readonly ca_pem?: string | undefined;
  /** Certificate to show there, in PEM */
  readonly client_cert_pem?: string | undefined;
  /** Its key, in PEM */
  readonly client_key_pem?: string | undefined;
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

export type UpdateDrPrimaryAnswer = EnableDrSecondaryAnswer;

/** Follow another primary, or the same at another address; the data stays */
export async function updateDrPrimary(
  client: Caller,
  body: UpdateDrPrimaryInput = {},
  options?: CallOptions,
): Promise<Answer<UpdateDrPrimaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/update-primary", body, answer: "data" },
    options,
  );
}

export type PromoteDrSecondaryInput = {
  /** Where secondaries come: https://host:port; the cluster port's own address unless said */
  readonly primary_cluster_addr?: string | undefined;
  /** Go on without the checks that may be left out, and lose what they tell */
  readonly force?: boolean | undefined;
  /** Only tell what would happen */
  readonly dry_run?: boolean | undefined;
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

export type PromoteDrSecondaryAnswer = {
  /** Of a rehearsal: whether it would be promoted */
  readonly ready?: boolean;
  /** And with force */
  readonly ready_with_force?: boolean;
  /** Every check, in the order in which they are made */
  readonly checks?: readonly {
    /** Name of the check */
    readonly name: string;
    /** Whether it holds */
    readonly ok: boolean;
    /** Whether force goes on without it */
    readonly skipped_by_force: boolean;
    /** What is wrong; empty where nothing is */
    readonly text: string;
  }[];
  /** First index that would be lost */
  readonly lost_from?: number;
  /** Last index that would be lost */
  readonly lost_to?: number;
  /** How many that are */
  readonly lost_entries?: number;
  /** For how long the primary was not heard of: what it has written since is not known here, and would be lost too */
  readonly unheard_seconds?: number;
  /** What was seen of the primary when it was last called; none: nobody is followed */
  readonly primary_seen?:
    | "demoted"
    | "connected"
    | "refuses"
    | "sealed"
    | "other"
    | "nobody"
    | "none";
  /** The same in words, with the address */
  readonly primary_seen_text?: string;
  /** What to do next, in order */
  readonly next?: readonly string[];
  /** Id of the signed report of a rehearsal */
  readonly evidence?: string;
};

/** Make this secondary the primary */
export async function promoteDrSecondary(
  client: Caller,
  body: PromoteDrSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<PromoteDrSecondaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/promote", body, answer: "data" },
    options,
  );
}

export type DisableDrSecondaryInput = GenerateDrPublicKeyInput;

/** Make this secondary a cluster of its own, with the data that it has */
export async function disableDrSecondary(
  client: Caller,
  body: DisableDrSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/disable", body, answer: "nothing" },
    options,
  );
}

export type RecoverDrSecondaryInput = GenerateDrPublicKeyInput;

/** Begin replication anew where it waits or has stopped */
export async function recoverDrSecondary(
  client: Caller,
  body: RecoverDrSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/recover", body, answer: "nothing" },
    options,
  );
}

export type RecoverReplicationInput = GenerateDrPublicKeyInput;

/** Begin replication anew: secondaries of this primary, or its own primary, are connected to again */
export async function recoverReplication(
  client: Caller,
  body: RecoverReplicationInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/recover", body, answer: "nothing" },
    options,
  );
}

export type CheckDrSecondaryInput = {
  /** Hash every stored value again as well */
  readonly deep?: boolean | undefined;
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

export type CheckDrSecondaryAnswer = {
  /** What does not add up, by tree, page and subpage */
  readonly merkle_corruption_report: JsonObject;
};

/** Check whether everything stored still adds up */
export async function checkDrSecondary(
  client: Caller,
  body: CheckDrSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<CheckDrSecondaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/merkle-check", body, answer: "data" },
    options,
  );
}

export type ReindexDrSecondaryInput = {
  /** Log every key whose leaf was wrong */
  readonly diff?: boolean | undefined;
  /** Also where records would be lost */
  readonly force?: boolean | undefined;
  /** Known from other servers; there is no flush to skip */
  readonly skip_flush?: boolean | undefined;
  /** On a disaster-recovery secondary: an operation token or operator ticket */
  readonly dr_operation_token?: string | undefined;
};

/** Make the trees anew from what is stored */
export async function reindexDrSecondary(
  client: Caller,
  body: ReindexDrSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/secondary/reindex", body, answer: "nothing" },
    options,
  );
}

export type CheckReplicationInput = {
  /** Hash every stored value again as well */
  readonly deep?: boolean | undefined;
};

export type CheckReplicationAnswer = CheckDrSecondaryAnswer;

/** Check whether everything stored still adds up */
export async function checkReplication(
  client: Caller,
  body: CheckReplicationInput = {},
  options?: CallOptions,
): Promise<Answer<CheckReplicationAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/merkle-check", body, answer: "data" },
    options,
  );
}

export type ReindexReplicationInput = {
  /** Log every key whose leaf was wrong */
  readonly diff?: boolean | undefined;
  /** Also where records would be lost */
  readonly force?: boolean | undefined;
  /** Known from other servers; there is no flush to skip */
  readonly skip_flush?: boolean | undefined;
};

/** Make the trees anew from what is stored */
export async function reindexReplication(
  client: Caller,
  body: ReindexReplicationInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/reindex", body, answer: "nothing" },
    options,
  );
}

export type ListDivergentAnswer = {
  /** Each time that entries were given up */
  readonly tails: readonly {
    /** Name of the tail */
    readonly id: string;
    /** Kind of replication: dr or performance */
    readonly kind: string;
    /** How many entries it has */
    readonly entries: number;
    /** Last index in common */
    readonly fork: number;
    /** Last index that was given up */
    readonly head: number;
    /** Epoch of the log */
    readonly epoch: number;
    /** When */
    readonly given_up: string;
  }[];
};

/** Show which entries only this cluster had, and gave up for another primary */
export async function listDivergent(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListDivergentAnswer>> {
  return client.call({ method: "GET", path: "sys/replication/divergent", answer: "data" }, options);
}

export type ReadDivergentInput = {
  /** Name of the tail */
  readonly id: string;
  /** Only entries after this index */
  readonly after?: number | undefined;
};

export type ReadDivergentAnswer = {
  /** Whether there are more after the last of them */
  readonly more: boolean;
  /** The first 1000 of them, in order */
  readonly entries: readonly {
    /** Index */
    readonly index: number;
    /** When it was written */
    readonly time: string;
    /** What it has put */
    readonly changed: readonly string[];
    /** What it has deleted */
    readonly deleted: readonly string[];
  }[];
};

/** Show what the entries of such a tail have changed */
export async function readDivergent(
  client: Caller,
  input: ReadDivergentInput,
  options?: CallOptions,
): Promise<Answer<ReadDivergentAnswer>> {
  const { id, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/replication/divergent/${oneSegment(id)}`, query, answer: "data" },
    options,
  );
}

export type DrOperationTokenStatusAnswer = {
  /** Names the attempt; empty where none runs */
  readonly nonce: string;
  /** Whether an attempt runs */
  readonly started: boolean;
  /** Shares given */
  readonly progress: number;
  /** Shares needed */
  readonly required: number;
  /** Whether the token was made */
  readonly complete: boolean;
  /** The token under the one-time password or the PGP key; empty before */
  readonly encoded_token: string;
  /** Empty: it is no root token */
  readonly encoded_root_token: string;
  /** Of the key that the token will be encrypted to */
  readonly pgp_fingerprint: string;
  /** A one-time password made here: shown once, when the attempt starts */
  readonly otp: string;
  /** Length of the one-time password; 0 in the answer to a share */
  readonly otp_length: number;
};

/** Tell about the running attempt at an operation token */
export async function drOperationTokenStatus(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<DrOperationTokenStatusAnswer>> {
  return client.call(
    {
      method: "GET",
      path: "sys/replication/dr/secondary/generate-operation-token/attempt",
      answer: "bare",
    },
    options,
  );
}

export type DrOperationTokenStartInput = {
  /** A one-time password as long as the token */
  readonly otp?: string | undefined;
  /** PGP public key, base64 of its binary form, to encrypt the token to */
  readonly pgp_key?: string | undefined;
};

export type DrOperationTokenStartAnswer = DrOperationTokenStatusAnswer;

/** Start making an operation token from key shares */
export async function drOperationTokenStart(
  client: Caller,
  body: DrOperationTokenStartInput = {},
  options?: CallOptions,
): Promise<Answer<DrOperationTokenStartAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/dr/secondary/generate-operation-token/attempt",
      body,
      answer: "bare",
    },
    options,
  );
}

export type DrOperationTokenCancelInput = {
  /** Makes sure that it is this attempt */
  readonly nonce?: string | undefined;
};

/** Cancel the running attempt at an operation token */
export async function drOperationTokenCancel(
  client: Caller,
  body: DrOperationTokenCancelInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    {
      method: "DELETE",
      path: "sys/replication/dr/secondary/generate-operation-token/attempt",
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DrOperationTokenUpdateInput = {
  /** A key share of the set, in hex or base64 */
  readonly key: string;
  /** Nonce of the attempt, as its start gave it */
  readonly nonce: string;
};

export type DrOperationTokenUpdateAnswer = DrOperationTokenStatusAnswer;

/** Give one share to the running attempt at an operation token */
export async function drOperationTokenUpdate(
  client: Caller,
  body: DrOperationTokenUpdateInput,
  options?: CallOptions,
): Promise<Answer<DrOperationTokenUpdateAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/dr/secondary/generate-operation-token/update",
      body,
      answer: "bare",
    },
    options,
  );
}

export type DrOperationTokenDeleteInput = GenerateDrPublicKeyInput;

/** Delete the operation token, or end the ticket, that is sent */
export async function drOperationTokenDelete(
  client: Caller,
  body: DrOperationTokenDeleteInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/dr/secondary/operation-token/delete",
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DrOperatorTicketInput = {
  /** What it is for: promote, disable, update-primary, reindex, merkle-check, recover, generate-public-key, operation-token, seal, snapshot, read */
  readonly operations: readonly string[];
  /** How long it is good: 1s to 24h */
  readonly ttl?: string | number | undefined;
};

export type DrOperatorTicketAnswer = {
  /** To be sent as dr_operation_token or in X-Service-Token */
  readonly ticket: string;
  /** Names it in records */
  readonly id: string;
  /** What it is for */
  readonly operations: readonly string[];
  /** Until when it is good */
  readonly expires_at: string;
};

/** Make a ticket for operations on the secondaries of this set */
export async function drOperatorTicket(
  client: Caller,
  body: DrOperatorTicketInput,
  options?: CallOptions,
): Promise<Answer<DrOperatorTicketAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/dr/primary/operator-ticket", body, answer: "data" },
    options,
  );
}

export type EnablePerformancePrimaryInput = EnableDrPrimaryInput;

/** Make this cluster a primary of performance replication */
export async function enablePerformancePrimary(
  client: Caller,
  body: EnablePerformancePrimaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/performance/primary/enable", body, answer: "nothing" },
    options,
  );
}

/** Make this primary a secondary without a primary */
export async function demotePerformancePrimary(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/performance/primary/demote", answer: "nothing" },
    options,
  );
}

/** End performance replication of this primary */
export async function disablePerformancePrimary(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: "sys/replication/performance/primary/disable", answer: "nothing" },
    options,
  );
}

export type MakePerformanceSecondaryTokenInput = {
  /** Name of the secondary; each is used once, and again after it was revoked */
  readonly id: string;
  /** How long the token is good for */
  readonly ttl?: string | number | undefined;
  /** Of the secondary, by its generate-public-key */
  readonly secondary_public_key?: string | undefined;
  /** Policies that the secondary may vouch for, when it sends on requests of tokens that it alone knows; all of them unless said */
  readonly attest_policies?: readonly string[] | undefined;
  /** Secondary, or id of a cluster, whose paths filter this one is to have too */
  readonly copy_filter_from?: string | undefined;
};

export type MakePerformanceSecondaryTokenAnswer = MakeDrSecondaryTokenAnswer;

/** Make a token with which another cluster becomes a secondary */
export async function makePerformanceSecondaryToken(
  client: Caller,
  body: MakePerformanceSecondaryTokenInput,
  options?: CallOptions,
): Promise<Answer<MakePerformanceSecondaryTokenAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/performance/primary/secondary-token",
      body,
      answer: "data",
    },
    options,
  );
}

export type RevokePerformanceSecondaryInput = RevokeDrSecondaryInput;

/** Refuse a secondary from now on */
export async function revokePerformanceSecondary(
  client: Caller,
  body: RevokePerformanceSecondaryInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/performance/primary/revoke-secondary",
      body,
      answer: "nothing",
    },
    options,
  );
}

export type GeneratePerformancePublicKeyInput = GenerateDrPublicKeyInput;

export type GeneratePerformancePublicKeyAnswer = GenerateDrPublicKeyAnswer;

/** Make the key that a token for this cluster is sealed to */
export async function generatePerformancePublicKey(
  client: Caller,
  body: GeneratePerformancePublicKeyInput = {},
  options?: CallOptions,
): Promise<Answer<GeneratePerformancePublicKeyAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/performance/secondary/generate-public-key",
      body,
      answer: "data",
    },
    options,
  );
}

export type EnablePerformanceSecondaryInput = EnableDrSecondaryInput;

export type EnablePerformanceSecondaryAnswer = EnableDrSecondaryAnswer;

/** Make this cluster a secondary: the primary's data takes the place of ALL of its own */
export async function enablePerformanceSecondary(
  client: Caller,
  body: EnablePerformanceSecondaryInput,
  options?: CallOptions,
): Promise<Answer<EnablePerformanceSecondaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/performance/secondary/enable", body, answer: "data" },
    options,
  );
}

export type UpdatePerformancePrimaryInput = UpdateDrPrimaryInput;

export type UpdatePerformancePrimaryAnswer = EnableDrSecondaryAnswer;

/** Follow another primary, or the same at another address; the data stays */
export async function updatePerformancePrimary(
  client: Caller,
  body: UpdatePerformancePrimaryInput = {},
  options?: CallOptions,
): Promise<Answer<UpdatePerformancePrimaryAnswer>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/performance/secondary/update-primary",
      body,
      answer: "data",
    },
    options,
  );
}

export type PromotePerformanceSecondaryInput = PromoteDrSecondaryInput;

export type PromotePerformanceSecondaryAnswer = PromoteDrSecondaryAnswer;

/** Make this secondary the primary */
export async function promotePerformanceSecondary(
  client: Caller,
  body: PromotePerformanceSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<PromotePerformanceSecondaryAnswer>> {
  return client.call(
    { method: "POST", path: "sys/replication/performance/secondary/promote", body, answer: "data" },
    options,
  );
}

export type DisablePerformanceSecondaryInput = GenerateDrPublicKeyInput;

/** Make this secondary a cluster of its own, with the data that it has */
export async function disablePerformanceSecondary(
  client: Caller,
  body: DisablePerformanceSecondaryInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    {
      method: "POST",
      path: "sys/replication/performance/secondary/disable",
      body,
      answer: "nothing",
    },
    options,
  );
}

export type WritePathsFilterInput = {
  /** Of the secondary: its own, as its token has it, or that of its cluster */
  readonly id: string;
  /** allow: only these are sent; deny: these are not; allow unless said */
  readonly mode?: "allow" | "deny" | undefined;
  /** Mounts and namespaces, from root: kv/, auth/people/, team-a/kv/, team-a/ */
  readonly paths?: readonly string[] | undefined;
};

/** Say which mounts and namespaces a secondary is sent */
export async function writePathsFilter(
  client: Caller,
  input: WritePathsFilterInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { id, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/replication/performance/primary/paths-filter/${oneSegment(id)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type ReadPathsFilterInput = {
  /** Of the secondary: its own, as its token has it, or that of its cluster */
  readonly id: string;
};

export type ReadPathsFilterAnswer = {
  /** As it was asked for */
  readonly id: string;
  /** allow or deny */
  readonly mode: string;
  /** As they were when the filter was made */
  readonly paths: readonly string[];
};

/** Show the filter of a secondary */
export async function readPathsFilter(
  client: Caller,
  input: ReadPathsFilterInput,
  options?: CallOptions,
): Promise<Answer<ReadPathsFilterAnswer>> {
  const { id } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/replication/performance/primary/paths-filter/${oneSegment(id)}`,
      answer: "data",
    },
    options,
  );
}

export type DeletePathsFilterInput = ReadPathsFilterInput;

/** Send a secondary everything that is shared */
export async function deletePathsFilter(
  client: Caller,
  input: DeletePathsFilterInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { id } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/replication/performance/primary/paths-filter/${oneSegment(id)}`,
      answer: "nothing",
    },
    options,
  );
}

export type ReadPrimaryDynamicFilterInput = ReadPathsFilterInput;

export type ReadPrimaryDynamicFilterAnswer = {
  /** Mounts that are not sent */
  readonly dynamic_filtered_mounts: readonly string[];
  /** Namespaces that are not sent */
  readonly dynamic_filtered_namespaces: readonly string[];
};

/** Show what is withheld from a secondary just now */
export async function readPrimaryDynamicFilter(
  client: Caller,
  input: ReadPrimaryDynamicFilterInput,
  options?: CallOptions,
): Promise<Answer<ReadPrimaryDynamicFilterAnswer>> {
  const { id } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/replication/performance/primary/dynamic-filter/${oneSegment(id)}`,
      answer: "data",
    },
    options,
  );
}

export type ReadSecondaryDynamicFilterInput = ReadPathsFilterInput;

export type ReadSecondaryDynamicFilterAnswer = ReadPrimaryDynamicFilterAnswer;

/** Show what is withheld from this secondary, as its primary has told it */
export async function readSecondaryDynamicFilter(
  client: Caller,
  input: ReadSecondaryDynamicFilterInput,
  options?: CallOptions,
): Promise<Answer<ReadSecondaryDynamicFilterAnswer>> {
  const { id } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/replication/performance/secondary/dynamic-filter/${oneSegment(id)}`,
      answer: "data",
    },
    options,
  );
}
