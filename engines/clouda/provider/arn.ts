// Names of things at the provider: arn:partition:service:region:account:resource. What could end such a
// name early, or lead a reader elsewhere, is in none of them (T-I01).

export interface Arn {
  readonly service: string;
  readonly resource: string;
}

const PARTS = /^arn:[a-z0-9-]+:([a-z0-9-]+):[a-z0-9-]*:[a-z0-9-]*:([!-[\]-~]+)$/;
const CLEAN = /^[!-[\]-~]*$/; // printable ASCII without space and backslash
const MAX_CHARACTERS = 2048;

/** Null for what is none. */
export function parseArn(text: string): Arn | null {
  const [, service, resource] = PARTS.exec(text) ?? [];
  if (service === undefined || resource === undefined) return null;
  return text.length > MAX_CHARACTERS ? null : { service, resource };
}

/** Whether it may be sent in the place of one: the provider knows more forms than we do. */
export function isCleanArn(text: string): boolean {
  const host = text.split(":", 5).join(":"); // a role's own name may have an @
  return CLEAN.test(text) && !host.includes("@") && text.length <= MAX_CHARACTERS;
}

export function isPolicyArn(text: string): boolean {
  const arn = parseArn(text);
  return arn !== null && arn.service === "iam" && /^policy\/./.test(arn.resource);
}

export function isRoleArn(text: string): boolean {
  const arn = parseArn(text);
  return arn !== null && arn.service === "iam" && /^role\/./.test(arn.resource);
}
