// Names of policies: one folded ASCII form. Two spellings of one name are how the check for `root`
// was passed elsewhere, so whatever does not fold to this form is no name.

import { fold } from "./fold.ts";

const FORM = /^[a-z0-9_.-]+(?:\/[a-z0-9_.-]+)*$/;
const MAX_LENGTH = 128;

export const ACCEPTED_NAMES =
  "1 to 128 characters out of a-z 0-9 - _ . and /, without an empty, . or .. segment";

/** Whether it is a name in its one form, as paths give it. */
export function isPolicyName(text: string): boolean {
  return policyName(text) === text;
}

/** The folded name, or null when the text is none. Only ASCII letters fold: others have no place. */
export function policyName(text: string): string | null {
  if (text.length > MAX_LENGTH) return null;
  const folded = fold(text);
  if (!FORM.test(folded)) return null;
  if (!folded.includes(".")) return folded;
  return folded.split("/").some((part) => part === "." || part === "..") ? null : folded;
}
