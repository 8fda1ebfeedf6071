// Names of users: by the template of the connection, no longer than the plugin says. Quoting them is for the plugin.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { TemplateError } from "../../cloud/templates/lexer.ts";
import { Template } from "../../cloud/templates/template.ts";
import { nameUnusable, templateInvalid } from "../failures.ts";

const FIELDS = ["DisplayName", "RoleName"];
/** Every database that is in use takes so many. */
const SHORT = 32;
const LONG = 63;

const LONG_TEMPLATE =
  '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 8) (.RoleName | truncate 8) (random 20) (unix_time) | truncate 63 }}';
const SHORT_TEMPLATE = '{{ printf "v-%s-%s" (.RoleName | truncate 8) (random 20) | truncate 32 }}';

type World = Pick<EngineNeeds, "clock" | "random">;

/** Refuses what cannot be read, and what gives the same name again: then whoever undoes an attempt could end somebody else's
 *  user. */
export function checkTemplate(text: string, world: World, maxUsername = 0): void {
  if (text === "") return;
  const sample = { DisplayName: "display-name", RoleName: "role-name" };
  let names: string[];
  try {
    const template = new Template(text, FIELDS);
    names = Array.from({ length: 8 }, () => cutTo(template.run(sample, world), maxUsername));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { line, column, message } = error;
    throw templateInvalid(`username_template: line ${line}, column ${column}: ${message}`);
  }
  if (new Set(names).size === 1) {
    const within = maxUsername === 0 ? "" : ` within the ${maxUsername} bytes that a name may have`;
    const message = `it gives the same name each time${within}; put something in it that differs, such as (random 20)`;
    throw templateInvalid(`username_template: ${message}`);
  }
}

/** A fresh name. */
export function newName(
  world: World,
  { template, maxUsername }: { readonly template: string; readonly maxUsername: number },
  who: { readonly displayName: string; readonly roleName: string },
): string {
  const usual = maxUsername >= LONG ? LONG_TEMPLATE : SHORT_TEMPLATE;
  const fields = { DisplayName: visible(who.displayName), RoleName: visible(who.roleName) };
  let name: string;
  try {
    name = new Template(template === "" ? usual : template, FIELDS).run(fields, world);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw nameUnusable(
      `username_template: line ${error.line}, column ${error.column}: ${error.message}`,
    );
  }
  const cut = cutTo(visible(name), maxUsername === 0 && template === "" ? SHORT : maxUsername);
  if (cut.trim() === "") throw nameUnusable("username_template gives an empty name");
  return cut;
}

/** Who asks: what the token is called, or something by which it can be found. */
export function callerName(caller: Caller | null): string {
  if (caller === null) return "token";
  return caller.name === "" ? `token-${caller.accessor.slice(0, 8)}` : caller.name;
}

function visible(text: string): string {
  return text.replace(/\p{C}/gu, "_");
}

/** Bytes, and whole characters; 0: however long. */
function cutTo(text: string, max: number): string {
  if (max === 0 || Buffer.byteLength(text) <= max) return text;
  let cut = "";
  let size = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > max) break;
    cut += character;
  }
  return cut;
}
