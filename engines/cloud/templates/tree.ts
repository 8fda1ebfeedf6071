// What a template is made of: the tree that the parser makes and a run goes through, and the values that it
// computes with.

export type Node =
  | { readonly kind: "text"; readonly text: string; readonly at: number }
  | { readonly kind: "action"; readonly pipe: Pipe; readonly at: number }
  | {
      readonly kind: "if" | "with";
      readonly pipe: Pipe;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
      readonly at: number;
    };

export interface Pipe {
  /** Each is given to the next as its last argument. */
  readonly commands: readonly Command[];
  readonly variable: { readonly name: string; readonly declared: boolean } | null;
  readonly at: number;
}

/** A function and its arguments, or one operand alone. */
export interface Command {
  readonly call: string | null;
  readonly operands: readonly Operand[];
  readonly at: number;
}

export type Operand = { readonly fields: readonly string[]; readonly at: number } & (
  | { readonly kind: "literal"; readonly value: string | number | boolean }
  | { readonly kind: "dot" }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "pipe"; readonly pipe: Pipe }
);

// --- values ---

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
