// `holdfast operator init`

import * as seal from "@holdfast/client/api/seal";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { readPgpKey, readPgpKeys } from "../pgp-files.ts";
import { checkThreshold, shareLines } from "../shares.ts";
import { shown } from "../terminal/value.ts";

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
    const needed = `${shown(t)} of these ${shown(n)} shares`;
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
  ].join("\n");
}
