// What a role grants as callers write it: a JSON array, as text or as it is, of objects with a few
// members that are texts.

import { Failure } from "@holdfast/shared/failure";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { assignmentId } from "../provider/arm.ts";
import * as failures from "../failures.ts";
import { withoutLastSlashes } from "@holdfast/shared/text/slashes";
import { textIn } from "../provider/provider-answer.ts";
import type { Grant, GroupRef } from "../roles/role.ts";
import { encodedPath } from "../provider/url-path.ts";

/** What an element may have. */
export const GRANT_MEMBERS = ["role_id", "role_name", "scope"].map((name) => ({ name }));
export const GROUP_MEMBERS = ["object_id", "group_name"].map((name) => ({ name }));

const MAX_ELEMENTS = 100;
const MAX_MEMBER = 1024;
const MAX_NAME = 64; // that a refusal repeats

export function readGrants(field: string, input: unknown): Grant[] {
  const grants = elementsOf(field, input).map((element, i) => grantOf(memberOf(field, element, i)));
  for (const { roleId, roleName, scope } of grants) {
    if (roleId === "" && roleName === "") {
      throw failures.invalid(`${field}: every element needs a role_id or a role_name`);
    }
    checkPath(field, "scope", scope);
    if (roleId !== "") checkPath(field, "role_id", `/${roleId.replace(/^\//, "")}`);
  }
  return grants;
}

/** For roles that name an application, whose grants count for nothing: any JSON will do (seed). */
export function readIgnoredGrants(field: string, input: unknown): Grant[] {
  const found = parsed(field, input);
  if (!Array.isArray(found)) return [];
  checkCount(field, found);
  // Within the same bounds: what is beyond them is judged as it was sent.
  return found.filter(isObject).map((element, i) => grantOf(memberOf(field, element, i)));
}

export function readGroups(field: string, input: unknown): GroupRef[] {
  return elementsOf(field, input).map((element, i) => {
    const member = memberOf(field, element, i);
    const objectId = textIn(member, "object_id").trim();
    const groupName = textIn(member, "group_name");
    if (objectId === "" && groupName === "") {
      throw failures.invalid(`${field}: every element needs an object_id or a group_name`);
    }
    if (/^\.{1,2}$/.test(objectId)) throw failures.invalid(`${field}: object_id is no id`);
    return { objectId, groupName };
  });
}

/** Grants as rules and programs see them: without blanks around, members that say nothing or that nobody
 *  reads; the provider's ids, names and scopes have no case, and a slash at their end says nothing. What is no list of objects, or has more or
 *  longer ones than a role may have, is as it was sent: it is refused by whoever runs it. */
export function showElements(input: JsonValue): JsonValue {
  if (input === "") return [];
  if (!Array.isArray(input) || input.length > MAX_ELEMENTS || !input.every(isObject)) return input;
  if (input.some((element) => longMember(element) !== undefined)) return input;
  return input.map((element) => {
    const { roleId, roleName, scope } = grantOf(element);
    const id = roleId === "" || roleId.startsWith("/") ? roleId : `/${roleId}`;
    const members = {
      role_id: id.toLowerCase(),
      role_name: roleName.toLowerCase(),
      scope: withoutLastSlashes(scope).toLowerCase(),
      object_id: textIn(element, "object_id").trim().toLowerCase(),
      group_name: textIn(element, "group_name").toLowerCase(),
    };
    return Object.fromEntries(Object.entries(members).filter(([, text]) => text !== ""));
  });
}

function grantOf(element: JsonObject): Grant {
  return {
    roleId: textIn(element, "role_id").trim(),
    roleName: textIn(element, "role_name"),
    scope: textIn(element, "scope").trim(),
  };
}

function elementsOf(field: string, input: unknown): readonly JsonValue[] {
  const found = parsed(field, input);
  if (!Array.isArray(found)) throw failures.invalid(`${field} must be a JSON array`);
  checkCount(field, found);
  return found;
}

function checkCount(field: string, elements: readonly JsonValue[]): void {
  if (elements.length <= MAX_ELEMENTS) return;
  throw failures.invalid(`${field} must have at most ${MAX_ELEMENTS} elements`);
}

/** The text of JSON has been read by the field: what is still text is none, or goes too deep. */
function parsed(field: string, input: unknown): JsonValue {
  if (input === "") return [];
  if (typeof input !== "string") return input as JsonValue; // as it came out of the body
  throw failures.invalid(`${field}: it must be a JSON array, or the text of one`);
}

function memberOf(field: string, element: JsonValue, index: number): JsonObject {
  if (!isObject(element))
    throw failures.invalid(`${field}: element ${index + 1} must be an object`);
  const long = longMember(element);
  if (long !== undefined) {
    const name = long.length > MAX_NAME ? "a member" : long;
    throw failures.invalid(`${field}: ${name} must have at most ${MAX_MEMBER} characters`);
  }
  return element;
}

/** The name of the first member that is longer than any may be. */
function longMember(element: JsonObject): string | undefined {
  const isLong = (value: JsonValue | undefined) =>
    typeof value === "string" && value.length > MAX_MEMBER;
  return Object.keys(element).find((name) => isLong(element[name]));
}

/** It becomes part of an address: now is the time to say that it cannot. */
function checkPath(field: string, name: string, input: string): void {
  if (!input.startsWith("/")) throw failures.invalid(`${field}: ${name} must begin with /`);
  try {
    encodedPath(name === "scope" ? assignmentId(input, "x") : input);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw failures.invalid(`${field}: ${name} must be a path without empty parts, . and ..`);
  }
}
