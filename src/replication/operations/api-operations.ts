// Endpoints of operation tokens and operator tickets. The attempt at a token is open to whoever has key shares, as an
// unsealing is: a disaster-recovery secondary has nobody else to ask.

import { access, DR_OPERATIONS } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import { invariant } from "@holdfast/shared/invariant";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { RootAttempt } from "../../seal/ceremonies/root-generation.ts";
import { secondaryAlready } from "../failures.ts";
import { MAX_TICKET_TTL, type Operations } from "./operations.ts";

const endpoint = endpointsOf<Operations>();

const SECONDARY = "/sys/replication/dr/secondary";
const ATTEMPT = `${SECONDARY}/generate-operation-token/attempt`;

const ceremony = {
  access: access.drCeremony,
  belongs: "local",
  rootOnly: true,
  family: "bare",
  runs: "active",
  rateLimited: false, // it has limits of its own
} as const;

const attemptOutput = out.object({
  nonce: out.string("Names the attempt; empty where none runs"),
  started: out.boolean("Whether an attempt runs"),
  progress: out.integer("Shares given"),
  required: out.integer("Shares needed"),
  complete: out.boolean("Whether the token was made"),
  encoded_token: out.secret("The token under the one-time password or the PGP key; empty before"),
  encoded_root_token: out.secret("Empty: it is no root token"),
  pgp_fingerprint: out.string("Of the key that the token will be encrypted to"),
  otp: out.secret("A one-time password made here: shown once, when the attempt starts"),
  otp_length: out.integer("Length of the one-time password; 0 in the answer to a share"),
});

export const operationsApi = [
  endpoint({
    ...ceremony,
    name: "drOperationTokenStatus",
    method: "GET",
    path: ATTEMPT,
    summary: "Tell about the running attempt at an operation token",
    rootOnly: false,
    input: {},
    output: attemptOutput,
    handler: (operations) => show(operations.progress()),
  }),

  endpoint({
    ...ceremony,
    name: "drOperationTokenStart",
    method: "POST",
    path: ATTEMPT,
    summary: "Start making an operation token from key shares",
    description:
      "With it the operations of a disaster-recovery secondary are called. It lasts until it is deleted, or the " +
      "cluster is promoted or leaves its set; at most five are good at a time. Ten minutes without a share end " +
      "the attempt, and so do three sets of shares that do not fit. There is place for one, shared with root generation.",
    longBody: (operations) => !operations.progress().started,
    input: {
      otp: wire
        .body("otp")
        .secret("A one-time password as long as the token", { max: 128 })
        .optional(),
      pgpKey: wire
        .body("pgp_key")
        .string("PGP public key, base64 of its binary form, to encrypt the token to", {
          max: 64 * 1024,
        })
        .optional(),
    },
    output: attemptOutput,
    handler: async (operations, { otp, pgpKey }, { remote }) =>
      show(await operations.start({ otp: otp?.reveal(), pgpKey }, remote.address)),
  }),

  endpoint({
    ...ceremony,
    name: "drOperationTokenCancel",
    method: "DELETE",
    path: ATTEMPT,
    summary: "Cancel the running attempt at an operation token",
    input: {
      nonce: wire
        .param("nonce")
        .string("Makes sure that it is this attempt", { max: 128 })
        .optional(),
    },
    output: out.nothing,
    handler: async (operations, { nonce }, { remote }) => {
      await operations.cancel(nonce, remote.address);
      return undefined;
    },
  }),

  endpoint({
    ...ceremony,
    name: "drOperationTokenUpdate",
    method: "POST",
    path: `${SECONDARY}/generate-operation-token/update`,
    summary: "Give one share to the running attempt at an operation token",
    input: {
      key: wire.body("key").secret("A key share of the set, in hex or base64", { max: 1024 }),
      nonce: wire.body("nonce").string("Nonce of the attempt, as its start gave it", { max: 128 }),
    },
    output: attemptOutput,
    handler: async (operations, { key, nonce }, { remote }) => {
      const attempt = await operations.update({ key: key.reveal(), nonce }, remote.address);
      return { ...show(attempt), otp_length: 0 };
    },
  }),

  endpoint({
    name: "drOperationTokenDelete",
    method: "POST",
    path: `${SECONDARY}/operation-token/delete`,
    summary: "Delete the operation token, or end the ticket, that is sent",
    access: access.drOperation("operation-token"),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: async (operations, _, { caller }) => {
      invariant(caller !== null, "an operation has a caller");
      await operations.delete(caller);
      return undefined;
    },
  }),

  endpoint({
    name: "drOperatorTicket",
    method: "POST",
    path: "/sys/replication/dr/primary/operator-ticket",
    summary: "Make a ticket for operations on the secondaries of this set",
    description:
      "Taken wherever an operation token is, for the operations that it names and until it expires: to be made for a " +
      "shift, so that nobody has to find holders of key shares. A role is changed with it once. A new root key ends all " +
      "of them.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: secondaryAlready,
    input: {
      operations: wire
        .body("operations")
        .list(`What it is for: ${DR_OPERATIONS.join(", ")}`, { max: 64 }),
      ttl: wire
        .body("ttl")
        .duration("How long it is good: 1s to 24h", { min: SECOND, max: MAX_TICKET_TTL })
        .default(HOUR),
    },
    output: out.object({
      ticket: out.secret("To be sent as dr_operation_token or in X-Service-Token"),
      id: out.string("Names it in records"),
      operations: out.list(out.string("Operation"), "What it is for"),
      expires_at: out.time("Until when it is good"),
    }),
    handler: (operations, { operations: names, ttl }) => {
      const { text, id, operations: granted, expires } = operations.issue(names, ttl);
      return { ticket: text, id, operations: granted, expires_at: showTime(expires) };
    },
  }),
];

function show(attempt: RootAttempt) {
  return {
    nonce: attempt.nonce,
    started: attempt.started,
    progress: attempt.progress,
    required: attempt.required,
    complete: attempt.complete,
    encoded_token: attempt.encodedToken,
    encoded_root_token: "",
    pgp_fingerprint: attempt.pgpFingerprint,
    otp: attempt.otp?.reveal() ?? "",
    otp_length: attempt.otpLength,
  };
}
