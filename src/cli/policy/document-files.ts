// Policy documents as commands take them: a file, with or without @ in front, or - for standard input.

import type { Context } from "../command.ts";

// More than any kind may have, so that the refusal of one that is too large is the parser's.
const MAX_DOCUMENT = 2 ** 20;

export const DOCUMENT_HELP = "File that holds the document, or - for standard input";

export interface DocumentFile {
  /** For messages: the name of the file. */
  readonly from: string;
  /** The file itself; null for standard input. */
  readonly file: string | null;
  readonly text: string;
}

export async function readDocument(
  { files, prompt }: Pick<Context, "files" | "prompt">,
  path: string,
): Promise<DocumentFile> {
  if (path === "-") {
    return { from: "standard input", file: null, text: await prompt.whole(MAX_DOCUMENT) };
  }
  const file = path.startsWith("@") ? path.slice(1) : path;
  return { from: file, file, text: files.text(file, MAX_DOCUMENT) };
}
