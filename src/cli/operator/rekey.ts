// `holdfast operator rekey`. By default the new shares must be entered before they become valid: if the answer
// that carries them is lost, the old ones still open the server.

import type { Secret } from "@holdfast/shared/secret";
import * as seal from "@holdfast/client/api/seal";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import {
  askShares,
  goOn,
  checkThreshold,
  readShare,
  keepCancelNonce,
  notRunning,
  readPgpKeys,
  SHARE_HELP,
  shareLines,
  tellProgress,
} from "./shares.ts";
import type { View } from "../terminal/output.ts";

const SHARES = { min: 1, max: 255 };

export const operatorRekey = command({
  name: "operator rekey",
  summary: "Replace the key shares by new ones",
  description:
    "On a terminal, without flags: starts a rekey (or joins the running one), asks for shares of the " +
    "present key, prints the new shares, and asks for enough of the new ones before they become " +
    "valid: until then the old ones are, so that an answer lost on its way loses no key. In steps: " +
    "-init, a share from each holder, then -verify with new shares.",
  examples: [
    "holdfast operator rekey -key-shares 5 -key-threshold 3",
    "holdfast operator rekey -init -key-shares 3 -key-threshold 2 -pgp-keys a.asc,b.asc,c.asc",
    "holdfast operator rekey - < share.txt",
    "holdfast operator rekey -verify - < new-share.txt",
  ],
  flags: {
    init: flag.switch("Start and do not ask for shares"),
    status: flag.switch("Show how far it is"),
    cancel: flag.switch(
      "End it (cancel nonce or sudo); with -verify: start the verification again",
    ),
    verify: flag.switch("The shares are new ones, to prove that they arrived"),
    nonce: flag.string(
      "Nonce of the rekey or its verification; with -cancel, the cancel nonce",
      "NONCE",
    ),
    target: flag.oneOf(["barrier", "recovery"], "Which shares to replace").default("barrier"),
    keyShares: flag.integer("Number of new shares", SHARES),
    keyThreshold: flag.integer("New shares that will be needed", SHARES),
    pgpKeys: flag.file("PGP public keys, one file per share, commas between").repeated(),
    noVerification: flag.switch("New shares are valid at once, whether they arrived or not"),
    backup: flag.switch("Keep the encrypted new shares on the server (needs -pgp-keys)"),
    backupRetrieve: flag.switch("Show the shares that were kept"),
    backupDelete: flag.switch("Delete the shares that were kept"),
  },
  args: { share: argument.optional(SHARE_HELP) },
  async run(context, input) {
    const { init, status, cancel, verify, nonce, share, backupRetrieve, backupDelete } = input;
    if ([init, status, cancel, backupRetrieve, backupDelete].filter(Boolean).length > 1) {
      throw new UsageError("-init, -status, -cancel and the -backup-… flags exclude each other");
    }
    checkThreshold([input.keyShares, "key-shares"], [input.keyThreshold, "key-threshold"]);
    const pgpKeys = readPgpKeys(context.files, input.pgpKeys);
    const ceremony = new RekeyCeremony(context, input.target, {
      ...(input.keyShares === undefined ? {} : { secret_shares: input.keyShares }),
      ...(input.keyThreshold === undefined ? {} : { secret_threshold: input.keyThreshold }),
      ...(pgpKeys.length === 0 ? {} : { pgp_keys: pgpKeys }),
      ...(input.backup ? { backup: true } : {}),
      require_verification: !input.noVerification,
    });
    if (backupRetrieve) await ceremony.showBackup();
    else if (backupDelete) await ceremony.deleteBackup();
    else if (cancel) await ceremony.cancel(verify, nonce);
    else if (status) await ceremony.showStatus(verify);
    else if (init) await ceremony.start();
    else if (verify) await ceremony.verify(await readShare(context, share), nonce);
    else await ceremony.feed(await readShare(context, share), nonce);
  },
});

