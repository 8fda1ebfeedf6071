// `holdfast kv move` and `holdfast kv copy`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command, type Command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG, type KvPlace } from "../kv-place.ts";
import { CAS_FLAG } from "../kv-versions.ts";
import { UsageError } from "../usage-error.ts";

export const kvMove: Command = relocation("move", {
  summary: "Move a secret, or a folder of them, inside its mount",
  rights: "It needs delete on the source and create on the target.",
});

export const kvCopy: Command = relocation("copy", {
  summary: "Copy a secret, or a folder of them, inside its mount",
  rights: "It needs read on the source and create on the target.",
});

function relocation(
  verb: "move" | "copy",
  { summary, rights }: { readonly summary: string; readonly rights: string },
): Command {
  return command({
    name: `kv ${verb}`,
    summary,
    description:
      `All versions go along; the data never leaves the server. ${rights} -recursive takes a folder, ` +
      "each secret in one step of its own.",
    examples: [
      `holdfast kv ${verb} secret/app secret/shop/app`,
      `holdfast kv ${verb} -recursive secret/shop secret/old/shop`,
    ],
    flags: { ...MOUNT_FLAG, ...CAS_FLAG, recursive: flag.switch("All secrets below FROM") },
    args: {
      from: argument.required(KEY_HELP, { words: "kv" }),
      to: argument.required("Path that it gets, in the same mount"),
    },
    async run(context, { from, to, mount, cas, recursive }) {
      const { client, out } = context;
      const source = (await findKv(client, from, mount)).needVersions();
      const target = await findKv(client, to, mount);
      if (target.mount !== source.mount) {
        throw new UsageError(
          `${source.shown} and ${target.shown} are in two mounts, and cannot be reached in one step`,
          "read from the one and put into the other: `kv get -format json`, `kv put PATH -`",
        );
      }
      if (!recursive) [source, target].forEach((place) => place.needKey());
      const count = await relocate(context, source, verb, {
        from: source.key,
        to: target.key,
        ...(recursive ? { recursive } : {}),
        ...(cas === undefined ? {} : { cas }),
      });
      const done = verb === "move" ? "Moved" : "Copied";
      const what = recursive ? `${count} ${count === 1 ? "secret" : "secrets"} from ` : "";
      const sentence = `Success! ${done} ${what}${source.shown} to ${target.shown}`;
      await out.show({ [done.toLowerCase()]: count }, { text: sentence });
    },
  });
}

/** Until the server has no more: of a folder it takes so many at a time. How many went. */
async function relocate(
  context: Context,
  source: KvPlace,
  verb: "move" | "copy",
  input: kv.MoveInput,
): Promise<number> {
  let count = 0;
  let after: string | undefined;
  for (;;) {
    const { done, next } = await relocateSome(context, source, verb, { ...input, after });
    count += done;
    if (next === undefined || next === "") break;
    after = next;
    context.progress(`${verb === "move" ? "moving" : "copying"} ${source.shown}: ${count} done`);
  }
  context.quiet();
  return count;
}

async function relocateSome(
  { client }: Context,
  { mount }: KvPlace,
  verb: "move" | "copy",
  input: kv.MoveInput,
): Promise<{ readonly done: number; readonly next: string | undefined }> {
  if (verb === "copy") {
    const { copied, next } = (await kv.copy(client, mount, input)).data;
    return { done: copied, next };
  }
  const { moved, next } = (await kv.move(client, mount, input)).data;
  return { done: moved, next };
}
