// `holdfast operator init`, `unseal`, `seal`, `rotate`, `key-status` and `step-down`.

import type { Secret } from "@holdfast/shared/secret";
import type { Instant } from "@holdfast/shared/world";
import * as seal from "@holdfast/client/api/seal";
import { ON_UNINITIALISED } from "../advice/advice.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { sealStatus, sealView, type SealStatus } from "./seal-status.ts";
import {
  askShares,
  checkThreshold,
  readShare,
  readPgpKey,
  readPgpKeys,
  SHARE_HELP,
  shareLines,
  tellProgress,
} from "./shares.ts";
import type { View } from "../terminal/output.ts";
import { plainTime } from "../terminal/relative-time.ts";
import { showValue } from "../terminal/value.ts";

const SHARES = { min: 1, max: 255 };

export const operatorInit = command({
  name: "operator init",
  summary: "Initialise a new server and print its key shares, once",
  description:
    "Splits the key that opens the server into shares for several people. Shares and root token are " +
    "printed this once and kept nowhere. Without flags: 5 shares, any 3 of them open the server.",
  examples: [
    "holdfast operator init",
    "holdfast operator init -key-shares 3 -key-threshold 2 -format json",
    "holdfast operator init -pgp-keys anna.asc,ben.asc,cleo.asc -key-shares 3 -key-threshold 2",
  ],
  flags: {
    status: flag.switch("Only tell whether the server is initialised (exit code 0, or 1)"),
    keyShares: flag.integer("Number of shares", SHARES),
    keyThreshold: flag.integer("Shares that are needed to unseal", SHARES),
    pgpKeys: flag.file("PGP public keys, one file per share, commas between").repeated(),
    rootTokenPgpKey: flag.file("PGP public key to encrypt the root token to"),
    recoveryShares: flag.integer("Number of recovery shares (auto seal)", SHARES),
    recoveryThreshold: flag.integer("Recovery shares that are needed (auto seal)", SHARES),
    recoveryPgpKeys: flag.file("PGP public keys for recovery shares").repeated(),
    noRecoveryUnseal: flag.switch("Recovery shares shall not be able to unseal (auto seal)"),
    aclBootstrapOpen: flag.switch("Give no root token; leave /acl/bootstrap to the first caller"),
  },
  args: {},
  async run({ client, out, files }, input) {
    if (input.status) {
      const { body, data } = await seal.initStatus(client);
      const ready = data.initialized === true;
      const text = ready ? "The server is initialised." : "The server is not initialised.";
      await out.show(body, { text });
      return ready ? 0 : 1;
    }
    checkThreshold([input.keyShares, "key-shares"], [input.keyThreshold, "key-threshold"]);
    checkThreshold(
      [input.recoveryShares, "recovery-shares"],
      [input.recoveryThreshold, "recovery-threshold"],
    );
    const pgpKeys = readPgpKeys(files, input.pgpKeys);
    const recoveryPgpKeys = readPgpKeys(files, input.recoveryPgpKeys);
    const rootKey = input.rootTokenPgpKey;
    const { data: made } = await seal.init(client, {
      secret_shares: input.keyShares,
      secret_threshold: input.keyThreshold,
      pgp_keys: pgpKeys.length > 0 ? pgpKeys : undefined,
      root_token_pgp_key: rootKey === undefined ? undefined : readPgpKey(files, rootKey),
      recovery_shares: input.recoveryShares,
      recovery_threshold: input.recoveryThreshold,
      recovery_pgp_keys: recoveryPgpKeys.length > 0 ? recoveryPgpKeys : undefined,
      recovery_unseal: input.noRecoveryUnseal ? false : undefined,
      acl_bootstrap: input.aclBootstrapOpen ? "open" : undefined,
    });
    await out.show(made, { text: layout(made) });
    const encrypted = pgpKeys.length > 0 || recoveryPgpKeys.length > 0;
    out.hint(
      "\nThis is shown once and kept nowhere. Give each share to another person" +
        (encrypted
          ? "; each can be read with its PGP key alone."
          : "; whoever has enough of them can read everything this server will ever store."),
    );
    out.hint(await whatNext(client));
    return 0;
  },
});

/** The shares are out: nothing that fails from here on may make this look like a failure. */
async function whatNext(client: Context["client"]): Promise<string> {
  const plain = "Next: run `holdfast status`";
  try {
    const { t, n, sealed, recovery_seal: recovery } = (await seal.status(client)).data;
    const needed = `${showValue(t)} of these ${showValue(n)} shares`;
    if (recovery === true) {
      const next = sealed === false ? "Next: run `holdfast login` with the root token" : plain;
      return `The server opens by itself. ${needed} make a new root token or new shares.\n${next}`;
    }
    return `Next: run \`holdfast operator unseal\` with ${needed}.`;
  } catch {
    return plain;
  }
}

function layout(made: seal.InitAnswer): string {
  const root = made.root_token ?? "";
  const token = root !== "" ? ["", `Initial Root Token: ${root}`] : [];
  return [
    ...shareLines("Unseal Key", made.keys_base64),
    ...shareLines("Recovery Key", made.recovery_keys_base64),
    ...token,
    ...(made.evidence_key === undefined ? [] : ["", `Evidence Key: ${made.evidence_key}`]),
  ].join("\n");
}

