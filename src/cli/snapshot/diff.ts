// `holdfast snapshot diff`: what differs between two snapshots, or between one and now.

import type { KeyObject } from "node:crypto";
import { HOUR } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import * as snapshots from "@holdfast/client/api/snapshots";
import { differenceOf, type Difference } from "../../snapshots/proof/difference.ts";
import type { CoreRows } from "../../snapshots/proof/core-rows.ts";
import { isRootKeyOf, OpenedArchive } from "../../snapshots/proof/opened-entries.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import type { View } from "../terminal/output.ts";
import { chunksOf, withArchive } from "./archive-file.ts";
import { KEY_FLAGS, type KeyFiles, rootKeyOf } from "./opened-archive.ts";

/** The server makes the whole archive before it sends the first byte. */
const MAKING = HOUR;
const SIGNS = { added: "+", removed: "-", changed: "~" };

export const snapshotDiff = command({
  name: "snapshot diff",
  summary: "Show what differs between two snapshots, or between one and now",
  description:
    "Secrets, policies, mounts, roles and namespaces that are new, gone or changed, and how many tokens and leases there " +
    "were. Values are not shown. Asks for key shares of the snapshots; without a second file a snapshot of the server " +
    "as it is now is taken and kept nowhere. Exit code 1 when something differs.",
  examples: [
    "holdfast snapshot diff monday.snap tuesday.snap",
    "holdfast snapshot diff -shares shares.txt monday.snap",
  ],
  flags: KEY_FLAGS,
  args: {
    before: argument.required("The older snapshot"),
    after: argument.optional("The newer one; without it the server as it is now"),
  },
  async run(context, { before, after, shares, sealKey }) {
    const { out } = context;
    const keys = new FoundKeys(context, { shares, sealKey });
    const compare = async (first: AsyncIterable<Uint8Array>, second: AsyncIterable<Uint8Array>) => {
      const old = new OpenedArchive(first, (rows) => keys.for(rows));
      const young = new OpenedArchive(second, (rows) => keys.for(rows));
      const difference = await differenceOf(old.entries(), young.entries(), context);
      return { difference, old: old.archive, young: young.archive };
    };
    const found = await withArchive(context, before, async (old) => {
      const first = chunksOf(context, old, "comparing");
      if (after === undefined) return compare(first, await now(context));
      return withArchive(context, after, (young) => compare(first, chunksOf(QUIETLY, young, "")));
    });
    const { difference, old, young } = found;
    const at = (archive: typeof old) => (archive === null ? "" : showTime(archive.meta.created));
    const { changes, named, other, tokens, leases } = difference;
    const data = {
      before: at(old),
      after: at(young),
      changes: changes.map(({ change, kind, namespace, name }) => ({
        change,
        kind,
        namespace,
        name,
      })),
      named,
      other,
      tokens,
      leases,
    };
    await out.show(data, viewOf(difference));
    const count = named.added + named.removed + named.changed;
    if (changes.length < count) out.hint(`The first ${changes.length} of ${count} are shown.`);
    if (count === 0) out.done("Nothing that has a name differs.");
    return count === 0 ? 0 : 1;
  },
});

/** Of two bars on one line one is enough. */
const QUIETLY = { progress: () => {}, quiet: () => {} };

async function now({ client }: Context): Promise<AsyncIterable<Uint8Array>> {
  return (await snapshots.takeSnapshot(client.inRoot(), { held: MAKING })).chunks;
}

/** Both are mostly of one root key: it is asked for once. */
class FoundKeys {
  readonly #context: Context;
  readonly #files: KeyFiles;
  readonly #found: KeyObject[] = [];
  #asking: Promise<unknown> = Promise.resolve();

  constructor(context: Context, files: KeyFiles) {
    this.#context = context;
    this.#files = files;
  }

  /** One after another: both may ask at the same time. */
  for(rows: CoreRows): Promise<KeyObject> {
    const found = this.#asking.then(async () => {
      const known = this.#found.find((key) => isRootKeyOf(rows, key));
      if (known !== undefined) return known;
      const key = await rootKeyOf(this.#context, rows, this.#files);
      this.#found.push(key);
      return key;
    });
    this.#asking = found.catch(() => {});
    return found;
  }
}

function viewOf({ changes, tokens, leases }: Difference): View {
  const counts = ({ before, after }: { before: number; after: number }) =>
    before === after ? String(before) : `${before} -> ${after}`;
  const rows = changes.map(({ change, kind, namespace, name }) => [
    SIGNS[change],
    kind,
    namespace === "" ? name : `${namespace}/${name}`,
  ]);
  const numbers: View = {
    pairs: [
      ["Tokens", counts(tokens)],
      ["Leases", counts(leases)],
    ],
  };
  if (rows.length === 0) return numbers;
  return { parts: [{ columns: ["", "Kind", "Name"], rows, unbroken: ["Name"] }, numbers] };
}