/** The shares of the barrier and those for recovery have the same steps, each at a place of its own. */
interface RekeyCalls {
  readonly status: typeof seal.rekeyStatus;
  readonly start: typeof seal.rekeyStart;
  readonly cancel: typeof seal.rekeyCancel;
  readonly update: typeof seal.rekeyUpdate;
  readonly verification: typeof seal.rekeyVerification;
  readonly verify: typeof seal.rekeyVerify;
  readonly verifyCancel: typeof seal.rekeyVerifyCancel;
  readonly readBackup: typeof seal.readRekeyBackup;
  readonly deleteBackup: typeof seal.deleteRekeyBackup;
}

const BARRIER: RekeyCalls = {
  status: seal.rekeyStatus,
  start: seal.rekeyStart,
  cancel: seal.rekeyCancel,
  update: seal.rekeyUpdate,
  verification: seal.rekeyVerification,
  verify: seal.rekeyVerify,
  verifyCancel: seal.rekeyVerifyCancel,
  readBackup: seal.readRekeyBackup,
  deleteBackup: seal.deleteRekeyBackup,
};

const RECOVERY: RekeyCalls = {
  status: seal.rekeyStatusRecovery,
  start: seal.rekeyStartRecovery,
  cancel: seal.rekeyCancelRecovery,
  update: seal.rekeyUpdateRecovery,
  verification: seal.rekeyVerificationRecovery,
  verify: seal.rekeyVerifyRecovery,
  verifyCancel: seal.rekeyVerifyCancelRecovery,
  readBackup: seal.readRekeyBackupRecovery,
  deleteBackup: seal.deleteRekeyBackupRecovery,
};

class RekeyCeremony {
  readonly #context: Context;
  readonly #calls: RekeyCalls;
  readonly #wanted: seal.RekeyStartInput;

  /** `wanted`: what starts one. */
  constructor(context: Context, target: "barrier" | "recovery", wanted: seal.RekeyStartInput) {
    this.#context = context;
    this.#calls = target === "barrier" ? BARRIER : RECOVERY;
    this.#wanted = wanted;
  }

  async start(): Promise<void> {
    const { out } = this.#context;
    const status = await this.#start();
    await out.show(status, statusView(status));
    out.hint(keepCancelNonce("rekey"));
    out.hint("Next: run `holdfast operator rekey` with shares of the present key");
  }

  async showStatus(verification: boolean): Promise<void> {
    const status = verification ? await this.#verification() : await this.#status();
    await this.#context.out.show(status, statusView(status));
  }