export const operatorUnseal = command({
  name: "operator unseal",
  summary: "Give key shares until the server opens",
  description:
    "On a terminal it asks for one share after another, without showing them, until the server is " +
    "unsealed or you enter an empty line. Shares can be given from several machines, in any order; a " +
    "wrong one does not undo the others. When the shares were right and the server could not open, it " +
    "keeps them for an hour: mend the cause and run this again, no share is asked for.",
  examples: [
    "holdfast operator unseal",
    "holdfast operator unseal - < share.txt",
    "holdfast operator unseal -reset",
  ],
  flags: {
    reset: flag.switch("Drop the shares given so far (on the server's own machine)"),
    recovery: flag.switch("The shares are recovery shares (auto seal whose key is gone)"),
  },
  args: { share: argument.optional(SHARE_HELP) },
  withoutToken: true,
  async run(context, { reset, recovery, share }) {
    const { out } = context;
    const client = context.client.inRoot();
    let status: Partial<SealStatus> = {};
    const post = async (input: seal.UnsealInput) => {
      status = (await seal.unseal(client, input)).data;
      return status.sealed === false;
    };
    const give = async (one: Secret<string>) => {
      const before = status.progress;
      const open = await post({ key: one.reveal(), ...(recovery ? { seal: "recovery" } : {}) });
      if (open) return true;
      // The server counts a share once, and says nothing when it comes again.
      if (status.progress === before) out.warn("this share was given already; give another one");
      tellProgress(out, status.progress, status.t);
      return open;
    };
    if (reset) {
      await post({ reset: true });
    } else {
      status = await sealStatus(client);
      if (status.initialized === false) throw uninitialised();
      const one = await readShare(context, share);
      if (one !== null) {
        await give(one);
      } else {
        if (status.sealed === false) out.hint("The server is unsealed already.");
        else if (!hasEnough(status)) await askShares(context, "Share", give);
        else if (await post({})) out.hint("The shares that the server kept have opened it.");
      }
    }
    await out.show(status, sealView(status));
    if (status.sealed === true) out.hint("Next: run `holdfast operator unseal` with more shares");
    return 0;
  },
});

/** Told before a share is asked for: none could be right. */
function uninitialised(): AdvisedFailure {
  return new AdvisedFailure(
    "unavailable",
    "server-uninitialised",
    "the server is not initialised: there are no shares yet",
    ON_UNINITIALISED,
  );
}

/** All shares are there: what kept the server from opening is to be tried again. */
function hasEnough({ initialized, progress, t = 0 }: Partial<SealStatus>): boolean {
  return initialized === true && t > 0 && progress === t;
}

export const operatorSeal = command({
  name: "operator seal",
  summary: "Close the server: its keys leave memory",
  description:
    "Nothing but its state can be read until it is unsealed with key shares again. On a terminal it " +
    "asks first.",
  examples: ["holdfast operator seal", "holdfast operator seal -yes"],
  flags: { yes: flag.switch("Do not ask") },
  args: {},
  async run({ client, out, prompt, settings }, { yes }) {
    if ((await sealStatus(client.inRoot())).sealed === true) {
      out.hint("The server is sealed already.");
      return 0;
    }
    if (!yes && prompt.interactive) {
      const { display } = settings.address.value;
      const question = `Seal ${display}? Nobody gets a secret until enough shares have opened it again.`;
      if (!(await prompt.confirm(question))) {
        out.hint("Nothing was sealed.");
        return 1;
      }
    }
    await seal.seal(client);
    out.done("Success! The server is sealed.");
    return 0;
  },
});

export const operatorRotate = command({
  name: "operator rotate",
  summary: "Start a new encryption key for what is written from now on",
  description: "Older data stays readable under its older key. Shares do not change.",
  examples: ["holdfast operator rotate"],
  flags: {},
  args: {},
  async run({ client, out, clock }) {
    await seal.rotate(client);
    const { data } = await seal.keyStatus(client);
    out.done("Success! A new encryption key is in use.");
    await out.show(data, keyStatusView(data, clock.now()));
  },
});

export const operatorKeyStatus = command({
  name: "operator key-status",
  summary: "Show the encryption key in use: term, age, number of encryptions",
  examples: ["holdfast operator key-status"],
  flags: {},
  args: {},
  async run({ client, out, clock }) {
    const { data } = await seal.keyStatus(client.inRoot());
    await out.show(data, keyStatusView(data, clock.now()));
  },
});

function keyStatusView(data: seal.KeyStatusAnswer, now: Instant): View {
  return {
    pairs: [
      ["Key Term", data.term],
      ["Install Time", plainTime(data.install_time, now)],
      ["Encryption Count", data.encryptions],
    ],
  };
}

export const operatorStepDown = command({
  name: "operator step-down",
  summary: "Let another node of the cluster become the active one",
  examples: ["holdfast operator step-down"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await seal.leader(client.inRoot());
    if (data.ha_enabled === false) {
      throw new AdvisedFailure(
        "unavailable",
        "single-node",
        "this server is a single node: there is no other to give way to",
        "`holdfast operator seal` closes it, if that is what you mean",
      );
    }
    await seal.stepDown(client);
    out.done("Success! The active node gives way.");
  },
});
