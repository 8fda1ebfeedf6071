// Endpoints of the key ceremonies: a root token from key shares, and new
// shares for old ones. The listener says who may start and feed them; whoever started an attempt, or has
// update and sudo, may cancel it.

import type { Secret } from "@holdfast/shared/secret";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { SealServices } from "../api.ts";
import type { RekeyProgress, RekeyResult, VerificationProgress } from "./rekey-answers.ts";
import type { Rekeying } from "./rekeying.ts";
import type { RootAttempt } from "./root-generation.ts";
import * as failures from "../failures.ts";

const endpoint = endpointsOf<SealServices>();

/** What all ceremonies have in common. They answer 400 before init, which the pipeline sees to. */
const ceremony = { access: access.ceremony, belongs: "local", rootOnly: true } as const;
/** Holds the one place there is: where tokens are needed, not every token will do. */
const start = { ...ceremony, access: access.ceremonyStart } as const;

const share = wire
  .body("key")
  .secret("A share of the present key, in hex or base64", { max: 1024 });
const nonce = wire.body("nonce").string("Nonce of the attempt, as its start gave it", { max: 128 });
const cancelling = {
  cancelNonce: wire
    .param("cancel_nonce")
    .secret(
      "As the answer to the start gave it; without it a token with update and sudo is needed",
      {
        max: 128,
      },
    )
    .optional(),
  nonce: wire
    .param("nonce")
    .string("Makes sure that it is this attempt; the cancel nonce is taken here as well", {
      max: 128,
    })
    .optional(),
};

const attemptOutput = out.object({
  started: out.boolean("Whether an attempt runs"),
  nonce: out.string("Names the attempt"),
  progress: out.integer("Shares given"),
  required: out.integer("Shares needed"),
  complete: out.boolean("Whether the token was made"),
  encoded_token: out.secret("The token under the one-time password or the PGP key; empty before"),
  encoded_root_token: out.secret("The same"),
  pgp_fingerprint: out.string("Of the key that the token will be encrypted to"),
  otp: out.secret("A one-time password made here: shown once, when the attempt starts"),
  otp_length: out.integer("Length of the one-time password"),
  cancel_nonce: out.optional(
    out.secret("Lets whoever has it cancel the attempt: shown once, when the attempt starts"),
  ),
});

/** As older and as newer clients of the kind ask for them: the latter find the answer in an envelope. */
interface Form {
  readonly path: string;
  readonly suffix: string; // of the names
  readonly family: "bare" | "enveloped";
}

function generateRootApi({ path, suffix, family }: Form) {
  return [
    endpoint({
      ...ceremony,
      name: `generateRootStatus${suffix}`,
      family,
      method: "GET",
      path: `${path}/attempt`,
      summary: "Tell about the running root generation",
      rateLimited: false,
      runs: "active",
      input: {},
      output: attemptOutput,
      handler: ({ keeper }) => showAttempt(keeper.generateRoot.progress()),
    }),
    endpoint({
      ...start,
      name: `generateRootStart${suffix}`,
      family,
      method: "POST",
      path: `${path}/attempt`,
      summary: "Start generating a management token from key shares",
      rateLimited: false,
      longBody: ({ keeper }) => !keeper.generateRoot.progress().started,
      input: {
        otp: wire
          .body("otp")
          .secret("A one-time password as long as the token", { max: 128 })
          .optional(),
        pgpKey: wire
          .body("pgp_key")
          .string("PGP public key in base64 to encrypt the token to", { max: 64 * 1024 })
          .optional(),
      },
      output: attemptOutput,
      handler: async ({ keeper }, { otp, pgpKey }) =>
        showAttempt(await keeper.generateRoot.start({ otp: otp?.reveal(), pgpKey })),
    }),
    endpoint({
      ...ceremony,
      name: `generateRootCancel${suffix}`,
      family,
      method: "DELETE",
      path: `${path}/attempt`,
      summary: "Cancel the running root generation",
      rateLimited: false,
      input: cancelling,
      output: out.nothing,
      handler: async ({ keeper }, input, context) => {
        const authorised = await context.isPrivileged();
        await keeper.generateRoot.cancel({ ...revealed(input), authorised });
        return undefined;
      },
    }),
    endpoint({
      ...ceremony,
      name: `generateRootUpdate${suffix}`,
      family,
      method: "POST",
      path: `${path}/update`,
      summary: "Give one share to the running root generation",
      // The token that the last one makes is global, but where another cluster writes those.
      belongs: ({ keeper }) => (keeper.sharedElsewhere ? "local" : "shared"),
      rateLimited: false,
      input: { key: share, nonce },
      output: attemptOutput,
      handler: async ({ keeper }, input) =>
        showAttempt(
          await keeper.generateRoot.update({ key: input.key.reveal(), nonce: input.nonce }),
        ),
    }),
  ];
}

