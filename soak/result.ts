// What an experiment has to say at its end.

export interface Result {
  readonly ok: boolean;
  /** The figure, in one line. */
  readonly figure: string;
  /** What went wrong, and how to see it again. */
  readonly detail?: string;
}
