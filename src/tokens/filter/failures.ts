// How filters are refused, in the texts that clients match on. The text of a filter
// is shown in small parts only and in printable ASCII: it ends up on terminals and in logs.

import { Failure } from "@holdfast/shared/failure";

const CODE = "invalid_parameter";
const MAX_QUOTED = 128;

/** `place` is line, column and offset as `<line>:<col> (<offset>)`. */
export function unreadable(place: string, problem: string): Failure {
  const text = `failed to create result paginator: failed to read filter expression: ${place}: ${problem}`;
  return new Failure("invalid", CODE, text);
}

/** It can be read, but not be applied to tokens. */
export function inapplicable(problem: string): Failure {
  return new Failure("invalid", CODE, `failed to read result page: ${problem}`);
}

export function notFound(problem: string): Failure {
  return inapplicable(`error finding value in datum: ${problem}`);
}

export function tooMuchWork(): Failure {
  const way = "narrow the list with prefix, or use fewer any, all, contains and matches";
  return inapplicable(`the filter takes too much work on these tokens; ${way}`);
}

export function quoted(text: string): string {
  return `"${quoteShort(text).replaceAll('"', '\\"')}"`;
}

export function quoteShort(text: string): string {
  const start = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}...` : text;
  return start.replaceAll(/[^\x20-\x7e]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
