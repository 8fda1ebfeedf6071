// What is wrong with a configuration, and where. Everything is collected before anything is told: a
// file with three mistakes is mended in one go. Texts name keys and never repeat values, since any
// value may be a credential in the wrong place.

import { Failure, OwnError } from "@holdfast/shared/failure";
import type { Position } from "../document/hcl-node.ts";

/** A place in a file, or in what stands in for one: a variable of the environment, a flag. */
export interface Place {
  readonly name: string;
  readonly position: Pick<Position, "line" | "column"> | null;
}

export interface Problem {
  readonly place: Place | null;
  readonly text: string;
}

/** `file:line:column: text`, the form that editors can jump to. */
export function showProblem({ place, text }: Problem): string {
  return place === null ? text : `${showPlace(place)}: ${text}`;
}

export function showPlace({ name, position }: Place): string {
  return position === null ? name : `${name}:${position.line}:${position.column}`;
}

/**
 * @code configuration-invalid The configuration has mistakes.
 * @remedy Correct the lines that the text names; `holdfast server --validate` shows all of them.
 */
export class ConfigFailure extends Failure {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const texts = problems.map(showProblem);
    super("invalid", "configuration-invalid", texts.join("\n"), { texts });
    this.problems = problems;
  }
}

/** One value that cannot be taken; whoever reads the body around it knows the file. */
export class Refusal extends OwnError {
  readonly position: Position;

  constructor(position: Position, problem: string) {
    super(problem);
    this.position = position;
  }
}
