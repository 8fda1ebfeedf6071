// The log of a plugin: a line of JSON each on standard error, in the form that hosts read.

import type { Fields, Log, LogLevel } from "@holdfast/shared/log";
import { Secret } from "@holdfast/shared/secret";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock } from "@holdfast/shared/world";

/** Names that say what a line is; fields of the same name are something else. */
const OURS = /^@/;

export interface LineWriter {
  readonly clock: Pick<Clock, "now">;
  /** Takes one whole line, its newline included. */
  readonly write: (line: string) => void;
}

export function pluginLog(writer: LineWriter, module = ""): Log {
  const at = (level: LogLevel) => (message: string, fields?: Fields) =>
    writer.write(lineOf(writer, level, module, message, fields));
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (component) => pluginLog(writer, module === "" ? component : `${module}.${component}`),
  };
}

function lineOf(
  { clock }: LineWriter,
  level: LogLevel,
  module: string,
  message: string,
  fields: Fields = {},
): string {
  const line: Record<string, string | number | boolean | null> = {
    "@level": level,
    "@message": message,
    "@timestamp": showTime(clock.now()),
    ...(module === "" ? {} : { "@module": module }),
  };
  for (const [name, value] of Object.entries(fields)) {
    line[OURS.test(name) ? `_${name}` : name] = plain(value);
  }
  return `${JSON.stringify(line)}\n`;
}

/** Never what an object holds, whatever the types said. */
function plain(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return value instanceof Secret ? String(value) : "[object]";
}
