// Asks a person. Secrets are read without echo; questions and prompts go to standard error, so that
// the answer to a command can still be piped. Also the one place that reads standard input.

import { isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import { concat, text, utf8, wipe } from "@holdfast/shared/bytes";
import { Secret } from "@holdfast/shared/secret";
import { afterColon } from "../line/argument.ts";
import { UsageError } from "../line/usage-error.ts";
import { Typing } from "./typing.ts";
import { fitted, type OutputStream } from "./output.ts";

export interface InputStream extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  setRawMode?(on: boolean): unknown;
}

const MAX_LINE = 64 * 1024;

/** Ctrl-C at a prompt. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export class Prompt {
  readonly #stdin: InputStream;
  readonly #stderr: OutputStream;
  /** Whether there is somebody to ask. */
  readonly interactive: boolean;
  readonly #typing = new Typing(MAX_LINE);
  #listening = false;

  constructor(stdin: InputStream, stderr: OutputStream, nonInteractive: boolean) {
    this.#stdin = stdin;
    this.#stderr = stderr;
    this.interactive = stdin.isTTY === true && !nonInteractive;
  }

  /** Null when the input ended instead. `exact`: blanks at its ends are part of it. */
  async secret(label: string, { exact = false } = {}): Promise<Secret<string> | null> {
    this.needPerson(label);
    return this.hidden(async () => {
      this.#stderr.write(fitted(`${label} (not shown): `, this.#stderr));
      const line = await this.#typing.next();
      this.#stderr.write("\n");
      return line === null ? null : new Secret(exact ? line : line.trim());
    });
  }

  /**
   * Echo is off from before the first prompt until all is done: somebody who types or pastes the next
   * share while the server is still busy with the last must not see it either. Ctrl-C ends the wait.
   */
  hidden<T>(work: () => Promise<T>): Promise<T> {
    return this.#listening ? work() : this.#listen(true, work);
  }

  async confirm(question: string): Promise<boolean> {
    this.needPerson(question);
    return this.#listen(false, async () => {
      this.#stderr.write(fitted(`${question} [y/N] `, this.#stderr));
      const line = await this.#typing.next();
      return line !== null && /^y(es)?$/i.test(line.trim());
    });
  }

  /** All of standard input as text, byte for byte. A terminal is told how it ends. */
  async whole(maxBytes: number): Promise<string> {
    if (this.#stdin.isTTY === true) {
      if (!this.interactive) throw new UsageError("cannot read standard input: it is a terminal");
      this.#stderr.write(
        "Reading standard input, which is shown as it is typed; end it with Ctrl-D.\n",
      );
    }
    const parts: Buffer[] = [];
    let length = 0;
    for await (const piece of this.#stdin) {
      length += piece.length;
      if (length > maxBytes) {
        throw new UsageError(`standard input has more than ${maxBytes} bytes`);
      }
      parts.push(typeof piece === "string" ? utf8(piece) : piece);
    }
    const bytes = concat(...parts);
    wipe(...parts);
    try {
      if (!isUtf8(bytes)) {
        throw new UsageError("standard input is not UTF-8 text", "encode it, in base64 say");
      }
      return text(bytes);
    } finally {
      wipe(bytes);
    }
  }

  /** One line that is all of standard input: a share, a token. On a terminal it is asked for. */
  async piped(what: string): Promise<Secret<string>> {
    if (this.interactive) {
      const label = what.charAt(0).toUpperCase() + what.slice(1);
      const typed = await this.secret(label);
      if (typed === null || typed.reveal() === "") throw new UsageError(`no ${what} was given`);
      return typed;
    }
    const line = (await this.whole(MAX_LINE)).trim();
    if (line === "") {
      throw new UsageError(
        `standard input holds no ${what}`,
        "look at the file or command that it comes from: it is empty, or has failed",
      );
    }
    if (/\s/.test(line)) {
      throw new UsageError(
        `standard input must hold one ${what} and no more`,
        "look at the file or command that it comes from: it is to give that alone, as one line (-field prints one value)",
      );
    }
    return new Secret(line);
  }

  /** Refuses to go on where nobody can be asked, with how it is given otherwise. */
  needPerson(
    label: string,
    next = "give it on standard input with - as the argument, or run this in a terminal",
  ): void {
    if (this.interactive) return;
    throw new UsageError(`there is no terminal to ask on: ${afterColon(label)}`, next);
  }

  async #listen<T>(hidden: boolean, work: () => Promise<T>): Promise<T> {
    const stdin = this.#stdin;
    const decoder = new StringDecoder("utf8");
    const interrupted = Promise.withResolvers<never>();
    const onData = (piece: Buffer | string) => {
      const keys = typeof piece === "string" ? piece : decoder.write(piece);
      if (this.#typing.take(keys, hidden)) interrupted.reject(new Interrupted());
    };
    const onEnd = () => this.#typing.end();
    this.#listening = true;
    if (hidden) stdin.setRawMode?.(true);
    stdin.on("data", onData);
    stdin.on("end", onEnd);
    stdin.resume();
    try {
      return await Promise.race([work(), interrupted.promise]);
    } finally {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      stdin.pause();
      if (hidden) stdin.setRawMode?.(false);
      this.#listening = false;
    }
  }
}
