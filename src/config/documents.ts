// Which files a configuration consists of, and their trees. HCL, JSON and YAML say the same things;
// the parser of YAML is loaded only when there is such a file.

import { isUtf8 } from "node:buffer";
import { join, resolve } from "node:path";
import { text as textOf } from "@holdfast/shared/bytes";
import { describe, OwnError } from "@holdfast/shared/failure";
import type { Fs } from "@holdfast/shared/world";
import { parseDocument } from "../document/document.ts";
import { DocumentFailure } from "../document/document-failure.ts";
import { type BodyShape, shapeDocument } from "../document/document-shape.ts";
import type { Body } from "../document/hcl-node.ts";
import { type DocumentLimits, SourceText } from "../document/source-text.ts";
import type { Problem } from "./problem.ts";

/** Reading only; unlike elsewhere links may be followed: these paths come from the operator. */
export type Files = Pick<Fs, "read" | "info" | "list">;

const LIMITS: DocumentLimits = { noun: "configuration", bytes: 2 ** 20, depth: 32, blocks: 1000 };
const IN_DIRECTORY = /^[^.].*\.(?:hcl|json|yaml|yml)$/;

export interface ConfigDocument {
  readonly file: string;
  readonly body: Body;
}

/** Each path, and of a directory what lies right inside it, in the order of names. */
export function filesOf(
  paths: readonly string[],
  directory: string,
  files: Files,
  problems: Problem[],
): string[] {
  return paths.flatMap((typed) => {
    const path = resolve(directory, typed);
    try {
      const info = files.info(path);
      if (info === null) throw new OwnError("there is no such file or directory");
      if (info.kind !== "directory") return [path];
      const names = files.list(path).filter((name) => IN_DIRECTORY.test(name));
      if (names.length === 0)
        throw new OwnError("no *.hcl, *.json or *.yaml lies in this directory");
      return names.map((name) => join(path, name));
    } catch (error) {
      problems.push({ place: { name: path, position: null }, text: describe(error) });
      return [];
    }
  });
}

/** Null when the file cannot be read or is not well-formed; the problem is noted. */
export async function readDocument(
  file: string,
  files: Files,
  shape: BodyShape,
  problems: Problem[],
): Promise<ConfigDocument | null> {
  try {
    const bytes = files.read(file, LIMITS.bytes);
    if (bytes === null) throw new OwnError("there is no such file");
    if (!isUtf8(bytes)) throw new OwnError("the file is not UTF-8 text");
    return { file, body: await parse(file, textOf(bytes), shape) };
  } catch (error) {
    problems.push(problemOf(file, error));
    return null;
  }
}

/** A document by the ending of its name; without a known one it is JSON or HCL by its first character. */
export async function parse(file: string, text: string, shape: BodyShape): Promise<Body> {
  const source = new SourceText(text, LIMITS);
  if (!/\.ya?ml$/.test(file)) return parseDocument(source, shape);
  const { parseYaml } = await import("../document/yaml-document.ts");
  return shapeDocument(parseYaml(source), shape, "json", LIMITS);
}

function problemOf(file: string, error: unknown): Problem {
  if (!(error instanceof DocumentFailure)) {
    return { place: { name: file, position: null }, text: describe(error) };
  }
  const { position, message } = error;
  // Its message begins with the position in another form.
  const text = position === null ? message : message.replace(/^At \d+:\d+: /, "");
  return { place: { name: file, position }, text };
}
