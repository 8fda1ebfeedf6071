// `${env:NAME}` and `${file:/path}` in texts: how a secret stays out of the configuration file. What
// was put in is never shown in a message. `$${` stands for the characters `${`.

import { isUtf8 } from "node:buffer";
import { text as textOf, wipe } from "@holdfast/shared/bytes";
import { describe } from "@holdfast/shared/failure";
import type { Fs } from "@holdfast/shared/world";
import { showName } from "../document/document-failure.ts";
import type { StringValue } from "../document/hcl-node.ts";
import { Refusal } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_FILE = 64 * 1024; // a certificate chain would fit; these are keys and passwords

export interface Text {
  readonly text: string;
  /** Came out of the environment or a file, wholly or in part: not to be shown. */
  readonly hidden: boolean;
}

export class Texts {
  readonly #env: Environment;
  readonly #fs: Pick<Fs, "read">;
  readonly #files: Set<string>;
  #hidden = false;

  /** Paths of files that were put in are added to `files`. */
  constructor(env: Environment, fs: Pick<Fs, "read">, files: Set<string>) {
    this.#env = env;
    this.#fs = fs;
    this.#files = files;
  }

  of(value: StringValue): Text {
    let hidden = false;
    // One pass from left to right: what was put in is not looked at again.
    const text = value.text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, inner, closed) => {
      if (whole === "$${") return "${";
      hidden = true;
      if (typeof inner !== "string" || closed !== "}") throw malformed(value);
      if (inner.startsWith("env:")) return this.#fromEnvironment(value, inner.slice(4));
      if (inner.startsWith("file:/")) return this.#fromFile(value, inner.slice(5));
      throw malformed(value);
    });
    if (hidden) this.#hidden = true;
    return { text, hidden };
  }

  /** Whether any text since the last call must not be shown. */
  takeHidden(): boolean {
    const hidden = this.#hidden;
    this.#hidden = false;
    return hidden;
  }

  #fromEnvironment(value: StringValue, name: string): string {
    const found = this.#env[name];
    if (found !== undefined) return found;
    const problem = `the environment has no ${showName(name)}, which \${env:…} asks for`;
    throw new Refusal(value.position, problem);
  }

  /** Without the line break at its end, which editors add and nobody means. */
  #fromFile(value: StringValue, path: string): string {
    let bytes: Buffer | null;
    try {
      bytes = this.#fs.read(path, MAX_FILE);
    } catch (error) {
      throw new Refusal(value.position, describe(error));
    }
    if (bytes === null) {
      throw new Refusal(value.position, `there is no file ${showName(path)}`);
    }
    this.#files.add(path);
    try {
      if (!isUtf8(bytes)) throw new Refusal(value.position, `${showName(path)} is not UTF-8 text`);
      return textOf(bytes).replace(/\r?\n$/, "");
    } finally {
      wipe(bytes);
    }
  }
}

function malformed(value: StringValue): Refusal {
  const accepted = "${env:NAME} and ${file:/absolute/path}; for the characters themselves, $${";
  return new Refusal(value.position, `this is no substitution; accepted are ${accepted}`);
}
