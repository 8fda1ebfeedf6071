// `holdfast operator rekey`

import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { RekeyCeremony } from "../rekey-ceremony.ts";
import { readPgpKeys } from "../pgp-files.ts";
import { checkThreshold, givenShare, SHARE_HELP } from "../shares.ts";
import { UsageError } from "../usage-error.ts";

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
    else if (verify) await ceremony.verify(await givenShare(context, share), nonce);
    else await ceremony.feed(await givenShare(context, share), nonce);
  },
});
