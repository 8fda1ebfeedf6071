// The tree of a template: what the parser makes of it, and what a run goes through.

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
