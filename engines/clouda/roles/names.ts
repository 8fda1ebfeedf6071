// Names of what is made at the provider: by the template of the mount, within the provider's lengths and
// letters.

import { nameUnusable as failed, templateInvalid } from "../failures.ts";
import type { Caller } from "@holdfast/shared/endpoint/request";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { Template } from "../../cloud/templates/template.ts";
import { TemplateError } from "../../cloud/templates/lexer.ts";

export interface NameInput {
  readonly type: "IAM" | "STS";
  readonly displayName: string;
  readonly policyName: string;
}

const FIELDS = ["Type", "DisplayName", "PolicyName"];
const CAPS = { IAM: 64, STS: 32 };
const MAX_SESSION_NAME = 64;
/** What a name keeps of its random letters at least, of twenty. */
const MIN_RANDOM = 8;
const TIME_BETWEEN_HYPHENS = 12;

/** What the names of a mount are made by unless its configuration says otherwise. Both cuts are exact:
 *  with the usual prefix 36 characters are left for who and what. */
export function defaultTemplate(prefix: string): string {
  const inner = CAPS.IAM - prefix.length - TIME_BETWEEN_HYPHENS - MIN_RANDOM;
  const begin = JSON.stringify(prefix);
  return (
    `{{ if (eq .Type "STS") }}{{ printf "%s%s-%s" ${begin} (unix_time) (random 20) | truncate ${CAPS.STS} }}` +
    `{{ else }}{{ printf "%s%s-%s-%s" ${begin} ` +
    `(printf "%s-%s" .DisplayName .PolicyName | truncate ${inner}) (unix_time) (random 20) | truncate ${CAPS.IAM} }}` +
    "{{ end }}"
  );
}

/** Refuses what cannot be read, and what takes more than a run may, with the place of the fault. What else
 *  a run may fail at depends on its data. */
export function checkTemplate(text: string, needs: Pick<EngineNeeds, "clock" | "random">): void {
  try {
    const template = new Template(text, FIELDS);
    for (const Type of ["IAM", "STS"]) tryLimits(template, Type, needs);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { line, column, message } = error;
    const where = `username_template: line ${line}, column ${column}`;
    throw templateInvalid(`${where}: ${message}`);
  }
}

function tryLimits(
  template: Template,
  Type: string,
  needs: Pick<EngineNeeds, "clock" | "random">,
): void {
  try {
    template.run({ Type, DisplayName: "display-name", PolicyName: "policy-name" }, needs);
  } catch (error) {
    if (!(error instanceof TemplateError) || error.limit) throw error;
  }
}

/** A fresh name. What cannot be used as one is a fault of the configuration, not of who asks. */
export function generatedName(
  needs: Pick<EngineNeeds, "clock" | "random">,
  template: string,
  { type, displayName, policyName }: NameInput,
): string {
  const fields = {
    Type: type,
    DisplayName: inLetters(displayName),
    PolicyName: inLetters(policyName),
  };
  const name = run(template, fields, needs);
  const bytes = Buffer.byteLength(name, "utf8");
  if (bytes > CAPS[type]) {
    throw failed(`generated ${type} name has ${bytes} bytes, limit ${CAPS[type]}`);
  }
  if (name === "") throw failed(`generated ${type} name is empty`);
  return name;
}

function run(
  template: string,
  fields: Readonly<Record<string, string>>,
  needs: Pick<EngineNeeds, "clock" | "random">,
): string {
  try {
    return new Template(template, FIELDS).run(fields, needs);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { line, column, message } = error;
    throw failed(`username_template: line ${line}, column ${column}: ${message}`);
  }
}

/** A session's name as it was asked for, as far as the provider allows it. */
export function sessionName(text: string): string {
  return inLetters(text).slice(0, MAX_SESSION_NAME);
}

/** Who asks, for names: what the token is called, or something by which it can be found. */
export function callerName(caller: Caller | null): string {
  if (caller === null) return "token";
  return caller.name === "" ? `token-${caller.accessor.slice(0, 8)}` : caller.name;
}

/** Other letters than the provider's, each as one "_". */
function inLetters(text: string): string {
  return text.replace(/[^A-Za-z0-9+=,.@_-]/gu, "_");
}
