// Endpoints of the seal and its data keys. Health and leadership are in api-node.ts, the ceremonies in
// api-ceremonies.ts. No shares, keys or tokens are ever logged here: they are in the answer alone.

import { showDuration } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as failures from "./failures.ts";
import type { HealthFacts } from "./health.ts";
import type { Initialised } from "./init.ts";
import type { SealKeeper } from "./keeper.ts";
import type { SealStatus } from "./status.ts";

/** The seal with what the node knows of itself. */
export interface SealServices {
  readonly keeper: SealKeeper;
  readonly clock: Clock;
  /** Of the key that evidence is signed with; null where it is not known yet. */
  readonly evidenceKey: () => string | null;
  /** Where this node stands in its cluster and replication set. */
  readonly health: () => HealthFacts & {
    readonly drMode: string;
    readonly performanceMode: string;
    /** Of these two kinds of replication: whether it is a primary of it that writes nothing. */
    readonly drFenced: boolean;
    readonly performanceFenced: boolean;
    readonly region: string;
    readonly lastWal: bigint;
    readonly bootstrapOpen: boolean;
    /** Of a secondary: how it stands to its primary; null for everybody else, and while sealed. */
    readonly heartbeat: {
      readonly clockSkew: Nanos;
      readonly echoDuration: Nanos;
      /** How old its data is. */
      readonly age: Nanos;
    } | null;
    /** When a stored snapshot was last proven to restore; null before, and while sealed. */
    readonly lastProvenRestore: Instant | null;
  };
}

const endpoint = endpointsOf<SealServices>();

/** What this node tells anybody, in every state; never audited. */
export const anyState = {
  access: access.open,
  belongs: "local",
  answers: "always",
  onDrSecondary: true,
  runs: "here",
  family: "bare",
  audited: false,
} as const;

const MAX_SHARE = 1024; // characters; a share has 66 in hex
const MAX_PGP_KEY = 64 * 1024;

const sealStatusOutput = out.object({
  type: out.string("Kind of seal"),
  initialized: out.boolean("Whether the server was initialised"),
  sealed: out.boolean("Whether the node has no keys"),
  t: out.integer("Shares needed to unseal"),
  n: out.integer("Shares there are"),
  progress: out.integer("Distinct shares given in the running attempt"),
  nonce: out.string("Names the running attempt; empty when none runs"),
  version: out.string("Version of the server"),
  build_date: out.string("When it was built"),
  migration: out.boolean("Whether the seal is being changed for another"),
  recovery_seal: out.boolean("Whether shares recover instead of unseal"),
  recovery_can_unseal: out.boolean("Whether recovery shares can unseal"),
  storage_type: out.string("Kind of storage"),
  cluster_name: out.optional(out.string("Name of the cluster; only while unsealed")),
  cluster_id: out.optional(out.string("Id of the cluster; only while unsealed")),
  evidence_key: out.optional(
    out.string("Fingerprint of the key that evidence is signed with; only while unsealed"),
  ),
  warnings: out.list(out.string("Warning"), "What an operator should know"),
});

