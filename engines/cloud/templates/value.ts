// What a template computes with.

/** The data itself, as `.` or `$`. Its fields are texts. */
export class TemplateData {
  readonly fields: Readonly<Record<string, string>>;

  constructor(fields: Readonly<Record<string, string>>) {
    this.fields = fields;
  }
}

export type Value = string | number | boolean | TemplateData;

/** Why a function cannot be run: the place is added by whoever called it. */
export class CallError extends Error {}

/** More than a function makes or a run may take, whatever the data are. */
export class LimitError extends CallError {}
