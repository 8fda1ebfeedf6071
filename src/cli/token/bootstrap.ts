// `holdfast acl bootstrap`, `acl bootstrap status` and `acl bootstrap reset`

import { join } from "node:path";
import { utf8 } from "@holdfast/shared/bytes";
import { ApiError } from "@holdfast/client/api-error";
import * as seal from "@holdfast/client/api/seal";
import * as tokens from "@holdfast/client/api/tokens";
import { argument } from "../line/argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { tokenOf } from "./fields.ts";
import { readSecret, needSecretOut, SECRET_OUT_FLAG, withSecretFile } from "./secrets.ts";
import { showToken, TOKEN_FLAGS } from "./view.ts";
import { UsageError } from "../line/usage-error.ts";

const RESET_FILE = "acl-bootstrap-reset";

export const aclBootstrap = command({
  name: "acl bootstrap",
  summary: "Make the first management token, once",
  description:
    "Needs no token. Works on a server that was initialised with -acl-bootstrap-open, in development " +
    "mode, and after a reset. The server chooses the secret, or takes the UUID in FILE (./status for a " +
    "file of that name: `acl bootstrap status` and `reset` are commands of their own).",
  examples: [
    "holdfast acl bootstrap",
    "holdfast acl bootstrap -secret-out first-token",
    "holdfast acl bootstrap - < chosen-secret",
  ],
  flags: { ...SECRET_OUT_FLAG, ...TOKEN_FLAGS },
  args: { file: argument.optional("File that holds the wanted secret; - for standard input") },
  async run(context, { file, secretOut, quiet }) {
    if (file === undefined) needSecretOut(quiet, secretOut);
    const chosen = file === undefined ? null : await readSecret(context, file, "bootstrap secret");
    const input = { BootstrapSecret: chosen?.reveal() ?? "" };
    // Whoever has a token already does not hand it over for this.
    const client = context.client.withToken(null);
    const { token, secret } = await withSecretFile(context, secretOut, async () =>
      tokenOf((await tokens.bootstrapAcl(client, input)).data),
    );
    await showToken(context, token, { secret, quiet });
    if (context.out.forPeople) context.out.hint("Next: run `holdfast login` with the secret");
  },
});

export const bootstrapStatus = command({
  name: "acl bootstrap status",
  summary: "Tell whether the first management token can still be made",
  description: "Needs no token, and changes nothing.",
  examples: ["holdfast acl bootstrap status", "holdfast acl bootstrap status -field open"],
  flags: {},
  args: {},
  async run(context) {
    const open = await isOpen(context);
    await context.out.show({ open }, { pairs: [["Bootstrap", open ? "open" : "done"]] });
    context.out.hint(
      open
        ? "Next: run `holdfast acl bootstrap` now: whoever comes first gets a management token"
        : "If every management token is lost: `holdfast acl bootstrap reset`",
    );
  },
});

export const bootstrapReset = command({
  name: "acl bootstrap reset",
  summary: "Tell how the bootstrap is opened again, and on the server's machine do it",
  description:
    "For the loss of every management token. Whoever may write to the server's data directory may open " +
    "the bootstrap once more: with -data-dir this command writes the file there, otherwise it says what " +
    "to write. Run it as the user that the server runs as. Older tokens stay valid.",
  examples: [
    "holdfast acl bootstrap reset",
    "sudo -u holdfast holdfast acl bootstrap reset -data-dir /var/lib/holdfast",
  ],
  flags: { dataDir: flag.string("Data directory of the server, on this machine", "DIRECTORY") },
  args: {},
  async run(context, { dataDir }) {
    const { client, out } = context;
    if (await isOpen(context)) {
      out.hint("The bootstrap is open: there is nothing to reset. Next: `holdfast acl bootstrap`");
      return 1;
    }
    const index = await resetIndex(client.withToken(null));
    const target = join(dataDir ?? "DATA_DIR", "server", RESET_FILE);
    if (dataDir !== undefined) writeReset(context, dataDir, index);
    const steps =
      dataDir === undefined
        ? `On the server's machine, as its user, with its data_dir for DATA_DIR:\n\n  echo ${index} > ${target}\n\nThen: holdfast acl bootstrap`
        : `Wrote ${index} to ${target}.\nNext: run \`holdfast acl bootstrap\`: the next caller gets a management token`;
    await out.show({ index, file: target, written: dataDir !== undefined }, { text: steps });
    return 0;
  },
});

async function isOpen({ client }: Context): Promise<boolean> {
  const accept = [429, 472, 473];
  const { data } = await seal.health(client.withToken(null), {}, { accept });
  return data.acl_bootstrap_open === true;
}

/** The server tells the number in its refusal, and nowhere else. */
async function resetIndex(client: Context["client"]): Promise<number> {
  try {
    // No secret: were it open after all, this would be refused too.
    await tokens.bootstrapAcl(client, { BootstrapSecret: "no UUID" });
  } catch (error) {
    const text = error instanceof ApiError ? error.message : "";
    const [, index] = /\(reset index: (\d+)\)/.exec(text) ?? [];
    if (index !== undefined) return Number(index);
    throw error;
  }
  throw new UsageError("the server does not tell the number that a reset needs");
}

function writeReset({ fs }: Context, dataDir: string, index: number): void {
  const info = fs.info(dataDir);
  if (info?.kind !== "directory") throw new UsageError(`${dataDir} is no directory`);
  if (!info.ours) {
    const next = "run this as the user that the server runs as, with sudo -u say";
    throw new UsageError(`${dataDir} belongs to another user`, next);
  }
  const directory = join(dataDir, "server");
  fs.makeDirectory(directory);
  fs.replace(join(directory, RESET_FILE), utf8(`${index}\n`));
}
