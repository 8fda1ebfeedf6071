// The first line that a plugin prints: where it is reached, or what it is instead of a plugin.

import type { Readable } from "node:stream";
import { MAX_LINE } from "@holdfast/plugin-sdk/wire/handshake";

/**
 * Resolves with the line, its beginning where there is no end to it, or null where the process ended without one. What follows
 * is read on and thrown away by whoever has the stream next: a plugin must not wait for its standard output.
 */
export function firstLine(stdout: Readable): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  let text = "";
  const take = (bytes: Buffer) => {
    text += bytes.toString("latin1");
    const end = text.indexOf("\n");
    if (end < 0 && text.length < MAX_LINE) return;
    over(text.slice(0, Math.min(end < 0 ? MAX_LINE : end, MAX_LINE)));
  };
  const ended = () => over(text === "" ? null : text);
  const over = (line: string | null) => {
    stdout.off("data", take).off("end", ended).off("close", ended);
    stdout.pause();
    resolve(line);
  };
  stdout.on("data", take).on("end", ended).on("close", ended);
  return promise;
}