/** The ring of data keys. Newer clients of the kind know it by a name of its own. */
function rotationApi(path: "/sys/rotate" | "/sys/rotate/keyring", suffix: "" | "Keyring") {
  return [
    endpoint({
      name: `rotate${suffix}`,
      method: "POST",
      path,
      summary: "Install a new data key",
      description:
        "What is stored stays readable; what is written from now on is under the new key.",
      access: access.sudo,
      belongs: "shared", // clusters that share data share its keys
      rootOnly: true,
      input: {},
      output: out.nothing,
      handler: async ({ keeper }) => {
        await keeper.rotate();
        return undefined;
      },
    }),

    endpoint({
      name: `readRotation${suffix}`,
      method: "GET",
      path: `${path}/config`,
      summary: "Tell when data keys are rotated",
      access: access.capability,
      rootOnly: true,
      input: {},
      output: out.object({
        enabled: out.boolean("Whether keys are rotated by themselves"),
        max_operations: out.integer("Encryptions after which a key is replaced"),
        interval: out.string("Age at which a key is replaced; 0s for none"),
      }),
      handler: ({ keeper }) => {
        const { enabled, maxOperations, interval } = keeper.rotation;
        return { enabled, max_operations: maxOperations, interval: showDuration(interval) };
      },
    }),

    endpoint({
      name: `configureRotation${suffix}`,
      method: "POST",
      path: `${path}/config`,
      summary: "Set when data keys are rotated",
      access: access.capability,
      belongs: "shared", // clusters that share data share its keys
      rootOnly: true,
      input: {
        enabled: wire.body("enabled").boolean("Whether keys are rotated by themselves").optional(),
        maxOperations: wire
          .body("max_operations")
          .integer("Encryptions after which a key is replaced: 1000000 to 3865470566")
          .optional(),
        interval: wire
          .body("interval")
          .duration("Age at which a key is replaced: 0 for none, or at least 24h")
          .optional(),
      },
      output: out.nothing,
      handler: async ({ keeper }, { enabled, maxOperations, interval }) => {
        const now = keeper.rotation;
        await keeper.configureRotation({
          enabled: enabled ?? now.enabled,
          maxOperations: maxOperations ?? now.maxOperations,
          interval: interval ?? now.interval,
        });
        return undefined;
      },
    }),
  ];
}