const rekeyOutput = out.object({
  started: out.optional(out.boolean("Whether a rekey runs")),
  complete: out.optional(out.boolean("Whether the new shares were made")),
  nonce: out.string("Names the attempt"),
  t: out.optional(out.integer("Threshold of the new shares")),
  n: out.optional(out.integer("Number of the new shares")),
  progress: out.optional(out.integer("Present shares given")),
  required: out.optional(out.integer("Present shares needed")),
  keys: out.optional(out.list(out.secret("Share"), "The new shares in hex")),
  keys_base64: out.optional(out.list(out.secret("Share"), "The same in base64")),
  pgp_fingerprints: out.nullable(
    out.list(out.string("Fingerprint"), "Of the keys for the new shares"),
  ),
  backup: out.boolean("Whether the encrypted new shares are kept until deleted"),
  verification_required: out.boolean("Whether the new shares must be entered before they count"),
  verification_nonce: out.string("Names the verification"),
  cancel_nonce: out.optional(
    out.secret("Lets whoever has it cancel the rekey: shown once, when the rekey starts"),
  ),
  warnings: out.optional(out.list(out.string("Warning"), "What an operator should know")),
});

const verificationOutput = out.object({
  nonce: out.string("Names the verification"),
  t: out.integer("Threshold of the new shares"),
  n: out.integer("Number of the new shares"),
  progress: out.integer("New shares given"),
  complete: out.boolean("Whether the new shares count from now on"),
});

interface Kind extends Form {
  readonly of: string; // in words
  readonly rekeying: (room: SealServices) => Rekeying;
}

function rekeyApi({ path, suffix, family, of, rekeying }: Kind) {
  return [
    endpoint({
      ...ceremony,
      name: `rekeyStatus${suffix}`,
      family,
      method: "GET",
      path: `${path}/init`,
      summary: `Tell about the running rekey of the ${of} key`,
      runs: "active",
      input: {},
      output: rekeyOutput,
      handler: (room) => showRekey(rekeying(room).progress()),
    }),
    endpoint({
      ...start,
      name: `rekeyStart${suffix}`,
      family,
      method: "POST",
      path: `${path}/init`,
      summary: `Start replacing the shares of the ${of} key`,
      longBody: (room) => !rekeying(room).progress().started,
      input: {
        secretShares: wire
          .body("secret_shares")
          .integer("Number of new shares; 5 if not given")
          .optional(),
        secretThreshold: wire
          .body("secret_threshold")
          .integer("New shares needed; 3, or all when there are fewer")
          .optional(),
        pgpKeys: wire
          .body("pgp_keys")
          .list("PGP public keys in base64, one for each new share", { max: 255 })
          .optional(),
        backup: wire
          .body("backup")
          .boolean("Keep the encrypted new shares until deleted")
          .default(false),
        requireVerification: wire
          .body("require_verification")
          .boolean("Change nothing until enough new shares were entered")
          .default(false),
      },
      output: rekeyOutput,
      handler: async (room, input) => showRekey(await rekeying(room).start(input)),
    }),
    endpoint({
      ...ceremony,
      name: `rekeyCancel${suffix}`,
      family,
      method: "DELETE",
      path: `${path}/init`,
      summary: `Cancel the running rekey of the ${of} key`,
      input: cancelling,
      output: out.nothing,
      handler: async (room, input, context) => {
        const authorised = await context.isPrivileged();
        await rekeying(room).cancel({ ...revealed(input), authorised });
        return undefined;
      },
    }),
    endpoint({
      ...ceremony,
      name: `rekeyUpdate${suffix}`,
      family,
      method: "POST",
      path: `${path}/update`,
      summary: "Give one present share; with the last one needed the new shares are made",
      input: { key: share, nonce },
      output: rekeyOutput,
      handler: async (room, input) => {
        const { progress, result } = await rekeying(room).update({
          key: input.key.reveal(),
          nonce: input.nonce,
        });
        return result === null ? showRekey(progress) : showResult(result);
      },
    }),
    endpoint({
      ...ceremony,
      name: `rekeyVerification${suffix}`,
      family,
      method: "GET",
      path: `${path}/verify`,
      summary: "Tell about the running verification",
      runs: "active",
      input: {},
      output: verificationOutput,
      handler: (room) => showVerification(rekeying(room).verification()),
    }),
    endpoint({
      ...ceremony,
      name: `rekeyVerify${suffix}`,
      family,
      method: "POST",
      path: `${path}/verify`,
      summary: "Give one new share; with the last one needed the new shares count",
      input: {
        key: wire.body("key").secret("A new share, in hex or base64", { max: 1024 }),
        nonce: wire.body("nonce").string("Nonce of the verification", { max: 128 }),
      },
      output: verificationOutput,
      handler: async (room, input) =>
        showVerification(
          await rekeying(room).verify({ key: input.key.reveal(), nonce: input.nonce }),
        ),
    }),
    endpoint({
      ...ceremony,
      name: `rekeyVerifyCancel${suffix}`,
      family,
      method: "DELETE",
      path: `${path}/verify`,
      summary: "Drop the new shares entered so far; the rekey stays",
      input: cancelling,
      output: verificationOutput,
      handler: async (room, input, context) =>
        showVerification(
          await rekeying(room).restartVerification({
            ...revealed(input),
            authorised: await context.isPrivileged(),
          }),
        ),
    }),
    endpoint({
      name: `readRekeyBackup${suffix}`,
      method: "GET",
      path: `${path}/backup`,
      summary: "Read the encrypted new shares that a rekey kept",
      access: access.sudo,
      rootOnly: true,
      family,
      input: {},
      output: out.object({
        nonce: out.string("Of the rekey that made them"),
        keys: out.mapOf(out.list(out.string("Message"), "In hex"), "By fingerprint"),
        keys_base64: out.mapOf(out.list(out.string("Message"), "In base64"), "By fingerprint"),
      }),
      handler: (room) => {
        const backup = rekeying(room).backup();
        if (backup === null) throw failures.noBackup();
        return { nonce: backup.nonce, keys: backup.keys, keys_base64: backup.keysBase64 };
      },
    }),
    endpoint({
      name: `deleteRekeyBackup${suffix}`,
      method: "DELETE",
      path: `${path}/backup`,
      summary: "Delete the encrypted new shares that a rekey kept",
      access: access.sudo,
      belongs: "local",
      rootOnly: true,
      family,
      input: {},
      output: out.nothing,
      handler: async (room) => {
        await rekeying(room).deleteBackup();
        return undefined;
      },
    }),
  ];
}

