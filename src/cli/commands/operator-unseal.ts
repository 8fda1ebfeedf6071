// `holdfast operator unseal`

import type { Secret } from "@holdfast/shared/secret";
import * as seal from "@holdfast/client/api/seal";
import { AdvisedFailure } from "../advised-failure.ts";
import { argument } from "../argument.ts";
import { sealStatus, type SealStatus } from "../awaited-server.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { sealView } from "../seal-view.ts";
import { askShares, givenShare, SHARE_HELP, tellProgress } from "../shares.ts";

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
      const one = await givenShare(context, share);
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
    "run `holdfast operator init` once, and keep what it prints",
  );
}

/** All shares are there: what kept the server from opening is to be tried again. */
function hasEnough({ initialized, progress, t = 0 }: Partial<SealStatus>): boolean {
  return initialized === true && t > 0 && progress === t;
}