  /** `nonce`: the cancel nonce. Without it the token needs sudo. */
  async cancel(verification: boolean, nonce: string | undefined): Promise<void> {
    const { client, out } = this.#context;
    if ((await this.#status()).started === false) throw notRunning("rekey");
    const cancel = verification ? this.#calls.verifyCancel : this.#calls.cancel;
    await cancel(client, nonce === undefined ? {} : { nonce });
    out.done(
      verification
        ? "Success! The verification starts again; the old shares are still valid."
        : "Success! The rekey is ended; nothing has changed.",
    );
  }

  /** One share of the present key, or as many as a person gives. */
  async feed(share: Secret<string> | null, nonce: string | undefined): Promise<void> {
    const { client, out, prompt } = this.#context;
    let status = await this.#status();
    if (status.started !== true) {
      if (share !== null || !prompt.interactive) {
        throw new UsageError("no rekey is running", "start one with -init");
      }
      status = await this.#start();
      out.hint(`Cancel nonce: ${status.cancel_nonce ?? ""}. ${keepCancelNonce("rekey")}`);
    }
    if ((status.verification_nonce ?? "") !== "") return this.verify(share, nonce);
    const running = nonce ?? status.nonce;
    out.hint(`Rekey ${running}\nEvery holder of a share should see this nonce.`);
    const give = async (one: Secret<string>) => {
      status = (await this.#calls.update(client, { key: one.reveal(), nonce: running })).data;
      const complete = status.keys !== undefined || status.complete === true;
      if (!complete) tellProgress(out, status.progress, status.required);
      return complete;
    };
    if (share === null) await askShares(this.#context, "Share of the present key", give);
    else await give(share);
    if (status.keys === undefined) {
      await out.show(status, statusView(status));
      out.hint(goOn("rekey"));
      return;
    }
    await this.#showNewShares(status);
    if (!status.verification_required) return;
    if (prompt.interactive && share === null) return this.verify(null, status.verification_nonce);
    out.hint("Next: run `holdfast operator rekey -verify` with enough of the new shares");
  }

  /** New shares, which prove that they arrived. */
  async verify(share: Secret<string> | null, nonce: string | undefined): Promise<void> {
    const { client, out, prompt } = this.#context;
    // How it stands, should nobody enter a share.
    let status: Partial<seal.RekeyVerifyAnswer> = await this.#verification();
    const running = nonce ?? status.nonce ?? "";
    const give = async (one: Secret<string>) => {
      status = (await this.#calls.verify(client, { key: one.reveal(), nonce: running })).data;
      if (status.complete === true) return true;
      tellProgress(out, status.progress, status.t);
      return false;
    };
    if (share !== null) await give(share);
    else if (!prompt.interactive) await prompt.secret("New share"); // says that nobody can be asked
    else {
      out.hint(
        "Enter new shares now: they become valid, and the old ones void, when enough are in.",
      );
      await askShares(this.#context, "New share", give);
    }
    if (status.complete === true) out.hint("The new shares are valid; the old ones are void.");
    else out.hint("The old shares are still valid. Next: `holdfast operator rekey -verify`");
    await out.show(status, statusView(status));
  }

  async showBackup(): Promise<void> {
    const { client, out } = this.#context;
    const { data } = await this.#calls.readBackup(client);
    await out.show(data, {
      columns: ["PGP Fingerprint", "Encrypted Share"],
      rows: Object.entries(data.keys_base64).flatMap(([print, shares]) =>
        shares.map((one) => [print, one]),
      ),
    });
  }

  async deleteBackup(): Promise<void> {
    const { client, out } = this.#context;
    await this.#calls.deleteBackup(client);
    out.done("Success! The kept shares are deleted.");
  }

  async #showNewShares(made: seal.RekeyUpdateAnswer): Promise<void> {
    const { out } = this.#context;
    await out.show(made, { text: shareLines("Key", made.keys_base64).join("\n") });
    const until = made.verification_required
      ? " They become valid when they have been verified."
      : "";
    out.hint(`\nNew shares, shown once and kept nowhere.${until}`);
  }

  async #status(): Promise<seal.RekeyStatusAnswer> {
    return (await this.#calls.status(this.#context.client)).data;
  }

  async #start(): Promise<seal.RekeyStartAnswer> {
    return (await this.#calls.start(this.#context.client, this.#wanted)).data;
  }

  async #verification(): Promise<seal.RekeyVerificationAnswer> {
    return (await this.#calls.verification(this.#context.client)).data;
  }
}

/** Of the rekey, or of its verification. */
function statusView(status: Partial<seal.RekeyStatusAnswer>): View {
  const { started, complete, nonce, n, t, progress, required, cancel_nonce: cancelNonce } = status;
  const verification = status.verification_nonce || status.verification_required;
  return {
    pairs: [
      ["Nonce", nonce],
      ...(cancelNonce === undefined || cancelNonce === ""
        ? []
        : [["Cancel Nonce", cancelNonce] as const]),
      ...(started === undefined ? [] : [["Started", started] as const]),
      ...(complete === undefined ? [] : [["Complete", complete] as const]),
      ["New Shares", n],
      ["New Threshold", t],
      ["Progress", `${progress ?? 0}/${required ?? t ?? 0}`],
      ...(verification === undefined ? [] : [["Verification", verification] as const]),
    ],
  };
}