const unseal = { of: "unseal", rekeying: ({ keeper }: SealServices) => keeper.rekey };
const recovery = { of: "recovery", rekeying: ({ keeper }: SealServices) => keeper.rekeyRecovery };

export const ceremonyApi = [
  ...generateRootApi({ path: "/sys/generate-root", suffix: "", family: "bare" }),
  ...generateRootApi({ path: "/sys/generate-root-token", suffix: "Token", family: "enveloped" }),
  ...rekeyApi({ path: "/sys/rekey", suffix: "", family: "bare", ...unseal }),
  ...rekeyApi({ path: "/sys/rotate/root", suffix: "Rotation", family: "enveloped", ...unseal }),
  ...rekeyApi({ path: "/sys/rekey-recovery-key", suffix: "Recovery", family: "bare", ...recovery }),
  ...rekeyApi({
    path: "/sys/rotate/recovery",
    suffix: "RecoveryRotation",
    family: "enveloped",
    ...recovery,
  }),
];

interface Cancels {
  readonly nonce: string | undefined;
  readonly cancelNonce: Secret<string> | undefined;
}

/** What a caller who cancels has to show for it. */
function revealed({ nonce, cancelNonce }: Cancels) {
  return { nonce, cancelNonce: cancelNonce?.reveal() };
}

function showAttempt(attempt: RootAttempt) {
  return {
    started: attempt.started,
    nonce: attempt.nonce,
    progress: attempt.progress,
    required: attempt.required,
    complete: attempt.complete,
    encoded_token: attempt.encodedToken,
    encoded_root_token: attempt.encodedToken,
    pgp_fingerprint: attempt.pgpFingerprint,
    otp: attempt.otp?.reveal() ?? "",
    otp_length: attempt.otpLength,
    ...(attempt.cancelNonce === undefined ? {} : { cancel_nonce: attempt.cancelNonce.reveal() }),
  };
}

function showCommon(rekey: RekeyProgress | RekeyResult) {
  return {
    nonce: rekey.nonce,
    pgp_fingerprints: rekey.pgpFingerprints,
    backup: rekey.backup,
    verification_required: rekey.verificationRequired,
    verification_nonce: rekey.verificationNonce,
  };
}

function showRekey(rekey: RekeyProgress) {
  const { started, t, n, progress, required, cancelNonce } = rekey;
  return {
    ...showCommon(rekey),
    started,
    t,
    n,
    progress,
    required,
    ...(cancelNonce === undefined ? {} : { cancel_nonce: cancelNonce.reveal() }),
  };
}

function showResult(rekey: RekeyResult) {
  return {
    ...showCommon(rekey),
    complete: rekey.complete,
    keys: rekey.keys.reveal(),
    keys_base64: rekey.keysBase64.reveal(),
    ...(rekey.warnings.length === 0 ? {} : { warnings: rekey.warnings }),
  };
}

function showVerification({ nonce, t, n, progress, complete }: VerificationProgress) {
  return { nonce, t, n, progress, complete };
}
