// `holdfast policy fmt`

import { Failure } from "@holdfast/shared/failure";
import { layOutPolicy } from "../policy-layout.ts";
import { notationOf } from "../policy-notation.ts";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { type GivenDocument, readDocument } from "../policy-files.ts";
import { onOneLine } from "../refusal-text.ts";
import { UsageError } from "../usage-error.ts";

export const policyFmt = command({
  name: "policy fmt",
  summary: "Bring policy documents into the common layout",
  description:
    "Files are changed in place, and those that were are named; - takes a document from standard input " +
    "and prints it. Comments are kept, the text of expressions is not touched. JSON and documents that " +
    "are one expression stay as they are. With -check nothing is written: exit code 1 when a file is " +
    "not in the layout. Needs no server.",
  examples: [
    "holdfast policy fmt *.hcl *.cel",
    "holdfast policy fmt -check policies/*",
    "holdfast policy read readonly | holdfast policy fmt -",
  ],
  flags: { check: flag.switch("Change nothing; name the files that would be") },
  args: { file: argument.rest("Files that hold documents, or - for standard input") },
  async run(context, { check, file: given }) {
    const { out } = context;
    if (given.length === 0) {
      throw new UsageError("FILE is missing: files to format, or - for standard input");
    }
    const changed: string[] = [];
    let failed = false;
    for (const one of given) {
      const document = await readDocument(context, one);
      const laidOut = layOut(context, document);
      failed ||= laidOut === null;
      if (laidOut === null) continue;
      if (laidOut !== document.text) changed.push(document.from);
      if (check) continue;
      if (document.file === null) out.text(laidOut);
      else if (laidOut !== document.text) context.files.replace(document.file, laidOut);
    }
    const told = changed.filter((from) => check || from !== "standard input");
    if (told.length > 0) await out.show(told, { text: told.join("\n") });
    return failed || (check && changed.length > 0) ? 1 : 0;
  },
});

/** Null for a document that cannot be read; the others are formatted all the same. */
function layOut({ out }: Pick<Context, "out">, { from, text }: GivenDocument): string | null {
  try {
    return layOutPolicy(text, notationOf(text));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    out.error(`${from}: ${onOneLine(error.message)}`, null);
    return null;
  }
}