export const sealApi = [
  endpoint({
    name: "initStatus",
    method: "GET",
    path: "/sys/init",
    summary: "Tell whether the server was initialised",
    ...anyState,
    rootOnly: true,
    input: {},
    output: out.object({ initialized: out.boolean("Whether the server was initialised") }),
    handler: ({ keeper }) => ({ initialized: keeper.initialised }),
  }),

  endpoint({
    name: "init",
    method: "POST",
    path: "/sys/init",
    summary: "Initialise the server",
    description:
      "Makes the keys, splits the unseal key into shares and gives them out, once: the server keeps no " +
      "copy. Gives the first management token as root_token, or leaves the bootstrap open to its " +
      "first caller.",
    ...anyState,
    rootOnly: true,
    onDrSecondary: false,
    longBody: ({ keeper }) => !keeper.initialised,
    input: {
      secretShares: wire
        .body("secret_shares")
        .integer("Number of unseal shares; 5 if not given")
        .optional(),
      secretThreshold: wire
        .body("secret_threshold")
        .integer("Shares needed to unseal; 3, or all when there are fewer")
        .optional(),
      pgpKeys: wire
        .body("pgp_keys")
        .list("PGP public keys in base64, one for each share, to encrypt them to", { max: 255 })
        .optional(),
      rootTokenPgpKey: wire
        .body("root_token_pgp_key")
        .string("PGP public key in base64 to encrypt the root token to", { max: MAX_PGP_KEY })
        .optional(),
      recoveryShares: wire
        .body("recovery_shares")
        .integer("Number of recovery shares (auto seal)")
        .optional(),
      recoveryThreshold: wire
        .body("recovery_threshold")
        .integer("Recovery shares needed (auto seal)")
        .optional(),
      recoveryPgpKeys: wire
        .body("recovery_pgp_keys")
        .list("PGP public keys for the recovery shares (auto seal)", { max: 255 })
        .optional(),
      recoveryUnseal: wire
        .body("recovery_unseal")
        .boolean("Whether recovery shares can unseal when the auto seal's key is gone")
        .optional(),
      aclBootstrap: wire
        .body("acl_bootstrap")
        .oneOf(
          ["open", "closed"],
          "open: make no root token and leave /acl/bootstrap to its first caller",
        )
        .default("closed"),
    },
    output: out.object({
      keys: out.list(out.secret("Share"), "Unseal shares in hex"),
      keys_base64: out.list(out.secret("Share"), "The same in base64"),
      recovery_keys: out.optional(out.list(out.secret("Share"), "Recovery shares in hex")),
      recovery_keys_base64: out.optional(out.list(out.secret("Share"), "The same in base64")),
      root_token: out.optional(out.secret("The first management token")),
      evidence_key: out.optional(
        out.string("Fingerprint of the key that evidence is signed with: what an auditor notes"),
      ),
    }),
    handler: async ({ keeper, evidenceKey }, input) =>
      showInit(await keeper.init(input), evidenceKey()),
  }),

  endpoint({
    name: "sealStatus",
    method: "GET",
    path: "/sys/seal-status",
    summary: "Tell the state of the seal",
    ...anyState,
    rateLimited: false,
    input: {},
    output: sealStatusOutput,
    handler: (seal) => showStatus(seal.keeper.status(), seal),
  }),

  endpoint({
    name: "unseal",
    method: "POST",
    path: "/sys/unseal",
    summary: "Give one share of the unseal key",
    description:
      "Shares may be given in any order and by different people. With the last one needed the node " +
      "unseals. A wrong share does not undo the others: those given are tried together, and dropped " +
      "when there are three times as many as needed, or 16. When the shares were right and the node could not open, they " +
      "are kept for an hour: a request without a key tries again.",
    ...anyState,
    rootOnly: true,
    rateLimited: false,
    input: {
      key: wire.body("key").secret("A share, in hex or base64", { max: MAX_SHARE }).optional(),
      reset: wire
        .body("reset")
        .boolean("Drop the shares given so far; taken from the server's own machine")
        .default(false),
      migrate: wire.body("migrate").boolean("Not supported").default(false),
      seal: wire
        .body("seal")
        .string('Whose share: empty for the seal\'s own, "recovery" for a recovery share', {
          max: 64,
        })
        .default(""),
    },
    output: sealStatusOutput,
    handler: async (seal, { key, ...rest }, { remote }) => {
      const share = { ...rest, key: key?.reveal(), local: remote.loopback };
      return showStatus(await seal.keeper.unseal(share), seal);
    },
  }),

  endpoint({
    name: "seal",
    method: "POST",
    path: "/sys/seal",
    summary: "Seal the node",
    description: "Waits at most 10 s for running requests, then forgets every key.",
    access: access.sudoOr("seal"),
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: {},
    output: out.nothing,
    handler: async ({ keeper, health }, _, context) => {
      if (health().role !== "active") throw failures.sealStandby();
      context.detach();
      await keeper.seal();
      return undefined;
    },
  }),

  endpoint({
    name: "keyStatus",
    method: "GET",
    path: "/sys/key-status",
    summary: "Tell about the data key in use",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.object({
      term: out.integer("Number of the key"),
      install_time: out.time("When it was installed"),
      encryptions: out.integer("How often it has encrypted, at least"),
    }),
    handler: ({ keeper }) => {
      const { term, installed, encryptions } = keeper.keyStatus;
      return { term, install_time: showTime(installed), encryptions };
    },
  }),

  ...rotationApi("/sys/rotate", ""),
  ...rotationApi("/sys/rotate/keyring", "Keyring"),
];

function showStatus(status: SealStatus, { evidenceKey }: Pick<SealServices, "evidenceKey">) {
  return {
    type: status.type,
    initialized: status.initialized,
    sealed: status.sealed,
    t: status.t,
    n: status.n,
    progress: status.progress,
    nonce: status.nonce,
    version: status.version,
    build_date: status.buildDate,
    migration: status.migration,
    recovery_seal: status.recoverySeal,
    recovery_can_unseal: status.recoveryCanUnseal,
    storage_type: status.storageType,
    cluster_name: status.clusterName,
    cluster_id: status.clusterId,
    evidence_key: status.sealed ? undefined : (evidenceKey() ?? undefined),
    warnings: status.warnings,
  };
}

function showInit(made: Initialised, evidenceKey: string | null) {
  const recovery = made.recoveryKeys.reveal();
  return {
    keys: made.keys.reveal(),
    keys_base64: made.keysBase64.reveal(),
    ...(recovery.length === 0
      ? {}
      : { recovery_keys: recovery, recovery_keys_base64: made.recoveryKeysBase64.reveal() }),
    ...(made.rootToken === null ? {} : { root_token: made.rootToken.reveal() }),
    ...(evidenceKey === null ? {} : { evidence_key: evidenceKey }),
  };
}
