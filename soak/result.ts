// What an experiment has to say at its end.

export interface Result {
  readonly ok: boolean;
  /** The figure, in one line. */
  readonly figure: string;
  /** What went wrong, and how to see it again. */
  readonly detail?: string;
}

/** Good when nothing was wrong; otherwise the first ten things that were. */
export function resultOf(figure: string, wrong: readonly string[]): Result {
  if (wrong.length === 0) return { ok: true, figure };
  return { ok: false, figure, detail: wrong.slice(0, 10).join("\n") };
}
